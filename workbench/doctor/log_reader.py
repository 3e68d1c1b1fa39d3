"""``doctor --log``: which rules of the table a pasted log or traceback shows, the root first."""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from typing import Any, NamedTuple, Sequence

from workbench.doctor import log_text
from workbench.doctor.findings import LEVELS, Finding, Rule
from workbench.doctor.rules import RULES, found

# What a line of evidence may have, around what was found in it.
EVIDENCE_LETTERS = 240
# Faults with which a program goes on, on the CPU: an exception beside them has another cause.
LEAVE_THE_CPU = frozenset(
    {
        "gpu_not_in_container",
        "no_cuda_device",
        "gpu_too_old",
        "cudart_missing",
        "cuda_library_missing",
        "cudnn_missing",
        "gpu_libraries_skipped",
    }
)
# A line that looks like an error: the last line of a Python traceback, or else one with such words.
EXCEPTION = re.compile(r"^\s*(?:\w+\.)*\w*(?:Error|Exception)(?::|$)")
ERROR_WORDS = re.compile(
    # TensorFlow's own notices and warnings are told by rules, or are none.
    r"(?i)^(?!.*\b[IW] (?:tensorflow|external)/)"
    r".*\b(?:error|fatal|failed|failure|panic|abort(?:ed)?|denied|refused|cannot|can't|"
    r"could not|unable to)\b(?!:? *[-\d])"
)


class LogReport(NamedTuple):
    """What a log shows: the findings, the root first, and how much of it was read."""

    source: str
    line_count: int
    left_out: int
    findings: list[Finding]

    @property
    def lines(self) -> list[str]:
        """The summary for a person, line by line."""
        name = "standard input" if self.source == "-" else self.source
        lines = [f"log: {name}, {self.line_count} lines"]
        if self.left_out:
            lines.append(f"left out: {self.left_out} lines in its middle")
        if not self.findings:
            lines.append("no rule of the doctor fits it, and no line of it looks like an error")
        elif all(finding.level == "info" for finding in self.findings):
            lines.append("only harmless lines in it; if something went wrong, give the whole log")
        elif self.findings[0].id == "unknown_error":
            lines.append("no rule of the doctor fits its error")
        return lines

    def as_json(self) -> dict[str, Any]:
        """The report for a machine."""
        return {
            "log": self.source,
            "lines": self.line_count,
            "left_out": self.left_out,
            "findings": [finding._asdict() for finding in self.findings],
        }


def read(source: str) -> LogReport:
    """Search the log in the file ``source``, or on standard input where it is ``-``.

    The findings are ordered by level, and in a level as the table is: the root of a fault before
    what follows from it. Harmless lines are named only where there is nothing else. Raises
    ``Mistake`` where there is no log to be read.
    """
    log = log_text.read(source)
    text = "\n".join(line for _, line in log.lines)
    starts = [0, *itertools.accumulate(len(line) + 1 for _, line in log.lines)]

    def evidence(place: int) -> str:
        index = bisect.bisect_right(starts, place) - 1
        number, line = log.lines[index]
        return f"line {number}: {_around(line, place - starts[index])}"

    shown: dict[str, Finding] = {}
    for rule in sorted(RULES.values(), key=lambda rule: LEVELS.index(rule.level)):
        place = _first_place(rule, text)
        if place is not None:
            finding = found(rule.id, evidence(place))
            # What a line shows by its particular words it does not show by its general ones too.
            shown.setdefault(finding.evidence.partition(":")[0], finding)
    findings = list(shown.values())
    errors = [finding.id for finding in findings if finding.level == "error"]
    if LEAVE_THE_CPU.issuperset(errors):
        place = _error_place(text, [RULES[finding.id] for finding in findings])
        if place is not None:
            findings.insert(len(errors), found("unknown_error", evidence(place)))
    if any(finding.level != "info" for finding in findings):
        findings = [finding for finding in findings if finding.level != "info"]
    return LogReport(source, log.line_count, log.left_out, findings)


def _first_place(rule: Rule, text: str) -> int | None:
    """Return where in ``text`` the first line stands that shows the rule, or None."""
    if rule.also and not any(_compiled(pattern).search(text) for pattern in rule.also):
        return None
    matches = (_compiled(pattern).search(text) for pattern in rule.log)
    return min((match.start() for match in matches if match), default=None)


def _error_place(text: str, known: Sequence[Rule]) -> int | None:
    """Return where the last line stands that looks like an error, or None.

    Not one that shows a rule of ``known``; beside these, an exception only.
    """
    signs = (EXCEPTION,) if known and known[0].level == "error" else (EXCEPTION, ERROR_WORDS)
    patterns = [_compiled(pattern) for rule in known for pattern in rule.log]
    places: dict[re.Pattern[str], int] = {}
    start = 0
    for line in text.split("\n"):
        for sign in signs:
            match = sign.search(line)
            if match and not any(pattern.search(line) for pattern in patterns):
                places[sign] = start + match.start()
        start += len(line) + 1
    return places.get(EXCEPTION, places.get(ERROR_WORDS))


@functools.lru_cache(maxsize=None)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Python's own cache holds fewer than the table has.
    return re.compile(pattern, re.MULTILINE)


def _around(line: str, place: int) -> str:
    """Return ``line``, or where it is long the part of it around ``place``."""
    if len(line) <= EVIDENCE_LETTERS:
        return line.strip()
    start = max(0, place - EVIDENCE_LETTERS // 4)
    part = line[start : start + EVIDENCE_LETTERS].strip()
    return f"{'… ' if start else ''}{part}{' …' if start + EVIDENCE_LETTERS < len(line) else ''}"
