"""A user's tf.data datasets, brought to single (image, label) pairs of known types."""

from __future__ import annotations

import tensorflow as tf

from workbench import user_code
from workbench.data.types import Found, Stream
from workbench.errors import Mistake


def found_in_streams(
    where: str,
    train: tf.data.Dataset,
    val: tf.data.Dataset,
    classes: int | None,
    whole_epochs: bool,
) -> Found:
    """Return the user's datasets, batched or not, as streams of single examples.

    Images become uint8, float32 or int64, labels int64 scalars or float32 rows. Where
    ``whole_epochs`` need the number of examples and only that of batches is known, the training
    set is read once to count. Raises ``Mistake`` for elements of another form, for an empty
    training set and for an endless validation set.
    """
    train = _stream(where, "training", train, count_all=whole_epochs)
    val = _stream(where, "validation", val, count_all=False)
    if val.dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise Mistake(f"{where}: the validation set is endless: end it by take(N), not repeat()")
    specs = [stream.dataset.element_spec for stream in (train, val)]
    if specs[0] != specs[1]:
        raise Mistake(
            f"{where}: a training example is {_words(specs[0])}, a validation example "
            f"{_words(specs[1])}: make them alike"
        )
    return Found(train, val, _classes(where, specs[0][1], classes))


def _stream(where: str, name: str, dataset: tf.data.Dataset, count_all: bool) -> Stream:
    where = f"{where}: the {name} set"
    images, labels = _pair(where, dataset.element_spec)
    count = int(dataset.cardinality())
    if count == 0:
        raise Mistake(f"{where} is empty: its cardinality is 0")
    _check_first(where, dataset)
    if _batched(images.shape, labels):
        count = _examples(where, dataset, count, images.shape[0], count_all)
        dataset = dataset.unbatch()
        images, labels = dataset.element_spec
    elif count < 0:
        count = None
    if not images.shape.rank or not images.shape.is_fully_defined():
        raise Mistake(
            f"{where}: an image is of shape {images.shape}: give all examples one known shape "
            f"(resize them, or set_shape)"
        )
    image_type = _image_type(where, images.dtype)
    label_type, label_shape = _label_form(where, labels)

    def typed(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.cast(image, image_type), tf.reshape(tf.cast(label, label_type), label_shape)

    if (image_type, label_type, label_shape) != (images.dtype, labels.dtype, labels.shape):
        dataset = dataset.map(typed, num_parallel_calls=tf.data.AUTOTUNE)
    return Stream(dataset, count, tuple(images.shape))


def _pair(where: str, spec: object) -> tuple[tf.TensorSpec, tf.TensorSpec]:
    if not (isinstance(spec, tuple) and len(spec) == 2):
        seen = f"{len(spec)} parts" if isinstance(spec, tuple) else type(spec).__name__
        raise Mistake(f"{where} gives elements of {seen}: give (image, label) pairs")
    for name, part in zip(("image", "label"), spec):
        if not isinstance(part, tf.TensorSpec):
            raise Mistake(
                f"{where}: the {name} is a {type(part).__name__}: give (image, label) pairs of "
                f"plain tensors"
            )
        if part.shape.rank is None:
            raise Mistake(
                f"{where}: the {name} is of unknown shape: say it by set_shape, or in the "
                f"output_signature of from_generator"
            )
    return spec


def _check_first(where: str, dataset: tf.data.Dataset) -> None:
    """Raise ``Mistake`` when the first element cannot be had."""

    def first() -> object:
        return next(iter(dataset.take(1)), None)

    if user_code.call(where, first) is None:
        raise Mistake(f"{where} is empty: it gives no element")


def _batched(image_shape: tf.TensorShape, labels: tf.TensorSpec) -> bool:
    """Tell whether elements are batches: a leading dimension in common, unknown or equal."""
    if not image_shape.rank or not labels.shape.rank or image_shape[0] != labels.shape[0]:
        return False
    return labels.shape.rank == 2 or labels.dtype.is_integer or labels.shape[0] is None


def _examples(
    where: str, dataset: tf.data.Dataset, batches: int, in_a_batch: int | None, count_all: bool
) -> int | None:
    """Return the number of examples in ``batches``, None where it is not known."""
    if batches < 0:
        return None
    if in_a_batch is not None:
        return batches * in_a_batch
    if not count_all:
        return None

    def counted() -> int:
        sizes = dataset.map(lambda image, label: tf.shape(label, tf.int64)[0])
        return int(sizes.reduce(tf.constant(0, tf.int64), lambda total, size: total + size))

    return user_code.call(where, counted)


def _image_type(where: str, dtype: tf.DType) -> tf.DType:
    if dtype == tf.uint8:
        return dtype
    if dtype.is_floating or dtype.is_bool:
        return tf.float32
    if dtype.is_integer:
        return tf.int64
    raise Mistake(f"{where}: images are of type {dtype.name}: give uint8, integers or floats")


def _label_form(where: str, labels: tf.TensorSpec) -> tuple[tf.DType, tf.TensorShape]:
    """Return the type and shape that a label is brought to."""
    whole = labels.dtype.is_integer or labels.dtype.is_bool
    if labels.shape in ((), (1,)):
        if whole:
            return tf.int64, tf.TensorShape(())
    elif labels.shape.rank == 1 and labels.shape[0] and (whole or labels.dtype.is_floating):
        return tf.float32, labels.shape
    raise Mistake(
        f"{where}: a label is {labels.dtype.name} of shape {labels.shape}: give an integer from "
        f"0, or one-hot of known width"
    )


def _classes(where: str, labels: tf.TensorSpec, given: int | None) -> int | None:
    if labels.shape.rank == 0:
        return given
    width = labels.shape[0]
    if given not in (None, width):
        raise Mistake(
            f"--classes={given}: {where}: labels have {width} columns, one for each class: "
            f"leave out --classes"
        )
    return width


def _words(spec: tuple[tf.TensorSpec, tf.TensorSpec]) -> str:
    return " and ".join(f"{part.dtype.name} of shape {part.shape}" for part in spec)
