"""Loss, accuracy and probabilities for every kind of output."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from workbench.errors import Mistake
from workbench.objective import Objective

BATCH = tf.constant(np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32))


def model(units, activation=None, then=None):
    layers = [tf.keras.Input((4,)), tf.keras.layers.Dense(units, activation, name="last")]
    return tf.keras.Sequential(layers + ([then] if then else []))


class Subclassed(tf.keras.Model):
    def __init__(self, units, end):
        super().__init__()
        self.last = tf.keras.layers.Dense(units, name="last")
        self.end = end

    def call(self, inputs):
        return self.end(self.last(inputs))


def subclassed(units, end):
    built = Subclassed(units, end)
    built(BATCH)
    return built


def hidden(values):
    """A Lambda that says nothing about what it does."""
    return tf.keras.layers.Lambda(values)


def cast():
    return tf.keras.layers.Activation("linear", dtype="float32")


@pytest.mark.parametrize(
    ("make", "kind", "classes"),
    [
        (lambda: model(3, "softmax"), "probabilities", 3),
        (lambda: model(3), "logits", 3),
        (lambda: model(3, "relu"), "logits", 3),
        (lambda: model(1, "sigmoid"), "binary probability", 2),
        (lambda: model(1), "binary logit", 2),
        (lambda: model(3, None, tf.keras.layers.Softmax()), "probabilities", 3),
        (lambda: model(3, "softmax", cast()), "probabilities", 3),
        (lambda: model(3, None, cast()), "logits", 3),
        (lambda: model(1, "sigmoid", cast()), "binary probability", 2),
        (lambda: model(3, None, hidden(lambda x: tf.exp(x) / 50)), None, None),
        (lambda: model(3, None, hidden(lambda x: tf.nn.softmax(x) + 0)), "probabilities", 3),
        (lambda: model(3, None, hidden(lambda x: x * 100)), "logits", 3),
        (lambda: model(3, None, hidden(lambda x: x * np.nan)), "logits", 3),
        (
            lambda: tf.keras.Sequential([tf.keras.Input((4,)), model(3, "softmax")]),
            "probabilities",
            3,
        ),
        (lambda: subclassed(3, tf.identity), "logits", 3),
        (lambda: subclassed(3, tf.nn.softmax), "probabilities", 3),
        (lambda: subclassed(1, tf.sigmoid), "binary probability", 2),
        (lambda: subclassed(1, lambda x: tf.cast(x, tf.float32)), "binary logit", 2),
        (lambda: subclassed(1, lambda x: tf.sigmoid(x) * 1), "binary probability", 2),
        (lambda: subclassed(3, lambda x: tf.nn.softmax(x) * 1), "probabilities", 3),
        (lambda: model(3, "sigmoid"), None, None),
        (lambda: subclassed(3, tf.sigmoid), None, None),
        (lambda: model(1, "softmax"), None, None),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_kind(make, kind, classes, known):
    if kind is None:
        with pytest.raises(
            Mistake, match=r"output layer \w+ (is a softmax over one|gives 3 values)"
        ):
            Objective.of(make(), BATCH, 3 if known else None)
    else:
        objective = Objective.of(make(), BATCH, classes if known else None)
        assert (objective.kind, objective.classes) == (kind, classes)


@pytest.mark.parametrize(
    ("units", "classes", "contained"),
    [
        (3, 10, "there are 10 classes, but the output layer last has 3 units: give it 10"),
        (3, 2, "there are 2 classes, but the output layer last has 3 units"),
        (1, 3, "there are 3 classes, but the output layer last has 1 unit, for 2 classes"),
    ],
)
def test_labels_that_do_not_fit(units, classes, contained):
    with pytest.raises(Mistake, match=f"labels do not fit the output: {contained}"):
        Objective.of(model(units), BATCH, classes)
    with pytest.raises(Mistake, match=f"labels do not fit the output: {contained}"):
        Objective.of(subclassed(units, tf.identity), BATCH, classes)


@pytest.mark.parametrize("end", [lambda x: x[:, 0], lambda x: x[:, tf.newaxis]])
def test_dense_prediction_is_refused(end):
    for wrong in (model(3, None, hidden(end)), subclassed(3, end)):
        with pytest.raises(Mistake, match=r"puts out \(.*expected \(batch, classes\)"):
            Objective.of(wrong, BATCH, 3)


P = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]], np.float32)
LABELS = np.array([0, 2, 2])
EXPECTED = -np.log([0.7, 0.3, 0.4])
ONE_HOT = np.eye(3, dtype=np.float32)[LABELS]
OUTPUTS = {"probabilities": P, "logits": np.log(P) + 5}


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float32])
def test_several_classes(kind, dtype):
    objective = Objective(kind, 3, label_smoothing=0.3)
    outputs = tf.constant(OUTPUTS[kind])
    labels = tf.constant(ONE_HOT if dtype == np.float32 else LABELS.astype(dtype))
    losses = objective.losses(labels, outputs)
    assert losses.dtype == tf.float32
    np.testing.assert_allclose(losses, EXPECTED, rtol=1e-5)
    smoothed = objective.losses(labels, outputs, smoothing=True)
    expected = -np.sum((ONE_HOT * 0.7 + 0.1) * np.log(P), axis=1)
    np.testing.assert_allclose(smoothed, expected, rtol=1e-5)
    correct = objective.correct(labels, outputs)
    assert (correct.dtype, correct.numpy().tolist()) == (tf.float32, [1, 0, 1])
    np.testing.assert_allclose(objective.probabilities(outputs), P, rtol=1e-5)


Q = np.array([[0.9], [0.2], [0.4]], np.float32)
BINARY = np.array([1, 0, 1])
BINARY_OUTPUTS = {"binary probability": Q, "binary logit": np.log(Q / (1 - Q))}


@pytest.mark.parametrize("kind", BINARY_OUTPUTS)
@pytest.mark.parametrize("one_hot", [True, False])
def test_one_unit(kind, one_hot):
    objective = Objective(kind, 2, label_smoothing=0.2)
    outputs = tf.constant(BINARY_OUTPUTS[kind])
    labels = tf.constant(np.eye(2, dtype=np.float32)[BINARY] if one_hot else BINARY)
    losses = objective.losses(labels, outputs)
    assert losses.dtype == tf.float32
    np.testing.assert_allclose(losses, -np.log([0.9, 0.8, 0.4]), rtol=1e-5)
    smoothed = objective.losses(labels, outputs, smoothing=True)
    both = np.concatenate([1 - Q, Q], axis=1)
    expected = -np.sum((np.eye(2)[BINARY] * 0.8 + 0.1) * np.log(both), axis=1)
    np.testing.assert_allclose(smoothed, expected, rtol=1e-5)
    assert objective.correct(labels, outputs).numpy().tolist() == [1, 1, 0]
    np.testing.assert_allclose(objective.probabilities(outputs), both, rtol=1e-5)


@pytest.mark.parametrize("kind", [*OUTPUTS, *BINARY_OUTPUTS])
def test_a_label_that_is_no_class_gives_nan(kind):
    outputs = tf.constant({**OUTPUTS, **BINARY_OUTPUTS}[kind])
    objective = Objective(kind, 3 if kind in OUTPUTS else 2)
    losses = tf.function(objective.losses)(tf.constant([0, -1, 3]), outputs)
    assert np.isnan(losses).tolist() == [False, True, True]


@pytest.mark.parametrize(("units", "activation"), [(3, "softmax"), (1, "sigmoid"), (3, None)])
@pytest.mark.parametrize("jit", [False, True])
def test_loss_and_gradient_survive_a_confident_mistake(units, activation, jit):
    saturated = model(units, activation)
    saturated.weights[1].assign([200.0, 0.0, 0.0] if units == 3 else [200.0])
    objective = Objective.of(saturated, BATCH, None)
    wrong = 1 if units == 3 else 0

    @tf.function(jit_compile=jit)
    def loss_and_gradient():
        with tf.GradientTape() as tape:
            outputs = saturated(BATCH, training=True)
            losses = objective.losses(tf.fill([6], wrong), outputs)
        return losses, tape.gradient(losses, saturated.weights[1])

    losses, gradient = loss_and_gradient()
    np.testing.assert_allclose(losses, [200] * 6, rtol=0.05)
    assert float(gradient[0]) == pytest.approx(6, rel=1e-3)
