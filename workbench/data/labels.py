"""Labels: integers from 0, one-hot rows or probabilities."""

from __future__ import annotations

from typing import Mapping

import numpy as np

from workbench.errors import Mistake

# How far from 1 a row of probabilities may add up: float16 and rounded text stay within it.
ROW_SUM_TOLERANCE = 1e-3


def read_labels(where: str, names: tuple[str, str], array: np.ndarray, examples: int) -> np.ndarray:
    """Return labels as (N,) int64, or (N, classes) float32 where they are rows of shares.

    ``names`` are those of the images and of the labels, ``examples`` the number of images.
    (N, 1) counts as (N,), whole floats as integers. Raises ``Mistake`` with the first value
    that is wrong.
    """
    name = names[1]
    if array.dtype.kind not in "biuf":
        raise Mistake(
            f"{where}: {name} is of type {array.dtype}: give classes as integers from 0, or one-hot"
        )
    if array.ndim not in (1, 2) or (array.ndim == 2 and not array.shape[1]):
        raise Mistake(
            f"{where}: {name} is of shape {array.shape}: give (N,) integers, or "
            f"(N, classes) one-hot"
        )
    if len(array) != examples:
        raise Mistake(
            f"{where}: {names[0]} has {examples} examples but {name} {len(array)} labels: "
            f"give one label for each example"
        )
    if array.ndim == 2 and array.shape[1] > 1:
        return _shares(where, name, array)
    return _integers(where, name, array.reshape(-1))


def count_classes(where: str, labels: Mapping[str, np.ndarray], given: int | None) -> int:
    """Return the number of classes; ``labels`` are y_train and perhaps y_test, as read.

    ``given`` is what the user said, None for what the labels show. Raises ``Mistake`` when the
    two do not fit each other, or the labels do not look like classes.
    """
    shapes = {array.shape[1:] for array in labels.values()}
    if len(shapes) > 1:
        seen = " and ".join(f"{name} of shape {array.shape}" for name, array in labels.items())
        raise Mistake(f"{where}: {seen}: give both as integers, or both one-hot of one width")
    if shapes != {()}:
        width = labels["y_train"].shape[1]
        if given not in (None, width):
            raise Mistake(
                f"--classes={given}: {where}: y_train has {width} columns, one for each class: "
                f"leave out --classes"
            )
        return width
    if given is None:
        return _shown_classes(where, labels)
    for name, array in labels.items():
        wrong = np.flatnonzero(array >= given)
        if len(wrong):
            raise Mistake(
                f"{where}: {name}[{wrong[0]}] is {array[wrong[0]]}: "
                f"expected a label from 0 to {given - 1}"
            )
    return given


def _shown_classes(where: str, labels: Mapping[str, np.ndarray]) -> int:
    least = min(int(array.min()) for array in labels.values())
    most = max(int(array.max()) for array in labels.values())
    if least > 0:
        raise Mistake(
            f"{where}: the labels go from {least} to {most}: they must start at 0: "
            f"subtract {least}, or give --classes if class 0 has no example"
        )
    if most == 0:
        raise Mistake(
            f"{where}: all labels are 0: at least 2 classes are needed; give --classes if the "
            f"others have no example"
        )
    train = labels["y_train"]
    if most >= len(train):
        name, array = next((n, a) for n, a in labels.items() if int(a.max()) == most)
        raise Mistake(
            f"{where}: {name}[{int(array.argmax())}] is {most}, of {len(train)} training "
            f"examples: the labels look like ids: number the classes from 0, or give --classes"
        )
    return most + 1


def _integers(where: str, name: str, array: np.ndarray) -> np.ndarray:
    # Also finds NaN, and what an int64 does not hold.
    whole = (array == np.floor(array)) & (np.abs(array) < 2.0**62)
    _refuse(where, name, array, ~whole, "a label must be a whole number")
    _refuse(where, name, array, array < 0, "a label must not be negative")
    return array.astype(np.int64)


def _shares(where: str, name: str, array: np.ndarray) -> np.ndarray:
    _refuse(where, name, array, ~np.isfinite(array), "that is not a finite number")
    _refuse(where, name, array, array < 0, "a share must not be negative")
    sums = array.sum(axis=1, dtype=np.float64)
    wrong = np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
    if len(wrong):
        raise Mistake(
            f"{where}: {name}[{wrong[0]}] adds up to {sums[wrong[0]]:g}: a row of {name} must add "
            f"up to 1, one-hot or probabilities; integer labels are of shape (N,)"
        )
    return array.astype(np.float32)


def _refuse(where: str, name: str, array: np.ndarray, bad: np.ndarray, rule: str) -> None:
    if bad.any():
        at = tuple(int(index) for index in np.unravel_index(bad.argmax(), bad.shape))
        raise Mistake(f"{where}: {name}{list(at)} is {array[at]}: {rule}")
