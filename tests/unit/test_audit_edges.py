"""``audit`` at its edges: graphs in graphs, models it cannot take, gradients no scale can hold."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from conftest import ROOT, environment, read_json, run_train
from workbench.audit import inspection
from workbench.audit.settings import Settings
from workbench.data.types import Arrays, Dataset

layers = tf.keras.layers
WIDTH, CLASSES = 24, 10


def _model(*middle):
    output = layers.Dense(CLASSES, activation="softmax", dtype="float32", name="out")
    return tf.keras.Sequential([layers.InputLayer((WIDTH,)), *middle, output])


def squared_relu():
    """Its constant is 0, and no division follows: the power is a positive one."""
    return _model(layers.Dense(16), layers.Lambda(lambda x: tf.maximum(x, 0.0) ** 2))


def inverse_root():
    return _model(layers.Dense(16), layers.Lambda(lambda x: (x * x + 1e-9) ** -0.5, name="root"))


def power_below():
    """The constant vanishes, and a division follows behind a positive power."""
    return _model(
        layers.Dense(16), layers.Lambda(lambda x: x / (x * x + 1e-9) ** 0.5, name="power")
    )


class Loop(layers.Layer):
    """Sums within a loop and a condition, whose inputs are outputs of many-valued operations."""

    def call(self, inputs):
        for _ in tf.range(3):
            inputs = inputs / (tf.abs(inputs) + 1e-8)
        if tf.reduce_sum(inputs) > 0:
            inputs = 2 * inputs
        first, second = tf.split(inputs, 2, axis=-1)
        return tf.concat([first, second - tf.reduce_sum(second, -1, keepdims=True)], -1)


def loop():
    return _model(layers.Dense(16), Loop(name="loop"))


class InTrainingAlone(tf.keras.Model):
    """Adds a number of ``kind`` in training alone, so that building it is no trial."""

    def __init__(self, kind="float32"):
        super().__init__()
        self.kind = kind
        self.first, self.out = layers.Dense(16), layers.Dense(CLASSES, "softmax", dtype="float32")

    def call(self, inputs, training=False):
        values = self.first(inputs)
        if training:
            values = values + tf.ones([16], self.kind)
        return self.out(values)


def in_training_alone():
    return InTrainingAlone()


def in_no_precision():
    return InTrainingAlone("int32")


def operations(cast=False):
    inputs = tf.keras.Input((WIDTH,))
    values = layers.Dense(16, "relu", kernel_initializer="ones", name="first")(inputs)
    values = tf.cast(values, tf.float32) if cast else values
    values = values * 70000.0 * 1e-5
    outputs = layers.Dense(CLASSES, "softmax", dtype="float32", name="out")(values)
    return tf.keras.Model(inputs, outputs)


@tf.custom_gradient
def steeper(values):
    return tf.identity(values), lambda slope: slope * 1e9


def steep():
    return _model(layers.Dense(16, "relu", name="first"), layers.Lambda(steeper, name="steep"))


@pytest.fixture(autouse=True)
def _global_policy():
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


def arrays(count):
    images = np.random.default_rng(0).random((count, WIDTH), np.float32)
    return Arrays(images, (images[:, 0] * CLASSES).astype(np.int64))


def endless():
    def examples():
        while True:
            yield from zip(*arrays(64))

    kinds = (tf.TensorSpec((WIDTH,)), tf.TensorSpec((), tf.int64))
    train = tf.data.Dataset.from_generator(examples, output_signature=kinds)
    return train, train.take(32)


def audit(name, with_data=False, **flags):
    data = Dataset(arrays(128), arrays(64), CLASSES, None, "digest", ()) if with_data else None
    if not with_data:
        flags["input_shape"] = (WIDTH,)
    return inspection.inspect(Settings(model=f"{__file__}:{name}", **flags), data)


def shown(result):
    """What was found, without the word that a layer is the user's own."""
    return [
        (each.id, each.level, each.layer) for each in result.findings if each.id != "custom_layer"
    ]


