"""The runs of a benchmark, one after the other, each written down as it ends."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Mapping, Sequence

from workbench import log, run_folder
from workbench.bench import figures_of_run
from workbench.bench.arms import FLOAT32, Arm, arm_flags, arms, unused_flags
from workbench.bench.child import Stopped, Trainer
from workbench.bench.explain import needs_probe
from workbench.bench.presets import Case
from workbench.bench.probe import probe
from workbench.bench.progress import Progress
from workbench.bench.record import RECORD, Record
from workbench.bench.results import Run
from workbench.bench.schedule import Place, all_places, pending
from workbench.errors import MISTAKE_STATUS, Mistake
from workbench.verdicts import Failure

# A run of train that ended so had no room for its files: those after it would have none either.
NO_ROOM = ("disk_full", "cannot_write")


class Measurement:
    """The runs that the flags ``given`` ask for, written into ``record``."""

    def __init__(
        self,
        record: Record,
        cases: Sequence[Case],
        given: Mapping[str, Any],
        folder: Path,
        runs: Path,
    ) -> None:
        """``folder`` is that of the benchmark, ``runs`` the one in it for its runs."""
        self.record = record
        self.trainer = Trainer()
        self._cases = {case.model: case for case in cases}
        self._given = given
        self._folder = folder
        self._runs = runs
        self._progress = Progress(given.get("batch_sizes", "off") != "off")

    def run(self) -> None:
        """Run all that is still to be run.

        Raises ``Stopped`` when told to end, ``Mistake`` when the very first run is refused,
        ``Failure`` and ``OSError`` where files cannot be written.
        """
        self._runs.mkdir(exist_ok=True)
        while todo := self.pending():
            self._progress.begin(todo[0])
            run = self._run(todo[0])
            self.record.runs.append(run)
            self.write(complete=False)
            done = {Place.of(each) for each in self.record.runs} & set(self._places())
            self._progress.end(run, len(done), len(self.pending()), len(self._arms()))

    def explain(self) -> None:
        """Measure the overhead of a step where nothing else explains why nothing was gained."""
        record = self.record
        for each in record.comparisons():
            step, _, waits = record.evidence(each)
            known = each.model in record.overhead
            if known or not step:
                continue
            if needs_probe(each, waits, record.gpu, record.cpu, os.environ):
                self._progress.show(f"measuring the overhead of a step of {each.model}")
                flags = self._cases[each.model].flags
                shutil.rmtree(self._runs / "overhead", ignore_errors=True)
                floor = probe(self.trainer, flags, step, self._runs)
                figures_of_run.forget_weights(self._runs / "overhead")
                self._progress.clear()
                record.overhead[each.model] = floor
                if floor is None:
                    record.note(f"the overhead of a step of {each.model} could not be measured")

    def pending(self) -> list[Place]:
        """Return the runs that are still to be run."""
        return pending(self._places(), self.record.runs)

    def write(self, complete: bool) -> None:
        """Write bench.json. Raises ``OSError``."""
        run_folder.write_json(self._folder / RECORD, self.record.content(complete))

    def _arms(self) -> list[Arm]:
        # The first run tells what TensorFlow can use.
        return arms(self.record.gpu) if self.record.hardware else [FLOAT32]

    def _places(self) -> list[Place]:
        names = [arm.name for arm in self._arms()]
        return all_places(list(self._cases.values()), self._given, names)

    def _run(self, place: Place) -> Run:
        (arm,) = (arm for arm in self._arms() if arm.name == place.arm)
        folder = self._runs / place.file_name
        run_log = self._runs / f"{place.file_name}.log"
        # Of a run that was ended in the middle, or failed.
        if folder.exists():
            shutil.rmtree(folder)
        flags = {
            **self._cases[place.model].flags,
            **arm_flags(arm, self._given),
            "batch_size": place.batch_size,
            "seed": place.seed,
            "checkpoint_minutes": "off",
            "out": str(folder),
        }
        try:
            status = self.trainer.run(flags, run_log)
        except Stopped:
            shutil.rmtree(folder, ignore_errors=True)
            run_log.unlink()
            raise
        figures_of_run.forget_weights(folder)
        if status == MISTAKE_STATUS and not self.record.runs:
            raise Mistake(figures_of_run.mistake(run_log))
        run = figures_of_run.read_run(place, folder, run_log, status)
        why = figures_of_run.verdict(folder) if run.failed else None
        if why in NO_ROOM:
            raise Failure(why, f"{place.file_name}: see {run_log}")
        config = figures_of_run.read_config(folder)
        if config and not self.record.hardware:
            self.record.learn(config)
            for warning in unused_flags(self._arms(), self._given):
                self._warn(warning)
        for warning in figures_of_run.warnings(run_log):
            self._warn(warning)
        return run

    def _warn(self, text: str) -> None:
        if self.record.note(text):
            self._progress.clear()
            log.warn(text)
