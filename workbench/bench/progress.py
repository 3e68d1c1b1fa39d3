"""What a benchmark shows while it measures: a line for each run, and on a terminal its wait."""

from __future__ import annotations

import sys
import time

from workbench import log
from workbench.bench.results import Run
from workbench.bench.schedule import Place

# Of a terminal: back to the beginning of the line, and clear it.
CLEAR = "\r\033[K"


class Progress:
    """Tells of the runs as they begin and end; in a ``sweep`` with their batch size."""

    def __init__(self, sweep: bool) -> None:
        self._sweep = sweep
        self._seconds: list[float] = []
        self._began = 0.0

    def begin(self, place: Place) -> None:
        """Show on a terminal that the run of ``place`` is under way."""
        self._began = time.monotonic()
        self.show(f"{self._words(place)} ...")

    def end(self, run: Run, done: int, left: int, arms: int) -> None:
        """Print the figures of ``run``: the number ``done``, with ``left`` still to come.

        After the first round, of ``arms`` runs, also how long those will take.
        """
        self.clear()
        self._seconds.append(time.monotonic() - self._began)
        what = f"run {done} of {done + left}: {self._words(Place.of(run))}"
        if run.failed:
            log.warn(f"{what}: failed: {run.failed}")
            return
        accuracy = "unknown" if run.accuracy is None else f"{run.accuracy:.3f}"
        line = f"{what}: {run.images_per_second:.0f} images/s, accuracy {accuracy}"
        if left and len(self._seconds) >= arms:
            line += f"; about {_duration(left * sum(self._seconds) / len(self._seconds))} left"
        log.info(line)

    def show(self, text: str) -> None:
        """Show ``text`` on a terminal until the next line."""
        if sys.stdout.isatty():
            print(f"{CLEAR}{text}", end="", flush=True)

    def clear(self) -> None:
        """Take away what :meth:`show` has shown."""
        self.show("")

    def _words(self, place: Place) -> str:
        batch = f", batch {place.batch_size}" if self._sweep else ""
        return f"{place.model} {place.arm}{batch}, seed {place.seed}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
