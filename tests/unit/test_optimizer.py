"""The optimizer: its learning rate over the steps, and how it scales the loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf

from workbench.errors import Mistake
from workbench.optimizer import WarmUp, build_optimizer, learning_rate
from workbench.settings import Settings


def rates(optimizer, steps):
    """The rate before each step, read while a variable is trained."""
    variable = tf.Variable(1.0)
    seen = []
    for _ in range(steps):
        seen.append(learning_rate(optimizer))
        optimizer.apply_gradients([(tf.constant(1.0), variable)])
    return seen


def test_constant_is_a_plain_number():
    optimizer = build_optimizer("float32", Settings(learning_rate=0.01), 10)
    assert optimizer.get_config()["learning_rate"] == pytest.approx(0.01)
    assert rates(optimizer, 3) == pytest.approx([0.01] * 3)
    assert learning_rate(optimizer) == np.float32(0.01)


def test_warm_up_rises_in_a_line_and_stays():
    settings = Settings(learning_rate=0.8, warmup_steps=3)
    assert rates(build_optimizer("float32", settings, 9), 6) == pytest.approx(
        [0.2, 0.4, 0.6, 0.8, 0.8, 0.8]
    )


def test_cosine_falls_to_0_at_the_last_step():
    optimizer = build_optimizer("float32", Settings(learning_rate=1.0, schedule="cosine"), 4)
    expected = [0.5 * (1 + math.cos(math.pi * step / 4)) for step in range(6)]
    expected[5] = 0.0
    assert rates(optimizer, 6) == pytest.approx(expected, abs=1e-7)


def test_cosine_after_warm_up():
    settings = Settings(learning_rate=1.0, schedule="cosine", warmup_steps=1)
    optimizer = build_optimizer("float32", settings, 5)
    expected = [0.5] + [0.5 * (1 + math.cos(math.pi * step / 4)) for step in range(4)]
    assert rates(optimizer, 5) == pytest.approx(expected, abs=1e-7)


def test_the_rate_used_is_the_rate_told():
    settings = Settings(learning_rate=0.8, warmup_steps=3)
    optimizer = build_optimizer("float32", settings, 9)
    variable = tf.Variable(0.0)
    optimizer.apply_gradients([(tf.constant(1.0), variable)])
    # The first step of Adam is the learning rate itself, but for epsilon.
    assert float(variable) == pytest.approx(-0.2, rel=1e-5)


def test_a_schedule_is_made_again_from_its_config():
    schedule = WarmUp(0.5, 10, 100, cosine=True)
    again = WarmUp.from_config(schedule.get_config())
    for step in (0, 9, 10, 55, 99, 100):
        assert float(again(step)) == float(schedule(step))


def test_late_steps_keep_their_number():
    schedule = WarmUp(1.0, 2**25 + 1, 2**27, cosine=False)
    step = tf.constant(2**25, tf.int64)
    assert schedule(step).dtype == tf.float32
    assert float(schedule(step)) == np.float32((2**25 + 1) / (2**25 + 2))


@pytest.mark.parametrize("warmup_steps", [10, 11])
def test_warm_up_that_never_ends(warmup_steps):
    with pytest.raises(Mistake, match=rf"--warmup_steps={warmup_steps}: .* 10 steps"):
        build_optimizer("float32", Settings(warmup_steps=warmup_steps), 10)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_only_float16_is_scaled(policy):
    optimizer = build_optimizer(policy, Settings(), 10)
    assert type(optimizer) is tf.keras.optimizers.Adam
    assert optimizer.epsilon == 1e-7


def test_dynamic_scaling():
    settings = Settings(initial_scale=1024.0, growth_steps=7, warmup_steps=1, learning_rate=0.8)
    optimizer = build_optimizer("mixed_float16", settings, 10)
    assert (optimizer.dynamic, optimizer.initial_scale, optimizer.dynamic_growth_steps) == (
        True,
        1024.0,
        7,
    )
    assert optimizer.inner_optimizer.epsilon == 1e-7
    assert rates(optimizer, 2) == pytest.approx([0.4, 0.8])


def test_fixed_scaling():
    optimizer = build_optimizer("mixed_float16", Settings(loss_scale=8.0), 10)
    assert (optimizer.dynamic, float(optimizer.loss_scale)) == (False, 8.0)
    assert learning_rate(optimizer) == np.float32(0.001)


def test_epsilon_is_ours_when_the_user_changed_keras():
    before = tf.keras.backend.epsilon()
    tf.keras.backend.set_epsilon(1e-3)
    try:
        assert build_optimizer("float32", Settings(), 10).epsilon == 1e-7
    finally:
        tf.keras.backend.set_epsilon(before)
