"""What a function of the user returns: arrays, or tf.data datasets."""

from __future__ import annotations

import sys
from typing import Any, Mapping

import numpy as np

from workbench import user_code
from workbench.data.arrays import TEST_NAMES, TRAIN_NAMES, found_in
from workbench.data.types import Found
from workbench.errors import Mistake
from workbench.settings import Settings

NAMES = (*TRAIN_NAMES, *TEST_NAMES)
RETURN = (
    "return ((x_train, y_train), (x_test, y_test)), (x, y), a dict of x_train, y_train, x_test, "
    "y_test, or (train, val) of tf.data.Dataset"
)


def call_function(settings: Settings) -> Found:
    """Call the function --data names, without arguments, and return what it gives, checked.

    Raises ``Mistake`` when it cannot be called, fails, or returns something else.
    """
    where = f"--data={settings.data}"
    classes = None if settings.classes == "auto" else settings.classes
    function = user_code.load_function("data", settings.data)

    # Datasets of TensorFlow take their seeds, and whether they are deterministic, when they are
    # made.
    from workbench import devices

    devices.quiet()
    devices.set_seed(settings.seed, settings.deterministic)
    value = user_code.call(where, function)
    if _is_tf_dataset(value):
        raise Mistake(
            f"{where} returned one tf.data.Dataset: return two, (train, val): how to split it "
            f"cannot be known"
        )
    if isinstance(value, Mapping):
        return found_in(where, _named(where, value), classes)
    if isinstance(value, (tuple, list)) and len(value) == 2:
        if all(_is_tf_dataset(part) for part in value):
            from workbench.data.stream import found_in_streams

            return found_in_streams(where, *value, classes, settings.steps_per_epoch == "all")
        if any(_is_tf_dataset(part) for part in value):
            raise Mistake(f"{where} returned one tf.data.Dataset and something else: {RETURN}")
        parts = [item for part in value for item in part] if _is_two_pairs(value) else value
        return found_in(where, _named(where, dict(zip(NAMES, parts))), classes)
    raise Mistake(f"{where} returned {_kind(value)}: {RETURN}")


def _is_tf_dataset(value: Any) -> bool:
    # Whoever made one has loaded TensorFlow.
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(value, tf.data.Dataset)


def _is_two_pairs(value: Any) -> bool:
    return all(isinstance(part, (tuple, list)) and len(part) == 2 for part in value)


def _named(where: str, parts: Mapping[Any, Any]) -> dict[str, np.ndarray]:
    """Return ``parts`` as arrays; all of their names must be known."""
    for name in parts:
        if name not in NAMES:
            raise Mistake(f"{where} returned a dict with {name!r}: {RETURN}")
    return {name: _array(where, name, value) for name, value in parts.items()}


def _array(where: str, name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    # A tensor of a graph, or whatever __array__ of another library raises.
    except Exception as error:
        raise Mistake(
            f"{where}: {name} is {_kind(value)} and cannot become an array "
            f"({type(error).__name__}: {error})"
        ) from error
    if array.dtype == object:
        raise Mistake(
            f"{where}: {name} is {_kind(value)} of Python objects: give an array of numbers"
        )
    return array


def _kind(value: Any) -> str:
    length = f" of {len(value)}" if isinstance(value, (tuple, list)) else ""
    return f"{type(value).__name__}{length}"
