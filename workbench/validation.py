"""Validation: the mean loss and accuracy over a whole set, in one graph call."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from workbench.feed import Feed
from workbench.step import TrainingStep, all_finite, penalty


class Result(NamedTuple):
    """The mean loss and accuracy over ``examples``.

    ``wrong_step`` (from 0) is the first whose data or labels are wrong, by the verdict
    ``wrong``; None where all are right.
    """

    loss: float
    accuracy: float
    examples: int
    wrong_step: int | None = None
    wrong: str | None = None


class _Sums(NamedTuple):
    loss: tf.Tensor  # float64
    correct: tf.Tensor  # float64
    examples: tf.Tensor  # int64
    first_not_finite: tf.Tensor  # int32, the step; NEVER without any
    first_misfit: tf.Tensor  # int32


NEVER = 2**31 - 1


class Validation(tf.Module):
    """Validates the model of ``step`` on ``feed``; ends early when ``stop`` becomes true."""

    def __init__(self, step: TrainingStep, feed: Feed, stop: tf.Variable) -> None:
        super().__init__()
        self._step = step
        self._feed = feed
        self._stop = stop

    def run(self) -> Result | None:
        """Return the means over the set, or None when ``stop`` ended it early."""
        sums, steps = self._run(self._feed.start(0, 0))
        if steps != self._feed.steps:
            return None
        loss, correct, examples, not_finite, misfit = (value.numpy().item() for value in sums)
        result = Result(loss / examples, correct / examples, examples)
        if not_finite != NEVER:
            return result._replace(wrong_step=not_finite, wrong="data_not_finite")
        if misfit != NEVER:
            return result._replace(wrong_step=misfit, wrong="labels_do_not_fit")
        return result

    @tf.function
    def _run(self, cursor: Any) -> tuple[_Sums, tf.Tensor]:
        step = tf.constant(0)
        zero = tf.zeros([], tf.float64)
        sums = _Sums(zero, zero, tf.zeros([], tf.int64), tf.constant(NEVER), tf.constant(NEVER))
        while step < self._feed.steps and not self._stop:
            images, labels, _ = self._feed.next(cursor, step)
            sums = self._with_batch(sums, step, images, labels)
            step += 1
        return sums, step

    def _with_batch(
        self, sums: _Sums, step: tf.Tensor, images: tf.Tensor, labels: tf.Tensor
    ) -> _Sums:
        objective = self._step.objective
        outputs = self._step.model(images, training=False)
        examples = tf.shape(labels, tf.int64)[0]
        # Sums in float64: the mean does not depend on how the set is cut into batches. The
        # model's own losses may be those of this batch: an activity regularizer.
        losses = tf.cast(objective.losses(labels, outputs), tf.float64)
        own = tf.cast(penalty(self._step.model), tf.float64) * tf.cast(examples, tf.float64)
        correct = tf.cast(objective.correct(labels, outputs), tf.float64)
        return _Sums(
            loss=sums.loss + tf.reduce_sum(losses) + own,
            correct=sums.correct + tf.reduce_sum(correct),
            examples=sums.examples + examples,
            first_not_finite=_first(sums.first_not_finite, step, ~all_finite(images)),
            first_misfit=_first(sums.first_misfit, step, ~objective.fits(labels)),
        )


def _first(so_far: tf.Tensor, step: tf.Tensor, wrong: tf.Tensor) -> tf.Tensor:
    return tf.where(wrong, tf.minimum(so_far, step), so_far)
