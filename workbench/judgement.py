"""Whether a training that goes on still makes sense: pure functions of its losses."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

import numpy as np

# A mean over an epoch this many times the loss of an untrained model is no noise.
DIVERGED_TIMES = 10.0
# Below this share of a change since the first epoch the loss has not moved at all; nor where it
# is the same for the first batch and the epoch. Either shows in few steps.
STILL, SAME, STILL_STEPS = 1e-3, 1e-5, 16
# No better than guessing after this many steps: within 1 % of the loss of a guess.
GUESS, GUESS_STEPS = 0.99, 200
GUESS_ACCURACY = 1.1


class Guess(NamedTuple):
    """The loss and accuracy of always giving the shares that the classes have in the labels."""

    loss: float
    accuracy: float


def guess(labels: np.ndarray | None, classes: int) -> Guess:
    """Return the guess for ``labels`` (N,) or (N, classes); uniform where there are none.

    Its loss is the entropy of the labels, the least that a constant output can reach.
    """
    if labels is None:
        return Guess(math.log(classes), 1.0 / classes)
    counts = np.bincount(labels, minlength=classes) if labels.ndim == 1 else labels.sum(axis=0)
    shares = counts[counts > 0] / counts.sum()
    return Guess(float(-(shares * np.log(shares)).sum()), float(shares.max()))


def diverged(epoch_loss: float | None, first_loss: float, guessed: Guess) -> str | None:
    """Return the evidence that the training diverged, or None.

    ``epoch_loss`` is the mean over an epoch, ``first_loss`` that of the first step.
    """
    untrained = max(first_loss, guessed.loss)
    if epoch_loss is None or epoch_loss <= DIVERGED_TIMES * untrained:
        return None
    return (
        f"the mean loss of the epoch is {epoch_loss:.4g}, that of the first step {first_loss:.4g}"
    )


def does_not_move(
    losses: Sequence[float | None],
    accuracy: float | None,
    first_loss: float,
    guessed: Guess,
    steps: int,
) -> str | None:
    """Return the evidence that the loss does not move, or None.

    ``losses`` are the means over each epoch, ``accuracy`` is that of the last; ``first_loss``
    is that of the first step, ``steps`` the number of applied steps.
    """
    loss = losses[-1] if losses else None
    # Untrained weights may score more than a guess by chance; halfway to all they never do.
    if loss is None or accuracy is None or accuracy > (1.0 + guessed.accuracy) / 2:
        return None
    still = steps >= STILL_STEPS and (
        abs(loss - first_loss) < SAME * abs(first_loss)
        or (len(losses) > 1 and losses[0] is not None and abs(loss - losses[0]) < STILL * loss)
    )
    guessing = (
        steps >= GUESS_STEPS
        and loss >= GUESS * guessed.loss
        # A model's own losses, L2 on weights, are part of the loss: then accuracy tells.
        and accuracy <= GUESS_ACCURACY * guessed.accuracy
    )
    if not (still or guessing):
        return None
    return (
        f"after {steps} steps the loss is {loss:.4g}, at the first {first_loss:.4g}; a guess has "
        f"{guessed.loss:.4g}"
    )
