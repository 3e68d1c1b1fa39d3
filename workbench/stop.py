"""Signals as a flag that the graph reads, so that a long graph call ends early."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any, Callable

# SIGHUP is what a lost terminal sends: an SSH session that broke off.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# A logout may send two of them at once; whoever asks again after this time means it.
PATIENCE_S = 2.0


class StopRequest:
    """Waits for a signal in a thread of its own.

    A Python signal handler runs only when the main thread leaves the graph call. The wake-up
    descriptor is written by the handler in C, so a thread can act while the call still runs.
    Until :meth:`save_first` there is nothing to save: a signal ends the program at once. So
    does another one that comes later than ``PATIENCE_S``: what is to end hangs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._signal: signal.Signals | None = None
        self._ask: Callable[[], Any] | None = None

    def listen(self) -> None:
        """Take over these signals; call once, from the main thread.

        A signal that is ignored already stays ignored: a shell does that for background jobs.
        """
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer)
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                # The wake-up descriptor is written only for signals with a handler.
                signal.signal(number, lambda *_: None)
        threading.Thread(target=self._watch, args=(reader,), daemon=True).start()

    def save_first(self, ask: Callable[[], Any]) -> None:
        """From now on a signal calls ``ask``, from another thread, instead of exiting."""
        with self._lock:
            self._ask = ask

    def last_word(self) -> signal.Signals | None:
        """Return the signal that asked to stop, or None; later ones change nothing any more."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        return self._signal

    @property
    def signal(self) -> signal.Signals | None:
        """The signal that asked to stop, or None."""
        return self._signal

    def _watch(self, reader: int) -> None:
        asked_at = None
        while True:
            number = os.read(reader, 1)[0]
            # A user's code may have handlers for other signals.
            if number not in SIGNALS:
                continue
            with self._lock:
                late = asked_at is not None and time.monotonic() - asked_at > PATIENCE_S
                if self._ask is None or late:
                    os._exit(exit_status(number))
                self._signal = self._signal or signal.Signals(number)
                asked_at = asked_at or time.monotonic()
                self._ask()


def exit_status(number: int) -> int:
    """Return the exit status of a program ended by signal ``number``: 143 for SIGTERM."""
    return 128 + number
