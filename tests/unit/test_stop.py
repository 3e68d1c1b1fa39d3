"""Signals: the program ends at once while there is nothing to save, and is told after that."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from conftest import ROOT

SIGNALLED = """
import os, sys, threading
from workbench.stop import StopRequest

class Flag:
    def __init__(self): self.set = threading.Event()
    def assign(self, value): self.set.set()

stop, flag = StopRequest(), Flag()
stop.listen()
if sys.argv[1] == 'running':
    stop.save_first(flag)
os.kill(os.getpid(), int(sys.argv[2]))
flag.set.wait(60)
print(stop.signal.name)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal(number):
    def signalled(phase):
        return subprocess.run(
            [sys.executable, "-c", SIGNALLED, phase, str(int(number))],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    before = signalled("nothing to save yet")
    assert (before.returncode, before.stdout, before.stderr) == (128 + number, "", "")
    running = signalled("running")
    assert (running.returncode, running.stdout, running.stderr) == (0, f"{number.name}\n", "")
