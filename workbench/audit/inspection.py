"""An audit from the flags to its result: the graph, and with data the ranges."""

from __future__ import annotations

from typing import Iterator

import tensorflow as tf

from workbench.audit import advice, graph, graph_checks, layer_checks, ranges, subject
from workbench.audit.graph import Traced
from workbench.audit.report import Audit, ordered
from workbench.audit.results import Finding, LayerRow
from workbench.audit.settings import Settings
from workbench.audit.subject import Subject, Unbuildable
from workbench.data.types import Dataset
from workbench.errors import Mistake
from workbench.feed import make_feeds
from workbench.layers import all_layers
from workbench.models.shapes import fit_shape
from workbench.objective import Objective
from workbench.output import Output
from workbench.randomness import KeyedRandomness
from workbench.settings import Settings as Train
from workbench.user_code import describe

REMEDIES = {
    "optimizer_wrapped_twice": (
        "A LossScaleOptimizer scales the loss once; compile() adds one under mixed_float16.",
        "Wrap the optimizer once, or leave it to compile().",
    ),
    "optimizer_cannot_be_wrapped": (
        "Keras 2.9 cannot scale the loss for tf.keras.optimizers.experimental.",
        "Take the optimizer of that name in tf.keras.optimizers.",
    ),
    "fails_in_mixed_float16": (
        "The model can be built in float32: an operation mixes float16 with a constant, a weight "
        "or a second input of float32.",
        "tf.cast(x, self.compute_dtype) for what the layer makes itself, or dtype='float32' for "
        "the layer.",
    ),
}


def inspect(settings: Settings, dataset: Dataset | None) -> Audit:
    """Return the audit of the model that ``settings`` name, with ``dataset`` where there is one.

    Raises ``Mistake`` where the model cannot be built, or does not fit the data.
    """
    shape = dataset.train.shape if dataset else None
    try:
        found = subject.load(settings, shape, dataset.classes if dataset else None)
        traced = _traced(settings, found)
    except Unbuildable as fault:
        why, remedy = REMEDIES[fault.kind]
        finding = Finding(fault.kind, "error", None, str(fault), why, remedy)
        return Audit(settings.model, settings.data, shape or (), [], [finding], None, None)
    model = found.mixed
    rows = layer_checks.rows(model, traced)
    names = {layer.name for layer in all_layers(model)}
    softmax = layer_checks.output_softmax(model)
    findings = [
        *layer_checks.findings(found, traced),
        *graph_checks.findings(traced, names, softmax),
    ]
    seen = advised = None
    if dataset:
        in_float32 = {row.name for row in rows if row.compute_dtype != "float16"}
        if len(in_float32) == len(rows):
            # Saved in float32: judged as it would be, were it built under mixed_float16.
            in_float32 = {Output.of(model).layer_name}
        seen = _ranges(settings, dataset, found)
        advised, more = advice.advise(seen, in_float32, _operations(rows))
        findings += more
        findings += layer_checks.batch_size(settings.batch_size)
    return Audit(settings.model, settings.data, found.shape, rows, ordered(findings), seen, advised)


def _traced(settings: Settings, found: Subject) -> Traced:
    """Return the graph of the model in training.

    Raises ``Mistake`` where it cannot be called so in float32 either, or gives no single tensor;
    ``Unbuildable`` where mixed precision is the reason.
    """
    try:
        traced = graph.trace(found.mixed, found.shape)
    # The user's layers may raise whatever they like.
    except Exception as error:
        words = f"--model={settings.model}: it fails in training: {describe(error)}"
        if found.saved or not _can_be_traced(found):
            raise Mistake(words) from error
        raise Unbuildable("fails_in_mixed_float16", words) from error
    if not tf.is_tensor(traced.outputs):
        raise Mistake(
            f"--model={settings.model}: the model gives a {type(traced.outputs).__name__}: it must "
            f"give one tensor"
        )
    return traced


def _can_be_traced(found: Subject) -> bool:
    """Tell whether the model can be called in training where all of it is float32."""
    with subject.global_policy(subject.FULL):
        try:
            graph.trace(found.full, found.shape)
        # Whatever it is, the fault under mixed_float16 is told.
        except Exception:
            return False
    return True


def _operations(rows: list[LayerRow]) -> set[str]:
    """Return the layers that Keras made of operations of TensorFlow: they take no dtype."""
    return {row.name for row in rows if row.class_name in ("TFOpLambda", "SlicingOpLambda")}


def _ranges(settings: Settings, dataset: Dataset, found: Subject) -> ranges.Ranges:
    model = found.full
    layers = [layer for layer in all_layers(model) if layer is not model]
    # The builder may set types of its own; here all of it is float32.
    subject.in_float32([model, *layers])
    shape = fit_shape(model, dataset.train.shape)
    train = Train(
        batch_size=settings.batch_size,
        steps_per_epoch=settings.steps_per_epoch,
        seed=settings.seed,
    )
    feed, _ = make_feeds(dataset, shape, train, [])
    randomness = KeyedRandomness(model, settings.seed)

    def batches() -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
        cursor = feed.start(0, 0)
        for number in range(min(settings.batches, feed.steps)):
            images, labels, _ = feed.next(cursor, tf.constant(number))
            with randomness.step(tf.constant(number, tf.int64)):
                yield images, labels

    first = feed.next(feed.start(0, 0), tf.constant(0))[0]
    objective = Objective.of(model, first, dataset.classes)
    # A model inside the model gives what its last layer gives.
    own = [layer for layer in layers if not isinstance(layer, tf.keras.Model)]
    return ranges.measure(model, own, objective, batches(), settings.initial_scale)
