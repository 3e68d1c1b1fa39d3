"""From single runs to what they say: a row for each arm, and each arm against its baseline."""

from __future__ import annotations

import statistics
from typing import Iterable, Sequence, Tuple

from workbench.bench.results import Comparison, Result, Run
from workbench.bench.student import Interval, ratio_interval

# The arm against which every other is measured.
BASELINE = "float32"
# Mixed precision is measured against this one too, where it ran.
SECOND_BASELINE = "tf32"
# With one pair there is no interval, and a smaller difference than this is taken for none.
DIFFERENCE_OF_ONE_PAIR = 0.05
# A gain of this size that is not told from none by its interval needs more runs, no explanation.
UNCLEAR_FROM = 1.1

# What came of a comparison.
FASTER, NO_GAIN, SLOWER, UNCLEAR, NOT_COMPARED = (
    *("faster", "no gain", "slower", "no gain shown", "not compared"),
)

NO_INTERVAL = "one pair: no interval"

Place = Tuple[str, int, str]


def results(runs: Sequence[Run]) -> list[Result]:
    """Return a row for each model, batch size and arm in ``runs``, in the order they came."""
    return [_result(place, mine) for place, mine in _by_place(runs).items()]


def comparisons(runs: Sequence[Run]) -> list[Comparison]:
    """Return each arm in ``runs`` against float32, and mixed precision against TF32 too.

    The verdicts give no reason yet: see :mod:`workbench.bench.explain`.
    """
    places = _by_place(runs)
    found = []
    for model, batch_size, arm in places:
        baselines = [BASELINE] if arm == SECOND_BASELINE else [BASELINE, SECOND_BASELINE]
        for baseline in baselines:
            against = places.get((model, batch_size, baseline))
            if against and arm != BASELINE:
                mine = places[model, batch_size, arm]
                found.append(_comparison(model, batch_size, baseline, arm, against, mine))
    return found


def outcome(speedup: float | None, low: float | None, high: float | None, pairs: int) -> str:
    """Return FASTER, SLOWER, NO_GAIN, UNCLEAR or NOT_COMPARED for a speed-up and its interval."""
    if speedup is None:
        return NOT_COMPARED
    if pairs == 1:
        low = speedup / (1 + DIFFERENCE_OF_ONE_PAIR)
        high = speedup / (1 - DIFFERENCE_OF_ONE_PAIR)
    if low > 1:
        return FASTER
    if high < 1:
        return SLOWER
    return UNCLEAR if pairs > 1 and speedup >= UNCLEAR_FROM else NO_GAIN


def interval_text(speedup: float, low: float | None, high: float | None) -> str:
    """Return a speed-up in words: ``1.80x (1.62-2.01)``."""
    if low is None or high is None:
        return f"{speedup:.2f}x ({NO_INTERVAL})"
    return f"{speedup:.2f}x ({low:.2f}-{high:.2f})"


def _by_place(runs: Iterable[Run]) -> dict[Place, list[Run]]:
    places: dict[Place, list[Run]] = {}
    for run in runs:
        places.setdefault((run.model, run.batch_size, run.arm), []).append(run)
    return places


def _result(place: Place, runs: Sequence[Run]) -> Result:
    model, batch_size, arm = place
    good = [run for run in runs if not run.failed]
    reasons = [run.failed for run in runs if run.failed]

    def known(name: str) -> list[float]:
        return [getattr(run, name) for run in good if getattr(run, name) is not None]

    def median(name: str) -> float | None:
        return statistics.median(known(name)) if known(name) else None

    accuracies, peak = known("accuracy"), median("peak_memory_bytes")
    return Result(
        model=model,
        arm=arm,
        batch_size=batch_size,
        runs=len(good),
        seconds_per_epoch=median("seconds_per_epoch"),
        images_per_second=median("images_per_second"),
        step_ms=median("step_ms"),
        peak_memory_bytes=None if peak is None else round(peak),
        accuracy=statistics.mean(accuracies) if accuracies else None,
        accuracy_low=min(accuracies, default=None),
        accuracy_high=max(accuracies, default=None),
        failed=reasons[0] if reasons else None,
    )


def _comparison(
    model: str,
    batch_size: int,
    baseline: str,
    arm: str,
    against: Sequence[Run],
    mine: Sequence[Run],
) -> Comparison:
    by_seed = {run.seed: run for run in against if run.images_per_second and not run.failed}
    pairs = [
        (by_seed[run.seed], run)
        for run in mine
        if run.seed in by_seed and run.images_per_second and not run.failed
    ]
    speed = _ratios(pairs, "images_per_second")
    memory = _ratios(pairs, "peak_memory_bytes")
    differences = [
        run.accuracy - base.accuracy
        for base, run in pairs
        if run.accuracy is not None and base.accuracy is not None
    ]
    came = outcome(*speed, len(pairs)) if speed else NOT_COMPARED
    return Comparison(
        model=model,
        baseline=baseline,
        arm=arm,
        batch_size=batch_size,
        pairs=len(pairs),
        speedup=speed and speed.mean,
        low=speed and speed.low,
        high=speed and speed.high,
        # What is saved is least where the ratio is greatest.
        memory_saved=memory and 1 - memory.mean,
        memory_low=None if not memory or memory.high is None else 1 - memory.high,
        memory_high=None if not memory or memory.low is None else 1 - memory.low,
        accuracy_difference=statistics.mean(differences) if differences else None,
        verdict=_verdict(came, speed, [*against, *mine]),
    )


def _ratios(pairs: Sequence[tuple[Run, Run]], name: str) -> Interval | None:
    ratios = [
        getattr(run, name) / getattr(base, name)
        for base, run in pairs
        if getattr(run, name) and getattr(base, name)
    ]
    return ratio_interval(ratios) if ratios else None


def _verdict(came: str, speed: Interval | None, runs: Sequence[Run]) -> str:
    if not speed:
        failed = [f"{run.arm} failed ({run.failed})" for run in runs if run.failed]
        return f"{NOT_COMPARED}: {failed[0] if failed else 'no two runs with the same seed yet'}"
    figures = interval_text(*speed)
    if came == UNCLEAR:
        return f"{came}: {figures}, the runs differ too much: give more --repeats"
    return f"{came}: {figures}"
