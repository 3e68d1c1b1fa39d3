"""What follows from the ranges: layers that should stay float32, and the first loss scale."""

from __future__ import annotations

import math
from typing import Sequence

from workbench.audit.ranges import Ranges
from workbench.audit.results import Advice, Finding, RangeRow
from workbench.float16 import LARGEST

# Other batches, and weights that grow, reach further than what was seen.
ROOM = 8.0
# A scale is a power of two, so that scaling changes no digit; Keras doubles it by and by.
HIGHEST_SCALE = 2.0**24
# A share of gradients beyond this is worth a word.
MUCH_VANISHES = 0.05


def advise(
    ranges: Ranges, float32_already: set[str], operations: set[str]
) -> tuple[Advice, list[Finding]]:
    """Return the advice, and the findings behind it.

    ``float32_already`` are the layers that compute in float32 under mixed_float16 too,
    ``operations`` those that take no dtype.
    """
    activations = [row for row in ranges.rows if row.kind == "activation"]
    gradients = [row for row in ranges.rows if row.kind != "activation"]
    findings = []
    layers = []
    for row in activations:
        if row.layer in float32_already:
            continue
        finding = _of_activation(row, row.layer in operations)
        if finding:
            findings.append(finding)
            layers.append(row.layer)
    findings += _lost(ranges.rows)
    scale = _scale(gradients)
    in_float16 = [row for row in gradients if row.layer not in float32_already]
    findings += _beyond_every_scale(in_float16)
    findings += _of_scale(ranges, gradients, scale)
    return Advice(layers, scale, _reason(gradients, scale)), findings


def _of_activation(row: RangeRow, is_operation: bool) -> Finding | None:
    given = row.input_largest or 0.0
    reach = max(row.largest, given)
    if not math.isfinite(reach):
        # Told once, where it begins.
        return None
    what = f"{'gives' if row.largest >= given else 'is given'} values up to {reach:.6g}"
    share = f"; {row.overflow:.2%} of what it gives is beyond 65504" if row.overflow else ""
    remedy = f"Give the layer {row.layer} dtype='float32'."
    if is_operation:
        remedy = f"tf.cast(x, tf.float32) before the operation {row.layer}, which takes no dtype."
    if reach > LARGEST:
        return Finding(
            "activation_overflows",
            "error",
            row.layer,
            f"it {what}{share}",
            "float16 ends at 65504: such a value is infinite, and NaN soon after.",
            remedy,
        )
    if reach > LARGEST / ROOM:
        return Finding(
            "activation_near_limit",
            "warning",
            row.layer,
            f"it {what}",
            "float16 ends at 65504, and other batches reach further.",
            remedy,
        )
    return None


def _lost(rows: Sequence[RangeRow]) -> list[Finding]:
    # In the order of the calls: what is not finite makes all behind it so.
    first = [row for row in rows if not math.isfinite(row.largest)][:1]
    return [
        Finding(
            "not_finite_in_float32",
            "error",
            row.layer,
            f"its {row.kind} is not finite in float32 already",
            "No precision mends it: the model or the data is at fault.",
            "Look at the data for NaN, and at divisions and logarithms in the layer.",
        )
        for row in first
    ]


def _scale(gradients: Sequence[RangeRow]) -> float:
    """Return the largest power of two with which no gradient seen comes near float16's end.

    As in "Choosing a scaling factor" of NVIDIA's guide on mixed precision, with :data:`ROOM` left.
    """
    largest = max((row.largest for row in gradients if math.isfinite(row.largest)), default=0.0)
    if not largest:
        return HIGHEST_SCALE
    return min(HIGHEST_SCALE, max(1.0, 2.0 ** math.floor(math.log2(LARGEST / ROOM / largest))))


def _reason(gradients: Sequence[RangeRow], scale: float) -> str:
    largest = max((row.largest for row in gradients), default=0.0)
    seen = f"the largest gradient seen is {largest:.3g}"
    if largest * scale * ROOM > LARGEST:
        return f"{seen}, and no scale is lower than 1"
    if scale == HIGHEST_SCALE:
        return f"{seen}, and a higher scale is not advised"
    return f"{seen}, which times {scale:g} leaves a factor of {ROOM:g} to 65504"


def _beyond_every_scale(gradients: Sequence[RangeRow]) -> list[Finding]:
    over = [row for row in gradients if row.overflow and math.isfinite(row.largest)]
    if not over:
        return []
    worst = max(over, key=lambda row: row.largest)
    return [
        Finding(
            "gradient_overflows",
            "error",
            worst.layer,
            f"the {worst.kind} of {worst.name} reaches {worst.largest:.3g} without any scale; "
            f"tensors of gradients beyond 65504: {len(over)}",
            "The loss scale is never below 1: each such step is skipped, and nothing is learned.",
            "Make the gradient smaller where it arises (a smaller weight of the loss, smaller "
            "first weights), or train in float32.",
        )
    ]


def _of_scale(ranges: Ranges, gradients: Sequence[RangeRow], advised: float) -> list[Finding]:
    findings = []
    over = [row for row in gradients if row.overflow_scaled and not row.overflow]
    if over:
        worst = max(over, key=lambda row: row.largest)
        findings.append(
            Finding(
                "scale_overflows",
                "warning",
                worst.layer,
                f"with the loss scale {ranges.scale:g} {worst.name} reaches "
                f"{worst.largest * ranges.scale:.3g}; tensors of gradients that overflow: "
                f"{len(over)}",
                "The first steps are skipped until dynamic scaling has halved the scale; a fixed "
                "one would skip all.",
                f"--initial_scale={advised:g}, or initial_scale of the LossScaleOptimizer.",
            )
        )
    lost = [row for row in gradients if (row.vanish_scaled or 0.0) > MUCH_VANISHES]
    if lost:
        worst = max(lost, key=lambda row: row.vanish_scaled or 0.0)
        findings.append(
            Finding(
                "gradients_vanish",
                "warning",
                worst.layer,
                f"with the loss scale {ranges.scale:g} {worst.vanish_scaled:.1%} of the gradients "
                f"of {worst.name} that are not 0 become 0 ({len(lost)} tensors beyond "
                f"{MUCH_VANISHES:.0%})",
                "What vanishes is not learned from.",
                f"A larger scale: --initial_scale={advised:g}."
                if advised > ranges.scale
                else f"Give the layer {worst.layer} dtype='float32'.",
            )
        )
    return findings
