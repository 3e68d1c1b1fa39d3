"""How the shape of an example fits the input of a model."""

from __future__ import annotations

import math

import tensorflow as tf

from workbench.errors import Mistake


def fit_shape(model: tf.keras.Model, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which an example of ``shape`` is brought for ``model``.

    It is ``shape`` itself, flattened, or with a channel of 1 added or removed at its end,
    whichever the model's input takes first. A subclassed model, which has no declared input,
    takes what it was built with. Raises ``Mistake`` when none fits, or the batch is fixed.
    """
    if not model.inputs:
        return shape
    batch, *wanted = model.inputs[0].shape
    if batch is not None:
        raise Mistake(
            f"the model {model.name} takes batches of exactly {batch}: leave batch_size out of "
            f"its Input, for the last batch of an epoch may be smaller"
        )
    without_channel = shape[:-1] if shape[-1:] == (1,) else shape
    for candidate in (shape, (math.prod(shape),), (*shape, 1), without_channel):
        if _matches(wanted, candidate):
            return candidate
    shown = str(tuple(wanted)).replace("None", "any")
    raise Mistake(
        f"the model {model.name} takes examples of shape {shown}, but those of the data have "
        f"the shape {shape}: change the model's Input, or the data"
    )


def _matches(wanted: list[int | None], shape: tuple[int, ...]) -> bool:
    return len(wanted) == len(shape) and all(
        size in (None, have) for size, have in zip(wanted, shape)
    )
