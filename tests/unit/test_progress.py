"""The progress of a run: through a checkpoint and back; what it says of overfitting."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest
import tensorflow as tf

from conftest import ROOT, SMALL_TEST
from workbench import training
from workbench.progress import Progress
from workbench.validation import Validation
from workbench.window import NOTHING

USER = ROOT / "tests" / "unit" / "user_models.py"
RANDOM = (f"--model={USER}:tiny", f"--data={USER}:random_labels", "--policy=float32")
FAST = ("--batch_size=16", "--learning_rate=0.01")


def test_through_json_and_back():
    progress = Progress(
        epoch=2,
        step_in_epoch=7,
        epoch_window=NOTHING._replace(steps=7, loss_sum=1 / 3, last_loss=float("nan")),
        seconds=1.25,
        seconds_per_epoch=[0.5, 0.25],
        train_losses=[2.5, None],
        train_accuracies=[0.5, None],
        val_losses=[0.5, math.inf],
        val_accuracies=[0.4, 0.1],
        first_loss=2.3,
    )
    again = Progress()
    again.take(progress.to_json())
    assert math.isnan(again.epoch_window.last_loss)
    for each in (progress, again):
        each.epoch_window = each.epoch_window._replace(last_loss=0.0)
    assert again == progress
    assert type(again.epoch_window) is type(NOTHING)


def test_the_best_epoch_is_that_of_the_lowest_validation_loss():
    assert Progress().best_epoch is None
    assert Progress(val_losses=[0.5, 0.3, 0.3, 0.4]).best_epoch == 2
    assert Progress(val_losses=[math.inf, 0.3]).best_epoch == 2


def test_the_gap():
    assert Progress().accuracy_gap is None
    progress = Progress(train_accuracy=0.99, val_accuracy=0.9)
    assert progress.accuracy_gap == pytest.approx(0.09)
    # Since the last validation the weights have changed.
    assert Progress(train_accuracy=0.99, val_accuracies=[0.9]).accuracy_gap is None


def test_the_gap_is_that_of_the_best_epoch():
    progress = Progress(
        train_losses=[2.0, 1.0, 0.5], train_accuracies=[0.5, 0.8, 0.9],
        val_losses=[2.0, 1.0, 1.5], val_accuracies=[0.5, 0.75, 0.7],
    )  # fmt: skip
    progress.take_best()
    assert (progress.train_loss, progress.val_loss) == (1.0, 1.0)
    assert progress.accuracy_gap == pytest.approx(0.05)


def opened(train, val, examples):
    return Progress(
        train_accuracies=train, val_accuracies=val, val_examples=examples
    ).gap_opened_in_epoch


def test_when_the_gap_opened():
    assert Progress().gap_opened_in_epoch is None
    assert opened([0.9, 0.95, 0.99], [0.9, 0.92, 0.92], 10**6) == 2
    assert opened([0.9, 0.93], [0.9, 0.915], 10**6) is None  # Below two points.
    # Two standard errors of 0.9 of 100 examples are six points.
    assert opened([0.95, 0.97], [0.9, 0.9], 100) == 2
    assert opened([None, 0.99], [0.5, 0.5], 1000) == 2


def test_the_summary_tells_of_overfitting(trainer):
    assert trainer(*RANDOM, *FAST, "--epochs=2") == 0
    summary = trainer.summary
    gap = summary["train_accuracy"] - summary["val_accuracy"]
    assert summary["accuracy_gap"] == pytest.approx(gap)
    assert f"gap: {100 * gap:+.1f} points" in trainer.stdout
    assert summary["best_epoch"] in (1, 2)


def test_early_stopping_keeps_the_best_weights(trainer, tmp_path, mnist, deterministic):
    flags = (*RANDOM[:1], "--policy=float32", "--train_samples=128", "--batch_size=16")
    flags = (*flags, "--learning_rate=0.05", "--early_stopping=3")
    assert trainer(*flags, "--epochs=60") == 0
    straight = trainer.summary
    best = straight["best_epoch"]
    assert straight["stopped_because"] == "early_stopping"
    assert straight["epochs"] == best + 3 < 60
    assert straight["val_loss"] == pytest.approx(served_loss(trainer, mnist), rel=1e-4)
    # Also where the best weights come from a checkpoint.
    trainer.out = tmp_path / "resumed"
    for epochs, why in ((best + 1, "finished"), (60, "early_stopping"), (60, "early_stopping")):
        assert trainer(*flags, f"--epochs={epochs}") == 0
        assert trainer.summary["stopped_because"] == why
        assert trainer.summary["val_loss"] == straight["val_loss"]
        assert trainer.summary["val_loss"] == pytest.approx(served_loss(trainer, mnist), rel=1e-4)
    assert trainer.summary["epochs"] == straight["epochs"]


def served_loss(trainer, mnist):
    serve = tf.saved_model.load(str(trainer.out / "model")).signatures["serving_default"]
    images, labels = mnist["x_test"][:SMALL_TEST], mnist["y_test"][:SMALL_TEST]
    inputs = tf.constant(images.reshape(-1, 784).astype(np.float32) / 255)
    probabilities = serve(inputs=inputs)["probabilities"].numpy()
    return -np.mean(np.log(probabilities[range(SMALL_TEST), labels]))


def test_no_window_has_the_seconds_of_a_validation(trainer, monkeypatch):
    # A clock that ticks whenever it is asked, once in a graph call.
    now = 0

    def tick():
        nonlocal now
        now += 1
        return float(now)

    def long_validation(validation):
        nonlocal now
        now += 1000
        return run(validation)

    run = Validation.run
    monkeypatch.setattr(Validation, "run", long_validation)
    monkeypatch.setattr(training, "time", types.SimpleNamespace(perf_counter=tick))
    flags = (f"--model={USER}:tiny", "--policy=float32", "--train_samples=128", "--batch_size=32")
    assert trainer(*flags, "--epochs=3", "--log_steps=2") == 0
    # The very first call has one step, and the second the other one of the window.
    expected = [32, 64, 64, 64, 64, 64]
    assert [line["images_per_second"] for line in trainer.lines] == expected
    # Those of an epoch do have it.
    assert [1000 < seconds < 1010 for seconds in trainer.summary["seconds_per_epoch"]] == [True] * 3
