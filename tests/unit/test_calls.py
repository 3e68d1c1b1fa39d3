"""Where graph calls end, and when a checkpoint is due: by a clock that the test sets."""

from __future__ import annotations

import types

import pytest

from workbench import calls
from workbench.calls import CallPlan
from workbench.settings import Settings


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until ``clock.now`` is set."""
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(calls, "time", types.SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def measured(steps_per_epoch=469, seconds_per_step=1e-4, **flags):
    """A plan that knows how long a step takes."""
    plan = CallPlan(Settings(**flags), steps_per_epoch)
    plan.took(1, seconds_per_step)
    return plan


def ends(steps_per_epoch, **flags):
    """The steps at which the calls of the first epoch end, where every step is applied."""
    plan, found = measured(steps_per_epoch, **flags), [0]
    while found[-1] < steps_per_epoch:
        found.append(plan.last_of_call(found[-1], found[-1]))
    return found[1:]


def test_the_first_call_has_one_step():
    plan = CallPlan(Settings(), 469)
    assert plan.last_of_call(0, 0) == 1
    assert plan.last_of_call(7, 7) == 8
    plan.took(1, 0.001)
    assert plan.last_of_call(1, 1) == 100


def test_calls_end_with_windows_and_with_the_epoch():
    assert ends(469) == [100, 200, 300, 400, 469]
    # A resumed run has the same windows.
    assert measured().last_of_call(250, 250) == 300
    assert ends(469, log_steps=1000) == [469]


def test_calls_end_where_a_checkpoint_is_due_by_applied_steps():
    assert ends(250, checkpoint_steps=70) == [70, 100, 140, 200, 210, 250]
    plan = measured(checkpoint_steps=70)
    # 30 steps of epochs before, and skipped ones, move the places in this one.
    assert plan.last_of_call(0, 30) == 40
    assert plan.last_of_call(40, 68) == 42


def test_steps_per_execution_are_the_most():
    assert ends(130, steps_per_execution=40) == [40, 80, 100, 130]
    plan = CallPlan(Settings(steps_per_execution=40), 130)
    assert plan.last_of_call(0, 0) == 1


@pytest.mark.parametrize(
    ("seconds_per_step", "steps"), [(0.25, 40), (4.0, 2), (9.9, 1), (60.0, 1), (0.0, 100)]
)
def test_a_call_takes_about_ten_seconds(seconds_per_step, steps):
    assert measured(seconds_per_step=seconds_per_step).last_of_call(0, 0) == steps


def test_the_last_call_tells_how_long_a_step_takes():
    plan = measured(seconds_per_step=5.0)
    plan.took(50, 25.0)
    assert plan.last_of_call(0, 0) == 20


@pytest.mark.parametrize(
    ("before", "applied", "due"),
    [
        (0, 39, False),
        (0, 40, True),
        (39, 40, True),
        (40, 79, False),
        (40, 200, True),
    ],
)
def test_a_checkpoint_by_applied_steps(clock, before, applied, due):
    plan = measured(checkpoint_steps=40, checkpoint_minutes="off")
    assert plan.checkpoint_is_due(applied, before) == due


def test_a_checkpoint_by_minutes(clock):
    plan = measured(checkpoint_minutes=2.0)
    clock.now += 119.0
    assert not plan.checkpoint_is_due(10**6, 0)
    clock.now += 1.0
    assert plan.checkpoint_is_due(7, 7)
    plan.saved()
    assert not plan.checkpoint_is_due(7, 7)
    clock.now += 10**6
    assert not measured(checkpoint_minutes="off").checkpoint_is_due(7, 7)
