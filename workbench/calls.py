"""How many steps a graph call may have, and when a checkpoint is due."""

from __future__ import annotations

import time

from workbench.settings import Settings

# A graph call of slow steps ends after about this time: it is reported, and a checkpoint by
# time is possible.
SECONDS_IN_CALL = 10.0


class CallPlan:
    """Where the graph calls of an epoch of ``steps_per_epoch`` steps end.

    The only place that looks at a clock for it: of several workers one must decide for all.
    """

    def __init__(self, settings: Settings, steps_per_epoch: int) -> None:
        self._settings = settings
        self._steps_per_epoch = steps_per_epoch
        self._seconds_per_step: float | None = None
        self._saved_at = time.monotonic()

    def last_of_call(self, step: int, applied: int) -> int:
        """Return the step of the epoch, exclusive, up to which a graph call from ``step`` goes.

        Calls end with the log window, and where a checkpoint is due; ``applied`` steps were
        applied so far.
        """
        settings = self._settings
        ends = [self._steps_per_epoch, step - step % settings.log_steps + settings.log_steps]
        if settings.checkpoint_steps != "epoch":
            ends.append(step + settings.checkpoint_steps - applied % settings.checkpoint_steps)
        if settings.steps_per_execution != "auto":
            ends.append(step + settings.steps_per_execution)
        # The first call, of one step, tells how long a step takes.
        fitting = 1
        if self._seconds_per_step is not None:
            fitting = max(1, int(SECONDS_IN_CALL / max(self._seconds_per_step, 1e-9)))
        return min(*ends, step + fitting)

    def took(self, steps: int, seconds: float) -> None:
        """Take note of a call of ``steps`` steps that took ``seconds``."""
        self._seconds_per_step = seconds / steps

    def checkpoint_is_due(self, applied: int, applied_before: int) -> bool:
        """Tell whether a checkpoint is due by applied steps, of all and before the last call,
        or by time.
        """
        every, minutes = self._settings.checkpoint_steps, self._settings.checkpoint_minutes
        if every != "epoch" and applied // every > applied_before // every:
            return True
        return minutes != "off" and time.monotonic() - self._saved_at >= minutes * 60.0

    def saved(self) -> None:
        """Take note of a checkpoint that was written now."""
        self._saved_at = time.monotonic()
