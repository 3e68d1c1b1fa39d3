"""--min_speedup: whether mixed precision is as fast as it was asked to be."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from workbench.bench.compare import BASELINE
from workbench.bench.results import Comparison


class Gate(NamedTuple):
    """What a gate says: whether it is met, and a line about it."""

    met: bool
    line: str


def gate(comparisons: Sequence[Comparison], least: float) -> Gate:
    """Tell whether mixed precision is ``least`` times as fast as float32 wherever it was measured.

    The measured speed-up decides, and the line says where its interval leaves that open.
    """
    mixed = [
        each
        for each in comparisons
        if each.baseline == BASELINE and each.arm != BASELINE and each.arm.startswith("mixed_")
    ]
    measured = [each for each in mixed if each.speedup is not None]
    if not measured:
        return Gate(False, f"--min_speedup={least:g} is not met: no speed-up could be measured")
    short = [each for each in measured if each.speedup < least]
    worst = min(measured, key=lambda each: each.speedup)
    said = "is not met" if short else "is met"
    return Gate(
        not short,
        f"--min_speedup={least:g} {said}: {worst.arm} is {worst.speedup:.2f} times as fast as "
        f"{BASELINE} with {worst.model}, batch {worst.batch_size}{_open(worst, least)}",
    )


def _open(worst: Comparison, least: float) -> str:
    if worst.low is None or worst.high is None:
        return " (one pair of runs: no interval)"
    if worst.low <= least <= worst.high:
        return f" ({least:g} lies within the interval {worst.low:.2f}-{worst.high:.2f})"
    return f" (interval {worst.low:.2f}-{worst.high:.2f})"
