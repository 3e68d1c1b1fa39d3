"""Whole runs of the command: what they leave, and how they end."""

from __future__ import annotations

import dataclasses
import os
import pty
import re
import signal
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from conftest import SMALL_TEST, environment, read_json, read_lines, run_train, train_command
from workbench import run_folder
from workbench.errors import Mistake
from workbench.settings import Settings

METRICS = {
    "step",
    "epoch",
    "loss",
    "accuracy",
    "learning_rate",
    "grad_norm",
    "loss_scale",
    "applied_steps",
    "skipped_steps",
    "images_per_second",
    "seconds",
}
SUMMARY = {
    "policy",
    "epochs",
    "applied_steps",
    "skipped_steps",
    "resumed_from_step",
    "seconds_per_epoch",
    "images_per_second",
    "input",
    "input_wait_share",
    "peak_memory_bytes",
    "train_loss",
    "train_accuracy",
    "val_loss",
    "val_accuracy",
    "accuracy_gap",
    "gap_opened_in_epoch",
    "best_epoch",
    "stopped_because",
}


def finished(tmp_path_factory, datasets, *flags):
    """Run the trainer to its end; return the result and the output folder."""
    out = tmp_path_factory.mktemp("runs") / "deep" / "run"
    result = run_train(*flags, f"--out={out}", datasets=datasets)
    assert result.returncode == 0, result.stderr
    return result, out


@pytest.fixture(scope="module")
def float32_run(tmp_path_factory, small_datasets):
    flags = ("--policy=float32", "--epochs", "3", "--log_steps=10", "--batch-size=100")
    return finished(tmp_path_factory, small_datasets, *flags)


@pytest.fixture(scope="module")
def float16_run(tmp_path_factory, small_datasets):
    return finished(tmp_path_factory, small_datasets, "--policy=mixed_float16", "--epochs=1")


def served(out, mnist):
    """The SavedModel's probabilities for the small test set."""
    serve = tf.saved_model.load(str(out / "model")).signatures["serving_default"]
    assert serve.structured_input_signature[1]["inputs"].shape.as_list() == [None, 784]
    assert serve.structured_input_signature[1]["inputs"].dtype == tf.float32
    images = mnist["x_test"][:SMALL_TEST].reshape(-1, 784).astype(np.float32) / 255
    probabilities = serve(inputs=tf.constant(images))["probabilities"]
    assert probabilities.dtype == tf.float32
    np.testing.assert_allclose(np.sum(probabilities, axis=1), 1, atol=1e-5)
    return probabilities.numpy()


def test_what_a_run_leaves(float32_run):
    result, out = float32_run
    assert result.stderr == ""
    assert sorted(path.name for path in out.iterdir()) == [
        "checkpoints",
        "config.json",
        "metrics.jsonl",
        "model",
        "summary.json",
        "tensorboard",
    ]
    for kind in ("train", "validation"):
        (events,) = (out / "tensorboard" / kind).iterdir()
        assert events.stat().st_size > 200


def test_summary(float32_run):
    summary = read_json(float32_run[1] / "summary.json")
    assert set(summary) == SUMMARY
    assert summary["policy"] == "float32"
    assert summary["epochs"] == 3
    assert (summary["applied_steps"], summary["skipped_steps"]) == (63, 0)
    assert summary["resumed_from_step"] is None
    assert (summary["input"], summary["stopped_because"]) == ("device", "finished")
    assert 0 <= summary["input_wait_share"] < 0.2
    assert summary["peak_memory_bytes"] > 100 * 2**20
    seconds = summary["seconds_per_epoch"]
    assert len(seconds) == 3
    assert summary["images_per_second"] == pytest.approx(2 * 2048 / sum(seconds[1:]))
    assert summary["val_accuracy"] > 0.8
    assert summary["train_accuracy"] > 0.85
    assert 0 < summary["train_loss"] < summary["val_loss"] < 1