@pytest.mark.parametrize(
    ("name", "findings"),
    [
        ("squared_relu", []),
        ("inverse_root", [("epsilon_vanishes", "error", "root")]),
        ("power_below", [("epsilon_vanishes", "error", "power")]),
        ("loop", [("epsilon_vanishes", "error", "loop")]),
        ("in_training_alone", [("fails_in_mixed_float16", "error", None)]),
    ],
)
def test_graphs(name, findings):
    assert shown(audit(name)) == findings


def test_an_operation_takes_no_dtype_but_a_cast_before_it():
    result = audit("operations", with_data=True)
    errors = [each for each in result.findings if each.level == "error"]
    assert [each.layer for each in errors] == ["tf.math.multiply", "tf.math.multiply_1"]
    assert errors[0].remedy.startswith("tf.cast(x, tf.float32) before the operation")
    # The remedy is one.
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    images = arrays(8).images
    assert not np.isfinite(operations()(images).numpy()).all()
    assert np.isfinite(operations(cast=True)(images).numpy()).all()


def test_a_gradient_that_no_scale_can_hold(tmp_path):
    result = audit("steep", with_data=True)
    assert shown(result) == [("gradient_overflows", "error", "first")]
    assert result.advice.initial_scale == 1
    assert result.advice.reason.endswith("no scale is lower than 1")
    # It is true: train does not get one step through.
    train = arrays(64)
    np.savez(
        tmp_path / "data.npz",
        **{"x_train": train.images, "y_train": train.labels},
        **{"x_test": train.images, "y_test": train.labels},
    )
    run = run_train(
        f"--model={__file__}:steep",
        *("--data=data.npz", "--policy=mixed_float16", "--batch_size=8", "--epochs=2", "--out=run"),
        datasets=tmp_path,
        cwd=tmp_path,
        PYTHONPATH=str(ROOT / "tests" / "unit"),
    )
    assert run.returncode == 1
    assert read_json(tmp_path / "run" / "summary.json")["applied_steps"] == 0


def test_a_batch_that_is_no_multiple_of_8():
    assert shown(audit("squared_relu", with_data=True, batch_size=20)) == [
        ("size_not_multiple_of_8", "info", None)
    ]


def run_audit(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "workbench.audit", *arguments],
        env=environment(cwd, PYTHONPATH=f"{ROOT}:{ROOT / 'tests' / 'unit'}"),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def saved(folder):
    inputs = tf.keras.Input((WIDTH,))
    both = [layers.Dense(CLASSES)(inputs), layers.Dense(3)(inputs)]
    tf.keras.Model(inputs, both).save(folder / "two_outputs.h5")
    other = tf.keras.Input((WIDTH,))
    tf.keras.Model([inputs, other], layers.Dense(3)(inputs + other)).save(folder / "two_inputs.h5")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model=two_outputs.h5"], "the model gives a list: it must give one tensor"),
        (["--model=two_inputs.h5"], "the model has 2 inputs: it must have one"),
        ([f"--model={__file__}:in_no_precision", "--input_shape=24"], "it fails in training: "),
        (["--model=cnn", "--weights=imagenet"], "--weights has no effect without --data"),
        (["--model=cnn", "--data=mnist", "--weights=imagenet"], "--weights=imagenet has no effect"),
        ([f"--model={__file__}:loop", f"--data={__file__}:endless"], "--steps_per_epoch"),
    ],
)
def test_mistakes(tmp_path, arguments, words):
    saved(tmp_path)
    result = run_audit(*arguments, "--out=new", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert not (tmp_path / "new").exists()


def test_an_endless_stream(tmp_path):
    result = run_audit(
        f"--model={__file__}:squared_relu",
        *(f"--data={__file__}:endless", "--steps_per_epoch=3", "--batch_size=16", "--out=new"),
        cwd=tmp_path,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads((tmp_path / "new" / "audit.json").read_text())["examples"] == 48
