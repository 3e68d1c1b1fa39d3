"""Checks of flags against the data set that they are given with."""

from __future__ import annotations

from typing import Container

from workbench.data.types import Dataset, count
from workbench.errors import Mistake
from workbench.settings import Settings


def check_folder_flags(data: str, kind: str, given: Container[str]) -> None:
    """Raise ``Mistake`` when a flag for folders of images is given with other data."""
    for name in ("image_size", "skip_broken"):
        if kind != "folder" and name in given:
            raise Mistake(
                f"--{name} has no effect with --data={data}: it is for a folder of images; "
                f"leave it out"
            )


def check_split_flag(data: str, given: Container[str]) -> None:
    """Raise ``Mistake`` when --validation_split is given for data with its own validation set."""
    if "validation_split" in given:
        raise Mistake(
            f"--validation_split has no effect with --data={data}: it brings its own validation "
            f"set; leave it out"
        )


def check_sizes(dataset: Dataset, settings: Settings) -> None:
    """Raise ``Mistake`` when a batch, a step or an epoch asks for more than there is to train on.

    A step sees batch_size * accumulate_steps examples.
    """
    have = count(dataset.train)
    if have is None:
        if settings.steps_per_epoch == "all":
            raise Mistake(
                f"--data={settings.data}: how many training examples there are is not known: "
                f"say how long an epoch is by --steps_per_epoch"
            )
        return
    if settings.batch_size > have:
        raise Mistake(
            f"--batch_size={settings.batch_size} is larger than the training data of {have} "
            f"examples: give at most {have}"
        )
    in_a_step = settings.batch_size * settings.accumulate_steps
    if in_a_step > have:
        raise Mistake(
            f"--accumulate_steps={settings.accumulate_steps}: a step of {settings.batch_size} x "
            f"{settings.accumulate_steps} examples is larger than the training data of {have} "
            f"examples: give at most {have // settings.batch_size}"
        )
    steps = -(-have // in_a_step)
    if settings.steps_per_epoch != "all" and settings.steps_per_epoch > steps:
        raise Mistake(
            f"--steps_per_epoch={settings.steps_per_epoch}: the training data of {have} examples "
            f"has {steps} steps: give at most {steps}"
        )
