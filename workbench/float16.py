"""The limits of float16 (IEEE 754, binary16), without NumPy or TensorFlow."""

LARGEST = 65504.0
# Below it there are ever fewer bits, and some devices take such numbers for 0.
SMALLEST_NORMAL = 2.0**-14
SMALLEST = 2.0**-24
