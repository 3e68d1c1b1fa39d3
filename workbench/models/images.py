"""Which shapes of an example are images."""

from __future__ import annotations

from workbench.errors import Mistake


def image_shape(model: str, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return ``shape`` as (height, width, channels); gray images (height, width) get a channel.

    Raises ``Mistake`` for other shapes, in the name of ``model``, which takes only images.
    """
    if len(shape) == 2:
        return (*shape, 1)
    if len(shape) == 3:
        return shape
    raise Mistake(
        f"--model={model} takes images, (height, width) or (height, width, channels), but an "
        f"example of the data has the shape {shape}: use --model=mlp"
    )
