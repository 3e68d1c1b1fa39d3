"""A .npz file with x_train, y_train and perhaps x_test, y_test."""

from __future__ import annotations

import os

import numpy as np

from workbench.data.arrays import TEST_NAMES, TRAIN_NAMES, found_in
from workbench.data.types import Found
from workbench.errors import Mistake
from workbench.settings import Settings


def read_npz(settings: Settings) -> Found:
    """Return what the file --data holds; raise ``Mistake`` for whatever is wrong with it."""
    where = f"--data={settings.data}"
    classes = None if settings.classes == "auto" else settings.classes
    return found_in(where, read_arrays(where, settings.data), classes)


def read_arrays(where: str, file: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the arrays by which training and test sets are named, as they are in ``file``.

    Raises ``Mistake``, which begins with ``where``, when one cannot be read, or when another
    one's name begins with x_ or y_: it would be left out silently.
    """
    try:
        with open(file, "rb") as stream:
            _check_kind(where, stream.read(6))
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as archive:
                _check_names(where, archive.files)
                names = (*TRAIN_NAMES, *TEST_NAMES)
                return {
                    name: _read_array(where, archive, name)
                    for name in names
                    if name in archive.files
                }
    except Mistake:
        raise
    # A damaged archive shows as OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error,
    # SyntaxError, MemoryError and more, according to what is damaged.
    except Exception as error:
        raise Mistake(_damaged(where, error)) from error


def _read_array(where: str, archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    try:
        array = archive[name]
        if not isinstance(array, np.ndarray):
            raise ValueError("it is no array")
        return array
    except Exception as error:
        if isinstance(error, ValueError) and "allow_pickle" in str(error):
            raise Mistake(
                f"{where}: {name} cannot be read: it holds Python objects (pickled): "
                f"save it as an array of numbers"
            ) from error
        raise Mistake(_damaged(f"{where}: {name}", error)) from error


def _damaged(where: str, error: Exception) -> str:
    if isinstance(error, PermissionError):
        return f"{where} cannot be read: permission denied: make it readable"
    if isinstance(error, MemoryError):
        return f"{where} cannot be read: {error or 'it is larger than the memory'}: use less data"
    return (
        f"{where} cannot be read: cut short or damaged ({type(error).__name__}: {error}): "
        f"put a good copy there"
    )


def _check_kind(where: str, beginning: bytes) -> None:
    if not beginning:
        raise Mistake(f"{where} cannot be read: it is empty (0 bytes): put a good copy there")
    if beginning == b"\x93NUMPY":
        raise Mistake(
            f"{where} cannot be read: it is a .npy file with one array: save x_train and y_train "
            f"together by numpy.savez"
        )
    if not beginning.startswith(b"PK"):
        raise Mistake(
            f"{where} cannot be read: it is not a .npz archive, it begins with {beginning!r}: "
            f"save x_train and y_train by numpy.savez"
        )


def _check_names(where: str, names: list[str]) -> None:
    for name in names:
        if name.startswith(("x_", "y_")) and name not in (*TRAIN_NAMES, *TEST_NAMES):
            raise Mistake(
                f"{where}: {name} is not an array that is used: name them x_train, y_train and, "
                f"for validation, x_test, y_test"
            )
