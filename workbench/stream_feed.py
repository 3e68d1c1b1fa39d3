"""Input that streams through tf.data: decoded in parallel, fetched ahead of the step."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled

from workbench.data.order import epoch_order
from workbench.data.types import Arrays, Files, Split, Stream, count
from workbench.device_feed import scaled
from workbench.errors import Mistake
from workbench.graph import plain
from workbench.image_cache import ImageCache
from workbench.memory import available_memory
from workbench.verdicts import gist

# The share of the memory that is left which decoded images may take.
CACHE_SHARE = 0.25
# Examples by which a stream that is shuffled anew is known, also where the buffer is small.
BEGINNING = 16


class StreamFeed:
    """Steps of up to ``examples_per_step`` examples from arrays, image files or a user's stream.

    ``shape``, ``seed`` and ``steps`` as for ``DeviceFeed``: the same steps come from both. A
    user's stream keeps its own order.
    """

    name_in_summary = "stream"

    def __init__(
        self,
        split: Split,
        shape: tuple[int, ...],
        examples_per_step: int,
        seed: int | None,
        steps: int | str,
    ) -> None:
        self._shape = shape
        self._seed = seed
        self.steps = steps_of(split, examples_per_step) if steps == "all" else steps
        self.examples_per_step = examples_per_step
        # Not the split itself: arrays are in memory once.
        self._count = count(split)
        self._stream = split.dataset if isinstance(split, Stream) else None
        self._cache = None
        with tf.device("CPU:0"):
            if isinstance(split, Arrays):
                self._images = tf.constant(split.images)
            if not isinstance(split, Stream):
                self._labels = tf.constant(split.labels)
        if isinstance(split, Files):
            self._cache = ImageCache(split, int(CACHE_SHARE * available_memory()))
        images, labels = self.dataset(0, 0).element_spec
        self.input_dtype = tf.float32 if images.dtype == tf.uint8 else images.dtype
        self.label_dtype = labels.dtype
        self._endless: Any = None
        self._position = 0

    def start(self, epoch: int, first: int) -> Any:
        """Return what :meth:`next` needs for the steps from ``first`` on: an iterator."""
        if self._stream is None or self._count is not None:
            return iter(self.dataset(epoch, first))
        # A stream without an end goes on where the last epoch left it.
        position = epoch * self.steps + first
        if self._endless is None or position != self._position:
            self._endless = iter(self.dataset(epoch, first))
        self._position = (epoch + 1) * self.steps
        return self._endless

    def next(self, iterator: Any, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return images, labels, and the seconds waited (float64) of the next step."""
        (images, labels), waited = self.fetch(iterator)
        return self.prepare(images), labels, waited

    @plain
    def fetch(self, iterator: Any) -> tuple[tuple[tf.Tensor, tf.Tensor], tf.Tensor]:
        """Return the next batch of :meth:`dataset`, and the seconds waited for it: float64."""
        before = _now()
        with tf.control_dependencies([before]):
            images, labels = iterator.get_next()
        with tf.control_dependencies([images, labels]):
            waited = _now() - before
        return (images, labels), waited

    @plain
    def prepare(self, images: tf.Tensor) -> tf.Tensor:
        """Return a batch of :meth:`dataset` as the model takes it."""
        images = scaled(images) if images.dtype == tf.uint8 else images
        return tf.reshape(images, [-1, *self._shape])

    def dataset(self, epoch: int, first: int) -> tf.data.Dataset:
        """Return the batches of ``epoch`` (from 0) from step ``first`` on: (images, labels)."""
        batches = self._examples(epoch, first * self.examples_per_step)
        options = tf.data.Options()
        options.deterministic = True
        return batches.with_options(options).prefetch(tf.data.AUTOTUNE)

    def keeps_its_order(self) -> bool:
        """Tell whether two passes begin with the same examples; a user's shuffle may differ."""
        if self._stream is None:
            return True
        # By their bytes: NaN, which will be told, is not equal to itself.
        first, second = (
            [image.numpy().tobytes() for image, _ in self._stream.take(BEGINNING)] for _ in range(2)
        )
        return first == second

    def _examples(self, epoch: int, start: int) -> tf.data.Dataset:
        """Return the batches of ``epoch`` from the example ``start`` on."""
        if self._stream is not None:
            return self._of_user(epoch, start)
        order = np.arange(self._count)
        if self._seed is not None:
            order = epoch_order(self._seed, epoch, self._count)
        rows = tf.data.Dataset.from_tensor_slices(
            order[start : self.steps * self.examples_per_step]
        )
        if self._cache is not None:
            examples = rows.map(self._decode, num_parallel_calls=tf.data.AUTOTUNE)
            return examples.batch(self.examples_per_step)
        return rows.batch(self.examples_per_step).map(
            lambda rows: (tf.gather(self._images, rows), tf.gather(self._labels, rows)),
            num_parallel_calls=tf.data.AUTOTUNE,
        )

    def _decode(self, row: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        (image,) = tf.numpy_function(lambda i: [self._cache.read(int(i))], [row], [tf.uint8])
        image.set_shape(self._cache.shape)
        return image, tf.gather(self._labels, row)

    def _of_user(self, epoch: int, start: int) -> tf.data.Dataset:
        size = self.examples_per_step
        if self._count is None:
            endless = self._stream.repeat()
            return endless.skip(epoch * self.steps * size + start).batch(size)
        return self._stream.take(self.steps * size).skip(start).batch(size)


def steps_of(split: Split, examples_per_step: int) -> int:
    """Return the steps in an epoch; a user's stream of unknown length is read once for it."""
    examples = count(split)
    if examples is None:
        try:
            examples = int(split.dataset.reduce(np.int64(0), lambda number, *_: number + 1))
        except tf.errors.OpError as error:
            raise Mistake(
                f"--data: the validation set cannot be read to its end: {gist(error.message)}"
            ) from error
    return -(-examples // examples_per_step)


def _now() -> tf.Tensor:
    """Return the time in seconds: float64."""
    # Under --deterministic TensorFlow refuses to tell the time itself.
    if is_op_determinism_enabled():
        return tf.reshape(tf.numpy_function(time.time, [], tf.float64), [])
    return tf.timestamp()
