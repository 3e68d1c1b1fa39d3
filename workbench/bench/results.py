"""What a benchmark finds: a row for each run, for each arm, for each pair of arms."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Run:
    """One training of one arm, in a process of its own; ``failed`` says why it has no figures.

    ``seconds_per_epoch`` is the mean of all epochs but the first, which warms up (with one epoch
    that one); ``images_per_second`` all their training images over all their time, validation
    included. ``step_ms`` is the median time of a step over the log windows after the first epoch.
    ``peak_memory_bytes`` is the allocator's peak on a GPU, resident memory on a CPU.
    ``accuracy`` is that of the validation after the last epoch, ``input_wait_share`` the share of
    the epochs' time in which the loop waited for its input.
    """

    model: str
    arm: str
    batch_size: int
    seed: int
    seconds_per_epoch: float | None = None
    images_per_second: float | None = None
    step_ms: float | None = None
    peak_memory_bytes: int | None = None
    accuracy: float | None = None
    input_wait_share: float | None = None
    failed: str | None = None


@dataclasses.dataclass(frozen=True)
class Result:
    """An arm over its runs (seeds): medians of time and memory, the mean of accuracy.

    ``accuracy_low`` and ``accuracy_high`` are the lowest and the highest seed's.
    """

    model: str
    arm: str
    batch_size: int
    runs: int
    seconds_per_epoch: float | None
    images_per_second: float | None
    step_ms: float | None
    peak_memory_bytes: int | None
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    failed: str | None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """An arm against its baseline, over the pairs of runs with the same seed.

    ``speedup`` is the geometric mean of the ratios of images per second, ``low`` and ``high`` its
    95 % interval by Student's t on their logarithms (None with one pair). ``memory_saved`` is a
    share of the baseline's peak, 0.4 for 40 % less, with its own interval.
    ``accuracy_difference`` is the arm's mean less the baseline's. ``verdict`` says in one line
    what came of it and, where nothing was gained, why.
    """

    model: str
    baseline: str
    arm: str
    batch_size: int
    pairs: int
    speedup: float | None
    low: float | None
    high: float | None
    memory_saved: float | None
    memory_low: float | None
    memory_high: float | None
    accuracy_difference: float | None
    verdict: str
