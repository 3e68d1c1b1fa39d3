"""Validation: the mean loss and accuracy over a whole set, in one graph call."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from workbench.feed import Feed
from workbench.step import TrainingStep, all_finite, penalty


class Result(NamedTuple):
    """The mean loss and accuracy over ``examples``.

    ``wrong_step`` (from 0) is the first whose data or labels are wrong, None where all are right.
    """

    loss: float
    accuracy: float
    examples: int
    wrong_step: int | None


class _Sums(NamedTuple):
    loss: tf.Tensor  # float64
    correct: tf.Tensor  # float64
    examples: tf.Tensor  # int64
    wrong_step: tf.Tensor  # int32, the first; NEVER without any


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
        loss, correct, examples, wrong = (value.numpy().item() for value in sums)
        wrong_step = None if wrong == NEVER else wrong
        return Result(loss / examples, correct / examples, examples, wrong_step)

    def batch(self, number: int) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the images and labels of step ``number`` (from 0), for the evidence."""
        cursor = self._feed.start(0, 0)
        for step in range(number + 1):
            images, labels, _ = self._feed.next(cursor, tf.constant(step))
        return images, labels

    @tf.function
    def _run(self, cursor: Any) -> tuple[_Sums, tf.Tensor]:
        step = tf.constant(0)
        zero = tf.zeros([], tf.float64)
        sums = _Sums(zero, zero, tf.zeros([], tf.int64), tf.constant(NEVER))
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
        right = all_finite(images) & objective.fits(labels)
        return _Sums(
            loss=sums.loss + tf.reduce_sum(losses) + own,
            correct=sums.correct + tf.reduce_sum(correct),
            examples=sums.examples + examples,
            wrong_step=tf.where(right, sums.wrong_step, tf.minimum(sums.wrong_step, step)),
        )
