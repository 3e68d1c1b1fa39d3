"""How far activations and gradients reach: one pass over some batches, in float32."""

from __future__ import annotations

import math
from typing import Any, Iterator, NamedTuple

import tensorflow as tf

from workbench.audit.results import RangeRow
from workbench.float16 import LARGEST, SMALLEST
from workbench.layers import floating, watched
from workbench.objective import Objective
from workbench.step import penalty

# What is at most half of float16's smallest number rounds to 0 (IEEE 754, to even).
VANISHES = SMALLEST / 2


class _Seen:
    """What was seen of a tensor so far."""

    def __init__(self) -> None:
        self.largest, self.smallest = 0.0, float("inf")
        self.count = self.not_zero = 0
        self.overflow = self.vanish = self.overflow_scaled = self.vanish_scaled = 0
        self.input_largest = 0.0

    def add(self, values: tf.Tensor, scale: float) -> None:
        magnitudes = tf.abs(tf.cast(tf.reshape(values, [-1]), tf.float32))
        not_zero = tf.boolean_mask(magnitudes, magnitudes > 0)
        self.count += int(tf.size(magnitudes))
        self.not_zero += int(tf.size(not_zero))
        # A largest value of NaN would be no largest value.
        finite = bool(tf.reduce_all(tf.math.is_finite(magnitudes)))
        largest = float(tf.reduce_max(magnitudes)) if finite else math.inf
        self.largest = max(self.largest, largest)
        self.smallest = min(self.smallest, float(tf.reduce_min(not_zero)))
        self.overflow += _how_many(magnitudes > LARGEST)
        self.vanish += _how_many(not_zero <= VANISHES)
        self.overflow_scaled += _how_many(magnitudes * scale > LARGEST)
        self.vanish_scaled += _how_many(not_zero * scale <= VANISHES)

    def row(self, name: str, kind: str, layer: str) -> RangeRow:
        scaled = kind != "activation"
        return RangeRow(
            name,
            kind,
            layer,
            self.largest,
            self.smallest if self.not_zero else 0.0,
            self.overflow / max(1, self.count),
            self.vanish / max(1, self.not_zero),
            self.overflow_scaled / max(1, self.count) if scaled else None,
            self.vanish_scaled / max(1, self.not_zero) if scaled else None,
            None if scaled else self.input_largest,
        )


class Ranges(NamedTuple):
    """The rows, the loss scale they were judged with, and the examples and the mean loss seen."""

    rows: list[RangeRow]
    scale: float
    examples: int
    loss: float


def measure(
    model: tf.keras.Model,
    layers: list[tf.keras.layers.Layer],
    objective: Objective,
    batches: Iterator[tuple[tf.Tensor, tf.Tensor]],
    scale: float,
) -> Ranges:
    """Return the ranges of ``layers`` of ``model``, which computes in float32, over ``batches``.

    ``batches`` are images (B, ...) and labels (B,) or (B, classes). Weights are not changed.
    """
    seen: dict[tuple[str, str], _Seen] = {}
    layer_of = {
        variable.ref(): layer.name for layer in layers for variable in layer.trainable_variables
    }
    examples, losses = 0, 0.0
    for images, labels in batches:
        loss, outputs, gradients = _gradients(model, layers, objective, images, labels, seen)
        for (name, _), gradient in zip(outputs, gradients[: len(outputs)]):
            if gradient is not None:
                _of(seen, name, "signal").add(gradient, scale)
        for variable, gradient in zip(model.trainable_variables, gradients[len(outputs) :]):
            if gradient is not None:
                values = tf.convert_to_tensor(gradient)
                _of(seen, variable.name, "gradient").add(values, scale)
        examples += len(labels)
        losses += float(loss) * len(labels)
    names = {variable.name: layer_of.get(variable.ref()) for variable in model.trainable_variables}
    rows = [
        each.row(name, kind, names.get(name) or name if kind == "gradient" else name)
        for (name, kind), each in seen.items()
    ]
    order = ("activation", "signal", "gradient")
    return Ranges(
        sorted(rows, key=lambda row: order.index(row.kind)), scale, examples, losses / examples
    )


def _gradients(
    model: tf.keras.Model,
    layers: list[tf.keras.layers.Layer],
    objective: Objective,
    images: tf.Tensor,
    labels: tf.Tensor,
    seen: dict[tuple[str, str], _Seen],
) -> tuple[tf.Tensor, list[tuple[str, tf.Tensor]], list[Any]]:
    outputs: list[tuple[str, tf.Tensor]] = []

    def note(layer: tf.keras.layers.Layer, call: Any, inputs: Any, named: Any) -> Any:
        given = call(*inputs, **named)
        activation = _of(seen, layer.name, "activation")
        for tensor in floating(inputs):
            # In float16 a layer's inputs are cast first: what is too large is lost there.
            reach = float(tf.reduce_max(tf.abs(tensor))) if tf.size(tensor) else 0.0
            activation.input_largest = max(activation.input_largest, reach)
        for tensor in floating(given):
            activation.add(tensor, 1.0)
            outputs.append((layer.name, tensor))
        return given

    # Layers inside a tf.function of the user's show their values only when it runs eagerly.
    tf.config.run_functions_eagerly(True)
    try:
        with watched(layers, note), tf.GradientTape() as tape:
            predicted = model(images, training=True)
            losses = objective.losses(labels, predicted)
            loss = tf.reduce_mean(losses) + penalty(model)
        sources = [*(tensor for _, tensor in outputs), *model.trainable_variables]
        return loss, outputs, tape.gradient(loss, sources)
    finally:
        tf.config.run_functions_eagerly(False)


def _of(seen: dict[tuple[str, str], _Seen], name: str, kind: str) -> _Seen:
    return seen.setdefault((name, kind), _Seen())


def _how_many(flags: tf.Tensor) -> int:
    return int(tf.math.count_nonzero(flags))
