"""A log window: the sums over some steps, kept inside the graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from workbench.graph import plain
from workbench.step import StepResult


class Window(NamedTuple):
    """What some steps did, as scalars: tensors inside the graph, Python numbers outside of it.

    Sums are over the applied steps, since a skipped one may have shown NaN.
    """

    steps: Any  # int64, applied and skipped
    examples: Any  # int64, of all these steps
    applied: Any  # int64
    applied_examples: Any  # int64
    loss_sum: Any  # float64, over examples
    correct: Any  # float64
    norm_sum: Any  # float64, over steps
    waited: Any  # float64, seconds in which the loop waited for its input
    first_loss: Any  # float32, of the first applied step
    last_loss: Any  # float32, of the last step, applied or not
    last_norm: Any  # float32


DTYPES = Window(*[tf.int64] * 4, *[tf.float64] * 4, *[tf.float32] * 3)
NOTHING = Window(*[0] * 4, *[0.0] * 7)


@plain
def empty() -> Window:
    """Return the window of no steps, as tensors."""
    return Window(*(tf.zeros([], dtype) for dtype in DTYPES))


@plain
def with_step(window: Window, result: StepResult, examples: tf.Tensor, waited: tf.Tensor) -> Window:
    """Return ``window`` and one more step of ``examples`` (int64) that ``waited`` seconds."""

    def if_applied(value: Any, dtype: tf.DType) -> tf.Tensor:
        # Not a product with 0: a skipped step's loss may be NaN.
        return tf.where(result.applied, tf.cast(value, dtype), tf.zeros([], dtype))

    loss_of_step = tf.cast(result.loss, tf.float64) * tf.cast(examples, tf.float64)
    return Window(
        steps=window.steps + 1,
        examples=window.examples + examples,
        applied=window.applied + if_applied(1, tf.int64),
        applied_examples=window.applied_examples + if_applied(examples, tf.int64),
        loss_sum=window.loss_sum + if_applied(loss_of_step, tf.float64),
        correct=window.correct + if_applied(result.correct, tf.float64),
        norm_sum=window.norm_sum + if_applied(result.grad_norm, tf.float64),
        waited=window.waited + waited,
        first_loss=tf.where(tf.equal(window.applied, 0), result.loss, window.first_loss),
        last_loss=result.loss,
        last_norm=result.grad_norm,
    )


def numbers(window: Window) -> Window:
    """Return a window of tensors as one of Python numbers."""
    return Window(*(value.numpy().item() for value in window))


def joined(first: Window, second: Window) -> Window:
    """Return the sum of two windows of numbers, one after the other."""
    if not first.steps or not second.steps:
        return first if first.steps else second
    sums = Window(*(a + b for a, b in zip(first, second)))
    return sums._replace(
        first_loss=first.first_loss if first.applied else second.first_loss,
        last_loss=second.last_loss,
        last_norm=second.last_norm,
    )


def means(window: Window) -> dict[str, float | None]:
    """Return loss and accuracy by example and gradient norm by step of a window of numbers.

    All are None when no step was applied.
    """
    if not window.applied:
        return {"loss": None, "accuracy": None, "grad_norm": None}
    return {
        "loss": window.loss_sum / window.applied_examples,
        "accuracy": window.correct / window.applied_examples,
        "grad_norm": window.norm_sum / window.applied,
    }
