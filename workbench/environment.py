"""How TensorFlow is loaded; to be imported before anything that may import TensorFlow."""

import os

# What the user set stays.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Take GPU memory as it is needed, not all of it: others may share the GPU, and the peak is known.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
