"""What mixed precision needs of a model, and which layer is named when it is not there."""

from __future__ import annotations

import pytest
import tensorflow as tf

from workbench.errors import Mistake
from workbench.models.mlp import build_mlp
from workbench.optimizer import build_optimizer
from workbench.precision import check_precision, describe_optimizer, describe_precision
from workbench.settings import Settings

COMPUTE = {"float32": "float32", "mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}


@pytest.fixture(autouse=True)
def float32_afterwards():
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


def set_policy(policy):
    tf.keras.mixed_precision.set_global_policy(policy)


def check(model, policy):
    check_precision(model, build_optimizer(policy, Settings(), 10), policy)


def layers(*middle, last="float32"):
    return tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            *middle,
            tf.keras.layers.Dense(2, dtype=last, name="last"),
        ]
    )


@pytest.mark.parametrize("policy", COMPUTE)
def test_the_tutorial_model_under_every_policy(policy):
    set_policy(policy)
    model = build_mlp((28, 28), 10)
    check(model, policy)
    rows = describe_precision(model)
    assert [row["compute_dtype"] for row in rows] == [COMPUTE[policy]] * 2 + ["float32"]
    assert {row["variable_dtype"] for row in rows} == {"float32"}


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_a_policy_without_effect(policy):
    message = rf"policy {policy} has no effect: .* computes in {COMPUTE[policy]} .*float32"
    with pytest.raises(Mistake, match=message):
        check(build_mlp((4,), 2), policy)
    set_policy(policy)
    with pytest.raises(Mistake, match=message):
        check(layers(tf.keras.layers.Dense(3, dtype="float32")), policy)


def test_some_layers_may_be_float32():
    set_policy("mixed_float16")
    check(
        layers(tf.keras.layers.Dense(3), tf.keras.layers.Dense(3, dtype="float32")), "mixed_float16"
    )


@pytest.mark.parametrize("policy", COMPUTE)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_variables_of_another_type(policy, dtype):
    set_policy(policy)
    with pytest.raises(Mistake, match=f"layer odd keeps .*kernel.* in {dtype}.*dtype='float32'"):
        check(layers(tf.keras.layers.Dense(3, dtype=dtype, name="odd")), policy)


@pytest.mark.parametrize(
    ("policy", "other"),
    [
        ("float32", "mixed_float16"),
        ("float32", "mixed_bfloat16"),
        ("mixed_float16", "mixed_bfloat16"),
        ("mixed_bfloat16", "mixed_float16"),
    ],
)
def test_layers_of_another_policy(policy, other):
    set_policy(policy)
    model = layers(tf.keras.layers.Dense(3), tf.keras.layers.ReLU(dtype=other, name="odd"))
    with pytest.raises(Mistake, match=f"layer odd computes in {COMPUTE[other]} under .*{policy}"):
        check(model, policy)


class Subclassed(tf.keras.Model):
    def __init__(self, last=None):
        super().__init__(name="outer")
        self.blocks = [{"first": tf.keras.layers.Dense(3, name="inside")}]
        self.last = tf.keras.layers.Dense(2, activation="softmax", dtype=last, name="last")

    def call(self, inputs):
        return self.last(self.blocks[0]["first"](inputs))


def subclassed(**details):
    model = Subclassed(**details)
    model(tf.zeros((1, 4)))
    return model


def test_the_output_layer_is_named():
    set_policy("mixed_float16")
    named = r"output layer last is not float32 but float16: give it dtype='float32'"
    hidden = tf.keras.layers.Dense(3)
    for wrong in (layers(hidden, last=None), subclassed()):
        with pytest.raises(Mistake, match=named):
            check(wrong, "mixed_float16")
    nested = tf.keras.Sequential([tf.keras.Input((4,)), layers(hidden, last=None)])
    with pytest.raises(Mistake, match=named):
        check(nested, "mixed_float16")
    check(subclassed(last="float32"), "mixed_float16")


def test_the_output_layer_by_its_place_not_by_its_order():
    set_policy("mixed_bfloat16")
    inputs = tf.keras.Input((4,))
    hidden = tf.keras.layers.Dense(3)(inputs)
    cast = tf.keras.layers.Activation("linear", dtype="float32", name="cast")
    check(tf.keras.Model(inputs, cast(hidden)), "mixed_bfloat16")
    wrong = tf.keras.Model(inputs, tf.keras.layers.ReLU(name="end")(cast(hidden)))
    with pytest.raises(Mistake, match="output layer end"):
        check(wrong, "mixed_bfloat16")


def test_layers_in_layers_are_found():
    set_policy("mixed_float16")
    rows = describe_precision(subclassed())
    assert [row["name"] for row in rows] == ["inside", "last"]
    nested = tf.keras.Sequential([tf.keras.Input((4,)), layers(tf.keras.layers.Dense(3, name="a"))])
    nested.compile("sgd", "mse", metrics=["accuracy"])
    assert [row["name"] for row in describe_precision(nested)] == ["a", "last"]
    set_policy("float32")
    deep = layers(layers(tf.keras.layers.Dense(3, dtype="mixed_float16", name="deep")))
    with pytest.raises(Mistake, match="layer deep computes in float16"):
        check(deep, "float32")


def test_recurrent_layers_and_normalisation():
    set_policy("mixed_float16")
    model = tf.keras.Sequential(
        [
            tf.keras.Input((5, 3)),
            tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(4, dropout=0.1)),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Dense(2, dtype="float32"),
        ]
    )
    check(model, "mixed_float16")
    classes = [row["class"] for row in describe_precision(model)]
    assert classes == ["LSTMCell", "LSTMCell", "BatchNormalization", "Dense"]


def mixed_model():
    set_policy("mixed_float16")
    return build_mlp((4,), 2)


def test_the_optimizer_scales_under_float16_and_only_there():
    adam = tf.keras.optimizers.Adam()
    scaled = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())
    experimental = tf.keras.optimizers.experimental.Adam()
    with pytest.raises(Mistake, match=r"Adam does not scale the loss.*LossScaleOptimizer"):
        check_precision(mixed_model(), adam, "mixed_float16")
    with pytest.raises(Mistake, match="Adam is experimental"):
        check_precision(mixed_model(), experimental, "mixed_float16")
    check_precision(mixed_model(), scaled, "mixed_float16")
    set_policy("float32")
    with pytest.raises(Mistake, match="LossScaleOptimizer does not fit the policy float32"):
        check_precision(build_mlp((4,), 2), scaled, "float32")
    check_precision(build_mlp((4,), 2), adam, "float32")


def test_the_optimizer_in_words():
    assert describe_optimizer(build_optimizer("float32", Settings(), 10)) == {
        "class": "Adam",
        "loss_scale": None,
    }
    assert describe_optimizer(build_optimizer("mixed_float16", Settings(), 10)) == {
        "class": "LossScaleOptimizer",
        "inner_class": "Adam",
        "loss_scale": "dynamic",
        "initial_scale": 32768.0,
        "growth_steps": 2000,
    }
