"""The training itself: epoch by epoch, a log window in one graph call, then validation."""

from __future__ import annotations

import dataclasses
import signal
import time
from typing import Any

import tensorflow as tf

from workbench.data import epoch_order
from workbench.export import check_weights
from workbench.loop import Loop, Window, means, numbers, total
from workbench.monitor import Monitor
from workbench.settings import Settings
from workbench.step import TrainingStep
from workbench.stop import StopRequest
from workbench.verdicts import Failure, failures_named


@dataclasses.dataclass
class Progress:
    """How far a run has come; losses and accuracies are None as long as they are not known.

    Seconds and images are of whole epochs. Training loss and accuracy are means over the last
    epoch's applied steps, whole or not; those of the validation belong to the present weights.
    ``stopped_by`` is the signal that ended the run early.
    """

    started: float
    seconds_per_epoch: list[float] = dataclasses.field(default_factory=list)
    images_per_epoch: list[int] = dataclasses.field(default_factory=list)
    input_seconds: float = 0.0
    train_loss: float | None = None
    train_accuracy: float | None = None
    val_loss: float | None = None
    val_accuracy: float | None = None
    stopped_by: signal.Signals | None = None


def run_epochs(
    settings: Settings, loop: Loop, monitor: Monitor, stop: StopRequest, progress: Progress
) -> None:
    """Train to the end, or until a signal asks to stop; keep ``progress`` up to date.

    Raises ``Failure`` when the training cannot go on.
    """
    for epoch in range(settings.epochs):
        epoch_started = time.perf_counter()
        order = tf.constant(epoch_order(settings.seed, epoch, len(loop.train.labels)))
        progress.input_seconds += time.perf_counter() - epoch_started
        windows = run_windows(epoch, order, settings, loop, monitor, stop, progress)
        if stop.signal:
            break
        with failures_named(f"validation of epoch {epoch + 1}"):
            val_loss, val_accuracy, seen = (value.numpy().item() for value in loop.validate())
        if seen < len(loop.val.labels):
            break
        check_weights(loop.step.model)
        seconds = time.perf_counter() - epoch_started
        progress.val_loss, progress.val_accuracy = val_loss, val_accuracy
        progress.seconds_per_epoch.append(seconds)
        progress.images_per_epoch.append(len(loop.train.labels))
        metrics = window_metrics(epoch, total(windows), seconds, loop.step, progress)
        with failures_named(f"the log of epoch {epoch + 1}"):
            monitor.epoch(metrics, val_loss, val_accuracy)
    else:
        if not loop.step.applied_steps.numpy():
            raise Failure("nothing_applied", evidence(windows[-1], metrics))
        return
    progress.stopped_by = stop.signal


def run_windows(
    epoch: int,
    order: tf.Tensor,
    settings: Settings,
    loop: Loop,
    monitor: Monitor,
    stop: StopRequest,
    progress: Progress,
) -> list[Window]:
    """Train an epoch (from 0) window by window, without validation; return its windows."""
    windows: list[Window] = []
    for first in range(0, loop.steps_per_epoch, settings.log_steps):
        last = min(first + settings.log_steps, loop.steps_per_epoch)
        window_started = time.perf_counter()
        with failures_named(f"steps {first + 1} to {last} of epoch {epoch + 1}"):
            window = numbers(loop.train_steps(order, tf.constant(first), tf.constant(last)))
        if not window.steps:
            break
        windows.append(window)
        # The weights have changed: what was validated is no longer what would be saved.
        progress.val_loss = progress.val_accuracy = None
        average = means(total(windows))
        progress.train_loss, progress.train_accuracy = average["loss"], average["accuracy"]
        seconds = time.perf_counter() - window_started
        metrics = window_metrics(epoch, window, seconds, loop.step, progress)
        with failures_named(f"the log of step {metrics['step']}"):
            monitor.window(metrics, first + window.steps)
        if loop.step.hopeless():
            check_weights(loop.step.model)
            raise Failure(hopeless_verdict(loop.step), evidence(window, metrics))
        if stop.signal:
            break
    return windows


def window_metrics(
    epoch: int, window: Window, seconds: float, step: TrainingStep, progress: Progress
) -> dict[str, Any]:
    """Return a line of metrics.jsonl for a window that took ``seconds``."""
    applied, skipped = step.applied_steps.numpy().item(), step.skipped_steps.numpy().item()
    return {
        "step": applied + skipped,
        "epoch": epoch + 1,
        **means(window),
        "learning_rate": float(step.optimizer.learning_rate),
        "loss_scale": float(step.loss_scale()),
        "applied_steps": applied,
        "skipped_steps": skipped,
        "images_per_second": window.images / seconds,
        "seconds": time.perf_counter() - progress.started,
    }


def hopeless_verdict(step: TrainingStep) -> str:
    """Return the verdict for a training whose steps are skipped for good."""
    if not step.scaled:
        return "not_finite"
    return "scale_at_floor" if step.dynamic else "fixed_scale_overflow"


def evidence(window: Window, metrics: dict[str, Any]) -> str:
    """Return what the last step of ``window`` showed, in words."""
    return (
        f"step {metrics['step']}: loss {window.last_loss:g}, gradient norm "
        f"{window.last_norm:g}, loss scale {metrics['loss_scale']:g}, "
        f"{metrics['skipped_steps']} steps skipped in all"
    )
