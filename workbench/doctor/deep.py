"""``doctor --deep``: whether TensorFlow computes, and how fast, in a child process.

A process of its own, since a broken driver can crash or hang TensorFlow, and the report is to
say so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from workbench.doctor.findings import Finding
from workbench.doctor.machine import Machine
from workbench.doctor.rules import found

# A GPU for which the driver compiles all kernels takes up to half an hour (tensorflow#60739).
TIME_LIMIT_S = 2400
ROOT = Path(__file__).resolve().parents[2]
# Below this ratio to float32 half precision gains nothing.
NO_GAIN = 1.0


class Operation(NamedTuple):
    """An operation in a type on a device: seconds the first time, and of a later time."""

    device: str
    operation: str
    dtype: str
    cold_s: float
    warm_s: float
    right: bool


class Trial(NamedTuple):
    """What TensorFlow computed; ``problem`` is its last word where it could not."""

    gpus: list[str]
    operations: list[Operation]
    problem: str | None = None

    @property
    def lines(self) -> list[str]:
        """A line for each operation."""
        return [
            f"{each.device}: {each.operation} {each.dtype}: first {each.cold_s * 1e3:.1f} ms, "
            f"then {each.warm_s * 1e3:.2f} ms"
            for each in self.operations
        ]

    def as_json(self) -> dict[str, Any]:
        """The trial for a machine; seconds."""
        return {
            "gpus": self.gpus,
            "operations": [each._asdict() for each in self.operations],
            "problem": self.problem,
        }

    def findings(self, machine: Machine) -> list[Finding]:
        """Return what the trial shows beside the facts of the machine."""
        findings = []
        if self.problem:
            findings.append(found("deep_failed", self.problem))
        elif machine.cards.cards and not self.gpus:
            names = ", ".join(gpu.name for gpu in machine.cards.gpus)
            findings.append(found("deep_gpu_unused", f"NVML: {names}; TensorFlow: none"))
        findings += [
            found("deep_wrong_result", f"{each.device}: {each.operation} in {each.dtype}")
            for each in self.operations
            if not each.right
        ]
        slower = _slower(self.operations)
        if slower:
            findings.append(found("deep_low_precision_slow", slower))
        return findings


def trial(policy: str, time_limit_s: float = TIME_LIMIT_S) -> Trial:
    """Have TensorFlow compute in float32 and in the type of ``policy``.

    Whatever goes wrong in it stands in the result.
    """
    environ = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    try:
        child = subprocess.run(
            [sys.executable, "-m", "workbench.doctor.deep_child", policy],
            env=environ,
            # Python imports from the working directory first, and anything may lie there.
            cwd=os.sep,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # Its own words are shown where they are asked for.
            stderr=None if environ["TF_CPP_MIN_LOG_LEVEL"] == "0" else subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=time_limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Trial([], [], f"TensorFlow has not answered in {time_limit_s:g} s")
    lines = child.stdout.strip().splitlines()
    if child.returncode != 0 or not lines:
        words = (child.stderr or "").strip().splitlines()
        last = words[-1] if words else "no word"
        return Trial([], [], f"TensorFlow's process ended with {child.returncode}: {last}")
    said = json.loads(lines[-1])
    return Trial(said["gpus"], [Operation(**each) for each in said["operations"]], said["problem"])


def _slower(operations: list[Operation]) -> str | None:
    """Return where half precision was slower than float32, if anywhere."""
    full = {(each.device, each.operation): each for each in operations if each.dtype == "float32"}
    for each in operations:
        base = full[each.device, each.operation]
        if each.dtype != "float32" and base.warm_s < NO_GAIN * each.warm_s:
            return (
                f"{each.device}: {each.operation} {each.dtype} {each.warm_s * 1e3:.2f} ms, "
                f"float32 {base.warm_s * 1e3:.2f} ms"
            )
    return None
