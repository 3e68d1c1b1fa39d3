"""`docker run tf29-workbench train …` on real MNIST."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import IMAGE, assert_mistake, docker_run, wait_until

SCORE = """
import json, sys, numpy as np, tensorflow as tf
data = np.load('/opt/workbench/datasets/mnist.npz')
images, labels = data['x_test'].reshape(-1, 784).astype('float32') / 255, data['y_test']
serve = tf.saved_model.load('/workspace/r/model').signatures['serving_default']
(name, given), = serve.structured_input_signature[1].items()
(answer,) = serve(**{name: tf.constant(images)}).values()
print(json.dumps({'dtype': answer.dtype.name, 'given': given.dtype.name,
                  'accuracy': float(np.mean(np.argmax(answer, 1) == labels)),
                  'sums': float(np.abs(np.sum(answer, 1) - 1).max())}))
"""
SUMMARY = {
    "policy", "epochs", "applied_steps", "skipped_steps", "resumed_from_step", "seconds_per_epoch",
    "images_per_second", "input", "input_wait_share", "peak_memory_bytes", "train_loss",
    "train_accuracy", "val_loss", "val_accuracy", "accuracy_gap", "gap_opened_in_epoch",
    "best_epoch", "stopped_because",
}  # fmt: skip
METRICS = {
    "step", "epoch", "loss", "accuracy", "learning_rate", "grad_norm", "loss_scale",
    "applied_steps", "skipped_steps", "images_per_second", "seconds",
}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path):
    """A folder of this machine as /workspace, for the user of the container."""
    os.chown(tmp_path, 1000, 1000)
    return tmp_path


def train(workspace: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return docker_run("-v", f"{workspace}:/workspace", IMAGE, *flags)


def read(workspace: Path, name: str) -> dict:
    return json.loads((workspace / "r" / name).read_text())


def test_mean_accuracy_of_three_seeds(workspace: Path) -> None:
    accuracies = []
    for seed in range(3):
        flags = ("train", "--epochs=5", f"--seed={seed}", f"--out=/workspace/{seed}/r")
        result = train(workspace, *flags)
        assert result.returncode == 0, result.stderr
        assert re.search(r"^policy: \w+ \(.+\)$", result.stdout, re.MULTILINE), result.stdout
        summary = read(workspace / str(seed), "summary.json")
        assert set(summary) == SUMMARY
        assert (summary["applied_steps"], summary["skipped_steps"]) == (2345, 0)
        assert (summary["epochs"], len(summary["seconds_per_epoch"])) == (5, 5)
        assert summary["resumed_from_step"] is None
        accuracies.append(summary["val_accuracy"])
    assert sum(accuracies) / 3 >= 0.976, accuracies
    assert min(accuracies) >= 0.972, accuracies
    lines = (workspace / "0" / "r" / "metrics.jsonl").read_text().splitlines()
    assert all(set(json.loads(line)) == METRICS for line in lines)
    assert json.loads(lines[-1])["step"] == 2345
    config = read(workspace / "0", "config.json")
    assert config["policy"] == summary["policy"]
    assert config["policy_reason"] in result.stdout
    assert config["flags"]["epochs"] == 5
    # The SavedModel scores the test set the same.
    mount = f"{workspace / '0'}:/workspace"
    score = json.loads(docker_run("-v", mount, IMAGE, "python", "-c", SCORE).stdout)
    assert (score["given"], score["dtype"]) == ("float32", "float32")
    assert score["accuracy"] == pytest.approx(accuracies[0], abs=1e-9)
    assert score["sums"] < 1e-5


def test_a_run_without_a_volume_is_warned_about() -> None:
    result = docker_run(IMAGE, "--epochs=1", "--train_samples=256")
    assert result.returncode == 0
    warning = (
        "warning: /workspace is on no volume: what is written there is lost with the container"
    )
    assert warning in result.stderr


def test_flags_alone_are_the_same_program(workspace: Path) -> None:
    result = train(workspace, "--epochs=1", "--out=/workspace/r")
    assert result.returncode == 0, result.stderr
    assert read(workspace, "summary.json")["applied_steps"] == 469


def test_mixed_float16_on_the_cpu(workspace: Path) -> None:
    flags = ("--policy=mixed_float16", "--train_samples=2048", "--epochs=1", "--out=/workspace/r")
    result = train(workspace, "train", *flags)
    assert result.returncode == 0, result.stderr
    assert "hundred times slower" in result.stderr
    summary = read(workspace, "summary.json")
    assert summary["policy"] == "mixed_float16"
    assert summary["applied_steps"] + summary["skipped_steps"] == 16
    last = json.loads((workspace / "r" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["loss_scale"] in {32768 / 2**n for n in range(16)}


MISTAKES = [
    (["--no_such_flag=1"], ["no_such_flag"]),
    (["--epoch=5"], ["epoch", "epochs"]),
    (["--epochs=0"], ["epochs", "0"]),
    (["--epochs=five"], ["epochs", "five"]),
    (["--policy=fp16"], ["policy", "fp16", "mixed_float16"]),
    (["--batch_size=-1"], ["batch_size", "-1"]),
    (["--model=resnet9000"], ["model", "resnet9000"]),
    (["--out=/workspace/file/r"], ["/workspace/file"]),
    (["--out=/workspace/file"], ["/workspace/file"]),
]


@pytest.mark.parametrize(("flags", "words"), MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
@pytest.mark.parametrize("alone", [False, True], ids=["train", "flags alone"])
def test_mistake(workspace: Path, flags: list[str], words: list[str], alone: bool) -> None:
    (workspace / "file").touch()
    result = train(workspace, *([] if alone else ["train"]), *flags)
    assert_mistake(result, *words)
    assert [path.name for path in workspace.iterdir()] == ["file"]


@pytest.mark.soak
def test_stop_saves(start, workspace: Path) -> None:
    flags = ("train", "--epochs=500", "--out=/workspace/r")
    workbench = start(*flags, volumes={str(workspace): {"bind": "/workspace"}})
    for line in workbench.container.logs(stream=True):
        if b"loss" in line:
            break
    workbench.container.stop()
    assert workbench.ended() == 143
    assert read(workspace, "summary.json")["stopped_because"] == "SIGTERM"
    assert (workspace / "r" / "model" / "saved_model.pb").exists()
    done = read(workspace, "summary.json")["applied_steps"]
    # The same command goes on where it was stopped; more epochs may be asked for, or fewer.
    epochs = done // 469 + 1
    result = train(workspace, "train", f"--epochs={epochs}", "--out=/workspace/r")
    assert result.returncode == 0, result.stderr
    summary = read(workspace, "summary.json")
    assert summary["resumed_from_step"] == done
    assert summary["applied_steps"] == epochs * 469
    assert summary["stopped_because"] == "finished"


@pytest.mark.soak
def test_stop_within_a_second_when_an_epoch_is_one_graph_call(start, workspace: Path) -> None:
    flags = ("train", "--epochs=500", "--batch_size=8", "--log_steps=1000000", "--out=/workspace/r")
    workbench = start(*flags, volumes={str(workspace): {"bind": "/workspace"}})
    config = workspace / "r" / "config.json"
    wait_until(config.exists, 60, "the run has begun")
    workbench.container.kill("TERM")
    assert workbench.ended(10) == 143
    assert read(workspace, "summary.json")["stopped_because"] == "SIGTERM"
    assert list((workspace / "r" / "checkpoints").glob("ckpt-*.index"))
