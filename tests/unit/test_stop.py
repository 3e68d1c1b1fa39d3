"""Signals: the program ends at once while there is nothing to save, and is told after that."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from conftest import ROOT

SIGNALLED = """
import os, signal, sys, threading
from workbench import stop
phase, number = sys.argv[1], int(sys.argv[2])
# A second signal comes at once, or after any patience.
stop.PATIENCE_S = -1.0 if phase == 'not answered' else 1000.0
request, asked = stop.StopRequest(), threading.Semaphore(0)
request.listen()
if phase != 'nothing to save yet':
    request.save_first(asked.release)
for _ in range(2):
    os.kill(os.getpid(), number)
    assert asked.acquire(timeout=20), 'the signal was not heard'
print(request.signal.name)
"""


def signalled(phase, number):
    result = subprocess.run(
        [sys.executable, "-c", SIGNALLED, phase, str(int(number))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal(number):
    assert signalled("nothing to save yet", number) == (128 + number, "", "")
    # A second one at once changes nothing; one after a while does not wait any longer.
    assert signalled("running", number) == (0, f"{number.name}\n", "")
    assert signalled("not answered", number) == (128 + number, "", "")


OTHERS = """
import os, signal, threading
from workbench.stop import StopRequest
signal.signal(signal.SIGHUP, signal.SIG_IGN)
request, seen, asked = StopRequest(), [], threading.Semaphore(0)
request.listen()
request.save_first(asked.release)
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
# The last one is ours: what came before it has been heard when it is.
for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM):
    os.kill(os.getpid(), number)
assert asked.acquire(timeout=20)
print(request.signal.name, asked.acquire(blocking=False), len(seen))
"""


def test_signals_that_are_not_ours():
    # One that the user's code handles, and one that was ignored before, as nohup does it.
    result = subprocess.run(
        [sys.executable, "-c", OTHERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "SIGTERM False 1\n", "")
