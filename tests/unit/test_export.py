"""The saved model: in spite of leftovers, and within the time that a stop leaves."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
import tensorflow as tf

from conftest import ROOT, environment, read_json, tensors

USER = ROOT / "tests" / "unit" / "user_models.py"
FLAGS = (f"--model={USER}:tiny", "--policy=float32", "--train_samples=256", "--batch_size=32")


@pytest.mark.parametrize("leftover", ["model.tmp", "model.old"])
def test_what_a_killed_program_left_is_no_obstacle(trainer, leftover):
    assert trainer(*FLAGS, "--epochs=1") == 0
    (trainer.out / leftover / "variables").mkdir(parents=True)
    (trainer.out / leftover / "saved_model.pb").write_text("half")
    assert trainer(*FLAGS, "--epochs=2") == 0
    assert trainer.stderr == ""
    assert [path.name for path in trainer.out.glob("model*")] == ["model"]
    model = tf.keras.models.load_model(trainer.out / "model", compile=False)
    kernel = "model/layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE"
    assert (model.get_weights()[0] == tensors(trainer.out)[kernel]).all()


SLOW = """
import sys, time
import train
from workbench import export
from workbench.errors import report_mistake
export.QUICKLY_S = 0.2
export.save_model = lambda parts, folder: time.sleep(60)
sys.exit(report_mistake(train.main))
"""


def test_a_model_that_takes_too_long_at_a_stop_is_given_up(tmp_path, small_datasets):
    out = tmp_path / "run"
    program = subprocess.Popen(
        [sys.executable, "-c", SLOW, *FLAGS, "--epochs=100000", f"--out={out}"],
        env=environment(small_datasets, PYTHONPATH=str(ROOT)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in program.stdout:
        if line.startswith("epoch 3/"):
            break
    program.send_signal(signal.SIGTERM)
    told, errors = program.communicate(timeout=20)
    assert program.returncode == 143
    assert errors == ("warning: there was no time to save the model: its checkpoint is saved\n")
    assert "stopped: SIGTERM\n" in told
    summary = read_json(out / "summary.json")
    assert summary["stopped_because"] == "SIGTERM"
    saved = tensors(out)["applied_steps/.ATTRIBUTES/VARIABLE_VALUE"]
    assert saved == summary["applied_steps"] >= 24
    assert not list(out.glob("model*"))


FULL = """
import sys
import train
from workbench import run_folder
from workbench.errors import report_mistake
claim = run_folder.claim_folder
run_folder.claim_folder = lambda path, named: (claim(path, named=named)[0], open("/dev/full", "a"))
sys.exit(report_mistake(train.main))
"""


def test_a_log_on_a_full_disk_ends_with_the_verdict_alone(tmp_path, small_datasets):
    out = tmp_path / "run"
    result = subprocess.run(
        [sys.executable, "-c", FULL, *FLAGS, "--epochs=1", f"--out={out}"],
        env=environment(small_datasets, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    (line,) = result.stderr.splitlines()
    assert (result.returncode, line[:29]) == (1, "failed: the disk is full (the")
    assert read_json(out / "summary.json")["stopped_because"] == "disk_full"
