"""Parts of a data set: a validation set where there is none, and the first examples."""

from __future__ import annotations

import numpy as np

from workbench.data.types import Arrays, Files, Found, Split, Stream, count
from workbench.errors import Mistake
from workbench.settings import Settings

# Not --seed: runs with different seeds are compared on the same validation set.
SPLIT_KEY = 29


def with_validation(found: Found, settings: Settings) -> Found:
    """Return ``found`` with the share --validation_split of its examples as validation set.

    Raises ``Mistake`` when there is but one example.
    """
    have = len(found.train)
    if have < 2:
        raise Mistake(
            f"--data={settings.data}: there is {have} example: at least 2 are needed, one to "
            f"train on and one to validate with"
        )
    val = validation_indices(found.train.labels, settings.validation_split)
    train = np.setdiff1d(np.arange(have), val, assume_unique=True)
    note = (
        f"validation: {len(val)} of {have} examples are kept for it, the same for every --seed "
        f"(--validation_split={settings.validation_split:g})"
    )
    return found._replace(
        train=pick(found.train, train), val=pick(found.train, val), notes=(*found.notes, note)
    )


def validation_indices(labels: np.ndarray, share: float) -> np.ndarray:
    """Return which examples are for validation, in ascending order: at least one, not all.

    The examples are shuffled by a fixed key, brought together by class, and taken at even
    distances: each class gives its share, up to one example.
    """
    classes = labels if labels.ndim == 1 else labels.argmax(axis=1)
    have = len(classes)
    wanted = min(max(round(share * have), 1), have - 1)
    shuffled = np.random.Generator(np.random.Philox(key=SPLIT_KEY)).permutation(have)
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    return np.sort(by_class[(2 * np.arange(wanted) + 1) * have // (2 * wanted)])


def pick(split: Arrays | Files, indices: np.ndarray) -> Arrays | Files:
    """Return the examples at ``indices``."""
    if isinstance(split, Arrays):
        return Arrays(split.images[indices], split.labels[indices])
    return Files([split.paths[index] for index in indices], split.labels[indices], split.shape)


def first_samples(split: Split, samples: str | int) -> Split:
    """Return the first ``samples`` training examples ("all": all of them).

    Raises ``Mistake`` when there are fewer.
    """
    if samples == "all":
        return split
    have = count(split)
    if have is not None and samples > have:
        raise Mistake(
            f"--train_samples={samples}: there are {have} training examples: give at most {have}"
        )
    if isinstance(split, Stream):
        taken = split.dataset.take(samples)
        known = taken.cardinality().numpy()
        return split._replace(dataset=taken, count=int(known) if known >= 0 else None)
    if isinstance(split, Arrays):
        return Arrays(split.images[:samples], split.labels[:samples])
    return Files(split.paths[:samples], split.labels[:samples], split.shape)


def absent_classes(
    train: Split, classes: int | None, class_names: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return a note that names the classes without a training example, where there are any."""
    if isinstance(train, Stream):
        return ()
    if train.labels.ndim == 1:
        shares = np.bincount(train.labels, minlength=classes)
    else:
        shares = train.labels.sum(axis=0)
    absent = np.flatnonzero(shares == 0)
    if not len(absent):
        return ()
    named = ", ".join(class_names[index] if class_names else str(index) for index in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    return (f"no training example is of class {named}{more}",)
