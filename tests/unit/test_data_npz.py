"""A .npz file: what is read, and what each mistake says."""

from __future__ import annotations

import re
import zipfile

import numpy as np
import pytest

from conftest import classes_without_tensorflow
from workbench.data import Arrays, load
from workbench.data.arrays import PIECE_BYTES
from workbench.data.split import validation_indices
from workbench.errors import Mistake
from workbench.settings import Settings


def arrays(**changed):
    """Return 20 examples of three classes and 6 of a test set, with ``changed`` in place."""
    good = {
        "x_train": np.arange(20 * 12, dtype=np.uint8).reshape(20, 4, 3),
        "y_train": np.arange(20) % 3,
        "x_test": np.ones((6, 4, 3), np.uint8),
        "y_test": np.arange(6) % 3,
    }
    return {name: array for name, array in {**good, **changed}.items() if array is not None}


def load_npz(folder, flags=None, **changed):
    file = folder / "data.npz"
    np.savez(file, **arrays(**changed))
    flags = {"batch_size": 4, **(flags or {})}
    return load(Settings(data=str(file), **flags), flags)


def with_value(array, index, value, dtype=None):
    array = np.array(array, dtype or np.asarray(array).dtype)
    array[index] = value
    return array


FLOATS = np.zeros((20, 4, 3))
ONE_HOT = np.eye(3, dtype=np.float32)[np.arange(20) % 3]
LABELS = np.arange(20) % 3
HUGE = np.full((20, 4, 3), 2**63, np.uint64)

# (arrays, flags, what the line must contain after the name of the file)
WRONG = [
    ({"x_train": None}, {}, "has no array x_train (y_train, x_test, y_test found)"),
    ({"x_test": None}, {}, "has y_test but no x_test: give both or none"),
    ({"y_test": None}, {}, "has x_test but no y_test: give both or none"),
    ({"x_val": FLOATS}, {}, "x_val is not an array that is used: name them x_train"),
    ({"x_train": np.array([{}] * 20)}, {}, "x_train cannot be read: it holds Python objects"),
    ({"y_train": np.array(["a"] * 20)}, {}, "y_train is of type <U1"),
    ({"x_train": FLOATS.astype("S1")}, {}, "x_train is of type |S1"),
    ({"x_train": FLOATS.astype(complex)}, {}, "x_train is of type complex128"),
    ({"x_train": FLOATS.astype("M8[s]")}, {}, "x_train is of type datetime64[s]"),
    ({"x_train": np.zeros((0, 4, 3))}, {}, "x_train is of shape (0, 4, 3)"),
    ({"x_train": np.zeros((20, 0))}, {}, "x_train is of shape (20, 0)"),
    ({"x_train": np.zeros(20)}, {}, "x_train is of shape (20,)"),
    ({"x_train": np.float32(3)}, {}, "x_train is of shape ()"),
    ({"x_train": np.zeros((19, 4, 3))}, {}, "x_train has 19 examples but y_train 20 labels"),
    (
        {"x_test": np.ones((6, 3, 4), np.uint8)},
        {},
        "an example of x_test is uint8 of shape (3, 4), one of x_train uint8 of shape (4, 3)",
    ),
    ({"x_test": np.ones((6, 4, 3))}, {}, "an example of x_test is float32 of shape (4, 3)"),
    (
        {"x_train": with_value(FLOATS, (17, 2, 1), np.nan)},
        {},
        "x_train[17, 2, 1] is nan: that is not a finite number",
    ),
    ({"x_train": with_value(FLOATS, (3, 0, 2), -np.inf, "f4")}, {}, "x_train[3, 0, 2] is -inf"),
    (
        {"x_train": with_value(FLOATS, (5, 3, 0), 1e39)},
        {},
        "x_train[5, 3, 0] is 1e+39: that is more than float32 holds",
    ),
    ({"x_train": HUGE}, {}, "x_train[0, 0, 0] is 9223372036854775808: that is more than int64"),
    ({"y_train": with_value(LABELS, 7, -1)}, {}, "y_train[7] is -1: a label must not be negative"),
    ({"y_test": np.array([0, 1, 2.5, 0, 0, 0])}, {}, "y_test[2] is 2.5: a label must be a whole"),
    ({"y_train": with_value(LABELS, 4, np.nan, float)}, {}, "y_train[4] is nan"),
    ({"y_train": LABELS + 1, "y_test": None, "x_test": None}, {}, "they must start at 0: subtract"),
    ({"y_train": LABELS + 1, "y_test": np.ones(6, int)}, {}, "the labels go from 1 to 3"),
    ({"y_train": LABELS * 0, "y_test": np.zeros(6, int)}, {}, "all labels are 0: at least 2"),
    ({"y_train": with_value(LABELS, 9, 10**9)}, {}, "y_train[9] is 1000000000, of 20 training"),
    ({"y_test": np.full(6, 20)}, {}, "y_test[0] is 20, of 20 training examples: the labels look"),
    ({}, {"classes": 2}, "y_train[2] is 2: expected a label from 0 to 1"),
    ({"y_train": np.zeros((20, 2, 2))}, {}, "y_train is of shape (20, 2, 2)"),
    ({"y_train": ONE_HOT}, {}, "y_train of shape (20, 3) and y_test of shape (6,)"),
    ({"y_train": ONE_HOT * 0.99}, {}, "y_train[0] adds up to 0.99"),
    ({"y_train": with_value(ONE_HOT, (6, 1), -0.5)}, {}, "y_train[6, 1] is -0.5: a share must"),
    ({"y_train": with_value(ONE_HOT, (6, 1), np.inf)}, {}, "y_train[6, 1] is inf"),
    ({"y_train": ONE_HOT, "y_test": ONE_HOT[:6]}, {"classes": 4}, "y_train has 3 columns"),
]


