"""The custom loop: many steps in one graph call, driven with GradientTape."""

from __future__ import annotations

import time
from typing import Any, Callable

import tensorflow as tf

from workbench import window
from workbench.feed import Feed
from workbench.randomness import stateful_random_ops
from workbench.step import TrainingStep
from workbench.window import Window

# Told of the steps of a graph call, in numbers; returns whether to go on.
OnChunk = Callable[[Window], bool]


class CustomLoop(tf.Module):
    """Trains by graph calls that end early when ``stop`` becomes true."""

    def __init__(self, step: TrainingStep, feed: Feed, stop: tf.Variable) -> None:
        super().__init__()
        self._step = step
        self._feed = feed
        self._stop = stop

    def run_epoch(
        self, epoch: int, first: int, last_of_call: Callable[[int], int], on_chunk: OnChunk
    ) -> None:
        """Train on the steps of ``epoch`` (from 0) from step ``first`` (from 0) on.

        ``last_of_call`` says for a step up to which one, exclusive, a graph call may go.
        ``on_chunk`` is told of each call.
        """
        started = time.perf_counter()
        cursor = self._feed.start(epoch, first)
        starting = time.perf_counter() - started
        while first < self._feed.steps:
            last = last_of_call(first)
            done = window.numbers(self.train_steps(cursor, tf.constant(first), tf.constant(last)))
            first += done.steps
            done, starting = done._replace(waited=done.waited + starting), 0.0
            if not on_chunk(done):
                break

    def stateful_random_ops(self) -> list[str]:
        """Return the operations of a step that draw by a state which no checkpoint holds."""
        cursor, none = self._feed.start(0, 0), tf.constant(0)
        return stateful_random_ops(self.train_steps.get_concrete_function(cursor, none, none))

    @tf.function
    def train_steps(self, cursor: Any, first: tf.Tensor, last: tf.Tensor) -> Window:
        """Train on steps ``first`` to ``last`` - 1 of the epoch that ``cursor`` is in.

        ``cursor`` is what the feed's ``start`` gave; the others are int32 scalars. Ends early
        on ``stop``, and when the step is hopeless.
        """
        done = window.empty()
        step = first
        while step < last and not self._stop and not self._step.hopeless():
            images, labels, waited = self._feed.next(cursor, step)
            result = self._step(images, labels)
            done = window.with_step(done, result, tf.shape(labels, tf.int64)[0], waited)
            step += 1
        return done
