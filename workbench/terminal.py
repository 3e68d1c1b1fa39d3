"""Standard output as a run may rely on: it fails with a verdict, never with a traceback."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO

from workbench.verdicts import Failure


class CheckedOutput:
    """A text stream that raises ``Failure`` when it cannot be written any more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # A file name may hold letters that the terminal's encoding does not have.
        stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        """Leave all else to the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write ``text``; return the number of characters."""
        with _verdict():
            return self._stream.write(text)

    def flush(self) -> None:
        """Hand over what is buffered."""
        with _verdict():
            self._stream.flush()


def check_output() -> None:
    """Put :class:`CheckedOutput` in place of standard output; closed streams take nothing."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for the whole run)
    sys.stderr.reconfigure(errors="backslashreplace")
    stream = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stdout = CheckedOutput(stream)


def give_up_output() -> None:
    """Let nothing more be written: Python would complain once more on its way out."""
    sys.stdout = sys.__stdout__ = open(os.devnull, "w")  # noqa: SIM115


@contextlib.contextmanager
def _verdict() -> Any:
    try:
        yield
    except OSError as error:
        raise Failure("output_closed", error.strerror or str(error)) from error