@pytest.mark.parametrize(
    ("changed", "flags", "contained"), WRONG, ids=lambda value: str(value)[:60]
)
def test_wrong_arrays(changed, flags, contained, tmp_path):
    with pytest.raises(Mistake) as mistake:
        load_npz(tmp_path, flags, **changed)
    assert f"--data={tmp_path}/data.npz" in str(mistake.value)
    assert contained in str(mistake.value)


def damaged(content):
    return content[:100] + bytes(byte ^ 255 for byte in content[100:160]) + content[160:]


@pytest.mark.parametrize(
    ("change", "contained"),
    [
        (lambda content: b"", "it is empty (0 bytes)"),
        (lambda content: content[:-100], "cut short or damaged (BadZipFile"),
        (lambda content: content[:1000], "cut short or damaged (BadZipFile"),
        (damaged, "cut short or damaged"),
        (lambda content: b"<html>", "it is not a .npz archive, it begins with b'<html>'"),
        (lambda content: b"\x93NUMPY\x01", "it is a .npy file with one array"),
    ],
)
def test_damaged_file(change, contained, tmp_path):
    file = tmp_path / "data.npz"
    np.savez(file, **arrays())
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(Mistake, match=re.escape(str(file))) as mistake:
        load(Settings(data=str(file)), {})
    assert f"cannot be read: {contained}" in str(mistake.value)


def test_a_member_that_is_no_array(tmp_path):
    file = tmp_path / "data.npz"
    np.savez(file, **arrays(x_train=None))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("x_train.npy", "twenty images")
    with pytest.raises(Mistake) as mistake:
        load(Settings(data=str(file)), {})
    assert str(mistake.value) == (
        f"--data={file}: x_train cannot be read: cut short or damaged (ValueError: it is no "
        f"array): put a good copy there"
    )