def test_metrics(float32_run):
    lines = read_lines(float32_run[1] / "metrics.jsonl")
    assert all(set(line) == METRICS for line in lines)
    # 2048 images in batches of 100 are 21 steps; a window ends with its epoch.
    assert [line["step"] for line in lines] == [10, 20, 21, 31, 41, 42, 52, 62, 63]
    assert [line["epoch"] for line in lines] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert all(line["applied_steps"] == line["step"] for line in lines)
    assert all(line["loss_scale"] == 1 for line in lines)
    assert [line["learning_rate"] for line in lines] == pytest.approx([0.001] * 9)
    assert lines[0]["loss"] > lines[-1]["loss"] > 0
    assert all(0 < line["grad_norm"] < 100 for line in lines)
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)


def test_config(float32_run):
    result, out = float32_run
    config = read_json(out / "config.json")
    assert config["flags"] == {
        **dataclasses.asdict(Settings()),
        "policy": "float32",
        "epochs": 3,
        "batch_size": 100,
        "log_steps": 10,
        "out": str(out),
    }
    assert (config["data"]["train_examples"], config["data"]["val_examples"]) == (2048, SMALL_TEST)
    assert config["data"]["classes"] == 10
    assert config["model"] == {"name": "mlp", "weights": 535818, "output": "probabilities"}
    assert config["policy"] == "float32"
    assert config["policy_reason"] == "asked for by --policy=float32"
    assert config["versions"]["tensorflow"].startswith("2.9.")
    assert config["hardware"]["cpu"]["cores"] >= 1
    assert f"policy: float32 ({config['policy_reason']})" in result.stdout
    assert str(out) in result.stdout


def test_progress_away_from_a_terminal_is_lines(float32_run):
    result, _ = float32_run
    assert "\r" not in result.stdout
    assert "\b" not in result.stdout
    epochs = [line for line in result.stdout.splitlines() if line.startswith("epoch ")]
    assert [line.split("  ")[0] for line in epochs] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert "val_accuracy" in epochs[-1]
    assert "63 applied, 0 skipped" in result.stdout


def test_saved_model_scores_as_the_summary_says(float32_run, mnist):
    _, out = float32_run
    accuracy = np.mean(np.argmax(served(out, mnist), 1) == mnist["y_test"][:SMALL_TEST])
    assert accuracy == read_json(out / "summary.json")["val_accuracy"]


def test_mixed_float16(float16_run, mnist):
    result, out = float16_run
    assert result.stderr.count("\n") == 1
    assert "hundred times slower" in result.stderr
    summary, config = read_json(out / "summary.json"), read_json(out / "config.json")
    assert (summary["policy"], summary["applied_steps"]) == ("mixed_float16", 16)
    assert summary["skipped_steps"] == 0
    assert [layer["compute_dtype"] for layer in config["layers"]] == [
        "float16",
        "float16",
        "float32",
    ]
    assert {layer["variable_dtype"] for layer in config["layers"]} == {"float32"}
    assert config["optimizer"] == {
        "class": "LossScaleOptimizer",
        "inner_class": "Adam",
        "loss_scale": "dynamic",
        "initial_scale": 32768,
        "growth_steps": 2000,
    }
    (line,) = read_lines(out / "metrics.jsonl")
    assert line["loss_scale"] == 32768
    model = tf.keras.models.load_model(out / "model")
    assert [layer.compute_dtype for layer in model.layers] == ["float16", "float16", "float32"]
    assert {variable.dtype for variable in model.variables} == {tf.float32}
    accuracy = np.mean(np.argmax(served(out, mnist), 1) == mnist["y_test"][:SMALL_TEST])
    assert accuracy == pytest.approx(summary["val_accuracy"], abs=1 / SMALL_TEST)


