"""Trainings that fail: the right cause, its evidence, status 1, and nothing bad that is kept."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from conftest import ROOT, tensors
from workbench.verdicts import Failure, failures_named, gist

USER = ROOT / "tests" / "unit" / "user_models.py"
FLOAT32 = "--policy=float32"
FLOAT16 = "--policy=mixed_float16"


def mine(name):
    return f"{USER}:{name}"


def model(name):
    return f"--model={mine(name)}"


def failed(trainer, verdict, *arguments, words=(), checkpoints=()):
    """Run what must fail for the cause ``verdict``; return the one line about it."""
    assert trainer(*arguments) == 1
    told = [line for line in trainer.stderr.splitlines() if not line.startswith("warning: ")]
    (line,) = told
    assert line.startswith("failed: ")
    assert trainer.summary["stopped_because"] == verdict, line
    for word in words:
        assert word in line, line
    assert not list(trainer.out.glob("model*"))
    assert trainer.checkpoints == list(checkpoints)
    if checkpoints:
        for name, value in tensors(trainer.out).items():
            if getattr(value, "dtype", None) == np.float32:
                assert np.all(np.isfinite(value)), name
    return line


SMALL = ("--batch_size=32", "--epochs=2", "--log_steps=5")


def test_nan_in_the_data(trainer):
    flags = (f"--data={mine('nan_in_a_stream')}", "--classes=10", model("tiny"), FLOAT32, *SMALL)
    words = ["data is not finite", "step 3: example 6 of the batch is nan at (0,)"]
    failed(trainer, "data_not_finite", *flags, words=words)
    assert (trainer.summary["applied_steps"], trainer.summary["skipped_steps"]) == (2, 1)
    assert [line["step"] for line in trainer.lines] == [3]


@pytest.mark.parametrize("flags", [(), ("--loop=fit",), ("--accumulate_steps=2",)])
def test_a_label_that_does_not_fit(trainer, flags):
    data = f"--data={mine('wrong_label_in_a_stream')}"
    words = ["label of example 6 of the batch is 12, and the model has 10 outputs"]
    if "--accumulate_steps=2" in flags:
        words = ["step 2: the label of example 6 of"]
    arguments = (data, model("tiny"), FLOAT32, *SMALL, *flags)
    failed(trainer, "labels_do_not_fit", *arguments, words=words)


@pytest.mark.parametrize("flags", [(), ("--loop=fit",)])
def test_data_that_raises(trainer, flags):
    data = f"--data={mine('stream_that_raises')}"
    words = ["data could not be read (epoch 1:", "ValueError: this file is broken"]
    arguments = (data, "--classes=10", model("tiny"), FLOAT32, *SMALL, *flags)
    failed(trainer, "data_failed", *arguments, words=words)


def test_a_layer_that_gives_nan_at_step_100(trainer):
    flags = (model("nan_at_step_100"), FLOAT32, "--batch_size=16", "--epochs=3")
    words = ["step 100: layer planted (float32) gives nan at (0, 0); the batch reaches 1"]
    saved = "--checkpoint_steps=40"
    arguments = (*flags, saved, "--train_samples=1024", "--log_steps=50")
    failed(trainer, "layer_not_finite", *arguments, words=words, checkpoints=[1, 2, 3])
    assert (trainer.summary["applied_steps"], trainer.summary["epochs"]) == (99, 1)
    assert tensors(trainer.out)["applied_steps/.ATTRIBUTES/VARIABLE_VALUE"] == 80
    assert trainer.lines[-1]["step"] == 100


def test_a_layer_that_gives_nan_under_dynamic_scaling(trainer):
    flags = (model("nan_at_step_5"), FLOAT16, "--train_samples=320", *SMALL)
    words = ["step 14: layer planted (float16) gives nan"]
    failed(trainer, "layer_not_finite", *flags, words=words, checkpoints=[1])
    # Ten steps were given the chance that another batch might do.
    assert (trainer.summary["applied_steps"], trainer.summary["skipped_steps"]) == (4, 10)


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_a_fixed_scale_of_2_to_the_24(trainer, loop):
    flags = (model("tiny"), FLOAT16, f"--loss_scale={2**24}", "--train_samples=640", *SMALL)
    words = ["fixed loss scale", "loss scale 1.67772e+07", "--loss_scale=dynamic"]
    failed(trainer, "fixed_scale_overflow", *flags, f"--loop={loop}", words=words)
    assert (trainer.summary["applied_steps"], trainer.summary["skipped_steps"]) == (0, 10)


@pytest.mark.parametrize("policy", [FLOAT32, FLOAT16])
def test_a_learning_rate_of_a_million(trainer, policy):
    flags = (model("tiny"), policy, "--learning_rate=1e6", "--train_samples=640", *SMALL)
    line = failed(trainer, "diverged", *flags, words=["--learning_rate"])
    assert "the mean loss of the epoch" in line or "has grown to" in line


def test_a_learning_rate_beyond_what_float32_multiplies(trainer):
    flags = (FLOAT32, "--learning_rate=3e38", "--train_samples=512", "--log_steps=10")
    failed(trainer, "diverged", *flags, words=["step 2: a weight of", "has grown to"])
    assert (trainer.lines[-1]["applied_steps"], trainer.lines[-1]["skipped_steps"]) == (1, 1)


def test_a_weight_that_is_not_finite_though_the_loss_is(trainer):
    flags = (model("bad_statistic"), FLOAT32, "--train_samples=320", *SMALL)
    words = ["bad/statistic:0 is inf at ()"]
    failed(trainer, "weights_not_finite", *flags, words=words)
    assert trainer.summary["applied_steps"] == 10


def test_a_scale_at_its_floor(trainer):
    flags = (model("steep"), FLOAT16, "--initial_scale=4", "--train_samples=640", *SMALL)
    words = ["step 12: loss scale 1, 12 steps skipped in all", "--policy=float32"]
    failed(trainer, "scale_at_floor", *flags, words=words)


def test_activations_that_leave_float16(trainer):
    flags = (model("large_activations"), FLOAT16, "--train_samples=640", *SMALL)
    words = ["step 10: layer large (float16) gives inf at", "dtype='float32'"]
    failed(trainer, "float16_overflow", *flags, words=words)


def test_overflow_from_which_dynamic_scaling_recovers(trainer):
    flags = (model("tiny"), FLOAT16, f"--initial_scale={2**20}", "--train_samples=640", *SMALL)
    assert trainer(*flags) == 0
    summary = trainer.summary
    skipped = summary["skipped_steps"]
    assert summary["stopped_because"] == "finished"
    assert skipped > 0
    assert summary["applied_steps"] + skipped == 40
    (warning,) = (line for line in trainer.stderr.splitlines() if "overflowed" in line)
    scale = f"{2 ** (20 - skipped):g}"
    assert f"step 5: {skipped} of the last 5 steps overflowed float16" in warning
    assert f"the loss scale is {scale} now" in warning
    assert "training goes on" in warning
    assert trainer.lines[0]["skipped_steps"] == skipped


def test_not_one_step_applied(trainer):
    flags = (model("tiny"), FLOAT16, "--initial_scale=1e37", "--train_samples=320", "--epochs=1")
    words = ["not one step was applied", "3 steps, loss scale 1.25e+36"]
    failed(trainer, "nothing_applied", *flags, words=words, checkpoints=[1])


@pytest.mark.parametrize(
    "flags",
    [
        (model("only_bias"), "--batch_size=8", "--epochs=3", "--train_samples=1024"),
        (model("tiny"), "--learning_rate=1e-30", "--train_samples=320", *SMALL),
    ],
)
def test_a_loss_that_does_not_move(trainer, flags):
    epochs = 3 if "--epochs=3" in flags else 2
    words = ["steps the loss is", "a guess has 2.", "Try another --learning_rate"]
    numbers = range(1, epochs + 1)
    failed(trainer, "loss_does_not_move", FLOAT32, *flags, words=words, checkpoints=numbers)


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_out_of_memory_names_the_batch_that_fits(trainer, loop):
    flags = (model("hungry"), FLOAT32, "--train_samples=512", "--batch_size=128")
    words = ["out of memory (epoch 1: ", "--batch_size=32 would fit", "--accumulate_steps"]
    failed(trainer, "out_of_memory", *flags, f"--loop={loop}", words=words)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (OSError(28, "No space left on device"), "disk_full"),
        (OSError(122, "Disk quota exceeded"), "disk_full"),
        (PermissionError(13, "Permission denied"), "cannot_write"),
        (MemoryError(), "out_of_memory"),
        (tf.errors.ResourceExhaustedError(None, None, "OOM when allocating"), "out_of_memory"),
        (tf.errors.ResourceExhaustedError(None, None, "x; No space left on device"), "disk_full"),
        (tf.errors.InternalError(None, None, "CUDA_ERROR_OUT_OF_MEMORY"), "out_of_memory"),
        (tf.errors.PermissionDeniedError(None, None, "x; Permission denied"), "cannot_write"),
        (tf.errors.InternalError(None, None, "CUDA: misaligned\nmore"), "device_failed"),
    ],
)
def test_errors_become_verdicts(error, verdict):
    with pytest.raises(Failure, match="step 7") as failure, failures_named("step 7"):
        raise error
    assert failure.value.verdict == verdict
    assert "\n" not in str(failure.value)


def test_the_gist_of_an_error_of_tensorflow():
    message = "Traceback:\n  File x\nValueError: broken\n\n\t [[{{node PyFunc}}]]\n\t [[Next]]"
    assert gist(message) == "ValueError: broken"
    assert gist("") == ""
