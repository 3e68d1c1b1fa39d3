"""The training step's mathematics."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from conftest import assert_equal, batch, counts, tiny_model, tiny_step, weights


def gradients(step, images, labels, smoothing=0.0):
    """Loss, gradients and their norm by the textbook."""
    with tf.GradientTape() as tape:
        probabilities = step.model(images)
        targets = tf.one_hot(labels, 10) * (1 - smoothing) + smoothing / 10
        loss = -tf.reduce_mean(tf.reduce_sum(targets * tf.math.log(probabilities), axis=1))
    found = tape.gradient(loss, step.model.trainable_variables)
    return loss, found, np.sqrt(sum(float(tf.reduce_sum(gradient**2)) for gradient in found))


def test_gradient_norm_is_that_of_the_cross_entropy(mnist):
    step = tiny_step("float32")
    images, labels = batch(mnist)
    loss, _, norm = gradients(step, images, labels)
    correct = np.sum(np.argmax(step.model(images), axis=1) == labels.numpy())
    result = tf.function(step)(images, labels)
    assert float(result.loss) == pytest.approx(float(loss), rel=1e-5)
    assert float(result.grad_norm) == pytest.approx(norm, rel=1e-5)
    assert float(result.correct) == correct
    assert bool(result.applied)


@pytest.mark.parametrize("flags", [{}, {"initial_scale": 1024.0}, {"loss_scale": 256.0}])
def test_unscaled_gradient_norm_is_that_of_float32(mnist, flags):
    images, labels = batch(mnist)
    plain = tiny_step("float32")(images, labels)
    mixed = tiny_step("mixed_float16", **flags)(images, labels)
    assert float(mixed.loss) == pytest.approx(float(plain.loss), rel=2e-3)
    assert float(mixed.grad_norm) == pytest.approx(float(plain.grad_norm), rel=5e-3)
    assert {mixed.loss.dtype, mixed.grad_norm.dtype} == {tf.float32}


def test_loss_and_gradient_survive_a_confident_mistake(mnist):
    step = tiny_step("float32")
    images, labels = batch(mnist, 1)
    bias = np.zeros(10, np.float32)
    bias[(int(labels[0]) + 1) % 10] = 200  # The right class has a probability of about exp(-200).
    step.model.trainable_variables[-1].assign(bias)
    result = tf.function(step)(images, labels)
    assert float(result.loss) == pytest.approx(200, rel=0.05)
    assert float(result.grad_norm) > 1


@pytest.mark.parametrize(
    ("policy", "size", "tolerance"),
    [
        ("float32", 128, 1e-6),
        ("float32", 100, 1e-6),  # The second batch has 36 examples.
        ("float32", 50, 1e-6),  # There is no second batch.
        ("mixed_float16", 128, 2e-3),
        ("mixed_float16", 100, 2e-3),
    ],
)
def test_accumulated_batches_are_one_large_batch(mnist, policy, size, tolerance):
    images, labels = batch(mnist, size)
    large = tiny_step(policy, batch_size=128)
    small = tiny_step(policy, batch_size=64, accumulate_steps=2)
    for _ in range(3):
        one, two = tf.function(large)(images, labels), tf.function(small)(images, labels)
        assert float(two.loss) == pytest.approx(float(one.loss), rel=tolerance)
        assert float(two.grad_norm) == pytest.approx(float(one.grad_norm), rel=tolerance * 5)
        # In float16 an image on the border may fall to the other side.
        assert abs(float(two.correct) - float(one.correct)) <= (policy == "mixed_float16")
    assert counts(small) == counts(large) == (3, 0)
    for a, b in zip(weights(large), weights(small)):
        # Adam may turn on a gradient that is almost 0; its step is 0.001 then.
        wrong = np.abs(a - b) > tolerance
        assert np.mean(wrong) < 0.01


def test_the_penalty_counts_once_in_accumulated_batches(mnist):
    def make():
        return tiny_model(tf.keras.layers.Dense(16, kernel_regularizer=tf.keras.regularizers.L2(1)))

    images, labels = batch(mnist, 12)
    large = tiny_step("float32", make=make, batch_size=16)
    small = tiny_step("float32", make=make, batch_size=8, accumulate_steps=2)
    one, two = large(images, labels), small(images, labels)
    assert float(two.loss) == pytest.approx(float(one.loss), rel=1e-6)
    assert float(two.grad_norm) == pytest.approx(float(one.grad_norm), rel=1e-6)


def test_one_overflow_among_accumulated_batches_skips_the_step(mnist):
    step = tiny_step("mixed_float16", batch_size=4, accumulate_steps=2)
    before = weights(step)
    images, labels = batch(mnist)
    result = tf.function(step)(tf.concat([images[:7], images[7:] * 1e6], 0), labels)
    assert not bool(result.applied)
    assert counts(step) == (0, 1)
    assert_equal(before, weights(step))


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_gradients_are_clipped_after_unscaling(mnist, policy):
    images, labels = batch(mnist)
    step = tiny_step(policy, clip_norm=0.01)
    taken = []
    step.optimizer.apply_gradients = lambda pairs: taken.extend(each for each, _ in pairs)
    _, plain, norm = gradients(step, images, labels)
    assert norm > 0.5
    result = step(images, labels)
    # What is logged is the norm before.
    assert float(result.grad_norm) == pytest.approx(norm, rel=5e-3)
    assert float(tf.linalg.global_norm(taken)) == pytest.approx(0.01, rel=5e-3)
    for clipped, gradient in zip(taken, plain):
        np.testing.assert_allclose(clipped, gradient * 0.01 / norm, atol=2e-5)


def test_a_short_gradient_is_not_clipped(mnist):
    plain, clipped = tiny_step("float32"), tiny_step("float32", clip_norm=1e6)
    for step in (plain, clipped):
        step(*batch(mnist))
    assert_equal(weights(plain), weights(clipped))


@pytest.mark.parametrize("batches", [1, 2])
def test_a_skipped_step_takes_back_the_statistics_of_normalisation(mnist, batches):
    def make():
        return tiny_model(tf.keras.layers.BatchNormalization(name="normal"))

    flags = {"batch_size": 8 // batches, "accumulate_steps": batches}
    step = tiny_step("mixed_float16", make=make, initial_scale=16.0, **flags)
    one_step = tf.function(step)
    images, labels = batch(mnist)
    normal = step.model.get_layer("normal")
    before = normal.moving_mean.numpy()
    assert bool(one_step(images, labels).applied)
    assert np.any(normal.moving_mean.numpy() != before)
    before = weights(step)
    assert not bool(one_step(images * 1e6, labels).applied)
    assert counts(step) == (1, 1)
    assert_equal(before, weights(step))


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
@pytest.mark.parametrize("batches", [1, 2])
def test_sparse_gradients_and_an_unused_variable(policy, batches):
    def make():
        inputs = tf.keras.Input((4,), dtype="int64")
        hidden = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(20, 4)(inputs))
        unused = tf.keras.layers.Dense(3, name="unused")(hidden)
        outputs = tf.keras.layers.Dense(5, dtype="float32")(hidden)
        keep = tf.keras.layers.Lambda(lambda pair: pair[0])([outputs, unused])
        return tf.keras.Model(inputs, tf.keras.layers.Softmax(dtype="float32")(keep))

    flags = {"batch_size": 6 // batches, "accumulate_steps": batches, "clip_norm": 1.0}
    step = tiny_step(policy, make=make, shape=(4,), inputs=tf.int64, **flags)
    unused = step.model.get_layer("unused").get_weights()
    embedding = step.model.layers[1].get_weights()[0]
    ids = tf.constant(np.arange(24).reshape(6, 4) % 10)
    result = tf.function(step)(ids, tf.constant(np.arange(6) % 5))
    assert bool(result.applied)
    assert float(result.grad_norm) > 0
    assert_equal(unused, step.model.get_layer("unused").get_weights())
    moved = np.any(step.model.layers[1].get_weights()[0] != embedding, axis=1)
    assert moved.tolist() == [True] * 10 + [False] * 10


def test_losses_of_the_model_are_added(mnist):
    def make():
        return tiny_model(tf.keras.layers.Dense(16, kernel_regularizer=tf.keras.regularizers.L2(2)))

    step = tiny_step("float32", make=make)
    images, labels = batch(mnist)
    loss, _, _ = gradients(step, images, labels)
    penalty = 2 * np.sum(step.model.layers[1].kernel.numpy() ** 2)
    assert float(step(images, labels).loss) == pytest.approx(float(loss) + penalty, rel=1e-5)


def test_label_smoothing(mnist):
    step = tiny_step("float32", label_smoothing=0.3)
    images, labels = batch(mnist)
    loss, _, norm = gradients(step, images, labels, smoothing=0.3)
    result = step(images, labels)
    assert float(result.loss) == pytest.approx(float(loss), rel=1e-5)
    assert float(result.grad_norm) == pytest.approx(norm, rel=1e-5)


@pytest.mark.parametrize("batches", [1, 2])
def test_compiled_by_xla_the_step_is_the_same(mnist, batches):
    # Without dropout: XLA draws other numbers from the same seeds.
    flags = {"batch_size": 8 // batches, "accumulate_steps": batches}
    plain = tiny_step("float32", **flags)
    compiled = tiny_step("float32", jit_compile=True, **flags)
    for step in (plain, compiled):
        one_step = tf.function(step)
        for _ in range(3):
            one_step(*batch(mnist))
    for a, b in zip(weights(plain), weights(compiled)):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_dropout_is_other_in_every_step_and_batch(mnist):
    drawn = []

    class Watch(tf.keras.layers.Layer):
        def call(self, inputs):
            if tf.executing_eagerly():
                drawn.append(inputs.numpy() == 0)
            return inputs

    def make():
        return tf.keras.Sequential(
            [
                tf.keras.Input((784,)),
                tf.keras.layers.Lambda(tf.ones_like),
                tf.keras.layers.Dropout(0.5),
                Watch(),
                tf.keras.layers.Dense(10, activation="softmax"),
            ]
        )

    step = tiny_step("float32", make=make, batch_size=4, accumulate_steps=2)
    drawn.clear()  # The zeros on which the kind of the output was seen.
    for _ in range(2):
        step(*batch(mnist))
    assert len({each.tobytes() for each in drawn}) == len(drawn) == 4
