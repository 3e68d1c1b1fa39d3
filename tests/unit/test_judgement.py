"""When a loss has diverged or does not move: pure functions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.judgement import Guess, diverged, does_not_move, guess

TEN = Guess(math.log(10), 0.1)


def test_the_guess_is_that_of_the_shares():
    assert guess(np.array([0, 0, 0, 1]), 3) == pytest.approx(
        Guess(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), 0.75)
    )
    assert guess(np.arange(10), 10) == pytest.approx(TEN)
    assert guess(None, 10) == pytest.approx(TEN)
    assert guess(np.zeros(5, np.int64), 10) == (0.0, 1.0)


def test_the_guess_of_probabilities():
    rows = np.array([[1, 0, 0], [0.5, 0.5, 0]], np.float32)
    assert guess(rows, 3) == pytest.approx(
        Guess(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), 0.75)
    )


@pytest.mark.parametrize(
    ("epoch_loss", "first_loss", "found"),
    [
        (2.0, 2.3, False),
        (22.9, 2.3, False),
        (23.1, 2.3, True),
        (1e30, 2.3, True),
        (23.1, 5.0, False),  # What the first step saw was worse than a guess.
        (0.5, 0.01, False),  # A trained model that is trained on: still better than a guess.
        (None, 2.3, False),  # No step was applied: other verdicts.
    ],
)
def test_diverged(epoch_loss, first_loss, found):
    evidence = diverged(epoch_loss, first_loss, TEN)
    assert (evidence is not None) == found
    if found:
        assert f"the mean loss of the epoch is {epoch_loss:.4g}" in evidence
        assert f"that of the first step {first_loss:.4g}" in evidence


@pytest.mark.parametrize(
    ("losses", "accuracy", "first_loss", "steps", "found"),
    [
        ([2.3], 0.1, 2.3, 16, True),
        ([2.3], 0.1, 2.3, 15, False),  # Too early to tell.
        ([2.303, 2.302], 0.1, 2.4, 16, True),  # From epoch to epoch.
        ([2.31, 2.29], 0.1, 2.32, 16, False),  # It moves.
        ([2.35, 2.30], 0.1, 2.4, 200, True),  # It moved down to a guess.
        ([2.35, 2.30], 0.1, 2.4, 199, False),
        ([2.35, 2.27], 0.1, 2.4, 200, False),  # Better than a guess.
        ([2.3], 0.12, 2.4, 1000, False),  # The accuracy is.
        ([2.35, 2.35], 0.15, 2.3, 16, True),  # Untrained weights that score more by chance.
        ([2.35], 0.54, 2.35, 16, True),
        ([2.35], 0.56, 2.35, 1000, False),  # They never score half of all that is above a guess.
        ([2.3], 0.11, 2.3, 1000, True),  # By chance.
        ([None, 2.3], 0.1, 2.3, 16, True),
        ([2.3, None], None, 2.3, 1000, False),
        ([], None, 2.3, 0, False),
    ],
)
def test_does_not_move(losses, accuracy, first_loss, steps, found):
    evidence = does_not_move(losses, accuracy, first_loss, TEN, steps)
    assert (evidence is not None) == found
    if found:
        assert f"after {steps} steps the loss is {losses[-1]:.4g}" in evidence
        assert "a guess has 2.303" in evidence


def test_data_of_one_class_is_learnt_at_once():
    assert does_not_move([0.0], 1.0, 0.0, Guess(0.0, 1.0), 10) is None
