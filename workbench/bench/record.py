"""bench.json: what a benchmark has measured so far, and on what."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import statistics
from pathlib import Path
from typing import Any, Mapping, Sequence

from workbench.bench import compare
from workbench.bench.explain import reason, with_reason
from workbench.bench.kinds import check_kinds
from workbench.bench.results import Comparison, Run
from workbench.errors import Mistake
from workbench.hardware import Cpu, Gpu

RECORD = "bench.json"
# What the figures depend on beside the flags.
VARIABLES = (
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "TF_FORCE_GPU_ALLOW_GROWTH"),
    *("TF_ENABLE_ONEDNN_OPTS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "TF_XLA_FLAGS"),
    *("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
)


@dataclasses.dataclass
class Record:
    """The content of bench.json, without what follows from the runs.

    ``settings`` are the flags as understood, ``environment`` the variables of VARIABLES that are
    set. ``hardware``, ``versions`` and ``gpus_in_use`` are those of the first run's config.json,
    empty before it. ``overhead`` is, for each model, the time in milliseconds of a step with one
    example, None where it could not be measured.
    """

    command: str
    preset: str | None
    settings: dict[str, Any]
    environment: dict[str, str]
    hardware: dict[str, Any] = dataclasses.field(default_factory=dict)
    versions: dict[str, Any] = dataclasses.field(default_factory=dict)
    gpus_in_use: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    runs: list[Run] = dataclasses.field(default_factory=list)
    overhead: dict[str, float | None] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def gpu(self) -> Gpu | None:
        """The GPU that TensorFlow used; None on a CPU, and before the first run."""
        if not self.gpus_in_use:
            return None
        first = self.gpus_in_use[0]
        return Gpu(first["name"], tuple(first["compute_capability"]), first["memory_bytes"])

    @property
    def cpu(self) -> Cpu:
        """The CPU of the first run; there must have been one."""
        cpu = self.hardware["cpu"]
        return Cpu(cpu["name"], frozenset(cpu["features"]), cpu["cores"])

    def learn(self, config: Mapping[str, Any]) -> None:
        """Take in what ``config``, the config.json of a run, says of the machine."""
        self.hardware, self.versions = config["hardware"], config["versions"]
        self.gpus_in_use = config["hardware"]["gpus_in_use"]

    def note(self, text: str) -> bool:
        """Add a note, once; return whether it is new."""
        is_new = text not in self.notes
        if is_new:
            self.notes.append(text)
        return is_new

    def comparisons(self) -> list[Comparison]:
        """Return each arm against its baseline, with the reason where nothing was gained."""
        if not self.hardware:
            return compare.comparisons(self.runs)
        return [
            with_reason(each, reason(each, *self.evidence(each), self.gpu, self.cpu, os.environ))
            for each in compare.comparisons(self.runs)
        ]

    def evidence(self, comparison: Comparison) -> tuple[float | None, float | None, float | None]:
        """Return what may explain ``comparison``: step and floor in ms, share of input wait."""
        runs = [
            run
            for run in self.runs
            if (run.model, run.batch_size) == (comparison.model, comparison.batch_size)
        ]
        return (
            _median(runs, comparison.baseline, "step_ms"),
            self.overhead.get(comparison.model),
            # In the faster arm the loop waits for its input first.
            _median(runs, comparison.arm, "input_wait_share"),
        )

    def content(self, complete: bool) -> dict[str, Any]:
        """Return the content of bench.json; ``complete``: nothing is left to be run."""
        return {
            **{
                field.name: getattr(self, field.name)
                for field in dataclasses.fields(self)
                if field.name != "runs"
            },
            "complete": complete,
            "runs": [dataclasses.asdict(run) for run in self.runs],
            "results": [dataclasses.asdict(each) for each in compare.results(self.runs)],
            "comparisons": [dataclasses.asdict(each) for each in self.comparisons()],
        }


def _median(runs: Sequence[Run], arm: str, name: str) -> float | None:
    values = [getattr(run, name) for run in runs if run.arm == arm]
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def read(folder: Path) -> Record | None:
    """Return the record in ``folder``, None without one. Raises ``Mistake`` for a damaged one.

    Runs that failed are left out: the same command tries them again.
    """
    file = folder / RECORD
    try:
        content = json.loads(file.read_text("utf-8"))
        known = {field.name: content[field.name] for field in dataclasses.fields(Record)}
        check_kinds(known)
        known["runs"] = [Run(**run) for run in known["runs"] if not run["failed"]]
        return Record(**known)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise Mistake(
            f"--out={folder}: its {RECORD} cannot be read ({type(error).__name__}: {error}): "
            f"name a new folder"
        ) from error


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``environ`` on which the figures depend."""
    return {name: environ[name] for name in VARIABLES if name in environ}


def command(environ: Mapping[str, str], arguments: Sequence[str]) -> str:
    """Return the command line that measures the same, with its variables, for a shell."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in environment(environ).items()]
    return " ".join([*variables, "bench", *map(shlex.quote, arguments)])
