"""The training itself: epoch by epoch, call by call, with its checkpoints and its verdicts."""

from __future__ import annotations

import math
import time
from typing import Any

from workbench import judgement
from workbench.assembly import Parts
from workbench.calls import CallPlan
from workbench.checkpoints import Checkpoints
from workbench.diagnosis import batch_size_that_fits, diagnose, wrong_data
from workbench.export import check_weights
from workbench.monitor import Monitor
from workbench.optimizer import learning_rate
from workbench.settings import Settings
from workbench.stop import StopRequest
from workbench.verdicts import Failure, failures_named
from workbench.window import NOTHING, Window, means

# Warnings of overflow in a run; all of them are in metrics.jsonl.
OVERFLOWS_TOLD = 5
# A run whose last steps, this many, were skipped without remedy would not have gone on.
PENDING_AT_END = 3


class Training:
    """A run, from its progress so far to its end or until a signal asks to stop."""

    def __init__(
        self,
        settings: Settings,
        parts: Parts,
        checkpoints: Checkpoints,
        monitor: Monitor,
        stop: StopRequest,
        started: float,
    ) -> None:
        """``started`` is the time (``time.perf_counter``) from which seconds count."""
        self.settings = settings
        self.parts = parts
        self.step = parts.step
        self.progress = parts.progress
        self.steps_per_epoch = parts.feed.steps
        self.calls = CallPlan(settings, parts.feed.steps)
        self.checkpoints = checkpoints
        self.monitor = monitor
        self.stop = stop
        self.started = started
        self._earlier = self.progress.seconds
        self._clock = time.perf_counter()
        self._overflows_told = 0

    def run(self) -> str:
        """Train to the end; return why it ended: a signal's name, early_stopping, finished.

        The progress is in a checkpoint then. Raises ``Failure`` when it cannot go on.
        """
        while self.progress.epoch < self.settings.epochs:
            if self._is_early_enough():
                return self._ended("early_stopping")
            self._lap()
            if not self.progress.log_window.steps:
                # What came between two windows, a validation or a checkpoint, is in none.
                self.progress.log_seconds = 0.0
            if not self._train_epoch() or not self._validate():
                self._save()
                return self.stop.signal.name
        return self._ended("finished")

    def _train_epoch(self) -> bool:
        """Train what is left of the epoch; return False when it was told to stop."""
        progress = self.progress
        where = f"epoch {progress.epoch + 1}"
        if progress.step_in_epoch < self.steps_per_epoch:
            try:
                with failures_named(where):
                    self.parts.loop.run_epoch(
                        progress.epoch, progress.step_in_epoch, self._last_of_call, self._after_call
                    )
            except Failure as failure:
                raise self._with_batch_size(failure) from failure
        return not self.stop.signal

    def _last_of_call(self, step: int) -> int:
        return self.calls.last_of_call(step, self.step.applied_steps.numpy().item())

    def _after_call(self, window: Window) -> bool:
        """Take in what a graph call did; return False to end the epoch's calls."""
        if window.steps:
            self.calls.took(window.steps, self._lap())
            self.progress.add(window)
            hopeless = bool(self.step.hopeless())
            self._report(window, hopeless)
            if hopeless:
                raise Failure(*diagnose(self.step))
            applied = self.step.applied_steps.numpy().item()
            due = self.calls.checkpoint_is_due(applied, applied - window.applied)
            whole = self.progress.step_in_epoch == self.steps_per_epoch
            if due and not whole and not self.stop.signal:
                self._save()
        return not self.stop.signal

    def _report(self, window: Window, hopeless: bool) -> None:
        """Show how far the epoch is, and write the log window down where ``window`` ends it."""
        progress, log_steps = self.progress, self.settings.log_steps
        self.monitor.show(
            self._metrics(progress.log_window, progress.log_seconds),
            progress.step_in_epoch,
            means(progress.epoch_window),
        )
        before = progress.step_in_epoch - window.steps
        full = progress.step_in_epoch // log_steps > before // log_steps
        whole = progress.step_in_epoch == self.steps_per_epoch
        if full or whole or hopeless or self.stop.signal:
            self._log(hopeless)

    def _log(self, hopeless: bool) -> None:
        progress = self.progress
        metrics = self._metrics(progress.log_window, progress.log_seconds)
        with failures_named(f"the log of step {metrics['step']}"):
            self.monitor.window(metrics)
        skipped = progress.log_window.steps - progress.log_window.applied
        if skipped and not hopeless and self._overflows_told < OVERFLOWS_TOLD:
            self._overflows_told += 1
            scale = f"the loss scale is {metrics['loss_scale']:g}"
            self.monitor.warn(
                f"step {metrics['step']}: {skipped} of the last {progress.log_window.steps} steps "
                f"were skipped: their gradients were not finite, float16 overflowed; "
                + (f"{scale} now, training goes on" if self.step.dynamic else f"{scale}, fixed")
            )
        progress.log_window, progress.log_seconds = NOTHING, 0.0

    def _validate(self) -> bool:
        """Validate and close the epoch; return False when it was told to stop before."""
        progress = self.progress
        number = progress.epoch + 1
        with failures_named(f"validation of epoch {number}"):
            result = self.parts.validation.run()
        self._lap()
        if result is None:
            return False
        if result.wrong_step is not None:
            raise self._wrong_validation(result.wrong_step)
        check_weights(self.step.model)
        metrics = self._metrics(progress.epoch_window, progress.seconds_in_epoch)
        progress.validated(result.loss, result.accuracy, result.examples)
        with failures_named(f"the log of epoch {number}"):
            opened = progress.gap_opened_in_epoch == number
            self.monitor.epoch(metrics, result.loss, result.accuracy, gap_opened=opened)
        if not math.isfinite(result.loss):
            self.monitor.warn(f"epoch {number}: the validation loss is {result.loss}")
        evidence = progress.first_loss is not None and judgement.diverged(
            metrics["loss"], progress.first_loss, self.parts.guess
        )
        if evidence:
            raise Failure("diverged", f"epoch {number}: {evidence}")
        if self.parts.best_weights and progress.best_epoch == number:
            for best, weight in zip(self.parts.best_weights, self.step.model.weights):
                best.assign(weight)
        progress.next_epoch()
        self._save()
        return True

    def _wrong_validation(self, number: int) -> Failure:
        images, labels = self.parts.validation.batch(number)
        classes = self.parts.objective.classes
        verdict, evidence = wrong_data(images.numpy(), labels.numpy(), classes)
        return Failure(verdict, f"validation, step {number + 1}: {evidence}")

    def _ended(self, why: str) -> str:
        progress, steps = self.progress, self.step.applied_steps.numpy().item()
        if not steps:
            # Under dynamic scaling the scale may still be on its way down.
            if self.step.dynamic or self.step.bad.number < 0:
                scale = f"loss scale {self.step.loss_scale():g}"
                raise Failure(
                    "nothing_applied", f"{self.step.skipped_steps.numpy()} steps, {scale}"
                )
            raise Failure(*diagnose(self.step))
        if self.step.skips_without_remedy >= PENDING_AT_END:
            raise Failure(*diagnose(self.step))
        evidence = judgement.does_not_move(
            progress.train_losses,
            progress.train_accuracy,
            progress.first_loss,
            self.parts.guess,
            steps,
        )
        if evidence:
            raise Failure("loss_does_not_move", evidence)
        if self.parts.best_weights:
            self._take_best()
        return why

    def _take_best(self) -> None:
        """Give the model the weights of its best epoch; the checkpoint keeps the last ones."""
        for best, weight in zip(self.parts.best_weights, self.step.model.weights):
            weight.assign(best)
        self.progress.take_best()

    def _is_early_enough(self) -> bool:
        patience, best = self.settings.early_stopping, self.progress.best_epoch
        return patience != "off" and best is not None and self.progress.epoch - best >= patience

    def _save(self) -> None:
        check_weights(self.step.model)
        with failures_named("writing a checkpoint"):
            self.checkpoints.save()
        self.calls.saved()

    def _lap(self) -> float:
        """Return the seconds since the last call; count them."""
        now = time.perf_counter()
        seconds, self._clock = now - self._clock, now
        self.progress.seconds = self._earlier + now - self.started
        self.progress.seconds_in_epoch += seconds
        self.progress.log_seconds += seconds
        return seconds

    def _metrics(self, window: Window, seconds: float) -> dict[str, Any]:
        """Return a line of metrics.jsonl for a window that took ``seconds``."""
        applied = self.step.applied_steps.numpy().item()
        skipped = self.step.skipped_steps.numpy().item()
        return {
            "step": applied + skipped,
            "epoch": self.progress.epoch + 1,
            **means(window),
            "learning_rate": learning_rate(self.step.optimizer),
            "loss_scale": float(self.step.loss_scale()),
            "applied_steps": applied,
            "skipped_steps": skipped,
            "images_per_second": window.examples / seconds,
            "seconds": self.progress.seconds,
        }

    def _with_batch_size(self, failure: Failure) -> Failure:
        if failure.verdict != "out_of_memory":
            return failure
        fits = batch_size_that_fits(self.step)
        hint = f"--batch_size={fits} would fit" if fits else "no smaller batch would fit either"
        return Failure(failure.verdict, f"{failure.evidence}; {hint}")
