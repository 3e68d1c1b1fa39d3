"""The files of a run as they are found: whole, damaged, or still being written."""

from __future__ import annotations

import fcntl
import json
import math
import re
import time
from pathlib import Path
from typing import Any, Mapping, NamedTuple

from workbench.errors import Mistake
from workbench.hardware import Gpu
from workbench.run_folder import BEFORE_CONFIG, CLAIM, CONFIG

SUMMARY = "summary.json"
# Windows that the speed of a running training is taken from.
RECENT = 10
# No figure of a run is as large; arithmetic with numbers below it does not overflow.
UNBELIEVABLE = 1e100


class Run(NamedTuple):
    """What stands in a run's folder; ``config`` and ``summary`` are empty where there is none.

    ``damage`` says what cannot be read, ``checkpoints`` are the numbers of those there are.
    """

    config: dict[str, Any]
    summary: dict[str, Any]
    windows: list[dict[str, Any]]
    damage: list[str]
    running: bool
    checkpoints: list[int]
    seconds_silent: float

    @property
    def last_step(self) -> int | None:
        """The last logged step, or None."""
        return self.windows[-1]["step"] if self.windows else None

    @property
    def policy(self) -> Any:
        """The policy of the run, None where it is not known."""
        return self.config.get("policy")

    @property
    def gpus_in_use(self) -> list[Gpu]:
        """The GPUs that TensorFlow could use."""
        return _gpus(self.config, "gpus_in_use")

    @property
    def gpus_seen(self) -> list[Gpu]:
        """The GPUs of the machine, as NVML saw them."""
        return _gpus(self.config, "gpus")

    def flag(self, name: str) -> Any:
        """Return a flag as config.json has it, or None."""
        return inner(self.config, "flags").get(name)


def number(content: Mapping[str, Any], name: str) -> float | None:
    """Return the number ``name`` of ``content``, None where it is none."""
    value = content.get(name)
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if known and abs(value) < UNBELIEVABLE else None


def steps_of(summary: Mapping[str, Any]) -> float:
    """Return the steps, applied and skipped, that a summary counts."""
    return (number(summary, "applied_steps") or 0) + (number(summary, "skipped_steps") or 0)


def total_steps(run: Run) -> int | None:
    """Return the steps that the run is to make, None where that is not known."""
    flags = inner(run.config, "flags")
    epochs, size = number(flags, "epochs"), number(flags, "batch_size")
    examples = number(inner(run.config, "data"), "train_examples")
    per_epoch = number(flags, "steps_per_epoch")
    if per_epoch is None and examples and size:
        per_epoch = math.ceil(examples / (size * (number(flags, "accumulate_steps") or 1)))
    return int(epochs * per_epoch) if epochs and per_epoch else None


def seconds_left(run: Run) -> float | None:
    """Return the seconds until the end at the speed of late, validations included, or None."""
    total, recent = total_steps(run), run.windows[-RECENT:]
    times = [number(window, "seconds") for window in recent]
    if not total or len(recent) < 2 or None in times or recent[-1]["step"] <= recent[0]["step"]:
        return None
    a_step = (times[-1] - times[0]) / (recent[-1]["step"] - recent[0]["step"])
    return max(0.0, total - recent[-1]["step"]) * a_step


def read_run(path: Path) -> Run:
    """Read the run in the folder ``path``. Raises ``Mistake`` where there is none."""
    names = {entry.name for entry in path.iterdir()}
    if CONFIG not in names and not (CLAIM in names and names <= BEFORE_CONFIG):
        raise Mistake(f"--run={path} holds no run{_nearest(path)}: name the --out of a training")
    damage: list[str] = []
    return Run(
        config=_object(path / CONFIG, damage),
        summary=_object(path / SUMMARY, damage),
        windows=_windows(path / CLAIM, damage),
        damage=damage,
        running=_is_locked(path / CLAIM),
        checkpoints=_checkpoints(path / "checkpoints"),
        seconds_silent=time.time() - _last_written(path),
    )


def _nearest(path: Path) -> str:
    """Return a question for the newest run in a folder of runs, or nothing."""
    runs = [entry for entry in path.iterdir() if (entry / CONFIG).exists()]
    newest = max(runs, key=lambda run: run.stat().st_mtime, default=None)
    return f" (did you mean {newest}?)" if newest else ""


def _object(file: Path, damage: list[str]) -> dict[str, Any]:
    """Return the JSON object in ``file``, empty where there is none; tell of damage."""
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        damage.append(f"{file.name}: {error}")
        return {}
    if not isinstance(content, dict):
        damage.append(f"{file.name}: no JSON object")
        return {}
    return content


def _windows(file: Path, damage: list[str]) -> list[dict[str, Any]]:
    """Return the lines of metrics.jsonl that can be read; tell of damage."""
    windows = []
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    # What stands after the last end of a line is being written, or was cut off by a kill.
    for number, line in enumerate(lines[:-1], start=1):
        try:
            window = json.loads(line)
            windows.append({**window, "step": int(window["step"])})
        except (ValueError, KeyError, TypeError, RecursionError):
            damage.append(f"{file.name}: line {number} is no log window")
    return windows


def _is_locked(claim: Path) -> bool:
    """Tell whether a training lives that has claimed the folder."""
    try:
        with claim.open("rb") as stream:
            # Shared, and given back at once.
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _checkpoints(folder: Path) -> list[int]:
    numbers = (re.fullmatch(r"ckpt-(\d+)\.index", file.name) for file in folder.glob("ckpt-*"))
    return sorted(int(match.group(1)) for match in numbers if match)


def _last_written(path: Path) -> float:
    return max(entry.stat().st_mtime for entry in path.iterdir())


def _gpus(config: Mapping[str, Any], name: str) -> list[Gpu]:
    """Return the GPUs of a list in config.json; what is no GPU is left out."""
    listed = inner(config, "hardware").get(name)
    gpus = []
    for each in listed if isinstance(listed, list) else []:
        capability = each.get("compute_capability") if isinstance(each, dict) else None
        whole = isinstance(capability, list) and all(isinstance(part, int) for part in capability)
        if whole and len(capability) == 2:
            memory = number(each, "memory_bytes")
            gpus.append(Gpu(str(each.get("name")), tuple(capability), memory))
    return gpus


def inner(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object ``name`` within ``content``, an empty one where there is none."""
    value = content.get(name)
    return value if isinstance(value, dict) else {}
