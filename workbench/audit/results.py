"""What an audit finds: a row for each layer, findings, and with data a row for each tensor."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

# A finding of level error makes the exit status 1.
LEVELS = ("error", "warning", "info")


class Finding(NamedTuple):
    """A fault: its kind (``id``), where it is, what was seen, why it matters, what to do."""

    id: str
    level: str
    layer: str | None
    evidence: str
    why: str
    remedy: str


class LayerRow(NamedTuple):
    """A layer as it is under mixed_float16: the types that it computes, keeps and gives in."""

    name: str
    class_name: str
    compute_dtype: str
    variable_dtype: str | None
    output_dtype: str | None
    weights: int


@dataclasses.dataclass(frozen=True)
class RangeRow:
    """The magnitudes of a layer's activations, or of a variable's gradient, seen in float32.

    ``kind`` is activation or gradient. ``largest`` and ``smallest`` are magnitudes of values that
    are not 0. ``overflow`` is the share of all values beyond float16's 65504, ``vanish`` the share
    of those not 0 that float16 rounds to 0. ``vanish_scaled`` and ``overflow_scaled`` are the
    shares with the advised loss scale (gradients only).
    """

    name: str
    kind: str
    layer: str
    largest: float
    smallest: float
    overflow: float
    vanish: float
    overflow_scaled: float | None = None
    vanish_scaled: float | None = None


class Advice(NamedTuple):
    """What follows from the ranges: layers to keep in float32, and the loss scale to begin with."""

    float32_layers: list[str]
    initial_scale: float
    reason: str
