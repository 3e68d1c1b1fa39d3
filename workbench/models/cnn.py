"""cnn: the small convolutional network of Keras's MNIST example."""

from __future__ import annotations

import tensorflow as tf

from workbench.errors import Mistake
from workbench.models.images import image_shape

# Two 3x3 convolutions without padding and a 2x2 pooling leave 2x2 of it.
SMALLEST_SIDE = 8


def build_cnn(shape: tuple[int, ...], classes: int) -> tf.keras.Model:
    """Return conv 32 - conv 64 - pooling - dropout - dense 128 - dropout - dense ``classes``.

    Input (N, height, width, channels) float32 in [0, 1]; output (N, classes) float32,
    probabilities. Raises ``Mistake`` when ``shape`` is not an image of at least 8x8 pixels.
    """
    height, width, channels = image_shape("cnn", shape)
    if min(height, width) < SMALLEST_SIDE:
        raise Mistake(
            f"--model=cnn: the images are {height}x{width} pixels: it needs {SMALLEST_SIDE}x"
            f"{SMALLEST_SIDE} or more; use --model=mlp"
        )
    return tf.keras.Sequential(
        [
            tf.keras.Input(shape=(height, width, channels), dtype="float32", name="inputs"),
            tf.keras.layers.Conv2D(32, 3, activation="relu", name="conv_1"),
            tf.keras.layers.Conv2D(64, 3, activation="relu", name="conv_2"),
            tf.keras.layers.MaxPooling2D(2, name="pooling"),
            tf.keras.layers.Dropout(0.25, name="dropout_1"),
            tf.keras.layers.Flatten(name="features"),
            tf.keras.layers.Dense(128, activation="relu", name="hidden"),
            tf.keras.layers.Dropout(0.5, name="dropout_2"),
            tf.keras.layers.Dense(
                classes, activation="softmax", dtype="float32", name="probabilities"
            ),
        ],
        name="cnn",
    )
