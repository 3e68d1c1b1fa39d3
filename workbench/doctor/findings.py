"""A rule of the doctor, and what it found."""

from __future__ import annotations

from typing import NamedTuple

# What makes the exit status 1 is of level error. A warning costs time or will bite later; info
# is worth knowing.
LEVELS = ("error", "warning", "info")


class Rule(NamedTuple):
    """A fault that the doctor knows. All texts are one line.

    ``symptom`` is what a person sees, ``cause`` what is behind it, ``remedy`` what to do, with
    the command where there is one; ``source`` is the document or issue thread that says so.
    ``log`` are regular expressions for a line of a log that shows it, none where only the machine
    or a run can; of ``also``, where there are any, one must match another line of it too. Of two
    rules that match one log, the one that stands first in the table is nearer to the root.
    """

    id: str
    level: str
    symptom: str
    cause: str
    remedy: str
    source: str
    log: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


class Finding(NamedTuple):
    """A rule that applies, with the evidence seen: a value, a line of a log."""

    id: str
    level: str
    symptom: str
    evidence: str
    cause: str
    remedy: str
    source: str
