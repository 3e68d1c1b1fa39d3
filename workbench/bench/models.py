"""The models of ``--preset=compute``: their arithmetic outweighs the overhead of a step."""

from __future__ import annotations

import math

import tensorflow as tf

from workbench.models.images import image_shape

# Multiples of 8, as Tensor Cores like them. A CPU has about a hundredth of a GPU's arithmetic.
MLP_WIDTHS = {"GPU": (4096, 4096, 4096), "CPU": (2048, 2048)}
CNN_BLOCKS = {"GPU": ((64, 64), (128, 128), (256,)), "CPU": ((32, 64),)}


def wide_mlp(input_shape: tuple[int, ...], classes: int) -> tf.keras.Model:
    """Return wide dense layers with ReLU, softmax in float32: as wide as the device is fast.

    Input (N, features) float32; output (N, classes) float32, probabilities.
    """
    layers = [
        tf.keras.layers.Dense(width, activation="relu", name=f"hidden_{number}")
        for number, width in enumerate(MLP_WIDTHS[_device()], 1)
    ]
    inputs = tf.keras.Input(shape=(math.prod(input_shape),), dtype="float32", name="inputs")
    return tf.keras.Sequential([inputs, *layers, _probabilities(classes)], name="wide_mlp")


def wide_cnn(input_shape: tuple[int, ...], classes: int) -> tf.keras.Model:
    """Return blocks of 3x3 convolutions with pooling, a dense layer, softmax in float32.

    Input (N, height, width, channels) float32; output (N, classes) float32, probabilities.
    """
    shape = image_shape("wide_cnn", input_shape)
    layers = []
    for number, widths in enumerate(CNN_BLOCKS[_device()], 1):
        layers += [
            tf.keras.layers.Conv2D(
                width, 3, padding="same", activation="relu", name=f"conv_{number}_{place}"
            )
            for place, width in enumerate(widths, 1)
        ]
        layers.append(tf.keras.layers.MaxPooling2D(2, name=f"pooling_{number}"))
    layers += [
        tf.keras.layers.Flatten(name="features"),
        tf.keras.layers.Dense(128, activation="relu", name="hidden"),
        _probabilities(classes),
    ]
    inputs = tf.keras.Input(shape=shape, dtype="float32", name="inputs")
    return tf.keras.Sequential([inputs, *layers], name="wide_cnn")


def _probabilities(classes: int) -> tf.keras.layers.Layer:
    return tf.keras.layers.Dense(
        classes, activation="softmax", dtype="float32", name="probabilities"
    )


def _device() -> str:
    return "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
