"""The loop: many steps in one graph call, over data that stays on the device."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import numpy as np
import tensorflow as tf

from workbench.step import TrainingStep

# TensorFlow 2.9 has no GPU kernel that gathers uint8, and keeps int32 tensors in host memory.
# So the pixels travel as int64, eight in a word, and the bits stay the same.
PIXELS_IN_WORD = 8


class DeviceImages(NamedTuple):
    """Images on the device: uint8 packed in ``words`` (N, pixels / 8) int64; labels (N,) int64."""

    words: tf.Tensor
    labels: tf.Tensor


class Window(NamedTuple):
    """What a graph call did: scalars on the device; sums are over its applied steps."""

    steps: tf.Tensor  # int64, applied and skipped
    images: tf.Tensor  # int64, of all these steps
    applied: tf.Tensor  # int64
    applied_images: tf.Tensor  # int64
    loss_sum: tf.Tensor  # float64, over images
    correct: tf.Tensor  # float64
    norm_sum: tf.Tensor  # float64, over steps
    last_loss: tf.Tensor  # float32, of the last step, applied or not
    last_norm: tf.Tensor  # float32


def to_device(images: np.ndarray, labels: np.ndarray) -> DeviceImages:
    """Put images (N, ...) uint8, of a multiple of 8 pixels, and labels (N,) on the device."""
    words = np.ascontiguousarray(images).reshape(len(images), -1).view(np.int64)
    return DeviceImages(tf.constant(words), tf.constant(labels.astype(np.int64)))


def unpack(words: tf.Tensor) -> tf.Tensor:
    """Return packed images (B, W) int64 as pixels (B, 8 W) float32 in [0, 1]."""
    pixels = tf.reshape(tf.bitcast(words, tf.uint8), [-1, words.shape[1] * PIXELS_IN_WORD])
    return tf.cast(pixels, tf.float32) / 255.0


class Loop(tf.Module):
    """Trains and validates a model by graph calls that end early when ``stop`` becomes true."""

    def __init__(
        self,
        step: TrainingStep,
        train: DeviceImages,
        val: DeviceImages,
        batch_size: int,
    ) -> None:
        super().__init__()
        self.step = step
        self.train = train
        self.val = val
        self.batch_size = batch_size
        # On the CPU: another thread sets it, and the loop's condition reads it there.
        with tf.device("CPU:0"):
            self.stop = tf.Variable(False, trainable=False)

    @property
    def steps_per_epoch(self) -> int:
        """The number of batches in the training data; the last one may be smaller."""
        return -(-len(self.train.labels) // self.batch_size)

    @tf.function
    def train_steps(self, order: tf.Tensor, first: tf.Tensor, last: tf.Tensor) -> Window:
        """Train on batches ``first`` to ``last`` - 1 of ``order`` (N,) int64 (scalars: int32).

        Ends early on ``stop``, and when the step is hopeless.
        """
        count = tf.zeros([], tf.int64)
        total = tf.zeros([], tf.float64)
        scalar = tf.zeros([], tf.float32)
        window = Window(count, count, count, count, total, total, total, scalar, scalar)
        step = first
        while step < last and not self.stop and not self.step.hopeless():
            index = order[step * self.batch_size : (step + 1) * self.batch_size]
            images = unpack(tf.gather(self.train.words, index))
            result = self.step(images, tf.gather(self.train.labels, index))
            window = _add(window, result.applied, tf.size(index, tf.int64), result)
            step += 1
        return window

    @tf.function
    def validate(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the mean loss, the accuracy (float64) and the number of images seen (int32).

        The number is smaller than the set when ``stop`` ended it early.
        """
        size = tf.size(self.val.labels)
        seen = tf.zeros([], tf.int32)
        loss_sum = tf.zeros([], tf.float64)
        correct = tf.zeros([], tf.float64)
        while seen < size and not self.stop:
            end = tf.minimum(seen + self.batch_size, size)
            labels = self.val.labels[seen:end]
            probabilities = self.step.model(unpack(self.val.words[seen:end]), training=False)
            losses = self.step.losses(labels, probabilities)
            loss_sum += tf.cast(tf.reduce_sum(losses), tf.float64)
            correct += tf.cast(self.step.correct(labels, probabilities), tf.float64)
            seen = end
        images = tf.cast(tf.maximum(seen, 1), tf.float64)
        return loss_sum / images, correct / images, seen


def _add(window: Window, applied: tf.Tensor, images: tf.Tensor, result: NamedTuple) -> Window:
    def if_applied(value: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        # Not a product with 0: a skipped step's loss may be NaN.
        return tf.where(applied, tf.cast(value, dtype), tf.zeros([], dtype))

    loss_of_batch = tf.cast(result.loss, tf.float64) * tf.cast(images, tf.float64)
    return Window(
        steps=window.steps + 1,
        images=window.images + images,
        applied=window.applied + if_applied(1, tf.int64),
        applied_images=window.applied_images + if_applied(images, tf.int64),
        loss_sum=window.loss_sum + if_applied(loss_of_batch, tf.float64),
        correct=window.correct + if_applied(result.correct, tf.float64),
        norm_sum=window.norm_sum + if_applied(result.grad_norm, tf.float64),
        last_loss=result.loss,
        last_norm=result.grad_norm,
    )


def means(window: Window) -> dict[str, float | None]:
    """Return loss and accuracy by image and gradient norm by step of a window of numbers.

    All are None when no step was applied.
    """
    if not window.applied:
        return {"loss": None, "accuracy": None, "grad_norm": None}
    return {
        "loss": window.loss_sum / window.applied_images,
        "accuracy": window.correct / window.applied_images,
        "grad_norm": window.norm_sum / window.applied,
    }


def numbers(window: Window) -> Window:
    """Return a window of tensors as one of Python numbers."""
    return Window(*(value.numpy().item() for value in window))


def total(windows: Sequence[Window]) -> Window:
    """Return the sums over windows of numbers; the last loss and norm are the last window's."""
    sums = Window(*(sum(values) for values in zip(*windows)))
    return sums._replace(last_loss=windows[-1].last_loss, last_norm=windows[-1].last_norm)
