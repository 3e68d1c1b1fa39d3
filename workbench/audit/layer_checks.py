"""What mixed precision needs of the layers and the optimizer of a model, and what Keras lets by."""

from __future__ import annotations

from typing import Iterator

import tensorflow as tf

from workbench.audit.graph import Traced
from workbench.audit.results import Finding, LayerRow
from workbench.audit.subject import FULL, MIXED, Subject
from workbench.layers import all_layers
from workbench.output import Output
from workbench.precision import LossScaleOptimizer, own_weights

LOW = ("float16", "bfloat16")
# Tensor Cores work on blocks of 8 float16 numbers (NVIDIA, Deep Learning Performance Guide,
# Matrix Multiplication).
BLOCK = 8
HEAVY = (
    tf.keras.layers.Dense,
    tf.keras.layers.Conv1D,
    tf.keras.layers.Conv2D,
    tf.keras.layers.Conv3D,
    tf.keras.layers.experimental.EinsumDense,
    tf.keras.layers.LSTM,
    tf.keras.layers.GRU,
)


def rows(model: tf.keras.Model, traced: Traced | None) -> list[LayerRow]:
    """Return a row for each layer of ``model``, in the order of their making."""
    dtypes = traced.output_dtypes if traced else {}
    return [
        LayerRow(
            layer.name,
            type(layer).__name__,
            layer.compute_dtype or "",
            layer.variable_dtype if own_weights(layer) else None,
            dtypes.get(layer.name),
            sum(int(tf.size(weight)) for weight in own_weights(layer)),
        )
        for layer in all_layers(model)
        if layer is not model
    ]


def findings(subject: Subject, traced: Traced) -> list[Finding]:
    """Return what the layers, the output and the optimizer of ``subject.mixed`` show."""
    model = subject.mixed
    output = Output.of(model)
    layers = [layer for layer in all_layers(model) if layer is not model]
    weighted = [layer for layer in layers if own_weights(layer)]
    found = [
        *_types(weighted, output.layer_name),
        *_policy(subject, weighted),
        *_output(output, traced),
        *(_loss(dtype) for dtype in traced.loss_dtypes if dtype.name in LOW),
        *_optimizer(subject),
    ]
    for layer in layers:
        found += _size(layer, output.layer_name)
        found += _custom(layer)
    return list(dict.fromkeys(found))


def output_softmax(model: tf.keras.Model) -> bool:
    """Tell whether the output of ``model`` is a softmax in float16, which is told as such."""
    output = Output.of(model)
    return output.activation == "softmax" and output.dtype.name in LOW


def _types(weighted: list[tf.keras.layers.Layer], output: str) -> Iterator[Finding]:
    mixed = any(layer.compute_dtype == "float16" for layer in weighted)
    for layer in weighted:
        variable, compute = layer.variable_dtype, layer.compute_dtype
        if variable in LOW:
            yield Finding(
                "hard_coded_low_precision",
                "error",
                layer.name,
                f"{type(layer).__name__} keeps its variables in {variable} (dtype={variable!r})",
                "Updates below a two-thousandth of a weight are lost, and the optimizer is not "
                "wrapped for it.",
                "Leave dtype out: mixed_float16 keeps variables in float32.",
            )
        elif compute == "bfloat16":
            yield Finding(
                "hard_coded_bfloat16",
                "error",
                layer.name,
                f"{type(layer).__name__} computes in bfloat16",
                "TensorFlow 2.9 has no bfloat16 kernels for GPUs.",
                "Leave its dtype out.",
            )
        elif compute == "float64":
            yield Finding(
                "hard_coded_float64",
                "warning",
                layer.name,
                f"{type(layer).__name__} computes in float64",
                "Most GPUs compute it many times slower than float32.",
                "Leave its dtype out, or give dtype='float32'.",
            )
        elif mixed and compute == "float32" and isinstance(layer, HEAVY) and layer.name != output:
            yield Finding(
                "heavy_layer_float32",
                "info",
                layer.name,
                f"{type(layer).__name__} computes in float32",
                "It gains nothing from Tensor Cores; right where its values leave float16's range.",
                "Leave dtype='float32' out unless the range asks for it (audit --data=…).",
            )


