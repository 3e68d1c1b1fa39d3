"""Why a step could not be applied: looked for in its own batch, layer by layer."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, Iterator

import numpy as np
import tensorflow as tf

from workbench import float16
from workbench.layers import all_layers, watched
from workbench.step import TrainingStep

# A gradient beyond float16 at scale 1 is a common number at this one, and few become 0.
TINY_SCALE = 2.0**-13
# A machine that swaps would look for a fitting batch for ever.
SEARCH_S = 20.0
# Weights start below 1. Adam moves each by about the learning rate in a step, so weights this
# large come from a learning rate that is far too high.
HUGE_WEIGHT = 1e4


def diagnose(step: TrainingStep) -> tuple[str, str]:
    """Return the verdict on the last skipped step, and the evidence: step, tensor, value."""
    at = f"step {step.bad.number.numpy() + 1}"
    images, labels = step.bad.images.numpy(), step.bad.labels.numpy()
    for found in (
        wrong_data(images, labels, step.objective.classes),
        _in_weights(step.model),
        _in_layers(step, images),
        _in_loss(step),
        _in_gradients(step, images, labels),
    ):
        if found:
            verdict, evidence = found
            return verdict, f"{at}: {evidence}"
    return "not_finite", f"{at}: the loss or a gradient was not finite, and is when computed again"


Finding = "tuple[str, str] | None"


def wrong_data(images: np.ndarray, labels: np.ndarray, classes: int) -> Finding:
    """Return the verdict on a batch and the evidence, or None where it can be trained on."""
    return _in_data(images) or _in_labels(labels, classes)


def _in_data(images: np.ndarray) -> Finding:
    where = first_not_finite(images)
    if where is None:
        return None
    return "data_not_finite", f"example {where[0]} of the batch is {images[where]} at {where[1:]}"


def _in_labels(labels: np.ndarray, classes: int) -> Finding:
    if labels.ndim == 1:
        wrong = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(wrong):
            return "labels_do_not_fit", (
                f"the label of example {wrong[0]} of the batch is {labels[wrong[0]]}, and the "
                f"model has {classes} outputs"
            )
        return None
    where = first_not_finite(labels)
    if where is not None:
        return "labels_do_not_fit", f"the label at {where} of the batch is {labels[where]}"
    return None


def _in_weights(model: tf.keras.Model) -> Finding:
    found = weight_not_finite(model)
    if found:
        return "weights_not_finite", found
    for variable in model.trainable_variables:
        greatest = np.abs(variable.numpy()).max(initial=0.0)
        if greatest > HUGE_WEIGHT:
            return "diverged", f"a weight of {variable.name} has grown to {greatest:.3g}"
    return None


def _in_layers(step: TrainingStep, images: np.ndarray) -> Finding:
    with _watched(step.model) as found, contextlib.suppress(_Found):
        for key, batch in _batches(step, images):
            with step.randomness.step(key):
                step.model(tf.constant(batch), training=True)
    if not found:
        return None
    layer, values, in_float32 = found
    where = first_not_finite(values)
    evidence = (
        f"layer {layer.name} ({layer.compute_dtype}) gives {values[where]} at {where}; the batch "
        f"reaches {np.abs(images).max(initial=0):.3g}"
    )
    # A logarithm of 0 + 1e-8 is infinite in float16 too, but no large number in float32.
    overflows = in_float32 is None or in_float32 > float16.LARGEST
    if layer.compute_dtype == "float16" and np.isinf(values).any() and overflows:
        return "float16_overflow", evidence
    return "layer_not_finite", evidence


def _in_loss(step: TrainingStep) -> Finding:
    for loss in step.model.losses:
        if not np.isfinite(loss.numpy()):
            return "layer_not_finite", f"a loss that a layer adds, {loss.name}, is {loss.numpy()}"
    return None


def _in_gradients(step: TrainingStep, images: np.ndarray, labels: np.ndarray) -> Finding:
    # With a loss scaled down this far an overflow is gone, and an infinite slope is not.
    scale = TINY_SCALE if step.scaled else 1.0
    norms = []
    for (key, batch), (_, its_labels) in zip(_batches(step, images), _batches(step, labels)):
        gradients = step.gradients(tf.constant(batch), tf.constant(its_labels), key, scale)
        for variable, gradient in zip(step.model.trainable_variables, gradients):
            where = first_not_finite(gradient.numpy())
            if where is not None:
                value = gradient.numpy()[where]
                return "not_finite", (
                    f"the gradient of {variable.name} is {value} at {where}; the batch reaches "
                    f"{np.abs(images).max(initial=0):.3g}"
                )
        norms.append(tf.linalg.global_norm(gradients).numpy())
    if step.scaled:
        verdict = "scale_at_floor" if step.dynamic else "fixed_scale_overflow"
        skipped = step.skipped_steps.numpy()
        return verdict, f"loss scale {step.loss_scale():g}, {skipped} steps skipped in all"
    if np.isfinite(norms).all():
        return None
    return "not_finite", f"the gradient norm is {max(norms)}"


def _batches(step: TrainingStep, examples: np.ndarray) -> Iterator[tuple[tf.Tensor, np.ndarray]]:
    """Give the batches of the bad step, each with the key of its random numbers."""
    for number, start in enumerate(range(0, len(examples), step.batch_size)):
        key = step.bad.number * step.batches + number
        yield key, examples[start : start + step.batch_size]


def first_not_finite(values: np.ndarray) -> tuple[int, ...] | None:
    """Return the index of the first NaN or infinity in ``values``, or None."""
    if not np.issubdtype(values.dtype, np.inexact):
        return None
    # argmax stops at the first True, and makes no list of the rest.
    bad = ~np.isfinite(values)
    if not bad.any():
        return None
    return tuple(int(i) for i in np.unravel_index(bad.argmax(), values.shape))


def weight_not_finite(model: tf.keras.Model) -> str | None:
    """Return a weight of ``model`` that is not finite, in words, or None. All are looked at."""
    for variable in model.weights:
        # Looked at where it is; brought to the host only when it is bad.
        if not variable.dtype.is_floating or tf.reduce_all(tf.math.is_finite(variable)):
            continue
        values = variable.numpy()
        where = first_not_finite(values)
        if where is not None:
            return f"{variable.name} is {values[where]} at {where}"
    return None


def batch_size_that_fits(step: TrainingStep) -> int | None:
    """Return the greatest of batch_size / 2, / 4, … whose gradients fit in memory, or None."""
    size, started = step.batch_size // 2, time.monotonic()
    while size and time.monotonic() - started < SEARCH_S:
        try:
            step.gradients(*step.example_batch(size), tf.constant(0, tf.int64))
            return size
        except (tf.errors.ResourceExhaustedError, MemoryError):
            size //= 2
    return None


class _Found(Exception):
    pass


def _reach(
    layer: tf.keras.layers.Layer, call: Callable[..., Any], arguments: Any, named: Any
) -> float | None:
    """Return how far the outputs of ``call`` reach in float32, None where that cannot be told.

    It cannot for a layer with weights, which brings its inputs to its own type.
    """
    if layer.weights:
        return None
    inputs = tf.nest.map_structure(
        lambda each: tf.cast(each, tf.float32) if tf.is_tensor(each) else each, arguments
    )
    try:
        outputs = tf.nest.flatten(call(*inputs, **named))
    # The layer is the user's, and was not made for it.
    except Exception:
        return None
    return max(float(tf.reduce_max(tf.abs(tf.cast(each, tf.float32)))) for each in outputs)


@contextlib.contextmanager
def _watched(model: tf.keras.Model) -> Iterator[list[Any]]:
    """Give a list that gets the first layer whose output is not finite, that output, and how
    far it would reach in float32.
    """
    found: list[Any] = []

    def look(layer: tf.keras.layers.Layer, call: Any, arguments: Any, named: Any) -> Any:
        outputs = call(*arguments, **named)
        for output in tf.nest.flatten(outputs):
            values = np.asarray(output.numpy(), np.float32)
            if first_not_finite(values) is not None:
                found.extend([layer, values, _reach(layer, call, arguments, named)])
                raise _Found
        return outputs

    # Layers inside a tf.function of the user's show their values only when it runs eagerly.
    tf.config.run_functions_eagerly(True)
    try:
        with watched([layer for layer in all_layers(model) if layer is not model], look):
            yield found
    finally:
        tf.config.run_functions_eagerly(False)
