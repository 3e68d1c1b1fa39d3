"""One step, two loops: custom and fit end with the same bits."""

from __future__ import annotations

import time

import numpy as np
import pytest
import tensorflow as tf

from conftest import (
    ROOT,
    assert_equal,
    counts,
    examples,
    run_epoch,
    slots,
    tiny_loop,
    tiny_model,
    tiny_step,
    weights,
    whole,
)
from workbench.data.types import Stream

SAMPLES, STEPS = 196, 25  # In batches of 8; the last one has four images.
APPLIED = "applied_steps/.ATTRIBUTES/VARIABLE_VALUE"


def trained(policy, arrays, way, make=tiny_model, per_call=7, **flags):
    """A step after two epochs of 25 steps, and their window."""
    step = tiny_step(policy, make=make, **flags)
    loop = tiny_loop(step, arrays, way, per_call=per_call)
    windows = [window for epoch in range(2) for window in run_epoch(loop, epoch, 0, per_call)]
    return step, whole(windows)


def with_dropout():
    return tiny_model(tf.keras.layers.Dropout(0.3), tf.keras.layers.BatchNormalization())


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("make", [tiny_model, with_dropout])
def test_both_loops_give_equal_weights_and_slots(mnist, policy, make, deterministic):
    arrays = examples(mnist, SAMPLES)
    # 7 does not divide the 25 steps of an epoch.
    first, window = trained(policy, arrays, "device", make)
    assert sum(counts(first)) == window.steps == 2 * STEPS
    assert (window.examples, np.isfinite(window.loss_sum)) == (2 * SAMPLES, True)
    # Keras counts skipped steps too.
    assert int(first.optimizer.iterations) == 2 * STEPS
    for way in ("stream", "fit"):
        other, other_window = trained(policy, arrays, way, make)
        assert counts(other) == counts(first)
        assert_equal(weights(first), weights(other))
        assert_equal(slots(first), slots(other))
        assert other_window._replace(waited=0) == window._replace(waited=0)


@pytest.mark.parametrize("per_call", [1, 25, 100])
def test_steps_per_execution_change_nothing(mnist, per_call, deterministic):
    arrays = examples(mnist, SAMPLES)
    one, _ = trained("float32", arrays, "fit")
    other, _ = trained("float32", arrays, "fit", per_call=per_call)
    assert counts(other) == (2 * STEPS, 0)
    assert_equal(weights(one), weights(other))


@pytest.mark.parametrize("way", ["device", "fit"])
def test_skipped_steps_are_counted_inside_the_graph(mnist, way):
    step = tiny_step("mixed_float16", initial_scale=2.0**24)
    windows = run_epoch(tiny_loop(step, examples(mnist, 160), way, per_call=8), per_call=8)
    applied, skipped = counts(step)
    assert [window.steps for window in windows] == [8, 8, 4]
    assert skipped == 24 - np.log2(float(step.loss_scale())) > 0
    assert sum(window.applied for window in windows) == applied == 20 - skipped
    assert windows[0].applied == 8 - skipped
    assert int(step.optimizer.iterations) == 20


def test_fit_accumulates_too(mnist, deterministic):
    arrays = examples(mnist, 100)
    flags = {"batch_size": 8, "accumulate_steps": 3, "clip_norm": 0.5}
    one, _ = trained("float32", arrays, "device", **flags)
    other, window = trained("float32", arrays, "fit", **flags)
    assert (window.steps, window.examples) == (10, 200)
    assert_equal(weights(one), weights(other))


def test_a_stop_ends_a_call_early_though_the_input_is_slow():
    made = []
    step = tiny_step("float32", batch_size=1)

    def slow(number):
        made.append(number)
        if number == 3:
            loop.stop.assign(True)
        elif number > 3:
            time.sleep(0.05)
        return np.float32(number / 100)

    def example(number):
        pixel = tf.numpy_function(slow, [number], tf.float32)
        return tf.fill([784], tf.reshape(pixel, [])), number % 10

    stream = Stream(tf.data.Dataset.range(60).map(example), 60, (784,))
    loop = tiny_loop(step, stream, "fit", per_call=60)
    made.clear()
    (window,) = run_epoch(loop)
    assert 0 < window.steps <= 4
    # Keras would fetch all batches of the call first.
    assert len(made) < 30


def test_fit_saves_every_so_many_steps(trainer):
    user = ROOT / "tests" / "unit" / "user_models.py"
    flags = (f"--model={user}:tiny", "--policy=float32", "--train_samples=256", "--batch_size=32")
    assert trainer(*flags, "--loop=fit", "--epochs=1", "--checkpoint_steps=3") == 0
    assert trainer.checkpoints == [1, 2, 3]
    applied = [
        tf.train.load_variable(str(trainer.out / "checkpoints" / f"ckpt-{number}"), APPLIED)
        for number in trainer.checkpoints
    ]
    assert applied == [3, 6, 8]
    assert [line["step"] for line in trainer.lines] == [8]