def _policy(subject: Subject, weighted: list[tf.keras.layers.Layer]) -> Iterator[Finding]:
    if all(layer.compute_dtype != "float16" for layer in weighted):
        if subject.saved:
            yield Finding(
                "saved_in_float32",
                "warning",
                None,
                "no layer of the saved model computes in float16",
                "A saved model keeps the types it was saved with: the global policy changes "
                "nothing in it.",
                "Build it from code under the policy, and take over the weights: load_weights.",
            )
        else:
            yield Finding(
                "policy_without_effect",
                "error",
                weighted[0].name,
                f"no layer computes in float16 ({weighted[0].name}: {weighted[0].compute_dtype})",
                "The layers were made under another policy, or each with a dtype of its own.",
                "Set the policy before the first layer is made, and leave dtype out.",
            )
        return
    under_mixed, under_full = subject.policy_of_builder
    late = _made_before_policy(subject) if under_full == MIXED else []
    if late:
        yield Finding(
            "policy_set_late",
            "error",
            late[0],
            f"{len(late)} layers were made before the builder set the policy: {', '.join(late)}",
            "A policy counts for layers that are made after it; those before stay in float32, "
            "silently.",
            "Call set_global_policy('mixed_float16') before the first layer is made.",
        )
    if not subject.saved and under_mixed != MIXED:
        yield Finding(
            "builder_sets_policy",
            "warning",
            None,
            f"after the builder the global policy is {under_mixed}",
            "Whatever is made next, such as a loss with layers, is made under that policy.",
            "Leave the policy to the program that calls the builder.",
        )


def _made_before_policy(subject: Subject) -> list[str]:
    """Return the layers that are float32 where the builder alone sets the policy, and not else."""
    # Names carry a running number in the second model; the order is that of the making.
    pairs = zip(all_layers(subject.full), all_layers(subject.mixed))
    return [
        mixed.name
        for full, mixed in pairs
        if own_weights(mixed) and mixed.compute_dtype == "float16" and full.compute_dtype == FULL
    ]


def _output(output: Output, traced: Traced) -> Iterator[Finding]:
    if traced.output_dtype.name not in LOW:
        return
    softmax = output.activation == "softmax"
    yield Finding(
        "output_softmax_float16" if softmax else "output_float16",
        "error",
        output.layer_name,
        f"the model gives {traced.output_dtype.name}" + (" out of a softmax" if softmax else ""),
        "The loss is computed from it: in float16 probabilities vanish, and the scaled loss is "
        "infinite.",
        "Give the last layer dtype='float32', or add Activation('linear', dtype='float32').",
    )


def _loss(dtype: tf.DType) -> Finding:
    return Finding(
        "loss_float16",
        "error",
        None,
        f"a loss that a layer adds is {dtype.name}",
        "Times the loss scale of 32768, a float16 loss above 2 is infinite: each step is skipped.",
        "add_loss(tf.cast(loss, tf.float32)).",
    )


def _optimizer(subject: Subject) -> Iterator[Finding]:
    # Compiled under mixed_float16, or where the builder itself sets the types of its layers.
    for model, policy in ((subject.mixed, MIXED), (subject.full, FULL)):
        optimizer = getattr(model, "optimizer", None)
        if optimizer is None:
            continue
        name = type(optimizer).__name__
        low = any(layer.compute_dtype == "float16" for layer in all_layers(model))
        if low and not isinstance(optimizer, LossScaleOptimizer):
            yield Finding(
                "optimizer_not_wrapped",
                "error",
                None,
                f"compiled with {name}, which does not scale the loss"
                + ("" if policy == MIXED else ", where the global policy is float32"),
                "Gradients below 6e-8 become 0 in float16. compile() wraps an optimizer only "
                "where the global policy, or the model's own, is mixed_float16.",
                "tf.keras.mixed_precision.LossScaleOptimizer(optimizer), before compile().",
            )
            return


def _size(layer: tf.keras.layers.Layer, output: str) -> Iterator[Finding]:
    # The number of classes is given, and of little weight.
    if not isinstance(layer, HEAVY) or layer.compute_dtype != "float16" or layer.name == output:
        return
    what = "units" if hasattr(layer, "units") else "filters"
    size = getattr(layer, what, None)
    if size and size % BLOCK:
        yield Finding(
            "size_not_multiple_of_8",
            "warning",
            layer.name,
            f"{type(layer).__name__} has {size} {what}",
            "Tensor Cores compute float16 in blocks of 8: other sizes are padded or left to "
            "ordinary arithmetic.",
            f"Take {-(-size // BLOCK) * BLOCK}.",
        )


def batch_size(size: int) -> list[Finding]:
    """Return what a batch of ``size`` examples shows, if anything."""
    if size % BLOCK == 0:
        return []
    return [
        Finding(
            "size_not_multiple_of_8",
            "info",
            None,
            f"the batch has {size} examples",
            "Tensor Cores compute float16 in blocks of 8: other sizes are padded or left to "
            "ordinary arithmetic.",
            f"Train with --batch_size={-(-size // BLOCK) * BLOCK}.",
        )
    ]


def _custom(layer: tf.keras.layers.Layer) -> Iterator[Finding]:
    if type(layer).__module__.partition(".")[0] in ("keras", "tensorflow"):
        return
    yield Finding(
        "custom_layer",
        "info",
        layer.name,
        f"{type(layer).__name__} is no layer of Keras",
        "Its operations were looked at in the graph; what its code does in Python was not.",
        "Constants and weights it makes by hand: in self.compute_dtype, not in float32.",
    )
