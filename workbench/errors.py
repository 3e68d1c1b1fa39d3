"""The one error type for a user's mistake, and the one place that reports it."""

import sys
from typing import Callable

MISTAKE_STATUS = 2
# A value may be quoted in the line, and values may be of any length.
LONGEST_LINE = 600


class Mistake(Exception):
    """A user's mistake; its text is one line: what was seen, and what to do."""


def report_mistake(main: Callable[[], int]) -> int:
    """Run ``main``; turn a ``Mistake`` into one line on stderr and status 2.

    Returns the exit status: what ``main`` returned, or 2 after a mistake.
    Every other exception passes through: it is a fault of ours.
    """
    try:
        return main()
    except Mistake as mistake:
        print(f"error: {one_line(str(mistake))}", file=sys.stderr)
        return MISTAKE_STATUS


def one_line(text: str) -> str:
    """Return ``text`` as one printable line of bearable length, its middle left out if need be."""
    line = "".join(
        letter if letter.isprintable() else ascii(letter)[1:-1] for letter in " ".join(text.split())
    )
    if len(line) <= LONGEST_LINE:
        return line
    half = LONGEST_LINE // 2
    return f"{line[:half]} … {line[-half:]}"
