"""``doctor --run``: what a training's output folder tells, finished, failed, stopped or running."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from workbench.doctor import run_checks
from workbench.doctor.findings import LEVELS, Finding
from workbench.doctor.rules import RULES, found
from workbench.doctor.run_files import (
    SUMMARY,
    Run,
    number,
    read_run,
    seconds_left,
    steps_of,
    total_steps,
)
from workbench.errors import Mistake
from workbench.run_folder import CLAIM, CONFIG
from workbench.verdicts import VERDICTS

# How a run ends that did what it was asked for.
GOOD_ENDS = ("finished", "early_stopping")


class RunReport(NamedTuple):
    """What a run's folder tells: ``state`` in a word, ``lines`` for a person, the findings."""

    folder: str
    state: str
    lines: list[str]
    findings: list[Finding]

    def as_json(self) -> dict[str, Any]:
        """The report for a machine."""
        return {
            "run": self.folder,
            "state": self.state,
            "summary": self.lines,
            "findings": [finding._asdict() for finding in self.findings],
        }


def read(folder: str) -> RunReport:
    """Read the run in ``folder``. Changes nothing in it; it may still run.

    Raises ``Mistake`` where there is no run.
    """
    path = Path(os.path.abspath(os.path.expanduser(folder)))
    try:
        run = read_run(path)
    except OSError as error:
        raise Mistake(
            f"--run={folder} cannot be read ({error.strerror}): name the output folder of a "
            f"training"
        ) from error
    ended = run.summary.get("stopped_because")
    ended = ended if isinstance(ended, str) else None
    state = _state(run, ended)
    findings = [found("run_file_damaged", text) for text in run.damage]
    findings += _findings_of_end(run, state, ended)
    findings += [
        found(rule_id, evidence)
        for rule_id, check in run_checks.CHECKS.items()
        for evidence in [check(run)]
        if evidence
    ]
    order = list(RULES)
    findings.sort(key=lambda finding: (LEVELS.index(finding.level), order.index(finding.id)))
    return RunReport(str(path), state, [f"run: {path}", *_lines(run, state, ended)], findings)


def _state(run: Run, ended: str | None) -> str:
    if run.running:
        return "running"
    last = run.last_step
    if ended is None or (last is not None and last > steps_of(run.summary)):
        # A summary that is older than the last line is that of an earlier process.
        return "killed" if run.config or run.windows else "not started"
    if ended in GOOD_ENDS:
        return ended
    return "failed" if ended in VERDICTS else "stopped"


def _findings_of_end(run: Run, state: str, ended: str | None) -> list[Finding]:
    if state == "failed":
        return [found(f"verdict_{ended}", f"{SUMMARY}: stopped_because is {ended}; {_place(run)}")]
    if state == "stopped":
        return [found("run_stopped", f"{SUMMARY}: stopped_because is {ended}; {_place(run)}")]
    if state == "killed":
        return [found("run_killed", f"no {SUMMARY} of its end; {_place(run)}")]
    if state == "not started":
        return [found("run_before_its_start", f"no {CONFIG}")]
    return []


def _place(run: Run) -> str:
    if not run.windows:
        return f"{CLAIM} has no line"
    last = run.windows[-1]
    return f"the last line of {CLAIM} is step {last['step']}, epoch {last.get('epoch')}"


def _lines(run: Run, state: str, ended: str | None) -> list[str]:
    lines = [f"state: {state}" + (f" ({ended})" if state in ("failed", "stopped") else "")]
    if run.config:
        lines.append(f"policy: {run.config.get('policy')} ({run.config.get('policy_reason')})")
    lines += _progress(run)
    if run.running:
        lines += _time_left(run)
    elif state in ("killed", "stopped", "failed"):
        known = f"checkpoint ckpt-{run.checkpoints[-1]}" if run.checkpoints else "no checkpoint"
        ways = "the same command goes on from it" if run.checkpoints else "it begins anew"
        lines.append(f"resume: {known}; {ways}")
    return lines


def _progress(run: Run) -> list[str]:
    if not run.windows:
        return ["progress: no step is logged yet"]
    last = run.windows[-1]
    epochs, total = run.flag("epochs"), total_steps(run)
    of_total = f" of {total}" if total else ""
    values = [
        f"{name} {value:.4g}"
        for name in ("loss", "accuracy", "images_per_second")
        for value in [number(last, name)]
        if value is not None
    ]
    where = f"progress: epoch {last.get('epoch')} of {epochs}, step {last['step']}{of_total}"
    return [where, f"last window: {', '.join(values) or 'no step applied'}"]


def _time_left(run: Run) -> list[str]:
    seconds = seconds_left(run)
    if seconds is None:
        return []
    hours, minutes = divmod(round(seconds / 60), 60)
    return [f"time left: about {f'{hours} h ' if hours else ''}{minutes} min"]
