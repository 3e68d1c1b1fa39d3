"""mnist from its file; fashion_mnist and cifar10 from Keras's cache."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest

from workbench.data import load
from workbench.errors import Mistake
from workbench.settings import Settings


def test_mnist_stays_as_it_came(small_datasets, mnist, monkeypatch):
    monkeypatch.setenv("WORKBENCH_DATASETS", str(small_datasets))
    dataset = load(Settings(), {})
    np.testing.assert_array_equal(dataset.train.images, mnist["x_train"][:2048])
    np.testing.assert_array_equal(dataset.val.labels, mnist["y_test"][:500])
    assert dataset.train.images.dtype == np.uint8
    assert (dataset.train.labels.dtype, dataset.classes, dataset.notes) == (np.int64, 10, ())


@pytest.mark.parametrize(
    ("changed", "contained"),
    [
        ({"x_test": None}, "has no array x_test"),
        ({"x_train": np.zeros((20, 28, 28))}, "x_train is float64 of shape (20, 28, 28)"),
        ({"x_train": np.zeros((20, 784), np.uint8)}, "x_train is uint8 of shape (20, 784)"),
        ({"y_train": np.full(20, 10)}, "y_train[0] is 10: expected a label from 0 to 9"),
        ({"y_test": np.zeros(19, int)}, "x_test has 20 examples but y_test 19 labels"),
    ],
)
def test_a_wrong_copy_of_mnist(changed, contained, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_DATASETS", str(tmp_path))
    images, labels = np.zeros((20, 28, 28), np.uint8), np.zeros(20, np.uint8)
    arrays = {"x_train": images, "y_train": labels, "x_test": images, "y_test": labels, **changed}
    np.savez(tmp_path / "mnist.npz", **{n: a for n, a in arrays.items() if a is not None})
    with pytest.raises(Mistake) as mistake:
        load(Settings(), {})
    assert f"--data=mnist: {tmp_path}/mnist.npz" in str(mistake.value)
    assert contained in str(mistake.value)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A home with an empty cache of Keras, and no network."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    folder = tmp_path / ".keras" / "datasets"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("fashion_mnist", "fashion-mnist/train-labels-idx1-ubyte.gz"),
        ("cifar10", "cifar-10-batches-py.tar.gz"),
    ],
)
def test_nothing_is_fetched_unless_asked_for(name, file, cache):
    with pytest.raises(Mistake, match="is not there: give --download to fetch it once") as mistake:
        load(Settings(data=name), {})
    assert str(cache / file) in str(mistake.value)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("name", ["fashion_mnist", "cifar10"])
def test_a_failed_download(name, cache):
    with pytest.raises(Mistake, match=f"--data={name} cannot be fetched or read .*see that the"):
        load(Settings(data=name, download=True), {})


def test_a_damaged_archive_is_not_fetched_anew(cache):
    (cache / "cifar-10-batches-py.tar.gz").write_bytes(b"half of it")
    with pytest.raises(Mistake, match="is cut short or damaged: give --download"):
        load(Settings(data="cifar10"), {})


def test_fashion_mnist_from_the_cache(cache):
    folder = cache / "fashion-mnist"
    folder.mkdir()
    images, labels = os.urandom(20 * 28 * 28), bytes(range(10)) * 2
    for part in ("train", "t10k"):
        for file, content in (
            (f"{part}-images-idx3-ubyte.gz", bytes(16) + images),
            (f"{part}-labels-idx1-ubyte.gz", bytes(8) + labels),
        ):
            (folder / file).write_bytes(gzip.compress(content))
    dataset = load(Settings(data="fashion_mnist", batch_size=5), {})
    assert dataset.train.images.tobytes() == images
    assert dataset.val.labels.tolist() == list(labels)
    (folder / file).write_bytes(gzip.compress(bytes(16) + images)[:-100])
    with pytest.raises(Mistake, match="cannot be fetched or read"):
        load(Settings(data="fashion_mnist"), {})
