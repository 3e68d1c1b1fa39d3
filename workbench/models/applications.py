"""The models of keras.applications, with the preprocessing each expects and a new top."""

from __future__ import annotations

import inspect

import tensorflow as tf

from workbench.errors import Mistake
from workbench.models.images import image_shape
from workbench.models.weight_files import weight_files
from workbench.settings import Settings


def build_application(settings: Settings, shape: tuple[int, ...], classes: int) -> tf.keras.Model:
    """Return the model of keras.applications that ``--model`` names.

    Input (N, height, width, channels) float32 in [0, 1]; gray images are repeated in three
    channels, and pixels are brought to [0, 255] and on to what the model was made for. The top
    is global average pooling and a dense softmax layer in float32: (N, classes) float32. RegNet
    is a model inside the model; the layers of all others are its own.
    Raises ``Mistake`` when the model cannot take such images, or weights cannot be had.
    """
    name = settings.model
    height, width, channels = image_shape(name, shape)
    if channels not in (1, 3):
        raise Mistake(
            f"--model={name} takes images with 1 or 3 channels, but those of the data have "
            f"{channels} (shape {shape}): use --model=cnn"
        )
    inputs = tf.keras.Input((height, width, channels), dtype="float32", name="inputs")
    images = inputs
    if channels == 1:
        # float32, as the preprocessing is: a layer would compute in the policy's type.
        gray_to_rgb = tf.keras.layers.Concatenate(dtype="float32", name="gray_to_rgb")
        images = gray_to_rgb([images, images, images])
    images = tf.keras.layers.Rescaling(255.0, dtype="float32", name="pixels")(images)
    build = getattr(tf.keras.applications, name)
    images = inspect.getmodule(build).preprocess_input(images)
    details = {
        "include_top": False,
        "weights": None if settings.weights == "random" else settings.weights,
        "input_shape": (height, width, 3),
        "pooling": "avg",
    }
    try:
        with weight_files(name, settings.download):
            # RegNet of Keras 2.9 loses a tensor that it is to go on from.
            if name.startswith("RegNet"):
                features = build(**details)(images)
            else:
                features = build(**details, input_tensor=images).output
    # Keras's word for an image that is too small, by a rule of each model or in a layer.
    except ValueError as error:
        raise Mistake(f"--model={name} cannot be built for images of {shape}: {error}") from error
    top = tf.keras.layers.Dense(
        classes, activation="softmax", dtype="float32", name="probabilities"
    )
    return tf.keras.Model(inputs, top(features), name=name)
