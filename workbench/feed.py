"""Which way the examples take to the step: kept on the device, or streamed."""

from __future__ import annotations

import math
from typing import Sequence, Union

from workbench.data.types import Arrays, Dataset
from workbench.device_feed import DeviceFeed
from workbench.errors import Mistake
from workbench.hardware import Gpu
from workbench.memory import available_memory
from workbench.settings import Settings
from workbench.stream_feed import StreamFeed

Feed = Union[DeviceFeed, StreamFeed]

# The share of the device's memory that examples may take: the model, its optimizer and its
# activations need the rest.
DEVICE_SHARE = 0.25
# A validation batch needs no gradients, so one of small examples may be larger than in training:
# up to this many examples, and this many numbers in all.
VALIDATION_EXAMPLES, VALIDATION_NUMBERS = 1024, 2**20


def make_feeds(
    dataset: Dataset, shape: tuple[int, ...], settings: Settings, gpus: Sequence[Gpu]
) -> tuple[Feed, Feed]:
    """Return the feeds for training and for validation; each example is reshaped to ``shape``.

    Raises ``Mistake`` where --input=device cannot be had.
    """
    small = min(VALIDATION_EXAMPLES, VALIDATION_NUMBERS // max(1, math.prod(shape)))
    for_val = max(settings.batch_size, small)
    for_train = settings.batch_size * settings.accumulate_steps
    if settings.loop == "custom" and stays_on_device(dataset, settings.input, gpus):
        return (
            DeviceFeed(dataset.train, shape, for_train, settings.seed, settings.steps_per_epoch),
            DeviceFeed(dataset.val, shape, for_val, None, "all"),
        )
    return (
        StreamFeed(dataset.train, shape, for_train, settings.seed, settings.steps_per_epoch),
        StreamFeed(dataset.val, shape, for_val, None, "all"),
    )


def stays_on_device(dataset: Dataset, asked: str, gpus: Sequence[Gpu]) -> bool:
    """Tell whether the examples are kept on the device, as ``--input=asked`` says."""
    if asked == "stream":
        return False
    arrays = [split for split in (dataset.train, dataset.val) if isinstance(split, Arrays)]
    if len(arrays) < 2:
        if asked == "device":
            raise Mistake("--input=device: this data streams from its source: leave --input out")
        return False
    needed = sum(split.images.nbytes + split.labels.nbytes for split in arrays)
    memory = min((gpu.memory_bytes or 0 for gpu in gpus), default=available_memory())
    if asked == "device" and needed > memory:
        raise Mistake(
            f"--input=device: the examples need {needed} bytes and the device has {memory}: "
            f"leave --input out"
        )
    return asked == "device" or needed <= memory * DEVICE_SHARE
