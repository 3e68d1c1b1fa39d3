"""The SavedModel: what training leaves for serving."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from pathlib import Path

import tensorflow as tf

from workbench.assembly import Parts
from workbench.diagnosis import weight_not_finite
from workbench.verdicts import Failure

# Docker kills a container ten seconds after it asked it to stop, and a deep model takes longer
# to save than that.
QUICKLY_S = 4.0


def check_weights(model: tf.keras.Model) -> None:
    """Raise ``Failure`` when a weight of ``model`` is not finite."""
    found = weight_not_finite(model)
    if found:
        raise Failure("weights_not_finite", found)


def save_model(parts: Parts, folder: Path) -> None:
    """Save the model to ``folder``, whole or not at all; one that is there is replaced.

    ``serving_default`` takes ``inputs`` (N, ...), the model's own input (of uint8 data pixels /
    255), and gives ``probabilities`` (N, classes) float32. ``tf.keras.models.load_model`` reads
    it too.
    """
    model, objective = parts.model, parts.objective

    @tf.function(
        input_signature=[tf.TensorSpec([None, *parts.shape], parts.feed.input_dtype, name="inputs")]
    )
    def serve(inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"probabilities": objective.probabilities(model(inputs, training=False))}

    partial, former = (folder.with_name(folder.name + end) for end in (".tmp", ".old"))
    # What a killed program left.
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(former, ignore_errors=True)
    try:
        model.save(partial, include_optimizer=False, signatures={"serving_default": serve})
        if folder.exists():
            folder.rename(former)
        partial.rename(folder)
        shutil.rmtree(former, ignore_errors=True)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def save(parts: Parts, folder: Path, *, quickly: bool) -> bool:
    """Save the model as :func:`save_model` does; return whether it was saved.

    Where it must be done ``quickly`` it is given up after ``QUICKLY_S``: the saving then still
    goes on in a thread, and the program must be ended.
    """
    check_weights(parts.model)
    if not quickly:
        save_model(parts, folder)
        return True
    saving = ThreadPoolExecutor(1).submit(save_model, parts, folder)
    try:
        saving.result(timeout=QUICKLY_S)
    except TimeoutError:
        return False
    return True
