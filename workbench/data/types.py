"""What a data set is, whatever it came from."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence, Union

import numpy as np


class Arrays(NamedTuple):
    """Examples in memory.

    ``images`` (N, ...) are uint8 (to be scaled to [0, 1]), float32 (finite) or int64;
    ``labels`` are (N,) int64 from 0, or (N, classes) float32, one-hot or probabilities.
    """

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        """Return the number of examples."""
        return self.images.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.images.shape[1:]


class Files(NamedTuple):
    """Image files, decoded when they are needed: ``labels`` (N,) int64, ``shape`` (H, W, C)."""

    paths: Sequence[str]
    labels: np.ndarray
    shape: tuple[int, int, int]

    def __len__(self) -> int:
        """Return the number of examples."""
        return self.labels.shape[0]


class Stream(NamedTuple):
    """A user's tf.data.Dataset of single (image, label) pairs, ``count`` of them.

    ``count`` is None where it is not known, or endless. ``shape`` is that of one image.
    """

    dataset: Any
    count: int | None
    shape: tuple[int, ...]


Split = Union[Arrays, Files, Stream]


def count(split: Split) -> int | None:
    """Return the number of examples, None where it is not known or endless."""
    # len() of a Stream is that of the tuple.
    return split.count if isinstance(split, Stream) else len(split)


class Found(NamedTuple):
    """What a source holds, checked; ``val`` is None where it brings no validation set."""

    train: Split
    val: Split | None
    classes: int | None
    class_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


class Dataset(NamedTuple):
    """A training and a validation set that passed all checks.

    ``classes`` is None where only the model can tell (a stream of integer labels).
    ``digest`` is a hash of the examples: a resumed run compares it. ``notes`` are lines for the
    user: what was decided or left out.
    """

    train: Split
    val: Split
    classes: int | None
    class_names: tuple[str, ...] | None
    digest: str
    notes: tuple[str, ...] = ()