def test_mixed_float16_follows_float32(float16_run, tmp_path_factory, small_datasets):
    _, plain = finished(tmp_path_factory, small_datasets, "--policy=float32", "--epochs=1")
    half, full = (read_lines(out / "metrics.jsonl")[0] for out in (float16_run[1], plain))
    assert half["loss"] == pytest.approx(full["loss"], rel=0.01)
    assert half["grad_norm"] == pytest.approx(full["grad_norm"], rel=0.01)


def test_mixed_bfloat16_and_an_empty_folder(tmp_path, small_datasets):
    flags = ("--policy=mixed_bfloat16", "--epochs=1", f"--out={tmp_path}")
    result = run_train(*flags, datasets=small_datasets)
    assert (result.returncode, result.stderr) == (0, "")
    summary = read_json(tmp_path / "summary.json")
    assert (summary["policy"], summary["applied_steps"]) == ("mixed_bfloat16", 16)
    assert summary["val_accuracy"] > 0.7


def test_auto_warns_of_flags_it_leaves_unused(tmp_path, small_datasets):
    flags = ("--initial_scale=8", "--train_samples=256", "--epochs=1", f"--out={tmp_path}")
    result = run_train(*flags, datasets=small_datasets, CUDA_VISIBLE_DEVICES="-1")
    assert result.returncode == 0
    assert any("--initial_scale has no effect" in line for line in result.stderr.splitlines())


