"""Look at each layer of a model while it is called."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

import tensorflow as tf

# Told of a layer, what it was given and what it gave; gives what goes on in place of that.
OnCall = Callable[[tf.keras.layers.Layer, Any, Any], Any]


@contextlib.contextmanager
def watched(layers: Sequence[tf.keras.layers.Layer], on_call: OnCall) -> Iterator[None]:
    """Have ``on_call`` told of every call of ``layers`` meanwhile."""

    def watch(layer: tf.keras.layers.Layer) -> None:
        call = layer.call

        def told(*arguments: Any, **named: Any) -> Any:
            return on_call(layer, arguments, call(*arguments, **named))

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
