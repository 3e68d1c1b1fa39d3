"""What a run shows while it trains: terminal, metrics.jsonl and TensorBoard."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import tensorflow as tf

from workbench.run_folder import CLAIM, finite

# Away from a terminal: the least number of seconds between two lines within an epoch.
LINE_SECONDS = 10.0
# What of metrics.jsonl is a curve in TensorBoard.
CURVES = (
    "loss",
    "accuracy",
    "learning_rate",
    "grad_norm",
    "loss_scale",
    "skipped_steps",
    "images_per_second",
)


class Monitor:
    """Reports the log windows and the epochs of a run in ``folder``.

    ``metrics`` is what metrics.jsonl holds in a line: see :meth:`window`.
    """

    def __init__(self, folder: Path, epochs: int, steps_per_epoch: int) -> None:
        self._metrics = (folder / CLAIM).open("w", encoding="utf-8")
        self._train = tf.summary.create_file_writer(str(folder / "tensorboard" / "train"))
        self._val = tf.summary.create_file_writer(str(folder / "tensorboard" / "validation"))
        self._epochs = epochs
        self._steps_per_epoch = steps_per_epoch
        self._bar: tf.keras.utils.Progbar | None = None
        self._last_line = time.monotonic()

    def window(self, metrics: dict[str, Any], step_in_epoch: int) -> None:
        """Report a log window that ended at ``step_in_epoch`` (from 1).

        ``metrics``: step, epoch (from 1), loss, accuracy, learning_rate, grad_norm, loss_scale,
        applied_steps, skipped_steps, images_per_second, seconds. Losses, accuracy and norm are
        means over the window's applied steps, None without any.
        """
        self._metrics.write(json.dumps(finite(metrics), allow_nan=False) + "\n")
        self._metrics.flush()
        with self._train.as_default(step=metrics["step"]):
            for name in CURVES:
                if metrics[name] is not None:
                    tf.summary.scalar(name, metrics[name])
        if sys.stdout.isatty():
            self._show_bar(metrics["epoch"], step_in_epoch, _shown(metrics))
        elif time.monotonic() - self._last_line >= LINE_SECONDS:
            self._show_line(metrics["epoch"], step_in_epoch, _shown(metrics))

    def epoch(self, metrics: dict[str, Any], val_loss: float, val_accuracy: float) -> None:
        """Report a whole epoch: training ``metrics`` over all of it, and its validation."""
        with self._val.as_default(step=metrics["step"]):
            tf.summary.scalar("loss", val_loss)
            tf.summary.scalar("accuracy", val_accuracy)
        self._train.flush()
        self._val.flush()
        shown = {**_shown(metrics), "val_loss": val_loss, "val_accuracy": val_accuracy}
        if sys.stdout.isatty():
            self._show_bar(metrics["epoch"], self._steps_per_epoch, shown, finalize=True)
        else:
            self._show_line(metrics["epoch"], self._steps_per_epoch, shown)

    def close(self) -> None:
        """Write what is left and close the files; end the line of a bar that stopped midway."""
        if self._bar is not None:
            print()
            self._bar = None
        self._metrics.close()
        self._train.close()
        self._val.close()

    def _show_bar(
        self, epoch: int, step: int, shown: dict[str, float], finalize: bool = False
    ) -> None:
        if self._bar is None:
            print(f"epoch {epoch}/{self._epochs}")
            self._bar = tf.keras.utils.Progbar(
                self._steps_per_epoch, stateful_metrics=[*shown, "val_loss", "val_accuracy"]
            )
        self._bar.update(step, list(shown.items()), finalize=finalize)
        if finalize:
            self._bar = None

    def _show_line(self, epoch: int, step: int, shown: dict[str, float]) -> None:
        values = "  ".join(
            f"{name} {value:.0f}" if value >= 1000 else f"{name} {value:.4g}"
            for name, value in shown.items()
        )
        print(
            f"epoch {epoch}/{self._epochs}  step {step}/{self._steps_per_epoch}  {values}",
            flush=True,
        )
        self._last_line = time.monotonic()


def _shown(metrics: dict[str, Any]) -> dict[str, float]:
    names = ("loss", "accuracy", "grad_norm", "loss_scale", "skipped_steps", "images_per_second")
    return {name: metrics[name] for name in names if metrics[name] is not None}
