"""One step, two loops: custom and fit end with the same bits."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from conftest import (
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

SAMPLES, STEPS = 196, 25  # In batches of 8; the last one has four images.


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
