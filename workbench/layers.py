"""The layers of a model, at any depth."""

from __future__ import annotations

import tensorflow as tf


def all_layers(model: tf.keras.layers.Layer) -> list[tf.keras.layers.Layer]:
    """Return ``model`` and every layer in it: in nested models, wrappers, lists and modules.

    In the order of their making, which is the same each time. Metrics, which Keras makes of
    layers too, are not among them.
    """
    # Not model.submodules: it fails on a recurrent layer that was called in a graph.
    return [
        module for module in model._flatten_modules() if isinstance(module, tf.keras.layers.Layer)
    ]
