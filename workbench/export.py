"""The SavedModel: what training leaves for serving."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import tensorflow as tf

from workbench.verdicts import Failure


def check_weights(model: tf.keras.Model) -> None:
    """Raise ``Failure`` when a weight of ``model`` is not finite."""
    for variable in model.weights:
        wrong = np.argwhere(~np.isfinite(variable.numpy()))
        if len(wrong):
            index = tuple(int(i) for i in wrong[0])
            value = variable.numpy()[index]
            raise Failure("weights_not_finite", f"{variable.name}{list(index)} is {value}")


def save_model(model: tf.keras.Model, folder: Path) -> None:
    """Save ``model`` to ``folder``, whole or not at all.

    ``serving_default`` takes ``inputs`` (N, 784) float32, pixels / 255, the model's own input,
    and gives ``probabilities`` (N, 10) float32. ``tf.keras.models.load_model`` reads it too.
    """
    (inputs,) = model.inputs

    @tf.function(input_signature=[tf.TensorSpec(inputs.shape, tf.float32, name="inputs")])
    def serve(inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"probabilities": model(inputs, training=False)}

    partial = folder.with_name(folder.name + ".tmp")
    try:
        model.save(partial, include_optimizer=False, signatures={"serving_default": serve})
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
