"""Loss scaling over many steps: what is skipped, how the scale moves, when it is hopeless."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from conftest import (
    assert_equal,
    batch,
    counts,
    examples,
    run_epoch,
    tiny_loop,
    tiny_model,
    tiny_step,
    weights,
    whole,
)
from workbench.step import SKIPS_ALLOWED_SCALED
from workbench.window import means


def train(step, mnist, samples):
    """Train an epoch in one graph call."""
    (window,) = run_epoch(tiny_loop(step, examples(mnist, samples)), per_call=1000)
    return window


def test_overflow_skips_the_step_and_halves_the_scale(mnist):
    step = tiny_step("mixed_float16", initial_scale=1e30)
    before = weights(step)
    result = tf.function(step)(*batch(mnist))
    assert not bool(result.applied)
    assert float(step.loss_scale()) == np.float32(1e30) / 2
    assert counts(step) == (0, 1)
    assert not bool(step.hopeless())
    assert_equal(before, weights(step))


def test_the_batch_of_a_skipped_step_is_kept_for_the_diagnosis(mnist):
    step = tiny_step("mixed_float16")
    images, labels = batch(mnist)
    one_step = tf.function(step)
    one_step(images, labels)
    assert int(step.bad.number) == -1
    one_step(images * 1e6, labels)
    assert int(step.bad.number) == 1
    assert_equal([step.bad.images.numpy(), step.bad.labels.numpy()], [images * 1e6, labels])


def test_the_scale_falls_until_steps_are_applied(mnist):
    step = tiny_step("mixed_float16", initial_scale=2.0**24)
    window = train(step, mnist, samples=160)
    applied, skipped = counts(step)
    assert applied > 0
    assert skipped > 0
    assert applied + skipped == 20 == window.steps
    assert window.applied == applied
    assert float(step.loss_scale()) == 2.0 ** (24 - skipped)
    assert np.isfinite(window.loss_sum)


def test_the_scale_doubles_after_growth_steps(mnist):
    step = tiny_step("mixed_float16", initial_scale=64.0, growth_steps=2)
    train(step, mnist, samples=40)
    assert counts(step) == (5, 0)
    assert float(step.loss_scale()) == 256.0


def test_a_fixed_scale_stays_and_an_overflow_is_not_applied(mnist):
    step = tiny_step("mixed_float16", loss_scale=1e9)
    before = weights(step)
    window = train(step, mnist, samples=160)
    assert counts(step) == (0, 10)
    assert window.steps == 10
    assert bool(step.hopeless())
    assert float(step.loss_scale()) == 1e9
    assert means(window) == {"loss": None, "accuracy": None, "grad_norm": None}
    assert_equal(before, weights(step))


def test_dynamic_scaling_gives_up_at_its_floor(mnist):
    # The gradients leave float16, and the forward pass does not.
    def make():
        scale = tf.keras.layers.Lambda(steep, dtype="float32")
        return tiny_model(tf.keras.layers.Dense(16), scale)

    step = tiny_step("mixed_float16", make=make, initial_scale=4.0)
    train(step, mnist, samples=320)
    assert counts(step) == (0, 12)  # 4 and 2 could be halved; then ten at 1.
    assert float(step.loss_scale()) == 1.0


@tf.custom_gradient
def steep(inputs):
    return inputs, lambda gradient: gradient * 1e12


def test_a_loss_that_is_not_finite_is_given_up_though_the_scale_could_fall(mnist):
    step = tiny_step("mixed_float16")
    step.model.trainable_variables[-1].assign([np.nan] * 10)
    train(step, mnist, samples=320)
    assert counts(step) == (0, SKIPS_ALLOWED_SCALED + 1)
    assert float(step.loss_scale()) == 2.0 ** (15 - 10) > 1
    assert bool(step.hopeless())


def test_an_applied_step_forgets_those_without_remedy(mnist):
    step = tiny_step("mixed_float16")
    one_step = tf.function(step)
    images, labels = batch(mnist)
    bias = step.model.trainable_variables[-1]
    bias.assign([np.nan] * 10)
    for _ in range(9):
        one_step(images, labels)
    assert (counts(step), int(step.skips_without_remedy)) == ((0, 9), 9)
    assert not bool(step.hopeless())
    bias.assign(np.zeros(10))
    one_step(images, labels)
    assert (counts(step), int(step.skips_without_remedy)) == ((1, 9), 0)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("way", ["device", "stream", "fit"])
def test_without_scaling_the_first_non_finite_step_ends_it(mnist, policy, way):
    step = tiny_step(policy)
    step.model.trainable_variables[-1].assign([np.nan] * 10)
    before = weights(step)
    loop = tiny_loop(step, examples(mnist, 40), way)
    window = whole(run_epoch(loop, stop_after=1))
    assert counts(step) == (0, 1)
    assert (window.steps, window.applied) == (1, 0)
    assert bool(step.hopeless())
    assert np.isnan(window.last_loss)
    assert_equal(before, weights(step))