@pytest.mark.parametrize(
    ("data", "contained"),
    [
        ("mnits", "(did you mean mnist?)"),
        ("nothing.npz", "the file is not there"),
        ("nothing.csv", "not the name of a data set"),
        ("there.csv", "a file of this kind is not read"),
        ("there.py", "give there.py:function"),
        ("https://example.org/data", "a .npz file, a folder of class folders"),
    ],
)
def test_not_a_data_set(data, contained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("there.csv", "there.py"):
        (tmp_path / name).write_text("1")
    with pytest.raises(Mistake, match=f"--data={data}") as mistake:
        load(Settings(data=data), {})
    assert contained in str(mistake.value)


@pytest.mark.parametrize(
    ("flags", "contained"),
    [
        ({"validation_split": 0.2}, "--validation_split has no effect with --data="),
        ({"image_size": (8, 8)}, "--image_size has no effect"),
        ({"skip_broken": True}, "--skip_broken has no effect"),
        ({"train_samples": 21}, "--train_samples=21: there are 20 training examples"),
        ({"batch_size": 21}, "--batch_size=21 is larger than the training data of 20"),
        ({"train_samples": 3}, "--batch_size=4 is larger than the training data of 3"),
        (
            {"accumulate_steps": 6},
            "a step of 4 x 6 examples is larger than the training data of 20",
        ),
        ({"steps_per_epoch": 6}, "the training data of 20 examples has 5 steps: give at most 5"),
        ({"accumulate_steps": 2, "steps_per_epoch": 4}, "has 3 steps: give at most 3"),
    ],
)
def test_flags_that_do_not_fit(flags, contained, tmp_path):
    with pytest.raises(Mistake) as mistake:
        load_npz(tmp_path, flags)
    assert contained in str(mistake.value)


@pytest.mark.parametrize(
    ("images", "dtype"),
    [
        (np.uint8, np.uint8),
        (np.float16, np.float32),
        (">f4", np.float32),
        (np.float64, np.float32),
        (np.int16, np.int64),
        (np.uint64, np.int64),
        (bool, np.float32),
    ],
)
@pytest.mark.parametrize("labels", [np.uint8, np.float32, ">i4"])
def test_types(images, dtype, labels, tmp_path):
    original = arrays()
    changed = {name: original[name].astype(images) for name in ("x_train", "x_test")}
    dataset = load_npz(tmp_path, **changed, y_train=original["y_train"].astype(labels)[:, None])
    assert isinstance(dataset.train, Arrays)
    assert (dataset.train.images.dtype, dataset.val.images.dtype) == (dtype, dtype)
    np.testing.assert_array_equal(dataset.train.images, changed["x_train"])
    assert dataset.train.labels.dtype == np.int64
    assert dataset.train.labels.tolist() == original["y_train"].tolist()
    assert (dataset.classes, len(dataset.val)) == (3, 6)


def test_one_hot(tmp_path):
    dataset = load_npz(tmp_path, y_train=ONE_HOT.astype(int), y_test=np.full((6, 3), 1 / 3))
    assert dataset.classes == 3
    assert dataset.train.labels.dtype == dataset.val.labels.dtype == np.float32
    np.testing.assert_array_equal(dataset.train.labels, ONE_HOT)


def test_a_bad_value_far_into_a_large_array(tmp_path):
    row = np.zeros((3, PIECE_BYTES // 4), np.float32)
    row[2, 5] = np.inf
    with pytest.raises(Mistake, match=re.escape("x_train[2, 5] is inf")):
        load_npz(tmp_path, x_train=row, y_train=np.arange(3))


def test_notes(tmp_path):
    pixels = arrays()["x_train"].astype(np.float32)
    dataset = load_npz(
        tmp_path, {"classes": 9}, x_train=pixels, x_test=pixels[:6], y_train=LABELS * 2
    )
    assert len(dataset.notes) == 2
    assert "float32 from 0 to 239 and are not scaled" in dataset.notes[0]
    assert dataset.notes[1] == "no training example is of class 1, 3, 5, 6, 7 and 1 more"


def test_validation_split(tmp_path):
    alone = {"x_test": None, "y_test": None}
    dataset = load_npz(tmp_path, {"validation_split": 0.3}, **alone)
    again = load_npz(tmp_path, {"validation_split": 0.3, "seed": 5}, **alone)
    assert (len(dataset.train), len(dataset.val)) == (14, 6)
    assert np.bincount(dataset.val.labels).tolist() == [2, 2, 2]
    assert dataset.digest == again.digest
    assert "6 of 20 examples are kept for it" in dataset.notes[0]
    images = np.concatenate([dataset.train.images, dataset.val.images])
    assert sorted(image[0, 0] for image in images) == sorted(arrays()["x_train"][:, 0, 0])


@pytest.mark.parametrize(("share", "wanted"), [(1e-6, 1), (0.5, 10), (0.999999, 19)])
def test_validation_has_at_least_one_and_not_all(share, wanted):
    indices = validation_indices(np.arange(20) % 3, share)
    assert len(np.unique(indices)) == len(indices) == wanted
    # Pinned: runs are compared on the same validation set.
    assert validation_indices(np.zeros(20, int), 0.2).tolist() == [1, 2, 6, 7]


def test_a_single_example(tmp_path):
    with pytest.raises(Mistake, match="there is 1 example: at least 2 are needed"):
        load_npz(
            tmp_path,
            {"batch_size": 1, "classes": 2},
            x_train=np.zeros((1, 3)),
            y_train=[0],
            x_test=None,
            y_test=None,
        )


def test_first_samples_and_digest(tmp_path):
    dataset = load_npz(tmp_path, {"train_samples": 8})
    assert (len(dataset.train), len(dataset.val)) == (8, 6)
    digests = {
        dataset.digest,
        load_npz(tmp_path).digest,
        load_npz(tmp_path, x_train=with_value(arrays()["x_train"], (19, 3, 2), 0)).digest,
        load_npz(tmp_path, y_test=np.zeros(6, int)).digest,
    }
    assert len(digests) == 4
    assert load_npz(tmp_path).digest in digests


def test_neither_tensorflow_nor_nvml_is_needed(tmp_path, no_tensorflow):
    np.savez(tmp_path / "data.npz", **arrays())
    assert classes_without_tensorflow("data.npz", tmp_path, no_tensorflow) == "3\n"
