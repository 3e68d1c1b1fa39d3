"""A user's function: how it is found, and what it may return."""

from __future__ import annotations

import sys
import textwrap

import numpy as np
import pytest
import tensorflow as tf

from workbench import user_code
from workbench.data import Arrays, Stream, load
from workbench.data.stream import found_in_streams
from workbench.errors import Mistake
from workbench.settings import Settings


@pytest.fixture
def load_code(tmp_path, monkeypatch):
    """Return a function that writes code to own.py and loads own.py:data of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))

    def load_own(code, data="own.py:data", **flags):
        user_code._module_of_file.cache_clear()
        for name in ("own", "user_code_own", "mine", "beside", "main"):
            sys.modules.pop(name, None)
        (tmp_path / "own.py").write_text(textwrap.dedent(code))
        return load(Settings(data=data, **{"batch_size": 2, **flags}), flags)

    return load_own


DATA = "def data():"


def returning(expression):
    return "import numpy as np\nx, y = np.zeros((6, 4), 'u1'), np.arange(6) % 3\n" + (
        f"def data():\n    return {expression}\n"
    )


@pytest.mark.parametrize(
    ("expression", "sizes"),
    [
        ("(x, y), (x[:2], y[:2])", (6, 2)),
        ("[[x, y], [x[:2], y[:2]]]", (6, 2)),
        ("x, y", (5, 1)),
        ("x.tolist(), y.tolist()", (5, 1)),
        ("dict(x_train=x, y_train=y, x_test=x, y_test=y)", (6, 6)),
    ],
)
def test_arrays(expression, sizes, load_code):
    dataset = load_code(returning(expression))
    assert isinstance(dataset.train, Arrays)
    assert (len(dataset.train), len(dataset.val)) == sizes
    assert dataset.classes == 3


@pytest.mark.parametrize(
    ("expression", "contained"),
    [
        ("None", "returned NoneType: return ((x_train, y_train), (x_test, y_test)), (x, y)"),
        ("x", "returned ndarray"),
        ("(x, y), (x, y), (x, y)", "returned tuple of 3"),
        ("dict(x_train=x, labels=y)", "returned a dict with 'labels'"),
        ("dict(x_train=x)", "has no array y_train"),
        ("x, y[:5]", "x_train has 6 examples but y_train 5 labels"),
        ("(x, y), (x, y + 7)", "y_test[2] is 9, of 6 training examples: the labels look like ids"),
        ("(x, y), (x * np.nan, y)", "x_test[0, 0] is nan"),
        ("x, [[1], [2, 3]]", "y_train is list of 2 and cannot become an array"),
        ("x, np.array([{}])", "y_train is ndarray of Python objects"),
        ("1 / 0", "it failed: ZeroDivisionError: division by zero ({folder}/own.py:4)"),
        ("exit(3)", "it failed: SystemExit: 3 ({folder}/own.py:4)"),
    ],
)
def test_wrong_value(expression, contained, load_code, tmp_path):
    with pytest.raises(Mistake, match=r"^--data=own\.py:data") as mistake:
        load_code(returning(expression))
    assert contained.format(folder=tmp_path) in str(mistake.value)


@pytest.mark.parametrize(
    ("data", "code", "contained"),
    [
        ("none.py:data", "", "the file none.py is not there"),
        ("no_module:data", "", "there is no module no_module in {folder}"),
        ("no.module:data", "", "there is no module no.module"),
        ("own.py:dota", "def data(): pass", "own.py has no function dota (did you mean data?)"),
        ("own.py:data", "data = 3", "data is of type int: give a function"),
        ("own.py:data", "x = 1\ndef data(:\n", "{folder}/own.py:2: SyntaxError: invalid syntax"),
        ("own.py:data", "import no_such", "No module named 'no_such' ({folder}/own.py:1)"),
        ("own:data", "import own.no_such", "failed: ModuleNotFoundError"),
        ("own.py:data", "\n\nraise SystemExit(1)", "failed: SystemExit: 1 ({folder}/own.py:3)"),
        ("own.py:data", "raise KeyboardInterrupt", "failed: KeyboardInterrupt ({folder}/own.py:1)"),
        (
            "own.py:data",
            f"{DATA} raise SystemExit(3)",
            "it failed: SystemExit: 3 ({folder}/own.py:1)",
        ),
        (
            "own.py:data",
            f"{DATA} raise KeyboardInterrupt",
            "it failed: KeyboardInterrupt ({folder}",
        ),
        ("own.py:data", "def data(x): pass", "it failed: TypeError: data() missing 1 required"),
        ("own.py:", "", "not the name of a data set"),
        ("a b:data", "", "not the name of a data set"),
    ],
)
def test_no_function(data, code, contained, load_code, tmp_path):
    with pytest.raises(Mistake, match=f"^--data={data}") as mistake:
        load_code(code, data)
    assert contained.format(folder=tmp_path) in str(mistake.value)


@pytest.mark.parametrize("data", ["own:data", "/own.py:data"])
def test_a_working_directory_that_is_gone(data, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(Mistake) as mistake:
        load(Settings(data=data), {})
    assert str(mistake.value) == (
        f"--data={data}: the working directory is gone: change to another"
    )


def test_module_beside_and_module_in_another_folder(load_code, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "beside.py").write_text("import numpy as np\nx = np.zeros((4, 2))\n")
    (tmp_path / "other" / "main.py").write_text(
        "from beside import x\ndef data():\n    return x, [0, 1, 0, 1]\n"
    )
    assert load_code("", "other/main.py:data").classes == 2
    (tmp_path / "mine.py").write_text(returning("x, y"))
    assert load_code("", "mine:data").classes == 3


IMAGES = np.zeros((10, 4, 3), np.uint8)
LABELS = np.arange(10) % 3
ONE_HOT = np.eye(3, dtype=np.float32)[LABELS]


def single(images=IMAGES, labels=LABELS):
    return tf.data.Dataset.from_tensor_slices((images, labels))


def found(train, val=None, classes=None, whole_epochs=True):
    return found_in_streams("--data=own", train, val or train, classes, whole_epochs)


@pytest.mark.parametrize(
    ("dataset", "count", "image", "label", "classes"),
    [
        (single(), 10, tf.uint8, ((), tf.int64), None),
        (single().batch(4), 10, tf.uint8, ((), tf.int64), None),
        (single().batch(4, drop_remainder=True), 8, tf.uint8, ((), tf.int64), None),
        (single().repeat(), None, tf.uint8, ((), tf.int64), None),
        (single().batch(4).repeat(), None, tf.uint8, ((), tf.int64), None),
        (single().filter(lambda x, y: y > 0), None, tf.uint8, ((), tf.int64), None),
        (single(labels=ONE_HOT), 10, tf.uint8, ((3,), tf.float32), 3),
        (single(labels=ONE_HOT.astype(int)).batch(4), 10, tf.uint8, ((3,), tf.float32), 3),
        (single(labels=LABELS[:, None]), 10, tf.uint8, ((), tf.int64), None),
        (single(labels=LABELS[:, None]).batch(4), 10, tf.uint8, ((), tf.int64), None),
        (single(IMAGES.astype("f8")), 10, tf.float32, ((), tf.int64), None),
        (single(IMAGES.astype("i2"), LABELS > 1), 10, tf.int64, ((), tf.int64), None),
    ],
)
def test_streams(dataset, count, image, label, classes):
    result = found(dataset, dataset.take(2))
    spec = result.train.dataset.element_spec
    assert isinstance(result.train, Stream)
    assert (result.train.count, result.train.shape) == (count, (4, 3))
    assert (spec[0].dtype, spec[0].shape) == (image, (4, 3))
    assert (tuple(spec[1].shape), spec[1].dtype) == label
    assert result.classes == classes


def generated(spec, values=((IMAGES[0], 1),)):
    return tf.data.Dataset.from_generator(lambda: iter(values), output_signature=spec)


def unknown(*shape):
    return generated((tf.TensorSpec(shape, tf.uint8), tf.TensorSpec((), tf.int32)))


RAGGED = tf.data.Dataset.from_tensor_slices((tf.ragged.constant([[1], [2, 3]]), [0, 1]))
BAD_PIPELINE = single().map(lambda x, y: (tf.debugging.check_numerics(x / 0, "it is"), y))


@pytest.mark.parametrize(
    ("train", "val", "contained"),
    [
        (
            lambda: single().map(lambda x, y: (x, y, y)),
            None,
            "the training set gives elements of 3",
        ),
        (lambda: single().map(lambda x, y: x), None, "elements of TensorSpec"),
        (lambda: single().map(lambda x, y: {"x": x}), None, "elements of dict"),
        (lambda: single().map(lambda x, y: ({"x": x}, y)), None, "the image is a dict"),
        (lambda: RAGGED, None, "the image is a RaggedTensorSpec"),
        (lambda: generated((tf.TensorSpec(None), tf.TensorSpec(()))), None, "of unknown shape"),
        (lambda: unknown(None, 3), None, "an image is of shape (None, 3)"),
        (lambda: single().take(0), None, "the training set is empty: its cardinality is 0"),
        (lambda: single().filter(lambda x, y: y > 5), None, "it gives no element"),
        (single, lambda: single().take(0), "the validation set is empty"),
        (single, lambda: single().repeat(), "the validation set is endless"),
        (single, lambda: single(IMAGES[:, :2]), "a validation example uint8 of shape (2, 3)"),
        (single, lambda: single(labels=ONE_HOT), "and float32 of shape (3,)"),
        (lambda: single(labels=LABELS / 2), None, "a label is float64 of shape ()"),
        (lambda: single(labels=LABELS.astype(str)), None, "a label is string of shape ()"),
        (lambda: single(images=LABELS.astype(str)), None, "an image is of shape ()"),
        (lambda: single().map(lambda x, y: (tf.as_string(x), y)), None, "are of type string"),
        (lambda: BAD_PIPELINE, None, "it failed: InvalidArgumentError"),
    ],
)
def test_wrong_streams(train, val, contained):
    with pytest.raises(Mistake, match=r"^--data=own: ") as mistake:
        found(train(), val() if val else None)
    assert contained in str(mistake.value)


def test_classes_of_one_hot_streams():
    with pytest.raises(Mistake, match="--classes=4: --data=own: labels have 3 columns"):
        found(single(labels=ONE_HOT), classes=4)
    assert found(single(), classes=4).classes == 4


STREAMS = """
import numpy as np
import tensorflow as tf
def data():
    one = tf.data.Dataset.from_tensor_slices((np.zeros((6, 4)), np.arange(6)))
    return {}
