"""The order of the runs: the arms take turns, and a sweep ends where memory does."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from workbench import run_folder
from workbench.bench.presets import Case, batch_sizes
from workbench.bench.results import Run
from workbench.bench.settings import Settings

# The beginning of the reason for which a run failed that was too large for the memory.
DOES_NOT_FIT = "does not fit in memory"


class Place(NamedTuple):
    """A run that is to be done: of which model and arm, with which batch size and seed."""

    model: str
    arm: str
    batch_size: int
    seed: int

    @classmethod
    def of(cls, run: Run) -> Place:
        """Return the place of ``run``."""
        return cls(run.model, run.arm, run.batch_size, run.seed)

    @property
    def file_name(self) -> str:
        """The name of its folder, without what a path or TensorFlow would take otherwise."""
        name = f"{self.model.rpartition('/')[2]}-{self.arm}-b{self.batch_size}-s{self.seed}"
        return run_folder.plain_name(name)


def all_places(cases: Sequence[Case], given: Mapping[str, Any], arms: Sequence[str]) -> list[Place]:
    """Return all runs that the flags ``given`` ask for, in their order."""
    seed, repeats = (given.get(name, getattr(Settings, name)) for name in ("seed", "repeats"))
    sizes = {case.model: batch_sizes(case, given) for case in cases}
    turns = max(map(len, sizes.values()))
    return [
        Place(case.model, arm, sizes[case.model][turn], seed + repeat)
        for turn in range(turns)
        for case in cases
        for repeat in range(repeats)
        for arm in arms
    ]


def pending(places: Sequence[Place], runs: Sequence[Run]) -> list[Place]:
    """Return those of ``places`` that are still to be run after ``runs``.

    An arm that does not fit in memory is not tried with another seed, and its model with no
    larger batch; what the other arms do with that batch is still measured.
    """
    done = {Place.of(run) for run in runs}
    too_large = [run for run in runs if does_not_fit(run)]
    return [
        place
        for place in places
        if place not in done
        and not any(
            place.model == run.model
            and (
                place.batch_size > run.batch_size
                or (place.batch_size, place.arm) == (run.batch_size, run.arm)
            )
            for run in too_large
        )
    ]


def does_not_fit(run: Run) -> bool:
    """Tell whether ``run`` failed for want of memory."""
    return bool(run.failed) and run.failed.startswith(DOES_NOT_FIT)
