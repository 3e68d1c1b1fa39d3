"""The layers of a model, at any depth."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

import tensorflow as tf

# In place of a layer's call: given the layer, its own call, and the arguments.
OnCall = Callable[[tf.keras.layers.Layer, Callable[..., Any], Any, Any], Any]


def all_layers(model: tf.keras.layers.Layer) -> list[tf.keras.layers.Layer]:
    """Return ``model`` and every layer in it: in nested models, wrappers, lists and modules.

    In the order of their making, which is the same each time. Metrics, which Keras makes of
    layers too, are not among them.
    """
    # Not model.submodules: it fails on a recurrent layer that was called in a graph.
    return [
        module for module in model._flatten_modules() if isinstance(module, tf.keras.layers.Layer)
    ]


@contextlib.contextmanager
def watched(layers: Sequence[tf.keras.layers.Layer], on_call: OnCall) -> Iterator[None]:
    """Have ``on_call`` stand in for the call of each of ``layers`` inside the block."""

    def watch(layer: tf.keras.layers.Layer) -> None:
        call = layer.call

        def told(*arguments: Any, **named: Any) -> Any:
            return on_call(layer, call, arguments, named)

        layer.call = told

    for layer in layers:
        watch(layer)
    try:
        yield
    finally:
        for layer in layers:
            del layer.call


def floating(values: Any) -> list[tf.Tensor]:
    """Return the tensors of floating point in a structure."""
    return [
        each for each in tf.nest.flatten(values) if tf.is_tensor(each) and each.dtype.is_floating
    ]