"""


@pytest.mark.parametrize(
    ("expression", "flags", "contained"),
    [
        ("one", {}, "returned one tf.data.Dataset: return two, (train, val)"),
        ("one, 3", {}, "returned one tf.data.Dataset and something else"),
        ("one.repeat(), one", {}, "is not known: say how long an epoch is by --steps_per_epoch"),
        ("one, one", {"train_samples": 7}, "--train_samples=7: there are 6 training examples"),
        ("one, one", {"batch_size": 7}, "--batch_size=7 is larger than"),
        ("one, one", {"validation_split": 0.5}, "--validation_split has no effect"),
    ],
)
def test_streams_that_do_not_fit_the_flags(expression, flags, contained, load_code):
    with pytest.raises(Mistake) as mistake:
        load_code(STREAMS.format(expression), **flags)
    assert contained in str(mistake.value)


def test_streams_loaded(load_code):
    dataset = load_code(STREAMS.format("one, one"), train_samples=4, classes=6)
    assert (dataset.train.count, dataset.val.count, dataset.classes) == (4, 6, 6)
    endless = load_code(STREAMS.format("one.repeat(), one"), steps_per_epoch=3)
    assert endless.train.count is None
    assert endless.digest != dataset.digest
    assert load_code(STREAMS.format("one.repeat(), one"), train_samples=9).train.count == 9
