"""What an audit finds: a row for each layer, findings, and with data a row for each tensor."""

from __future__ import annotations

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
    """A layer as it is under mixed_float16: the types that it computes, keeps and gives in.

    ``variable_dtype`` is None for a layer without weights, ``output_dtype`` for one that was not
    called by itself.
    """

    name: str
    class_name: str
    compute_dtype: str
    variable_dtype: str | None
    output_dtype: str | None
    weights: int


class RangeRow(NamedTuple):
    """The magnitudes of a tensor, seen in float32 over all batches.

    ``kind`` is activation (what a layer gives), signal (the gradient of the loss by it) or
    gradient (of a variable). ``largest`` and ``smallest`` are of values that are not 0, both 0
    where there are none. ``overflow`` is the share of all values beyond float16's 65504,
    ``vanish`` the share of those not 0 that float16 rounds to 0; ``overflow_scaled`` and
    ``vanish_scaled`` are the same with the loss scale (None for activations).
    ``input_largest`` is how far a layer's inputs reach (None for the other kinds).
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
    input_largest: float | None = None


class Advice(NamedTuple):
    """What follows from the ranges: layers to keep in float32, and the loss scale to begin with."""

    float32_layers: list[str]
    initial_scale: float
    reason: str
