"""What a run shows while it trains: terminal, metrics.jsonl and TensorBoard."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Mapping, TextIO

import tensorflow as tf
from tqdm import tqdm

from workbench import log
from workbench.run_folder import finite

# Away from a terminal: the least number of seconds between two lines within an epoch.
LINE_SECONDS = 10.0
# What of metrics.jsonl is a curve in TensorBoard.
CURVES = (
    "loss",
    "accuracy",
    "learning_rate",
    "grad_norm",
    "loss_scale",
    "applied_steps",
    "skipped_steps",
    "images_per_second",
)


class Monitor:
    """Reports the log windows and the epochs of a run in ``folder``.

    The file ``lines``, metrics.jsonl, is open for appending, and stays open. ``metrics`` is
    what it holds in a line: see :meth:`window`.
    """

    def __init__(self, folder: Path, lines: TextIO, epochs: int, steps_per_epoch: int) -> None:
        self._lines = lines
        self._train = tf.summary.create_file_writer(str(folder / "tensorboard" / "train"))
        self._val = tf.summary.create_file_writer(str(folder / "tensorboard" / "validation"))
        self._epochs = epochs
        self._steps_per_epoch = steps_per_epoch
        self._bar: tqdm | None = None
        self._last_line = time.monotonic()

    def window(self, metrics: dict[str, Any]) -> None:
        """Write a log window down.

        ``metrics``: step, epoch (from 1), loss, accuracy, learning_rate, grad_norm, loss_scale,
        applied_steps, skipped_steps, images_per_second, seconds. Losses, accuracy and norm are
        means over the window's applied steps, None without any.
        """
        self._lines.write(json.dumps(finite(metrics), allow_nan=False) + "\n")
        self._lines.flush()
        with self._train.as_default(step=metrics["step"]):
            for name in CURVES:
                if metrics[name] is not None:
                    tf.summary.scalar(name, metrics[name])

    def show(
        self, metrics: dict[str, Any], step_in_epoch: int, so_far: Mapping[str, float | None]
    ) -> None:
        """Show how far the epoch is: ``step_in_epoch`` steps (from 1).

        ``so_far`` are the means over the epoch, which do not jump at its end.
        """
        values = _in_words({**metrics, **so_far})
        if sys.stdout.isatty():
            self._show_bar(metrics["epoch"], step_in_epoch, values)
        elif time.monotonic() - self._last_line >= LINE_SECONDS:
            self._show_line(metrics["epoch"], step_in_epoch, values)

    def epoch(
        self, metrics: dict[str, Any], val_loss: float, val_accuracy: float, *, gap_opened: bool
    ) -> None:
        """Report a whole epoch: training ``metrics`` over all of it, and its validation.

        ``gap_opened`` says that training now is clearly better than validation, and was not.
        """
        with self._val.as_default(step=metrics["step"]):
            tf.summary.scalar("loss", val_loss)
            tf.summary.scalar("accuracy", val_accuracy)
        self._train.flush()
        self._val.flush()
        values = f"{_in_words(metrics)}  val_loss {val_loss:.4f}  val_accuracy {val_accuracy:.4f}"
        self._end_bar()
        self._show_line(metrics["epoch"], self._steps_per_epoch, values)
        if gap_opened:
            gap = 100 * (metrics["accuracy"] - val_accuracy)
            log.info(f"training is {gap:.1f} points more accurate than validation: overfitting")

    def warn(self, text: str) -> None:
        """Warn without tearing the bar."""
        self._end_bar()
        log.warn(text)

    def close(self) -> None:
        """Write what is left and close the event files; end the line of a bar. Once is enough."""
        self._end_bar()
        self._train.close()
        self._val.close()
        self._lines.flush()

    def _show_bar(self, epoch: int, step: int, values: str) -> None:
        if self._bar is None:
            self._bar = tqdm(
                desc=f"epoch {epoch}/{self._epochs}",
                total=self._steps_per_epoch,
                unit="step",
                initial=step,
                file=sys.stdout,
                leave=False,
                dynamic_ncols=True,
                bar_format="{desc} {n_fmt}/{total_fmt} |{bar:10}| {remaining} {postfix}",
            )
        self._bar.set_postfix_str(values, refresh=False)
        self._bar.update(step - self._bar.n)
        self._bar.refresh()

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _show_line(self, epoch: int, step: int, values: str) -> None:
        log.info(f"epoch {epoch}/{self._epochs}  step {step}/{self._steps_per_epoch}  {values}")
        self._last_line = time.monotonic()


def _in_words(metrics: Mapping[str, Any]) -> str:
    """Return metrics on one line, the most telling first: a narrow terminal cuts the end off."""
    forms = (
        ("loss", ".4f"),
        ("accuracy", ".4f"),
        ("images_per_second", ".0f"),
        ("grad_norm", ".3g"),
        ("learning_rate", ".3g"),
        ("loss_scale", "g"),
        ("applied_steps", "d"),
        ("skipped_steps", "d"),
    )
    return "  ".join(
        f"{name} {metrics[name]:{form}}" for name, form in forms if metrics[name] is not None
    )
