"""The output folder of a benchmark: checked before anything runs, held while it runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from workbench import run_folder
from workbench.bench.record import RECORD, Record, read
from workbench.errors import Mistake
from workbench.hardware import Cpu, Gpu
from workbench.resume import flag_differences, refuse

RUNS = "runs"
# The file that is locked as long as a benchmark runs.
LOCK = ".lock"
# What may be in the folder of a benchmark that was killed in its first run.
OURS = frozenset({LOCK, RUNS, f"{RECORD}.tmp"})
# What may be other than before: how many runs there are, what is asked of them, who may fetch.
MAY_CHANGE = frozenset({"repeats", "min_speedup", "download", "out"})


class Claim:
    """The folder of a benchmark, made and held: nobody else measures into it."""

    def __init__(self, folder: Path, *, named: bool) -> None:
        """Raises ``Mistake`` where it cannot be made, or another benchmark is at work in it."""
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        self.folder, self._lock = run_folder.claim_folder(
            folder, named=named, lock=LOCK, record=RECORD
        )
        self._made = [self.folder, *missing[1:]] if missing else []
        if not self._made and self.folder != folder:
            self._made = [self.folder]

    @property
    def runs(self) -> Path:
        """The folder of the runs."""
        return self.folder / RUNS

    def undo(self) -> None:
        """Remove what was made: nothing has been measured."""
        (self.folder / LOCK).unlink(missing_ok=True)
        shutil.rmtree(self.runs, ignore_errors=True)
        for folder in self._made:
            folder.rmdir()
        self._lock.close()


def choose(out: str | None) -> Path:
    """Return the absolute folder named by ``--out``, or a new one named by the time.

    Makes nothing. Raises ``Mistake`` when it cannot be used, or holds what is no benchmark.
    """
    folder = run_folder.folder_path(out, "bench")
    run_folder.check_no_pattern(folder)
    run_folder.check_can_be_made(folder)
    if folder.is_dir():
        names = run_folder.names_in(folder)
        if RECORD not in names and not names <= OURS:
            raise Mistake(f"--out={folder} holds files that are no benchmark: name a new folder")
        read(folder)
        _check_access(folder)
    return folder


def _check_access(folder: Path) -> None:
    """Raise ``Mistake`` where something that a benchmark in ``folder`` writes to refuses it."""
    runs = folder / RUNS
    if os.path.lexists(runs) and not runs.is_dir():
        raise Mistake(f"--out={folder}: {RUNS} is not a folder: name another --out")
    for path in (folder / LOCK, runs):
        if path.exists() and not os.access(path, os.W_OK):
            raise Mistake(f"--out={folder}: {path} cannot be written: name another folder")


def check_same(folder: Path, former: Record, now: Record, cpu: Cpu, gpus: list[Gpu]) -> None:
    """Raise ``Mistake`` where ``now`` would measure something else than ``former`` in ``folder``.

    That is: other settings, other variables of the environment, another machine.
    """
    preset, former_preset = (each.preset or "not given" for each in (now, former))
    before = {**now.settings, **former.settings, "preset": former_preset}
    differences = flag_differences(before, {**now.settings, "preset": preset}, MAY_CHANGE)
    for name in sorted({*former.environment, *now.environment}):
        was, is_now = (each.environment.get(name, "not set") for each in (former, now))
        if was != is_now:
            differences.append(f"{name} was {was} and is {is_now}")
    if former.hardware:
        machine = former.hardware["cpu"]
        for what, was, is_now in (
            ("the CPU", machine["name"], cpu.name),
            ("the number of cores", machine["cores"], cpu.cores),
            (
                "the GPUs",
                ", ".join(gpu["name"] for gpu in former.hardware["gpus"]) or "none",
                ", ".join(gpu.name for gpu in gpus) or "none",
            ),
        ):
            if was != is_now:
                differences.append(f"{what} was {was} and is {is_now}")
    refuse(folder, differences)
