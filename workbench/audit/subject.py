"""The model that is audited: built under mixed_float16, and once more as it is without it."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, NamedTuple

import tensorflow as tf

from workbench.audit.names import is_saved
from workbench.audit.settings import Settings
from workbench.catalogue import APPLICATIONS
from workbench.errors import Mistake
from workbench.models import build_model
from workbench.models.shapes import fit_shape
from workbench.settings import Settings as Train

MIXED, FULL = "mixed_float16", "float32"
DEFAULT_SHAPES = {"mlp": (28, 28), "cnn": (28, 28, 1)}
APPLICATION_SHAPE = (224, 224, 3)
DEFAULT_CLASSES = 10
# What Keras's LossScaleOptimizer says where it is given what it cannot wrap.
WRAPPING = {
    "optimizer_wrapped_twice": "LossScaleOptimizer cannot wrap another",
    "optimizer_cannot_be_wrapped": "new experimental optimizer",
}
# Where a function is asked for a shape that nobody has named.
COMMON_SHAPE = (32, 32, 3)


class Subject(NamedTuple):
    """A model under audit.

    ``mixed`` is built under mixed_float16, ``full`` under float32, both by the same builder; a
    saved model is both, as it was saved. ``policy_of_builder`` is the global policy after the
    builder has run under mixed_float16 and under float32. ``shape`` is that of an example as the
    model takes it.
    """

    mixed: tf.keras.Model
    full: tf.keras.Model
    shape: tuple[int, ...]
    saved: bool
    policy_of_builder: tuple[str, str]


class Unbuildable(Exception):
    """The builder fails for a reason that is a finding: its text, and the ``kind`` of it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def load(settings: Settings, shape: tuple[int, ...] | None, classes: int | None) -> Subject:
    """Return the model that ``--model`` names, for examples of ``shape`` where data tells it.

    Raises ``Mistake`` where it cannot be built at all, ``Unbuildable`` where mixed precision is
    the reason.
    """
    if is_saved(settings.model):
        model = _load_saved(settings.model)
        shape = fit_shape(model, shape) if shape else _declared(model, settings)
        return Subject(model, model, shape, True, ("", ""))
    shape = shape or _default_shape(settings)
    classes = classes or (DEFAULT_CLASSES if settings.classes == "auto" else settings.classes)
    train = Train(model=settings.model, weights=settings.weights, download=settings.download)

    def build() -> tf.keras.Model:
        return build_model(train, shape, classes)

    try:
        full, after_full = _built(FULL, build)
    except Mistake as mistake:
        kind = _kind(mistake)
        if kind is None:
            raise
        raise Unbuildable(kind, str(mistake)) from mistake
    try:
        mixed, after_mixed = _built(MIXED, build)
    except Mistake as mistake:
        raise Unbuildable(_kind(mistake) or "fails_in_mixed_float16", str(mistake)) from mistake
    # Layers that are made while it is traced, in a call, are made under it too.
    tf.keras.mixed_precision.set_global_policy(MIXED)
    return Subject(mixed, full, fit_shape(mixed, shape), False, (after_mixed, after_full))


def _kind(mistake: Mistake) -> str | None:
    said = str(mistake.__cause__)
    return next((kind for kind, words in WRAPPING.items() if words in said), None)


def in_float32(layers: list[tf.keras.layers.Layer]) -> None:
    """Have every one of ``layers`` compute in float32 from now on."""
    policy = tf.keras.mixed_precision.Policy(FULL)
    for layer in layers:
        # What the constructor does with its argument dtype. Variables are float32 already.
        layer._set_dtype_policy(policy)


def _built(policy: str, build: Callable[[], tf.keras.Model]) -> tuple[tf.keras.Model, str]:
    with global_policy(policy):
        # The same weights and names in both, and the names that the user's own program has.
        tf.keras.backend.reset_uids()
        tf.keras.utils.set_random_seed(0)
        model = build()
        return model, tf.keras.mixed_precision.global_policy().name


@contextlib.contextmanager
def global_policy(policy: str) -> Iterator[None]:
    """Have ``policy`` be the global one inside the block."""
    before = tf.keras.mixed_precision.global_policy()
    tf.keras.mixed_precision.set_global_policy(policy)
    try:
        yield
    finally:
        tf.keras.mixed_precision.set_global_policy(before)


def _load_saved(name: str) -> tf.keras.Model:
    try:
        model = tf.keras.models.load_model(name)
    # A file can be wrong in any way, and hold layers of the user's own.
    except Exception as error:
        text = " ".join(str(error).split())[:300]
        raise Mistake(
            f"--model={name} cannot be loaded ({type(error).__name__}: {text}): a model with "
            f"layers of your own needs its function instead, --model=path.py:function"
        ) from error
    if not isinstance(model, tf.keras.Model):
        raise Mistake(f"--model={name} holds no Keras model: save it with model.save")
    if model.inputs and len(model.inputs) != 1:
        raise Mistake(f"--model={name}: the model has {len(model.inputs)} inputs: it must have one")
    return model


def _default_shape(settings: Settings) -> tuple[int, ...]:
    if settings.input_shape != "auto":
        return settings.input_shape
    if settings.model in APPLICATIONS:
        return APPLICATION_SHAPE
    return DEFAULT_SHAPES.get(settings.model, COMMON_SHAPE)


def _declared(model: tf.keras.Model, settings: Settings) -> tuple[int, ...]:
    if settings.input_shape != "auto":
        return settings.input_shape
    inputs: list[Any] = list(model.inputs or [])
    if len(inputs) != 1 or None in tuple(inputs[0].shape)[1:]:
        raise Mistake(
            f"--model={settings.model} does not tell the shape of its one input: give "
            f"--input_shape=N,N,…"
        )
    return tuple(inputs[0].shape)[1:]
