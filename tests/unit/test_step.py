"""The training step's mathematics, and the loop around it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf

from conftest import ROOT
from workbench.data.order import epoch_order
from workbench.errors import Mistake
from workbench.loop import Loop, means, numbers, to_device, total, unpack
from workbench.models import build_mlp, build_optimizer, check_precision, describe_precision
from workbench.settings import Settings
from workbench.step import TrainingStep


@pytest.fixture(autouse=True)
def float32_afterwards():
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


def tiny_step(policy, **flags):
    """A step of a model 784-16-10 with the same weights under every policy."""
    tf.keras.mixed_precision.set_global_policy(policy)
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((784,), dtype="float32"),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax", dtype="float32"),
        ]
    )
    return TrainingStep(model, build_optimizer(policy, Settings(**flags)), classes=10)


def batch(mnist, size=8):
    images = mnist["x_train"][:size].reshape(size, 784).astype(np.float32) / 255
    return tf.constant(images), tf.constant(mnist["y_train"][:size].astype(np.int64))


def tiny_loop(step, mnist, samples=40, batch_size=8):
    data = to_device(mnist["x_train"][:samples], mnist["y_train"][:samples])
    return Loop(step, train=data, val=data, batch_size=batch_size)


def run(loop, first=0, last=None, seed=0, epoch=0):
    order = tf.constant(epoch_order(seed, epoch, len(loop.train.labels)))
    last = loop.steps_per_epoch if last is None else last
    return numbers(loop.train_steps(order, tf.constant(first), tf.constant(last)))


def counts(step):
    return int(step.applied_steps), int(step.skipped_steps)


def weights(step):
    return [variable.numpy() for variable in step.model.trainable_variables]


def test_gradient_norm_is_that_of_the_cross_entropy(mnist):
    step = tiny_step("float32")
    images, labels = batch(mnist)
    with tf.GradientTape() as tape:
        probabilities = step.model(images)
        loss = -tf.reduce_mean(tf.math.log(tf.gather(probabilities, labels, batch_dims=1)))
    gradients = tape.gradient(loss, step.model.trainable_variables)
    norm = np.sqrt(sum(float(tf.reduce_sum(gradient**2)) for gradient in gradients))
    correct = np.sum(np.argmax(probabilities, axis=1) == labels.numpy())
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


def test_overflow_skips_the_step_and_halves_the_scale(mnist):
    step = tiny_step("mixed_float16", initial_scale=1e30)
    before = weights(step)
    result = tf.function(step)(*batch(mnist))
    assert not bool(result.applied)
    assert float(step.loss_scale()) == np.float32(1e30) / 2
    assert counts(step) == (0, 1)
    assert not bool(step.hopeless())
    for old, new in zip(before, weights(step)):
        np.testing.assert_array_equal(old, new)


def test_loss_and_gradient_survive_a_confident_mistake(mnist):
    step = tiny_step("float32")
    images, labels = batch(mnist, 1)
    bias = np.zeros(10, np.float32)
    bias[(int(labels[0]) + 1) % 10] = 200  # The right class has a probability of about exp(-200).
    step.model.trainable_variables[-1].assign(bias)
    result = tf.function(step)(images, labels)
    assert float(result.loss) == pytest.approx(200, rel=0.05)
    assert float(result.grad_norm) > 1


def test_the_scale_falls_until_steps_are_applied(mnist):
    step = tiny_step("mixed_float16", initial_scale=2.0**24)
    window = run(tiny_loop(step, mnist, samples=160))
    applied, skipped = counts(step)
    assert applied > 0
    assert skipped > 0
    assert applied + skipped == 20 == window.steps
    assert float(step.loss_scale()) == 2.0 ** (24 - skipped)
    assert np.isfinite(window.loss_sum)


def test_the_scale_doubles_after_growth_steps(mnist):
    step = tiny_step("mixed_float16", initial_scale=64.0, growth_steps=2)
    run(tiny_loop(step, mnist, samples=40))
    assert counts(step) == (5, 0)
    assert float(step.loss_scale()) == 256.0


def test_a_fixed_scale_stays_and_an_overflow_is_not_applied(mnist):
    step = tiny_step("mixed_float16", loss_scale=1e9)
    before = weights(step)
    window = run(tiny_loop(step, mnist, samples=160))
    assert counts(step) == (0, 10)
    assert window.steps == 10
    assert bool(step.hopeless())
    assert float(step.loss_scale()) == 1e9
    assert means(window) == {"loss": None, "accuracy": None, "grad_norm": None}
    for old, new in zip(before, weights(step)):
        np.testing.assert_array_equal(old, new)


def test_dynamic_scaling_gives_up_at_its_floor(mnist):
    step = tiny_step("mixed_float16", initial_scale=4.0)
    kernel = step.model.trainable_variables[0]
    kernel.assign(tf.fill(kernel.shape, 1e6))  # More than float16 holds.
    run(tiny_loop(step, mnist, samples=320))
    assert counts(step) == (0, 12)  # 4 and 2 could be halved; then ten at 1.
    assert float(step.loss_scale()) == 1.0


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_without_scaling_the_first_non_finite_step_ends_it(mnist, policy):
    step = tiny_step(policy)
    step.model.trainable_variables[-1].assign([np.nan] * 10)
    before = weights(step)
    window = run(tiny_loop(step, mnist))
    assert counts(step) == (0, 1)
    assert bool(step.hopeless())
    assert np.isnan(window.last_loss)
    for old, new in zip(before, weights(step)):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_the_tutorial_model_under_every_policy(policy):
    tf.keras.mixed_precision.set_global_policy(policy)
    model = build_mlp()
    check_precision(model, build_optimizer(policy, Settings()), policy)
    compute = {"float32": "float32", "mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}
    layers = describe_precision(model)
    assert [layer["compute_dtype"] for layer in layers] == [compute[policy]] * 2 + ["float32"]
    assert {layer["variable_dtype"] for layer in layers} == {"float32"}
    assert [layer.units for layer in model.layers] == [512, 256, 10]
    assert model.input_shape == (None, 784)
    assert (model.inputs[0].dtype, model.outputs[0].dtype) == (tf.float32, tf.float32)


def test_a_model_that_does_not_fit_the_policy_is_named():
    model = build_mlp()
    optimizer = build_optimizer("mixed_float16", Settings())
    with pytest.raises(Mistake, match=r"hidden_1 computes in float32, not in float16"):
        check_precision(model, optimizer, "mixed_float16")
    with pytest.raises(Mistake, match="LossScaleOptimizer does not fit the policy float32"):
        check_precision(model, optimizer, "float32")
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    half = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2, name="last")])
    with pytest.raises(Mistake, match=r"output layer last is not float32"):
        check_precision(half, optimizer, "mixed_float16")


def test_order_is_keyed_by_seed_and_epoch():
    order = epoch_order(0, 0, 1000)
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    np.testing.assert_array_equal(order, epoch_order(0, 0, 1000))
    for other in (epoch_order(0, 1, 1000), epoch_order(1, 0, 1000)):
        assert np.mean(other == order) < 0.02
    # Pinned: a resumed run must see the order that the run before it saw.
    assert epoch_order(2, 3, 10).tolist() == [4, 9, 2, 0, 3, 6, 8, 1, 7, 5]


def test_the_loop_trains_on_the_images_in_order(mnist):
    looped, stepped = tiny_step("float32"), tiny_step("float32")
    loop = tiny_loop(looped, mnist, samples=44)  # The last batch has four images.
    window = run(loop, seed=5, epoch=2)
    assert (loop.steps_per_epoch, window.steps, window.images) == (6, 6, 44)
    order = epoch_order(5, 2, 44)
    one_step = tf.function(stepped)
    loss_sum = 0.0
    for first in range(0, 44, 8):
        index = order[first : first + 8]
        images = mnist["x_train"][index].reshape(-1, 784).astype(np.float32) / 255
        result = one_step(tf.constant(images), tf.constant(mnist["y_train"][index], tf.int64))
        loss_sum += float(result.loss) * len(index)
    assert window.loss_sum == pytest.approx(loss_sum, rel=1e-5)
    for a, b in zip(weights(looped), weights(stepped)):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_windows_add_up_to_the_epoch(mnist):
    whole = run(tiny_loop(tiny_step("float32"), mnist))
    loop = tiny_loop(tiny_step("float32"), mnist)
    parts = total([run(loop, 0, 2), run(loop, 2, 5)])
    assert parts.steps == whole.steps == 5
    for name, value in means(whole).items():
        assert means(parts)[name] == pytest.approx(value, rel=1e-5)


def test_pixels_survive_the_packing(mnist):
    data = to_device(mnist["x_train"][:5], mnist["y_train"][:5])
    expected = mnist["x_train"][:5].reshape(5, 784).astype(np.float32) / 255
    np.testing.assert_array_equal(unpack(data.words).numpy(), expected)


def test_validation_is_the_mean_over_the_whole_set(mnist):
    step = tiny_step("float32")
    loop = tiny_loop(step, mnist, samples=43)
    loss, accuracy, seen = (value.numpy() for value in loop.validate())
    images, labels = batch(mnist, 43)
    probabilities = step.model(images).numpy()
    assert seen == 43
    assert accuracy == np.mean(np.argmax(probabilities, 1) == labels.numpy())
    assert loss == pytest.approx(-np.mean(np.log(probabilities[range(43), labels])), rel=1e-5)


def test_stop_ends_a_graph_call_that_runs(mnist):
    step = tiny_step("float32")
    loop = tiny_loop(step, mnist, samples=60000, batch_size=1)

    def stop_after_a_step():
        while int(step.applied_steps) == 0:
            pass
        loop.stop.assign(True)

    thread = threading.Thread(target=stop_after_a_step)
    thread.start()
    window = run(loop)
    thread.join()
    assert 0 < window.steps < 60000
    assert int(loop.validate()[2]) == 0


SIGNALLED = """
import os, sys, threading
from workbench.stop import StopRequest

class Flag:
    def __init__(self): self.set = threading.Event()
    def assign(self, value): self.set.set()

stop, flag = StopRequest(), Flag()
stop.listen()
if sys.argv[1] == 'running':
    stop.save_first(flag)
os.kill(os.getpid(), int(sys.argv[2]))
flag.set.wait(60)
print(stop.signal.name)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal(number):
    def signalled(phase):
        return subprocess.run(
            [sys.executable, "-c", SIGNALLED, phase, str(int(number))],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    before = signalled("nothing to save yet")
    assert (before.returncode, before.stdout, before.stderr) == (128 + number, "", "")
    running = signalled("running")
    assert (running.returncode, running.stdout, running.stderr) == (0, f"{number.name}\n", "")
