"""How far a run has come: all that a resumed run must know beside the tensors."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

from workbench.window import NOTHING, Window, joined, means

# Training that scores this much better than validation has begun to learn by heart.
GAP = 0.02


@dataclasses.dataclass
class Progress:
    """The progress of a run, part of each of its checkpoints.

    ``epoch`` and ``step_in_epoch`` count what is done. Seconds and examples are of whole epochs.
    Training loss and accuracy are means over the last epoch's applied steps, whole or not;
    those of the validation belong to the weights after the last whole epoch, and None before.
    """

    epoch: int = 0
    step_in_epoch: int = 0
    # The sums over the present epoch, and over the present log window.
    epoch_window: Window = NOTHING
    log_window: Window = NOTHING
    seconds: float = 0.0
    seconds_in_epoch: float = 0.0
    log_seconds: float = 0.0
    seconds_per_epoch: list[float] = dataclasses.field(default_factory=list)
    examples_per_epoch: list[int] = dataclasses.field(default_factory=list)
    input_seconds: float = 0.0
    first_loss: float | None = None
    train_loss: float | None = None
    train_accuracy: float | None = None
    val_loss: float | None = None
    val_accuracy: float | None = None
    # Of each whole epoch.
    train_losses: list[float | None] = dataclasses.field(default_factory=list)
    train_accuracies: list[float | None] = dataclasses.field(default_factory=list)
    val_losses: list[float] = dataclasses.field(default_factory=list)
    val_accuracies: list[float] = dataclasses.field(default_factory=list)
    val_examples: int = 0

    def to_json(self) -> str:
        """Return the state as JSON, for a checkpoint."""
        return json.dumps(dataclasses.asdict(self))

    def take(self, text: str | bytes) -> None:
        """Take over the state that :meth:`to_json` gave."""
        state: dict[str, Any] = json.loads(text)
        for name in ("epoch_window", "log_window"):
            state[name] = Window(*state[name])
        for name, value in state.items():
            setattr(self, name, value)

    def add(self, window: Window) -> None:
        """Take in the steps, at least one, of a graph call."""
        if self.first_loss is None and window.applied:
            self.first_loss = window.first_loss
        self.step_in_epoch += window.steps
        self.input_seconds += window.waited
        self.epoch_window = joined(self.epoch_window, window)
        self.log_window = joined(self.log_window, window)
        average = means(self.epoch_window)
        self.train_loss, self.train_accuracy = average["loss"], average["accuracy"]
        # The weights have changed: what was validated is no longer what would be saved.
        self.val_loss = self.val_accuracy = None

    def validated(self, loss: float, accuracy: float, examples: int) -> None:
        """Take in the validation after the last step of an epoch."""
        self.val_loss, self.val_accuracy, self.val_examples = loss, accuracy, examples
        self.val_losses.append(loss if math.isfinite(loss) else math.inf)
        self.val_accuracies.append(accuracy)
        self.train_losses.append(self.train_loss)
        self.train_accuracies.append(self.train_accuracy)

    def take_best(self) -> None:
        """Let losses and accuracies be those of the best epoch."""
        best = self.best_epoch - 1
        self.train_loss, self.train_accuracy = self.train_losses[best], self.train_accuracies[best]
        self.val_loss, self.val_accuracy = self.val_losses[best], self.val_accuracies[best]

    def next_epoch(self) -> None:
        """Close the epoch that was validated, and begin the next."""
        self.seconds_per_epoch.append(self.seconds_in_epoch)
        self.examples_per_epoch.append(self.epoch_window.examples)
        self.epoch, self.step_in_epoch = self.epoch + 1, 0
        self.epoch_window, self.seconds_in_epoch = NOTHING, 0.0

    @property
    def best_epoch(self) -> int | None:
        """The epoch (from 1) with the lowest validation loss, or None before the first."""
        if not self.val_losses:
            return None
        return 1 + min(range(len(self.val_losses)), key=self.val_losses.__getitem__)

    @property
    def gap_opened_in_epoch(self) -> int | None:
        """The first epoch (from 1) after which training scored clearly better, or None.

        By ``GAP``, and by more than chance makes of the validation's accuracy: two standard
        errors of a share p of n examples, sqrt(p (1 - p) / n).
        """
        for number, (train, val) in enumerate(
            zip(self.train_accuracies, self.val_accuracies), start=1
        ):
            chance = 2.0 * math.sqrt(val * (1.0 - val) / max(1, self.val_examples))
            if train is not None and train - val > max(GAP, chance):
                return number
        return None

    @property
    def accuracy_gap(self) -> float | None:
        """The training accuracy less that of the validation; None where one is not known."""
        if self.train_accuracy is None or self.val_accuracy is None:
            return None
        return self.train_accuracy - self.val_accuracy
