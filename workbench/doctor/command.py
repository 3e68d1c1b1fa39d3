"""``doctor``: this machine, a training's folder, or a log; and what to do."""

from __future__ import annotations

import json
import os
from typing import Any, Protocol, Sequence

from workbench import command, log
from workbench.doctor.findings import Finding
from workbench.doctor.manual import HELP_ENDING, HELP_HEADING
from workbench.doctor.settings import Settings, check_together
from workbench.errors import one_line, report_mistake


class Report(Protocol):
    """What was looked at: lines for a person, findings, and all of it for a machine."""

    findings: Sequence[Finding]
    lines: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON takes it."""


def main() -> int:
    """Read the command line and look; return the exit status."""
    command.end_quietly_on_interrupt()
    return report_mistake(
        lambda: command.run(doctor, Settings, HELP_HEADING, HELP_ENDING, check_together)
    )


def doctor(**given: Any) -> int:
    """Look at what the flags ``given`` name, print it, and return the exit status.

    Raises ``Mistake`` where a run or a log cannot be read.
    """
    settings = Settings(**given)
    report = _report(settings)
    if settings.json:
        # Names may hold bytes that are no UTF-8: ASCII with escapes can always be written.
        print(json.dumps(report.as_json(), indent=2))
    else:
        log.info("\n".join([*map(one_line, report.lines), *_shown(report.findings)]))
    return command.FAILURE_STATUS if any(each.level == "error" for each in report.findings) else 0


def _report(settings: Settings) -> Report:
    # Each of them loads what the others do not need.
    if settings.run is not None:
        from workbench.doctor import run_reader

        return run_reader.read(settings.run)
    if settings.log is not None:
        from workbench.doctor import log_reader

        return log_reader.read(settings.log)
    from workbench.doctor import machine_report

    return machine_report.look(os.environ, settings.deep)


def _shown(findings: Sequence[Finding]) -> list[str]:
    lines = []
    for finding in findings:
        lines += ["", f"{finding.level}: {finding.symptom} [{finding.id}]"]
        for name in ("evidence", "cause", "remedy", "source"):
            lines.append(f"  {name + ':':<10}{one_line(getattr(finding, name))}")
    return lines
