"""What mixed precision needs of a model and its optimizer; Keras accepts all else in silence."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from workbench.errors import Mistake
from workbench.layers import all_layers
from workbench.output import Output

LOW_PRECISION = ("float16", "bfloat16")

LossScaleOptimizer = tf.keras.mixed_precision.LossScaleOptimizer


def describe_precision(model: tf.keras.Model) -> list[dict[str, Any]]:
    """Return a row for each layer with weights: its name and its compute and variable types.

    Layers inside other layers and models are among them.
    """
    return [
        {
            "name": layer.name,
            "class": type(layer).__name__,
            "compute_dtype": layer.compute_dtype,
            "variable_dtype": layer.variable_dtype,
        }
        for layer in all_layers(model)
        if own_weights(layer)
    ]


def describe_optimizer(optimizer: tf.keras.optimizers.Optimizer) -> dict[str, Any]:
    """Return the optimizer's class, and how it scales the loss (None: it does not)."""
    if not isinstance(optimizer, LossScaleOptimizer):
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
    """Raise ``Mistake`` where the built ``model`` or ``optimizer`` is not what ``policy`` needs.

    Needed: float32 variables; layers that compute in the policy's type, of which any may be
    float32 on purpose but not all; a float32 output; and an optimizer that scales the loss
    under mixed_float16 and only there.
    """
    _check_layers(model, policy)
    _check_output(model)
    _check_optimizer(optimizer, policy)


def _check_layers(model: tf.keras.Model, policy: str) -> None:
    compute_dtype = tf.keras.mixed_precision.Policy(policy).compute_dtype
    layers = all_layers(model)
    for layer in layers:
        for variable in own_weights(layer):
            if variable.dtype.is_floating and variable.dtype != tf.float32:
                raise Mistake(
                    f"the layer {layer.name} keeps {variable.name} in {variable.dtype.name}: "
                    f"leave out its dtype, or give it dtype='float32'"
                )
        if layer.compute_dtype in LOW_PRECISION and layer.compute_dtype != compute_dtype:
            raise Mistake(
                f"the layer {layer.name} computes in {layer.compute_dtype} under the policy "
                f"{policy}: leave out its dtype, or give it dtype='float32'"
            )
    weighted = [layer for layer in layers if own_weights(layer)]
    if all(layer.compute_dtype != compute_dtype for layer in weighted):
        raise Mistake(
            f"the policy {policy} has no effect: no layer of {model.name} computes in "
            f"{compute_dtype} ({weighted[0].name}: {weighted[0].compute_dtype}); build the model "
            f"after the policy is set, without dtype='float32' on every layer, or use "
            f"--policy=float32"
        )


def _check_output(model: tf.keras.Model) -> None:
    output = Output.of(model)
    if output.dtype != tf.float32:
        raise Mistake(
            f"the output layer {output.layer_name} is not float32 but {output.dtype.name}: give it "
            f"dtype='float32', or put Activation('linear', dtype='float32') behind it"
        )


def _check_optimizer(optimizer: tf.keras.optimizers.Optimizer, policy: str) -> None:
    name = type(optimizer).__name__
    scales = isinstance(optimizer, LossScaleOptimizer)
    if scales and policy != "mixed_float16":
        raise Mistake(
            f"the optimizer {name} does not fit the policy {policy}: only mixed_float16 scales "
            f"the loss; use the optimizer itself"
        )
    if scales and isinstance(optimizer.inner_optimizer, LossScaleOptimizer):
        raise Mistake(f"the optimizer is wrapped in a {name} twice: wrap it once")
    if not scales and policy == "mixed_float16":
        if isinstance(optimizer, tf.keras.optimizers.experimental.Optimizer):
            raise Mistake(
                f"the optimizer {name} is experimental and cannot scale the loss: use the one in "
                f"tf.keras.optimizers, in a LossScaleOptimizer"
            )
        raise Mistake(
            f"the optimizer {name} does not scale the loss, as mixed_float16 needs: wrap it in a "
            f"LossScaleOptimizer"
        )


def own_weights(layer: tf.keras.layers.Layer) -> list[tf.Variable]:
    """Return the weights that ``layer`` holds itself, not by a layer inside it."""
    _, *inside = all_layers(layer)
    inner = {id(weight) for part in inside for weight in part.weights}
    return [weight for weight in layer.weights if id(weight) not in inner]
