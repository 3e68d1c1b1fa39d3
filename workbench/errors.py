"""The one error type for a user's mistake, and the one place that reports it."""

import sys
from typing import Callable

MISTAKE_STATUS = 2


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
        print(f"error: {' '.join(str(mistake).split())}", file=sys.stderr)
        return MISTAKE_STATUS
