"""One way to speak for every Python program of the image."""

import sys


def info(text: str) -> None:
    """Print a step on standard output, at once."""
    print(text, flush=True)


def warn(text: str) -> None:
    """Print what needs a person's eye on standard error, at once."""
    print(f"warning: {text}", file=sys.stderr, flush=True)
