"""A run of train in a process of its own, which ends when the benchmark does."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Mapping

from workbench.flags import as_arguments
from workbench.settings import Settings

TRAIN = Path(__file__).resolve().parents[2] / "train.py"
# prctl(2): the signal that a process gets when the thread that started it ends.
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class Stopped(Exception):
    """The benchmark was told to stop; the run that was under way has been ended."""


class Trainer:
    """Runs train, one run at a time, until it is told to end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False

    def run(self, flags: Mapping[str, Any], log: Path) -> int:
        """Run train with ``flags``, its output in the file ``log``; return its exit status.

        The status is negative where a signal ended it. Raises ``Stopped`` after :meth:`end`,
        ``OSError`` where ``log`` cannot be written.
        """
        command = [sys.executable, str(TRAIN), *as_arguments(dict(flags), Settings)]
        with log.open("wb") as stream:
            with self._lock:
                if self._ended:
                    raise Stopped
                # In a session of its own: Ctrl-C on the terminal is for us alone.
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=_end_with_parent,
                )
            status = self._process.wait()
        with self._lock:
            self._process = None
            if self._ended:
                raise Stopped
        return status

    def end(self) -> None:
        """End the run that is under way, from another thread; no other one begins."""
        with self._lock:
            self._ended = True
            if self._process and self._process.poll() is None:
                # With all that it has started. Nothing of it is kept, so it need not save.
                os.killpg(self._process.pid, signal.SIGKILL)


def _end_with_parent() -> None:
    # Else a benchmark that is killed would leave its run behind, on the GPU.
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
