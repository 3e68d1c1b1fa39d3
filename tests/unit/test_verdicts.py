"""Trainings that fail: the right cause, its evidence, status 1, and nothing bad that is kept."""

from __future__ import annotations

import shutil

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


@pytest.mark.parametrize(
    ("data", "verdict", "word"),
    [
        ("nan_in_a_stream", "data_not_finite", "step 3: example 6 of the batch is nan at (0,)"),
        ("wrong_label_in_a_stream", "labels_do_not_fit", "step 3: the label of example 6 of the"),
    ],
)
def test_wrong_data_is_no_overflow(trainer, data, verdict, word):
    flags = (f"--data={mine(data)}", "--classes=10", model("tiny"), FLOAT16, *SMALL)
    failed(trainer, verdict, *flags, words=[word])
    assert (trainer.summary["applied_steps"], trainer.summary["skipped_steps"]) == (2, 1)
    assert trainer.lines[-1]["loss_scale"] == 2**14


@pytest.mark.parametrize(
    ("data", "verdict", "word"),
    [
        ("nan_in_validation", "data_not_finite", "example 7 of the batch is nan at (0,)"),
        (
            "wrong_label_in_validation",
            "labels_do_not_fit",
            "the label of example 7 of the batch is 12, and the model has 10 outputs",
        ),
    ],
)
def test_wrong_validation_data(trainer, data, verdict, word):
    flags = (f"--data={mine(data)}", "--classes=10", model("tiny"), FLOAT32, *SMALL)
    failed(trainer, verdict, *flags, words=[f"(validation, step 1: {word})"])
    assert (trainer.summary["applied_steps"], trainer.summary["epochs"]) == (10, 0)


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


def test_a_layer_that_gives_nan_to_the_end_of_a_short_training(trainer):
    flags = (model("nan_at_step_5"), FLOAT16, "--batch_size=32", "--epochs=1", "--log_steps=5")
    words = ["step 7: layer planted (float16) gives nan"]
    arguments = (*flags, "--train_samples=224")
    failed(trainer, "layer_not_finite", *arguments, words=words, checkpoints=[1])
    assert (trainer.summary["applied_steps"], trainer.summary["skipped_steps"]) == (4, 3)


def test_two_steps_without_remedy_at_the_end_may_be_chance(trainer):
    flags = (model("nan_at_step_5"), FLOAT16, "--batch_size=32", "--epochs=1")
    assert trainer(*flags, "--train_samples=192") == 0
    assert (trainer.summary["applied_steps"], trainer.summary["skipped_steps"]) == (4, 2)
    assert trainer.summary["stopped_because"] == "finished"


def test_a_first_step_that_is_skipped_is_no_measure(trainer):
    flags = (model("nan_at_step_1_alone"), FLOAT16, "--train_samples=320", *SMALL)
    assert trainer(*flags) == 0
    assert (trainer.summary["applied_steps"], trainer.summary["skipped_steps"]) == (19, 1)
    assert trainer.summary["stopped_because"] == "finished"


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


@pytest.mark.parametrize(
    ("scaling", "checkpoints"), [((), [1]), (("--loss_scale=128",), ())], ids=["dynamic", "fixed"]
)
def test_a_slope_that_is_infinite_is_no_overflow(trainer, scaling, checkpoints):
    flags = (model("infinite_slope"), FLOAT16, "--train_samples=640", *SMALL, *scaling)
    words = ["the gradient of ", "is nan at", "roots"]
    failed(trainer, "not_finite", *flags, words=words, checkpoints=checkpoints)


def test_a_logarithm_of_0_is_no_overflow(trainer):
    flags = (model("logarithm"), FLOAT16, "--train_samples=640", *SMALL)
    failed(trainer, "layer_not_finite", *flags, words=["layer log (float16) gives -inf", "epsilon"])


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
    assert f"step 5: {skipped} of the last 5 steps were skipped" in warning
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
        # These weights score 0.15 untrained, more than a guess.
        (model("tiny"), "--learning_rate=1e-9", "--train_samples=320", *SMALL, "--seed=2"),
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


def test_an_operation_that_fails(trainer):
    data = f"--data={mine('a_token_too_high')}"
    words = ["epoch 1: indices[", "] = 20 is not in [0, 20)", "an index beyond an embedding"]
    arguments = (data, model("of_token_ids"), FLOAT32, "--batch_size=8")
    failed(trainer, "model_failed", *arguments, words=words)


def test_a_model_that_xla_cannot_compile(trainer):
    flags = (model("hungry"), FLOAT32, "--train_samples=320", "--jit_compile", *SMALL)
    words = ["(epoch 1: Detected unsupported operations", "PyFunc", "Leave out --jit_compile."]
    failed(trainer, "xla_failed", *flags, words=words)


def test_a_file_where_a_folder_should_be(trainer):
    flags = (model("tiny"), FLOAT32, "--train_samples=320", "--batch_size=32")
    assert trainer(*flags, "--epochs=1") == 0
    shutil.rmtree(trainer.out / "model")
    shutil.rmtree(trainer.out / "tensorboard")
    (trainer.out / "tensorboard").write_text("")
    assert trainer(*flags, "--epochs=2") == 2
    (line,) = trainer.stderr.splitlines()
    assert "tensorboard is not a folder" in line


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
        (tf.errors.InvalidArgumentError(None, None, "indices[0] = 5"), "model_failed"),
        (tf.errors.UnknownError(None, None, "ValueError: mine"), "model_failed"),
        (tf.errors.UnimplementedError(None, None, "not in NHWC"), "model_failed"),
        (tf.errors.UnimplementedError(None, None, "no deterministic kernel"), "not_deterministic"),
        (tf.errors.InvalidArgumentError(None, None, "x is not compilable"), "xla_failed"),
        (tf.errors.InvalidArgumentError(None, None, "x [Op:IteratorGetNext]"), "data_failed"),
        (tf.errors.FailedPreconditionError(None, None, "x is not a directory"), "cannot_write"),
        (tf.errors.UnknownError(None, None, "x; File too large"), "cannot_write"),
        (tf.errors.NotFoundError(None, None, "x; No such file or directory"), "cannot_write"),
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
    message = "Graph execution error:\n\nDetected at node 'x' (most recent call last):\n  File y\n"
    message += "Node: 'x'\nDetected unsupported operations: PyFunc\n\t [[x]]\n\ttf2xla failed\n"
    assert gist(message) == "Detected unsupported operations: PyFunc"
    message = "No OpKernel {{node x}}\nThe op is created at:\nFile 'y', line 3\n"
    assert gist(message) == "No OpKernel {{node x}}"
    assert gist("") == ""
