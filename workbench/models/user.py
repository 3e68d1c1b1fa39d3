"""The user's own model: a function that returns it, called and checked."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import tensorflow as tf

from workbench.errors import Mistake
from workbench.user_code import call, describe, load_function


def build_user_model(text: str, shape: tuple[int, ...], classes: int | None) -> tf.keras.Model:
    """Return the model of the function that ``--model=text`` names, built for ``shape``.

    The function is given ``input_shape`` and ``classes`` by keyword where it takes them.
    Raises ``Mistake`` when it fails, or returns what cannot be trained here.
    """
    function = load_function("model", text)
    arguments = _arguments(text, function, shape, classes)
    model = call(f"--model={text}", function, **arguments)
    if not isinstance(model, tf.keras.Model):
        raise Mistake(
            f"--model={text} returned a {type(model).__name__}: it must return a tf.keras.Model"
        )
    if not model.inputs:
        _build(text, model, shape)
    _check(text, model)
    return model


def ignored_compile_warning(model: tf.keras.Model) -> list[str]:
    """Return a warning when the user compiled ``model``: loss and optimizer are the trainer's."""
    if type(model).train_step is not tf.keras.Model.train_step:
        return [f"the train_step of {type(model).__name__} is not used: the trainer has its own"]
    if getattr(model, "optimizer", None) is None:
        return []
    return [
        f"the model {model.name} was compiled with {type(model.optimizer).__name__}: that is not "
        f"used, the flags decide on optimizer and loss"
    ]


def _arguments(
    text: str, function: Callable[..., Any], shape: tuple[int, ...], classes: int | None
) -> dict[str, Any]:
    signature = _signature(function)
    parameters = signature.parameters
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    known = {"input_shape": shape, "classes": classes}
    if classes is None:
        del known["classes"]
        if "classes" in parameters and parameters["classes"].default is inspect.Parameter.empty:
            raise Mistake(
                f"--model={text} takes classes, but the data does not tell their number: "
                f"--classes=N"
            )
    given = {name: value for name, value in known.items() if takes_all or name in parameters}
    try:
        signature.bind(**given)
    except TypeError as error:
        raise Mistake(
            f"--model={text}: {error}: the function is called with input_shape and classes at most"
        ) from error
    return given


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, or of the making of a class.

    For a Keras model Python would show that of ``__new__``, which takes anything.
    """
    if not inspect.isclass(function):
        return inspect.signature(function)
    made = inspect.signature(function.__init__)
    _, *parameters = made.parameters.values()
    return made.replace(parameters=parameters)


def _build(text: str, model: tf.keras.Model, shape: tuple[int, ...]) -> None:
    """Create the weights of a model that does not know its input yet, by a call on zeros."""
    try:
        if isinstance(model, tf.keras.Sequential):
            # A call alone would fix the size of the batch.
            model.build((None, *shape))
        outputs = model(tf.zeros((1, *shape)), training=False)
    # The user's layers may raise whatever they like; all of it is theirs to mend.
    except Exception as error:
        raise Mistake(
            f"--model={text}: it failed on zeros of {(1, *shape)}: {describe(error)}"
        ) from error
    if not tf.is_tensor(outputs):
        raise Mistake(
            f"--model={text}: the model gives a {type(outputs).__name__}: it must give one tensor"
        )


def _check(text: str, model: tf.keras.Model) -> None:
    # A subclassed model has no inputs and outputs of its own; it was called on one tensor.
    for what, tensors in (("inputs", model.inputs), ("outputs", model.outputs)):
        if tensors and len(tensors) != 1:
            names = ", ".join(tensor.name for tensor in tensors)
            raise Mistake(
                f"--model={text}: the model has {len(tensors)} {what} ({names}): it must have one"
            )
    if not model.trainable_weights:
        raise Mistake(
            f"--model={text}: the model has no trainable weights: add layers that have some, or "
            f"set trainable=True"
        )
