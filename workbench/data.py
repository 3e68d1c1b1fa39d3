"""The data set: read and checked whole before any device work, kept as it came (uint8)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workbench.errors import Mistake

CLASSES = 10
DATASETS_BESIDE_PROGRAM = Path(__file__).resolve().parent.parent / "datasets"


class Dataset(NamedTuple):
    """Images (N, 28, 28) in uint8 and labels (N,) in uint8, for training and validation."""

    train_images: np.ndarray
    train_labels: np.ndarray
    val_images: np.ndarray
    val_labels: np.ndarray


def load_mnist() -> Dataset:
    """Read ``mnist.npz`` from ``WORKBENCH_DATASETS``, or from ``datasets/`` beside train.py.

    Raises ``Mistake`` when the file is missing, cannot be read, or is not MNIST's shape.
    """
    folder = Path(os.environ.get("WORKBENCH_DATASETS") or DATASETS_BESIDE_PROGRAM)
    file = folder / "mnist.npz"
    # Not file.is_file(): that raises where a folder above may not be searched.
    if not os.path.isfile(file):
        raise Mistake(f"--data=mnist: {file} is not there: name its folder by WORKBENCH_DATASETS")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            dataset = Dataset(
                *(arrays[name] for name in ("x_train", "y_train", "x_test", "y_test"))
            )
    # A damaged archive shows as OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error,
    # SyntaxError, MemoryError and more, according to what is damaged; all mean the same.
    except Exception as error:
        raise Mistake(
            f"--data=mnist: {file} cannot be read ({type(error).__name__}: {error}): "
            f"put a good copy there"
        ) from error
    for name, images, labels in (
        ("train", dataset.train_images, dataset.train_labels),
        ("test", dataset.val_images, dataset.val_labels),
    ):
        _check_images(file, name, images)
        _check_labels(file, name, labels, len(images))
    return dataset


def first_samples(dataset: Dataset, samples: str | int) -> Dataset:
    """Return ``dataset`` with its first ``samples`` training images ("all": all of them).

    Raises ``Mistake`` when there are fewer.
    """
    if samples == "all":
        return dataset
    have = len(dataset.train_images)
    if samples > have:
        raise Mistake(
            f"--train_samples={samples}: there are {have} training images: give at most {have}"
        )
    return dataset._replace(
        train_images=dataset.train_images[:samples], train_labels=dataset.train_labels[:samples]
    )


def check_batch_size(dataset: Dataset, batch_size: int) -> None:
    """Raise ``Mistake`` when a batch is larger than the training data."""
    have = len(dataset.train_images)
    if batch_size > have:
        raise Mistake(
            f"--batch_size={batch_size} is larger than the training data of {have} images: "
            f"give at most {have}"
        )


def epoch_order(seed: int, epoch: int, samples: int) -> np.ndarray:
    """Return the order of the training images in ``epoch`` (from 0): (samples,) int64.

    A permutation from Philox keyed by (seed, epoch): any epoch's order can be made anew
    without the ones before it, so a resumed run needs no state for it.
    """
    key = np.array([seed, epoch], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key)).permutation(samples)


def _check_images(file: Path, name: str, images: np.ndarray) -> None:
    if (
        images.ndim != 3
        or images.shape[1:] != (28, 28)
        or images.dtype != np.uint8
        or not len(images)
    ):
        raise Mistake(
            f"--data=mnist: {file}: x_{name} is {images.dtype} of shape {images.shape}: "
            f"expected uint8 of shape (N, 28, 28)"
        )


def _check_labels(file: Path, name: str, labels: np.ndarray, images: int) -> None:
    if labels.shape != (images,) or labels.dtype != np.uint8:
        raise Mistake(
            f"--data=mnist: {file}: y_{name} is {labels.dtype} of shape {labels.shape}: "
            f"expected uint8 of shape ({images},)"
        )
    wrong = np.flatnonzero(labels >= CLASSES)
    if len(wrong):
        raise Mistake(
            f"--data=mnist: {file}: y_{name}[{wrong[0]}] is {labels[wrong[0]]}: "
            f"expected a label from 0 to {CLASSES - 1}"
        )
