"""The models, the optimizer, and the check of what mixed precision needs of them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from workbench.errors import Mistake
from workbench.settings import Settings


def build_mlp() -> tf.keras.Model:
    """Return the tutorial's model: 784-512-256-10, under the global precision policy.

    Input (N, 784) float32 in [0, 1]; output (N, 10) float32, probabilities. The output layer
    is float32 under every policy: a layer's output keeps the compute type of its policy, and
    softmax in float16 loses small probabilities.
    """
    return tf.keras.Sequential(
        [
            tf.keras.Input(shape=(784,), dtype="float32", name="inputs"),
            tf.keras.layers.Dense(512, activation="relu", name="hidden_1"),
            tf.keras.layers.Dense(256, activation="relu", name="hidden_2"),
            tf.keras.layers.Dense(10, activation="softmax", dtype="float32", name="probabilities"),
        ],
        name="mlp",
    )


MODELS = {"mlp": build_mlp}


def build_optimizer(policy: str, settings: Settings) -> tf.keras.optimizers.Optimizer:
    """Return Adam; under mixed_float16 in a LossScaleOptimizer, dynamic or of a fixed scale."""
    adam = tf.keras.optimizers.Adam(settings.learning_rate)
    if policy != "mixed_float16":
        return adam
    if settings.loss_scale == "dynamic":
        return tf.keras.mixed_precision.LossScaleOptimizer(
            adam,
            initial_scale=settings.initial_scale,
            dynamic_growth_steps=settings.growth_steps,
        )
    return tf.keras.mixed_precision.LossScaleOptimizer(
        adam, dynamic=False, initial_scale=settings.loss_scale
    )


def describe_precision(model: tf.keras.Model) -> list[dict[str, Any]]:
    """Return a row for each layer with weights: its name and its compute and variable types."""
    return [
        {
            "name": layer.name,
            "class": type(layer).__name__,
            "compute_dtype": layer.compute_dtype,
            "variable_dtype": layer.variable_dtype,
        }
        for layer in model.layers
        if layer.weights
    ]


def describe_optimizer(optimizer: tf.keras.optimizers.Optimizer) -> dict[str, Any]:
    """Return the optimizer's class, and how it scales the loss (None: it does not)."""
    if not isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer):
        return {"class": type(optimizer).__name__, "loss_scale": None}
    return {
        "class": "LossScaleOptimizer",
        "inner_class": type(optimizer.inner_optimizer).__name__,
        "loss_scale": "dynamic" if optimizer.dynamic else "fixed",
        "initial_scale": optimizer.initial_scale,
        "growth_steps": optimizer.dynamic_growth_steps,
    }


def check_precision(
    model: tf.keras.Model, optimizer: tf.keras.optimizers.Optimizer, policy: str
) -> None:
    """Raise ``Mistake`` where ``model`` is not what ``policy`` needs.

    Needed: hidden layers compute in the policy's type, variables and the output are float32,
    and under mixed_float16 the optimizer scales the loss. Keras accepts all else in silence.
    """
    compute_dtype = tf.keras.mixed_precision.Policy(policy).compute_dtype
    *hidden, last = [layer for layer in model.layers if layer.weights]
    for layer in hidden:
        if layer.compute_dtype != compute_dtype:
            raise Mistake(
                f"the layer {layer.name} computes in {layer.compute_dtype}, not in "
                f"{compute_dtype}: set the policy {policy} before the model is built"
            )
    for variable in model.trainable_variables:
        if variable.dtype != tf.float32:
            raise Mistake(f"the variable {variable.name} is {variable.dtype.name}: use float32")
    if last.compute_dtype != "float32" or any(
        output.dtype != tf.float32 for output in model.outputs
    ):
        raise Mistake(f"the output layer {last.name} is not float32: give it dtype='float32'")
    scales = isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer)
    if scales != (policy == "mixed_float16"):
        raise Mistake(f"the optimizer {type(optimizer).__name__} does not fit the policy {policy}")
