"""The loops around the step: what they train on, in which calls, and how they are stopped."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf
import user_models

from conftest import (
    assert_equal,
    counts,
    examples,
    run_epoch,
    tiny_loop,
    tiny_model,
    tiny_step,
    weights,
    whole,
)
from workbench.data.order import epoch_order
from workbench.data.types import Arrays
from workbench.validation import Validation
from workbench.window import NOTHING, joined, means

WAYS = ["device", "stream", "fit"]


@pytest.mark.parametrize("way", WAYS)
def test_the_loop_trains_on_the_images_in_order(mnist, way):
    looped, stepped = tiny_step("float32"), tiny_step("float32")
    loop = tiny_loop(looped, examples(mnist, 44), way, seed=5)  # The last batch has four images.
    window = whole(run_epoch(loop, epoch=2, per_call=4))
    assert (loop.feed.steps, window.steps, window.examples) == (6, 6, 44)
    assert (window.applied, window.applied_examples) == (6, 44)
    order = epoch_order(5, 2, 44)
    one_step = tf.function(stepped)
    loss_sum, losses = 0.0, []
    for first in range(0, 44, 8):
        index = order[first : first + 8]
        images = mnist["x_train"][index].reshape(-1, 784).astype(np.float32) / 255
        result = one_step(tf.constant(images), tf.constant(mnist["y_train"][index], tf.int64))
        losses.append(float(result.loss))
        loss_sum += losses[-1] * len(index)
    assert window.loss_sum == pytest.approx(loss_sum, rel=1e-5)
    assert (window.first_loss, window.last_loss) == pytest.approx((losses[0], losses[-1]), rel=1e-4)
    assert window.last_norm == pytest.approx(float(result.grad_norm), rel=1e-3)
    for a, b in zip(weights(looped), weights(stepped)):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_an_epoch_goes_on_in_its_middle(mnist, way):
    straight = tiny_step("float32")
    run_epoch(tiny_loop(straight, examples(mnist, 44), way), epoch=1, per_call=3)
    broken = tiny_step("float32")
    (first,) = run_epoch(tiny_loop(broken, examples(mnist, 44), way, per_call=3), 1, 0, 3, 1)
    rest = whole(run_epoch(tiny_loop(broken, examples(mnist, 44), way), epoch=1, first=3))
    assert (first.steps, rest.steps, rest.examples) == (3, 3, 20)
    for a, b in zip(weights(straight), weights(broken)):
        np.testing.assert_allclose(a, b, atol=1e-7)


def test_fewer_steps_than_the_data_has(mnist):
    trained = {}
    for way in WAYS:
        step = tiny_step("float32")
        window = whole(run_epoch(tiny_loop(step, examples(mnist, 60), way, steps=5)))
        assert (window.steps, window.examples) == (5, 40)
        trained[way] = weights(step)
    for way in WAYS[1:]:
        for a, b in zip(trained[way], trained["device"]):
            np.testing.assert_allclose(a, b, atol=1e-6)


def test_windows_add_up_to_the_epoch(mnist):
    (one,) = run_epoch(tiny_loop(tiny_step("float32"), examples(mnist, 40)), per_call=5)
    calls = run_epoch(tiny_loop(tiny_step("float32"), examples(mnist, 40)), per_call=2)
    assert [call.steps for call in calls] == [2, 2, 1]
    assert one.steps == whole(calls).steps == 5
    for name, value in means(one).items():
        assert means(whole(calls))[name] == pytest.approx(value, rel=1e-5)


def test_a_window_of_no_steps_changes_nothing():
    window = NOTHING._replace(steps=3, applied=2, loss_sum=4.0, first_loss=1.0, last_loss=2.0)
    assert joined(NOTHING, window) == joined(window, NOTHING) == window
    assert means(NOTHING) == {"loss": None, "accuracy": None, "grad_norm": None}


def test_the_means_leave_skipped_steps_out(mnist):
    step = tiny_step("mixed_float16", initial_scale=2.0**22)
    window = whole(run_epoch(tiny_loop(step, examples(mnist, 80))))
    applied, skipped = counts(step)
    assert skipped > 0
    assert applied + skipped == window.steps == 10
    assert (window.applied, window.applied_examples) == (applied, applied * 8)
    assert 0.5 < means(window)["loss"] < 3


@pytest.mark.parametrize("way", ["device", "stream"])
def test_stop_ends_a_graph_call_that_runs(mnist, way):
    step = tiny_step("float32", batch_size=1)
    loop = tiny_loop(step, examples(mnist, 60000), way)

    def stop_after_a_step():
        while int(step.applied_steps) == 0:
            pass
        loop.stop.assign(True)

    thread = threading.Thread(target=stop_after_a_step)
    thread.start()
    (window,) = run_epoch(loop, per_call=60000)
    thread.join()
    assert 0 < window.steps < 60000
    assert Validation(step, loop.feed, loop.stop).run() is None


def test_stop_ends_fit_within_a_call(mnist):
    step = tiny_step("float32", batch_size=1)
    loop = tiny_loop(step, examples(mnist, 20000), "fit", per_call=20000)

    def stop_after_a_step():
        while int(step.applied_steps) == 0:
            pass
        loop.stop.assign(True)

    thread = threading.Thread(target=stop_after_a_step)
    thread.start()
    (window,) = run_epoch(loop)
    thread.join()
    assert 0 < window.steps < 20000
    assert counts(step) == (window.steps, 0)


@pytest.mark.parametrize("way", WAYS)
def test_a_stop_from_before_trains_nothing(mnist, way):
    step = tiny_step("float32")
    loop = tiny_loop(step, examples(mnist, 40), way)
    loop.stop.assign(True)
    before = weights(step)
    assert whole(run_epoch(loop)).steps == 0
    assert counts(step) == (0, 0)
    for a, b in zip(before, weights(step)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("way", WAYS)
def test_operations_that_draw_by_a_state_of_their_own_are_found(mnist, way):
    draw = tf.keras.layers.Lambda(lambda x: x + tf.random.normal(tf.shape(x)), name="draws")
    loop = tiny_loop(tiny_step("float32", make=lambda: tiny_model(draw)), examples(mnist, 40), way)
    (found,) = loop.stateful_random_ops()
    assert "RandomStandardNormal" in found
    keyed = tiny_step("float32", make=lambda: tiny_model(tf.keras.layers.Dropout(0.5)))
    assert tiny_loop(keyed, examples(mnist, 40), way).stateful_random_ops() == []


def test_validation_is_the_mean_over_the_whole_set(mnist):
    step = tiny_step("float32")
    feed = tiny_loop(step, examples(mnist, 43), seed=None).feed
    result = Validation(step, feed, tf.Variable(False)).run()
    assert result.examples == 43
    images = mnist["x_train"][:43].reshape(-1, 784).astype(np.float32) / 255
    labels = mnist["y_train"][:43]
    probabilities = step.model(images).numpy()
    assert result.accuracy == np.mean(np.argmax(probabilities, 1) == labels)
    assert result.loss == pytest.approx(
        -np.mean(np.log(probabilities[range(43), labels])), rel=1e-5
    )


def test_validation_has_the_models_own_losses_and_no_smoothing(mnist):
    def make():
        return tiny_model(tf.keras.layers.Dense(16, kernel_regularizer=tf.keras.regularizers.L2(1)))

    values = []
    for flags in ({}, {"label_smoothing": 0.2}):
        step = tiny_step("float32", make=make, **flags)
        feed = tiny_loop(step, examples(mnist, 40), seed=None).feed
        values.append(Validation(step, feed, tf.Variable(False)).run()[0])
    images = mnist["x_train"][:40].reshape(-1, 784).astype(np.float32) / 255
    probabilities = step.model(images).numpy()
    expected = -np.mean(np.log(probabilities[range(40), mnist["y_train"][:40]]))
    expected += np.sum(step.model.layers[1].kernel.numpy() ** 2)
    assert values == pytest.approx([expected] * 2, rel=1e-5)


@pytest.mark.parametrize("way", ["device", "stream"])
def test_validation_names_the_step_with_wrong_data(mnist, way):
    right = examples(mnist, 43)
    images, labels = right.images.reshape(43, 784).astype(np.float32), right.labels.copy()
    images[[20, 30], 5] = np.nan
    labels[[25, 42]] = 10, -1
    step = tiny_step("float32")
    for arrays, found in (
        (right, None),
        (Arrays(images, right.labels), 2),
        (Arrays(right.images, labels), 3),
        (Arrays(images, labels), 2),
    ):
        feed = tiny_loop(step, arrays, way, seed=None).feed
        validation = Validation(step, feed, tf.Variable(False))
        assert validation.run().wrong_step == found
        assert_equal([validation.batch(3)[1]], [arrays.labels[24:32]])


def test_validation_has_the_penalty_of_its_own_activations(mnist):
    step = tiny_step("float32", make=user_models.activity_penalty)
    # Steps of 8 and at last 3 examples: Keras's penalty is a mean over those of a step.
    feed = tiny_loop(step, examples(mnist, 43), seed=None).feed
    result = Validation(step, feed, tf.Variable(False)).run()
    images = mnist["x_train"][:43].reshape(-1, 784).astype(np.float32) / 255
    activations = step.model.layers[0](images).numpy()
    expected = -np.mean(np.log(step.model(images).numpy()[range(43), mnist["y_train"][:43]]))
    expected += 0.1 * np.sum(activations**2) / 43
    assert result.loss == pytest.approx(expected, rel=1e-5)


def test_the_first_loss_is_that_of_the_first_applied_step(mnist):
    step = tiny_step("mixed_float16", make=user_models.nan_at_step_1_alone)
    window = whole(run_epoch(tiny_loop(step, examples(mnist, 40)), per_call=2))
    assert (window.steps, window.applied) == (5, 4)
    assert 2 < window.first_loss < 3
    skipped = NOTHING._replace(steps=2, first_loss=float("nan"), last_loss=float("nan"))
    assert joined(skipped, window).first_loss == window.first_loss
    assert joined(window, skipped).first_loss == window.first_loss
