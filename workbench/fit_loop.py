"""The loop of Keras: ``model.fit`` over tf.data, with our step as the model's train_step."""

from __future__ import annotations

from typing import Any, Callable

import tensorflow as tf

from workbench import window
from workbench.loop import OnChunk
from workbench.randomness import stateful_random_ops
from workbench.step import TrainingStep
from workbench.stream_feed import StreamFeed
from workbench.window import Window


class FitLoop:
    """Trains by ``model.fit``, ``steps_per_execution`` steps in one graph call.

    What Keras sees of a step ends with the call, so the window is summed up inside the graph.
    """

    def __init__(
        self, step: TrainingStep, feed: StreamFeed, stop: tf.Variable, steps_per_execution: int
    ) -> None:
        self._feed = feed
        self._model = _FitModel(step, feed, stop)
        self._model.compile(
            optimizer=step.optimizer,
            steps_per_execution=min(steps_per_execution, feed.steps),
        )

    def run_epoch(
        self, epoch: int, first: int, last_of_call: Callable[[int], int], on_chunk: OnChunk
    ) -> None:
        """As ``CustomLoop.run_epoch``; a call always has ``steps_per_execution`` steps."""
        del last_of_call
        self._model.fit(
            self._feed.dataset(epoch, first),
            initial_epoch=epoch,
            epochs=epoch + 1,
            steps_per_epoch=self._feed.steps - first,
            shuffle=False,
            verbose=0,
            callbacks=[_AfterCall(self._model, on_chunk)],
        )

    def stateful_random_ops(self) -> list[str]:
        """As ``CustomLoop.stateful_random_ops``."""
        batch = self._feed.dataset(0, 0).element_spec
        return stateful_random_ops(self._model.train_step.get_concrete_function(batch))


class _AfterCall(tf.keras.callbacks.Callback):
    """Hands the window of each graph call on."""

    def __init__(self, model: _FitModel, on_chunk: OnChunk) -> None:
        super().__init__()
        self._window_of = model
        self._on_chunk = on_chunk

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Read the window; end ``fit`` when ``on_chunk`` says so."""
        if not self._on_chunk(self._window_of.take_window()):
            self.model.stop_training = True


class _FitModel(tf.keras.Model):
    """What ``fit`` is called on: the model with ``TrainingStep`` as its step."""

    def __init__(self, step: TrainingStep, feed: StreamFeed, stop: tf.Variable) -> None:
        super().__init__(name="fit")
        self._inner = step.model
        self._step = step
        self._feed = feed
        self._stop = stop
        with tf.device("CPU:0"):
            self._window = Window(*(tf.Variable(zero, trainable=False) for zero in window.empty()))

    def call(self, inputs: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        """Return the outputs of the inner model."""
        return self._inner(inputs, training=training)

    @tf.function
    def train_step(self, data: tuple[tf.Tensor, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Train on a batch of the feed."""
        images, labels = data
        result = self._step(self._feed.prepare(images), labels)
        examples = tf.shape(labels, tf.int64)[0]
        sums = window.with_step(self._window, result, examples, tf.zeros([], tf.float64))
        for variable, value in zip(self._window, sums):
            variable.assign(value)
        return {"loss": result.loss}

    def make_train_function(self, force: bool = False) -> Callable[[Any], dict[str, tf.Tensor]]:
        """Return what Keras calls for ``steps_per_execution`` steps."""
        if self.train_function is None or force:
            self.train_function = self._train_call
        return self.train_function

    @tf.function
    def _train_call(self, iterator: Any) -> dict[str, tf.Tensor]:
        # Keras's own would fetch every batch of the call, also once it is told to stop.
        step = tf.zeros([], tf.int64)
        while step < self._steps_per_execution and not self._stop and not self._step.hopeless():
            batch, waited = self._feed.fetch(iterator)
            self._window.waited.assign_add(waited)
            self.train_step(batch)
            step += 1
        return {"loss": self._window.last_loss}

    def take_window(self) -> Window:
        """Return the window since the last call, in numbers, and start a new one."""
        done = window.numbers(self._window)
        for variable, zero in zip(self._window, window.NOTHING):
            variable.assign(zero)
        return done
