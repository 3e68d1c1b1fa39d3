"""Whether a bench.json that was read holds what a benchmark writes: it may have been edited."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from workbench.bench.results import Run

NUMBER = (int, float)
OF_A_RECORD = {
    "command": str,
    "preset": (str, type(None)),
    "settings": dict,
    "environment": dict,
    "hardware": dict,
    "versions": dict,
    "gpus_in_use": list,
    "runs": list,
    "overhead": dict,
    "notes": list,
}
OF_A_MACHINE = {
    "gpus": list,
    "driver": (str, type(None)),
    "cpu": dict,
    "memory_bytes": int,
}
OF_A_CPU = {"name": str, "cores": int, "features": list}
OF_A_GPU = {"name": str, "compute_capability": list, "memory_bytes": (int, type(None))}
# What has no kind here is a figure, which may be unknown.
OF_A_RUN = {"model": str, "arm": str, "batch_size": int, "seed": int, "failed": (str, type(None))}


def check_kinds(record: Mapping[str, Any]) -> None:
    """Check the fields of a record as JSON gives them back.

    Raises ``KeyError`` where one is missing, ``TypeError`` where one is of another kind.
    """
    _check(record, OF_A_RECORD, "")
    for number, run in enumerate(record["runs"]):
        figures = {field.name: (*NUMBER, type(None)) for field in dataclasses.fields(Run)}
        _check(run, {**figures, **OF_A_RUN}, f"run {number}: ")
    # Empty before the first run.
    if record["hardware"]:
        _check(record["hardware"], OF_A_MACHINE, "hardware: ")
        _check(record["hardware"]["cpu"], OF_A_CPU, "cpu: ")
        for gpu in [*record["hardware"]["gpus"], *record["gpus_in_use"]]:
            _check(gpu, OF_A_GPU, "gpu: ")
        _check(record["versions"], {"tensorflow": str}, "versions: ")
    for model, floor in record["overhead"].items():
        _check({model: floor}, {model: (*NUMBER, type(None))}, "overhead: ")


def _check(content: Any, kinds: Mapping[str, Any], where: str) -> None:
    if not isinstance(content, dict):
        raise TypeError(f"{where}{content!r} is no object")
    for name, kind in kinds.items():
        if not isinstance(content[name], kind):
            raise TypeError(f"{where}{name} is {content[name]!r}")
