"""Standard output as a run may rely on: a training does not die with whoever reads it."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, TextIO

from workbench.log import warn


class SafeOutput:
    """A text stream that is given up, with a warning, when it can no longer be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """Leave all else to the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write ``text``; return the number of characters."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Hand over what is buffered."""
        self._try(self._stream.flush)

    def _try(self, action: Callable[[], Any]) -> None:
        try:
            action()
        except OSError as error:
            warn(f"standard output cannot be written ({error.strerror}): going on without it")
            # Also the original, which Python flushes once more on its way out.
            self._stream = sys.__stdout__ = _nowhere()


def make_output_safe() -> None:
    """Put :class:`SafeOutput` in place of standard output; closed streams take nothing."""
    sys.stderr = sys.stderr or _nowhere()
    stream = sys.stdout or _nowhere()
    for text in (stream, sys.stderr):
        # A file name may hold letters that the terminal's encoding does not have.
        text.reconfigure(errors="backslashreplace")
    sys.stdout = SafeOutput(stream)


def _nowhere() -> TextIO:
    return open(os.devnull, "w")
