"""Validation: the mean loss and accuracy over a whole set, in one graph call."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from workbench.feed import Feed
from workbench.step import TrainingStep, penalty


class Result(NamedTuple):
    """The mean loss and accuracy over ``examples``."""

    loss: float
    accuracy: float
    examples: int


class Validation(tf.Module):
    """Validates the model of ``step`` on ``feed``; ends early when ``stop`` becomes true."""

    def __init__(self, step: TrainingStep, feed: Feed, stop: tf.Variable) -> None:
        super().__init__()
        self._step = step
        self._feed = feed
        self._stop = stop

    def run(self) -> Result | None:
        """Return the means over the set, or None when ``stop`` ended it early."""
        *result, steps = (value.numpy().item() for value in self._run(self._feed.start(0, 0)))
        return Result(*result) if steps == self._feed.steps else None

    @tf.function
    def _run(self, cursor: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        step = tf.constant(0)
        seen = tf.zeros([], tf.int64)
        loss_sum = correct = tf.zeros([], tf.float64)
        objective = self._step.objective
        while step < self._feed.steps and not self._stop:
            images, labels, _ = self._feed.next(cursor, step)
            outputs = self._step.model(images, training=False)
            # Sums in float64: the mean does not depend on how the set is cut into batches.
            examples = tf.shape(labels, tf.int64)[0]
            # The model's own losses may be those of this batch: an activity regularizer.
            own = tf.cast(penalty(self._step.model), tf.float64) * tf.cast(examples, tf.float64)
            loss_sum += own + tf.reduce_sum(tf.cast(objective.losses(labels, outputs), tf.float64))
            correct += tf.reduce_sum(tf.cast(objective.correct(labels, outputs), tf.float64))
            seen += examples
            step += 1
        all_examples = tf.cast(tf.maximum(seen, 1), tf.float64)
        return loss_sum / all_examples, correct / all_examples, seen, step
