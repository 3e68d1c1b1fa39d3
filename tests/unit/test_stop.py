"""Signals: the program ends at once while there is nothing to save, and is told after that."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from conftest import ROOT

SIGNALLED = """
import os, signal, sys, threading, time
from workbench import stop
stop.PATIENCE_S = 0.5
request, asked = stop.StopRequest(), threading.Event()
request.listen()
phase, number = sys.argv[1], int(sys.argv[2])
if phase != 'nothing to save yet':
    request.save_first(asked.set)
os.kill(os.getpid(), number)
asked.wait(20)
os.kill(os.getpid(), number)
time.sleep(0.1)
if phase == 'not answered':
    time.sleep(0.6)
    os.kill(os.getpid(), number)
    time.sleep(20)
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
import os, signal, time
from workbench.stop import StopRequest
signal.signal(signal.SIGHUP, signal.SIG_IGN)
request, seen = StopRequest(), []
request.listen()
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
for number in (signal.SIGUSR1, signal.SIGHUP):
    os.kill(os.getpid(), number)
    time.sleep(0.1)
print(request.signal, len(seen))
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
    assert (result.returncode, result.stdout, result.stderr) == (0, "None 1\n", "")
