"""Input that stays on the device: all examples as they came, ordered and cast there."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from workbench.data.order import epoch_order
from workbench.data.types import Arrays
from workbench.graph import plain

# TensorFlow 2.9 has no GPU kernel that gathers uint8, and keeps int32 tensors in host memory.
# So pixels travel as int64, eight in a word, and the bits stay the same.
PIXELS_IN_WORD = 8


class DeviceFeed(tf.Module):
    """Steps of up to ``examples_per_step`` examples from arrays on the device.

    ``shape`` is what each example is reshaped to, the shape of the model's input. The order is
    keyed by (seed, epoch); without a seed it is that of the arrays. ``steps`` is the number of
    steps in an epoch, or "all" for as many as the examples make.
    """

    name_in_summary = "device"

    def __init__(
        self,
        arrays: Arrays,
        shape: tuple[int, ...],
        examples_per_step: int,
        seed: int | None,
        steps: int | str,
    ) -> None:
        super().__init__()
        self._packed = arrays.images.dtype == np.uint8
        self._images = tf.constant(pack(arrays.images) if self._packed else arrays.images)
        self._labels = tf.constant(arrays.labels)
        self._shape = shape
        self._seed = seed
        self._count = len(arrays)
        self.steps = -(-len(arrays) // examples_per_step) if steps == "all" else steps
        self.examples_per_step = examples_per_step
        self.input_dtype = tf.float32 if self._packed else self._images.dtype
        self.label_dtype = self._labels.dtype

    def start(self, epoch: int, first: int) -> tf.Tensor:
        """Return what :meth:`next` needs for the steps from ``first`` on: the order, int64."""
        if self._seed is None:
            return tf.range(self._count, dtype=tf.int64)
        return tf.constant(epoch_order(self._seed, epoch, self._count))

    @plain
    def next(self, order: tf.Tensor, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return images, labels, and the seconds waited (float64) of ``step`` in the epoch."""
        size = self.examples_per_step
        index = order[step * size : (step + 1) * size]
        images = tf.gather(self._images, index)
        if self._packed:
            images = unpack(images, self._shape)
        labels = tf.gather(self._labels, index)
        return tf.reshape(images, [-1, *self._shape]), labels, tf.zeros([], tf.float64)


def pack(images: np.ndarray) -> np.ndarray:
    """Return images (N, ...) uint8 as words (N, bytes / 8) int64, filled up with zeros."""
    flat = np.ascontiguousarray(images).reshape(len(images), -1)
    missing = -flat.shape[1] % PIXELS_IN_WORD
    if missing:
        flat = np.pad(flat, [(0, 0), (0, missing)])
    return flat.view(np.int64)


def unpack(words: tf.Tensor, shape: tuple[int, ...]) -> tf.Tensor:
    """Return packed images (B, W) int64 as pixels (B, *shape) float32 in [0, 1]."""
    pixels = tf.reshape(tf.bitcast(words, tf.uint8), [-1, words.shape[1] * PIXELS_IN_WORD])
    return scaled(tf.reshape(pixels[:, : int(np.prod(shape))], [-1, *shape]))


def scaled(pixels: tf.Tensor) -> tf.Tensor:
    """Return uint8 pixels as float32 in [0, 1]."""
    return tf.cast(pixels, tf.float32) / 255.0
