"""Checkpoints of a run: written whole, three kept, read back from the newest that is sound."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import tensorflow as tf

from workbench.assembly import Parts
from workbench.errors import Mistake
from workbench.log import warn

KEPT = 3
PREFIX = "ckpt"
# How a damaged checkpoint shows when it is read, according to what is damaged.
DAMAGED = (tf.errors.OpError, IndexError, ValueError, KeyError, UnicodeDecodeError)


class Checkpoints:
    """The checkpoints of a training in ``folder``, in TensorFlow's format.

    They hold the weights, the optimizer with its loss scale, the counts of steps, the progress,
    and with early stopping the best weights.
    """

    def __init__(self, folder: Path, parts: Parts) -> None:
        self._folder = folder
        step = parts.step
        # The optimizer's slots are made now: a restored value must find its variable.
        step.optimizer._create_all_weights(step.model.trainable_variables)
        self._progress = parts.progress
        # A variable on the CPU, like the counts: with all on one device TensorFlow need not
        # trace a function for each checkpoint, which takes longer than to write a small one.
        with tf.device("CPU:0"):
            self._progress_text = tf.Variable("", trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            model=step.model,
            optimizer=step.optimizer,
            applied_steps=step.applied_steps,
            skipped_steps=step.skipped_steps,
            skips_without_remedy=step.skips_without_remedy,
            progress=self._progress_text,
            best_weights=parts.best_weights,
        )
        self._manager: tf.train.CheckpointManager | None = None

    def restore(self) -> bool:
        """Go back to the newest sound checkpoint; return False where there is none at all.

        A damaged newer one is told and deleted. Raises ``Mistake`` when there are checkpoints
        and none can be read, or when they do not fit the model.
        """
        self._delete_leftovers()
        found = sorted({_number(file) for file in self._folder.glob(f"{PREFIX}-*")}, reverse=True)
        reasons: dict[int, str] = {}
        for number in found:
            reason = _damage(self._prefix(number))
            if not reason:
                break
            reasons[number] = reason
        else:
            if not found and not list(self._folder.glob("*")):
                return False
            raise Mistake(
                f"{self._folder} holds no checkpoint that can be read "
                f"({'; '.join(f'{PREFIX}-{n}: {why}' for n, why in reasons.items()) or 'no files'})"
                f": give a new --out, or delete {self._folder} to start over"
            )
        try:
            self._checkpoint.restore(self._prefix(number)).assert_consumed()
        except (AssertionError, ValueError) as error:
            raise Mistake(
                f"{self._prefix(number)} does not fit the model ({str(error).splitlines()[0]}): "
                f"the model or its code was changed: give a new --out"
            ) from error
        self._progress.take(self._progress_text.numpy())
        for damaged, reason in reasons.items():
            warn(f"{PREFIX}-{damaged} is damaged ({reason}): going back to {PREFIX}-{number}")
        # A kill while the oldest was being deleted may have left a part of it.
        whole = [n for n in found if n <= number and Path(f"{self._prefix(n)}.index").exists()]
        for other in set(found) - set(whole):
            self._delete(other)
        # By name alone: a folder that is copied or mounted elsewhere must not lead back here.
        kept = [f"{PREFIX}-{n}" for n in sorted(whole)]
        # The state file may be what is damaged, or name what is no longer there.
        tf.compat.v1.train.update_checkpoint_state(
            str(self._folder),
            kept[-1],
            kept,
            all_model_checkpoint_timestamps=[
                os.path.getmtime(self._folder / f"{name}.index") for name in kept
            ],
        )
        return True

    def save(self) -> None:
        """Write a checkpoint; the oldest goes when there are more than three."""
        if self._manager is None:
            # Made late: it takes up the files that are there, after restore() put them in order.
            self._manager = tf.train.CheckpointManager(
                self._checkpoint, str(self._folder), KEPT, checkpoint_name=PREFIX
            )
        self._progress_text.assign(self._progress.to_json())
        self._manager.save()

    def _prefix(self, number: int) -> str:
        return str(self._folder / f"{PREFIX}-{number}")

    def _delete(self, number: int) -> None:
        for file in self._folder.glob(f"{PREFIX}-{number}.*"):
            file.unlink()

    def _delete_leftovers(self) -> None:
        """Delete what a killed program was writing."""
        for leftover in (*self._folder.glob("*_temp"), *self._folder.glob("*.tmp*")):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()
        for leftover in self._folder.glob("*.tempstate*"):
            leftover.unlink()


def _number(file: Path) -> int:
    match = re.match(rf"{PREFIX}-(\d+)\.", file.name)
    return int(match.group(1)) if match else -1


def _damage(prefix: str) -> str:
    """Return why the checkpoint cannot be read, or nothing. Reads it all: that checks its sums."""
    try:
        reader = tf.train.load_checkpoint(prefix)
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)
    except DAMAGED as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    return ""