def test_same_seed_same_result(float32_run, tmp_path, small_datasets):
    flags = ("--policy=float32", "--epochs=1", "--log_steps=10", "--batch_size=100")
    first = read_lines(float32_run[1] / "metrics.jsonl")[0]["loss"]
    for seed, same in ((0, True), (1, False)):
        out = tmp_path / str(seed)
        run_train(*flags, f"--seed={seed}", f"--out={out}", datasets=small_datasets)
        again = read_lines(out / "metrics.jsonl")[0]["loss"]
        assert (again == pytest.approx(first, rel=1e-6)) == same


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_stopped_by_a_signal(number, status, tmp_path, small_datasets, mnist):
    out = tmp_path / "run"
    program = subprocess.Popen(
        train_command("--policy=float32", "--epochs=100000", f"--out={out}"),
        env=environment(small_datasets),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in program.stdout:
        if line.startswith("epoch 3/"):
            break
    program.send_signal(number)
    _, errors = program.communicate(timeout=20)
    assert program.returncode == status
    assert errors == ""
    summary = read_json(out / "summary.json")
    assert set(summary) == SUMMARY
    assert summary["stopped_because"] == signal.Signals(number).name
    assert summary["epochs"] == len(summary["seconds_per_epoch"]) >= 3
    assert summary["applied_steps"] >= 48
    accuracy = np.mean(np.argmax(served(out, mnist), 1) == mnist["y_test"][:SMALL_TEST])
    assert accuracy > 0.8


@pytest.mark.parametrize(
    ("redirection", "why"),
    [
        (">/dev/full", "No space left on device"),
        (">&-", ""),
        ("| true", "Broken pipe"),
        ("| head -c 100", "Broken pipe"),
    ],
)
def test_a_training_outlives_its_reader(tmp_path, small_datasets, redirection, why):
    out = tmp_path / "run"
    command = " ".join(train_command("--policy=float32", "--epochs=3", f"--out={out}"))
    result = subprocess.run(
        ["bash", "-c", f"{command} {redirection}; exit ${{PIPESTATUS[0]}}"],
        env=environment(small_datasets),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    warning = f"warning: standard output cannot be written ({why}): going on without it\n"
    assert result.stderr == (warning if why else "")
    assert read_json(out / "summary.json")["stopped_because"] == "finished"
    assert (out / "model" / "saved_model.pb").exists()


def test_a_training_that_applied_no_step_has_failed(tmp_path, small_datasets):
    out = tmp_path / "run"
    flags = ("--policy=mixed_float16", "--initial_scale=1e37", "--train_samples=256", "--epochs=1")
    result = run_train(*flags, f"--out={out}", datasets=small_datasets)
    assert result.returncode == 1
    last_line = result.stderr.splitlines()[-1]
    assert last_line.startswith("failed: not one step was applied")
    assert "2 steps, loss scale 2.5e+36" in last_line
    assert read_json(out / "summary.json")["stopped_because"] == "nothing_applied"
    assert not (out / "model").exists()


def test_runs_that_start_together_take_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "RUNS", tmp_path)
    chosen = [run_folder.choose_folder(None, "my.models:make", "auto") for _ in range(3)]
    taken = [run_folder.claim_folder(chosen[0].path, named=False) for _ in chosen]
    assert chosen[0].path.name.endswith("-my.models-make")
    names = [folder.name[len(chosen[0].path.name) :] for folder, _ in taken]
    assert names == ["", "-2", "-3"]


def test_of_two_runs_into_one_named_folder_the_second_is_refused(tmp_path):
    folder = run_folder.choose_folder(str(tmp_path / "run"), "mlp", "auto").path
    taken, claim = run_folder.claim_folder(folder, named=True)
    assert taken == folder
    with pytest.raises(Mistake, match="is in use by another run"):
        run_folder.claim_folder(folder, named=True)
    # The claim ends with the run.
    claim.close()
    run_folder.claim_folder(folder, named=True)


def test_bar_on_a_terminal(tmp_path, small_datasets):
    leader, follower = pty.openpty()
    program = subprocess.Popen(
        train_command("--policy=float32", "--epochs=1", "--log_steps=4", f"--out={tmp_path}"),
        env=environment(small_datasets),
        stdout=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 4096)
        except OSError:  # The program has closed its side.
            break
    os.close(leader)
    assert program.wait(timeout=60) == 0
    for step in (b"4/16", b"16/16"):
        assert re.search(rb"\repoch 1/1\b[^\r]* " + step + rb"\b", shown), step
    assert b"val_accuracy" in shown


def test_a_failure_ends_with_status_1_and_one_paragraph(tmp_path, small_datasets):
    out = tmp_path / "run"
    flags = ("--policy=mixed_float16", "--loss_scale=1e9", "--batch_size=8", f"--out={out}")
    result = run_train(*flags, datasets=small_datasets)
    assert result.returncode == 1
    (line,) = (line for line in result.stderr.splitlines() if not line.startswith("warning: "))
    assert line.startswith("failed: ")
    assert "loss scale 1e+09" in line
    assert "--loss_scale=dynamic" in line
    summary = read_json(out / "summary.json")
    assert set(summary) == SUMMARY
    assert summary["stopped_because"] == "fixed_scale_overflow"
    assert not list(out.glob("model*"))


def test_mnist_in_five_epochs(tmp_path_factory, mnist):
    from conftest import FULL_DATASETS

    _, out = finished(tmp_path_factory, FULL_DATASETS, "--policy=float32", "--seed=1")
    summary = read_json(out / "summary.json")
    assert summary["applied_steps"] == 2345
    assert summary["val_accuracy"] >= 0.972


def test_a_folder_of_a_run_that_never_began_counts_as_empty(tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    began = ["metrics.jsonl", "config.json.tmp", "summary.json"]
    for name in began:
        (out / name).write_text("")
        for resume in ("auto", "never"):
            assert run_folder.choose_folder(str(out), "mlp", resume) == (out, None)
    (out / "mine.txt").write_text("")
    with pytest.raises(Mistake, match="holds files that are no run: name a new folder"):
        run_folder.choose_folder(str(out), "mlp", "auto")
    (out / "mine.txt").unlink()
    # Without the file that every run makes first it may be anything.
    (out / "metrics.jsonl").unlink()
    with pytest.raises(Mistake, match="holds files that are no run: name a new folder"):
        run_folder.choose_folder(str(out), "mlp", "auto")
