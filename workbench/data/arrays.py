"""Arrays of examples, brought to the few types that training knows, and checked whole."""

from __future__ import annotations

from typing import Iterator, Mapping

import numpy as np

from workbench.data.labels import count_classes, read_labels
from workbench.data.types import Arrays, Found
from workbench.errors import Mistake

TRAIN_NAMES = ("x_train", "y_train")
TEST_NAMES = ("x_test", "y_test")
# Checked piece by piece: the intermediate arrays stay small.
PIECE_BYTES = 1 << 24


def found_in(where: str, arrays: Mapping[str, np.ndarray], classes: int | None) -> Found:
    """Return the examples of ``arrays``: x_train, y_train and perhaps x_test, y_test.

    ``where`` begins the text of a ``Mistake``. ``classes`` None: what the labels show.
    """
    for name in TRAIN_NAMES:
        if name not in arrays:
            there = ", ".join(arrays) or "none of the four"
            raise Mistake(
                f"{where} has no array {name} ({there} found): "
                f"give x_train and y_train, and perhaps x_test and y_test"
            )
    for name, other in (TEST_NAMES, TEST_NAMES[::-1]):
        if name in arrays and other not in arrays:
            raise Mistake(f"{where} has {name} but no {other}: give both or none")
    train = _pair(where, arrays, TRAIN_NAMES)
    val = _pair(where, arrays, TEST_NAMES) if TEST_NAMES[0] in arrays else None
    labels = {"y_train": train.labels}
    if val:
        labels["y_test"] = val.labels
        if val.shape != train.shape or val.images.dtype != train.images.dtype:
            raise Mistake(
                f"{where}: an example of x_test is {val.images.dtype} of shape {val.shape}, one "
                f"of x_train {train.images.dtype} of shape {train.shape}: make them alike"
            )
    classes = count_classes(where, labels, classes)
    return Found(train, val, classes, notes=_unscaled(train.images))


def read_images(where: str, name: str, array: np.ndarray) -> np.ndarray:
    """Return ``array`` (N, ...) as uint8, float32 or int64, without a copy where it is one.

    Floats become float32, other integers int64, truth values 0 and 1 in float32. Raises
    ``Mistake`` for other types, wrong shapes, and the first value that is not finite there.
    """
    if array.ndim < 2 or not array.size:
        raise Mistake(
            f"{where}: {name} is of shape {array.shape}: give at least one example, and (N, ...) "
            f"with the N examples first"
        )
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    if array.dtype.kind == "b":
        return array.astype(np.float32)
    if array.dtype.kind in "iu":
        return _as_int64(where, name, array)
    if array.dtype.kind == "f":
        return _as_float32(where, name, array)
    raise Mistake(
        f"{where}: {name} is of type {array.dtype}: give numbers, uint8, integers or floats"
    )


def _pair(where: str, arrays: Mapping[str, np.ndarray], names: tuple[str, str]) -> Arrays:
    images = read_images(where, names[0], arrays[names[0]])
    return Arrays(images, read_labels(where, names, arrays[names[1]], len(images)))


def _as_int64(where: str, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        too_large = array > np.iinfo(np.int64).max
        if too_large.any():
            at = _first(too_large)
            raise Mistake(
                f"{where}: {name}{list(at)} is {array[at]}: that is more than int64 holds"
            )
    return np.ascontiguousarray(array, dtype=np.int64)


def _as_float32(where: str, name: str, array: np.ndarray) -> np.ndarray:
    is_float32 = array.dtype == np.float32
    result = np.ascontiguousarray(array) if is_float32 else np.empty(array.shape, np.float32)
    for piece in _pieces(array):
        if not is_float32:
            # What does not fit becomes infinite, and is named below.
            with np.errstate(over="ignore", invalid="ignore"):
                result[piece] = array[piece]
        bad = ~np.isfinite(result[piece])
        if bad.any():
            first, *rest = _first(bad)
            at = (first + piece.start, *rest)
            what = "more than float32 holds" if np.isfinite(array[at]) else "not a finite number"
            raise Mistake(
                f"{where}: {name}{list(at)} is {array[at]}: that is {what}: "
                f"repair or leave out the example"
            )
    return result


def _pieces(array: np.ndarray) -> Iterator[slice]:
    rows = max(1, PIECE_BYTES * len(array) // max(array.nbytes, 1))
    for start in range(0, len(array), rows):
        yield slice(start, start + rows)


def _first(bad: np.ndarray) -> tuple[int, ...]:
    """Return the index of the first True."""
    return tuple(int(index) for index in np.unravel_index(bad.argmax(), bad.shape))


def _unscaled(images: np.ndarray) -> tuple[str, ...]:
    """Return a note for values that look like pixels, which only uint8 is taken for."""
    if images.dtype == np.uint8 or images.min() < 0 or not 128 <= images.max() <= 65535:
        return ()
    return (
        f"the training examples are {images.dtype} from {images.min():g} to {images.max():g} and "
        f"are not scaled; pixels are scaled to [0, 1] when they are uint8",
    )
