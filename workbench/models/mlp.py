"""mlp: the tutorial's model, dense layers 512-256-classes."""

from __future__ import annotations

import math

import tensorflow as tf


def build_mlp(shape: tuple[int, ...], classes: int) -> tf.keras.Model:
    """Return the tutorial's model under the global precision policy.

    Input (N, features) float32, where features is the product of ``shape``; output (N, classes)
    float32, probabilities. The output layer is float32 under every policy: a layer's output
    keeps the compute type of its policy, and softmax in float16 loses small probabilities.
    """
    return tf.keras.Sequential(
        [
            tf.keras.Input(shape=(math.prod(shape),), dtype="float32", name="inputs"),
            tf.keras.layers.Dense(512, activation="relu", name="hidden_1"),
            tf.keras.layers.Dense(256, activation="relu", name="hidden_2"),
            tf.keras.layers.Dense(
                classes, activation="softmax", dtype="float32", name="probabilities"
            ),
        ],
        name="mlp",
    )
