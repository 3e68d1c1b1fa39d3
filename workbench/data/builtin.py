"""The data sets that have a name: mnist from the image, the others from Keras's cache."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.data.arrays import found_in
from workbench.data.npz import read_arrays
from workbench.data.types import Found
from workbench.errors import Mistake
from workbench.settings import Settings

CLASSES = 10
DATASETS_BESIDE_PROGRAM = Path(__file__).resolve().parents[2] / "datasets"
NAMES = ("x_train", "y_train", "x_test", "y_test")
SILENT_SERVER_SECONDS = 60


class Cached(NamedTuple):
    """Where keras.datasets keeps a data set, in ~/.keras/datasets.

    Keras fetches a file with a known SHA-256 anew when it has another.
    """

    files: tuple[str, ...]
    sha256: str | None = None


CACHED = {
    "fashion_mnist": Cached(
        tuple(
            f"fashion-mnist/{part}-ubyte.gz"
            for part in (
                "train-labels-idx1",
                "train-images-idx3",
                "t10k-labels-idx1",
                "t10k-images-idx3",
            )
        )
    ),
    "cifar10": Cached(
        ("cifar-10-batches-py.tar.gz",),
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    ),
}


def read_builtin(settings: Settings) -> Found:
    """Return the data set named --data.

    Raises ``Mistake`` when it is not there, cannot be read or, with --download, be fetched.
    """
    if settings.data == "mnist":
        where, arrays = _read_mnist()
    else:
        where, arrays = f"--data={settings.data}", _read_cached(settings.data, settings.download)
    classes = CLASSES if settings.classes == "auto" else settings.classes
    return found_in(where, arrays, classes)


def _read_mnist() -> tuple[str, dict[str, np.ndarray]]:
    """Read ``mnist.npz`` from ``WORKBENCH_DATASETS``, or from ``datasets/`` beside train.py."""
    folder = Path(os.environ.get("WORKBENCH_DATASETS") or DATASETS_BESIDE_PROGRAM)
    file = folder / "mnist.npz"
    # Not file.is_file(): that raises where a folder above may not be searched.
    if not os.path.isfile(file):
        raise Mistake(f"--data=mnist: {file} is not there: name its folder by WORKBENCH_DATASETS")
    where = f"--data=mnist: {file}"
    arrays = read_arrays(where, file)
    for name in NAMES:
        if name not in arrays:
            raise Mistake(f"{where} has no array {name}: put a good copy there")
    for name in ("x_train", "x_test"):
        images = arrays[name]
        if images.dtype != np.uint8 or images.shape[1:] != (28, 28) or not len(images):
            raise Mistake(
                f"{where}: {name} is {images.dtype} of shape {images.shape}: "
                f"expected uint8 of shape (N, 28, 28)"
            )
    return where, {name: arrays[name] for name in NAMES}


def _read_cached(name: str, download: bool) -> dict[str, np.ndarray]:
    """Return the arrays of keras.datasets, from its cache or, with ``download``, fetched."""
    cache = _cache_folder()
    if not download:
        _check_cached(name, cache)
    import tensorflow as tf

    waited = socket.getdefaulttimeout()
    # Keras waits for a silent server for ever.
    socket.setdefaulttimeout(SILENT_SERVER_SECONDS)
    try:
        (x_train, y_train), (x_test, y_test) = getattr(tf.keras.datasets, name).load_data()
    # Keras raises Exception itself; a damaged file shows in as many ways as in an archive.
    except Exception as error:
        raise Mistake(
            f"--data={name} cannot be fetched or read ({type(error).__name__}: {error}): see that "
            f"the network can be reached, or remove what is damaged in {cache} and give --download"
        ) from error
    finally:
        socket.setdefaulttimeout(waited)
    return dict(zip(NAMES, (x_train, y_train, x_test, y_test)))


def _check_cached(name: str, cache: Path) -> None:
    """Raise ``Mistake`` where Keras would have to fetch something."""
    cached = CACHED[name]
    for file in cached.files:
        if not os.path.isfile(cache / file):
            raise Mistake(
                f"--data={name}: {cache / file} is not there: give --download to fetch it once"
            )
        if cached.sha256 and _sha256(cache / file) != cached.sha256:
            raise Mistake(
                f"--data={name}: {cache / file} is cut short or damaged: "
                f"give --download to fetch it anew"
            )


def _cache_folder() -> Path:
    """Return the folder that Keras 2.9 uses: another one where ~/.keras cannot be written."""
    home = Path.home()
    keras = home / ".keras"
    writable = os.access(keras if keras.exists() else home, os.W_OK)
    return (keras if writable else Path("/tmp/.keras")) / "datasets"


def _sha256(file: Path) -> str:
    total: Any = hashlib.sha256()
    with file.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            total.update(block)
    return total.hexdigest()
