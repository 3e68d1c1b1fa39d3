"""What a run of train has left: its figures, or why it has none."""

from __future__ import annotations

import json
import math
import shutil
import signal
import statistics
from pathlib import Path
from typing import Any, Mapping, Sequence

from workbench.bench.results import Run
from workbench.bench.schedule import DOES_NOT_FIT, Place
from workbench.errors import one_line
from workbench.run_folder import CLAIM, CONFIG

SUMMARY = "summary.json"
# How C++ says that memory is short, before it aborts.
NO_MEMORY = "std::bad_alloc"
# How Python begins to tell of an error that nobody caught.
TRACEBACK = "Traceback (most recent call last):"


def read_run(place: Place, folder: Path, log: Path, status: int) -> Run:
    """Return the figures of the run in ``folder`` that ended with ``status``, or its failure."""
    if status:
        return Run(*place, failed=_why_it_failed(folder, log, status))
    summary = _read_json(folder / SUMMARY)
    seconds = summary["seconds_per_epoch"]
    return Run(
        *place,
        # The first epoch warms up; with one there is no other.
        seconds_per_epoch=statistics.mean(seconds[1:] or seconds),
        images_per_second=summary["images_per_second"],
        step_ms=step_ms(folder),
        peak_memory_bytes=summary["peak_memory_bytes"],
        accuracy=summary["val_accuracy"],
        input_wait_share=summary["input_wait_share"],
    )


def read_config(folder: Path) -> dict[str, Any] | None:
    """Return the config.json of the run in ``folder``, or None where it ended before that."""
    file = folder / CONFIG
    return _read_json(file) if file.is_file() else None


def verdict(folder: Path) -> str | None:
    """Return the verdict of the run in ``folder``, which failed; None where it left none."""
    file = folder / SUMMARY
    return _read_json(file)["stopped_because"] if file.is_file() else None


def mistake(log: Path) -> str:
    """Return the one line with which train refused its flags, data or model."""
    return _last_line(log, "error: ") or _last_line(log, "")


def warnings(log: Path) -> list[str]:
    """Return what train warned of before it began."""
    found = []
    for line in _lines(log):
        if line.startswith("policy: "):
            break
        before, sign, text = line.partition("warning: ")
        if sign and not before:
            found.append(text)
    return found


def step_ms(folder: Path) -> float | None:
    """Return the median time of a step in milliseconds, over the log windows of the run.

    Without the first epoch where there are others, and without the windows that end an epoch
    where there are others: their last batch may be smaller.
    """
    config = _read_json(folder / CONFIG)
    flags = config["flags"]
    batch = flags["batch_size"] * flags["accumulate_steps"]
    windows = [json.loads(line) for line in (folder / CLAIM).read_text("utf-8").splitlines()]
    last_epoch = windows[-1]["epoch"] if windows else 0
    windows = [each for each in windows if each["epoch"] > 1 or last_epoch == 1]
    steps = windows[-1]["step"] // last_epoch if windows else 0
    inner = [each for each in windows if each["step"] % steps]
    examples = config["data"]["train_examples"]
    if not inner and examples and math.ceil(examples / batch) == steps:
        batch = examples / steps
    times = [1000 * batch / each["images_per_second"] for each in inner or windows]
    return statistics.median(times) if times else None


def forget_weights(folder: Path) -> None:
    """Remove the checkpoints and the saved model of the run in ``folder``: they take the room."""
    for name in ("checkpoints", "model"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _why_it_failed(folder: Path, log: Path, status: int) -> str:
    if verdict(folder) == "out_of_memory":
        return DOES_NOT_FIT
    if status == -signal.SIGABRT and any(NO_MEMORY in line for line in _lines(log)):
        return f"{DOES_NOT_FIT} ({NO_MEMORY})"
    # So the kernel ends a program when memory, or its container's share of it, is used up.
    if status == -signal.SIGKILL:
        return f"{DOES_NOT_FIT} (killed by SIGKILL)"
    if status < 0:
        return f"ended by {signal.Signals(-status).name}: see {log.name}"
    told = _last_line(log, "failed: ") or _last_line(log, "error: ")
    return told or f"ended with status {status}{_uncaught(log)}: see {log.name}"


def _uncaught(log: Path) -> str:
    """Return the last line of ``log`` in brackets where it holds a traceback of Python."""
    return f" ({_last_line(log, '')})" if TRACEBACK in _lines(log) else ""


def _last_line(log: Path, start: str) -> str:
    """Return the last line of ``log`` that begins with ``start``, without it; or nothing."""
    lines = [line[len(start) :] for line in _lines(log) if line.startswith(start)]
    return one_line(lines[-1]) if lines else ""


def _lines(log: Path) -> Sequence[str]:
    return log.read_text("utf-8", errors="replace").splitlines()


def _read_json(file: Path) -> Mapping[str, Any]:
    return json.loads(file.read_text("utf-8"))
