"""The overhead of a step: what it takes with one example, whatever the arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

from workbench.bench.arms import FLOAT32, arm_flags
from workbench.bench.child import Trainer
from workbench.bench.figures_of_run import step_ms

# Steps that are timed, in one epoch of two; fewer where they would take longer than SECONDS.
STEPS, FEWEST_STEPS = 300, 20
SECONDS = 5.0


def probe(trainer: Trainer, flags: Mapping[str, Any], known_ms: float, runs: Path) -> float | None:
    """Return the median time in milliseconds of the baseline's step with a batch of one.

    ``flags`` are those of train for the model, ``known_ms`` the time of its step with the whole
    batch; the run is left in the folder ``runs``. None where it failed: its log says why.
    """
    steps = round(min(STEPS, max(FEWEST_STEPS, 1000 * SECONDS / known_ms)))
    folder = runs / "overhead"
    status = trainer.run(
        {
            **flags,
            **arm_flags(FLOAT32, {}),
            "batch_size": 1,
            "epochs": 2,
            "steps_per_epoch": steps,
            "log_steps": max(1, steps // 5),
            "out": str(folder),
        },
        runs / "overhead.log",
    )
    return None if status else step_ms(folder)
