"""A folder of class folders with images, perhaps in train/ and val/."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from workbench.data.decode import Decoded, decode
from workbench.data.images import EXTENSIONS
from workbench.data.types import Arrays, Files, Found, Split
from workbench.errors import Mistake
from workbench.memory import available_memory
from workbench.settings import Settings

# The first of these beside train/ is the validation set.
VALIDATION_FOLDERS = ("val", "validation", "test")
# The share of the free memory that decoded images may take; splitting them copies them once.
MEMORY_SHARE = 0.25


class Listing(NamedTuple):
    """The image files of a folder of class folders, and the files that are no images."""

    paths: list[str]
    labels: np.ndarray
    others: list[str]


def read_folder(settings: Settings, memory_budget: int | None = None) -> Found:
    """Return the images in the folder --data: in memory where they fit, else as files.

    ``memory_budget`` in bytes, default a quarter of what is free. Every image is decoded once.
    Raises ``Mistake`` for a folder of another form, and for images that cannot be read
    (unless --skip_broken).
    """
    where = f"--data={settings.data}"
    train_root, val_root, notes = _parts(where, settings.data)
    names = _class_names(where, train_root)
    parts = [_list_images(train_root, names)]
    _check_each_class(where, names, parts[0].labels, "image")
    if val_root:
        _check_validation_classes(where, val_root, names)
        parts.append(_list_images(val_root, names))
        if not parts[1].paths:
            raise Mistake(f"{where}: {val_root} holds no image: put its images in class folders")
    paths = [path for part in parts for path in part.paths]
    labels = np.concatenate([part.labels for part in parts])
    budget = int(available_memory() * MEMORY_SHARE) if memory_budget is None else memory_budget
    decoded = decode(where, paths, settings, budget)
    kept, first_val = decoded.kept, len(parts[0].paths)
    train = _split(paths, labels, decoded, kept[kept < first_val])
    _check_each_class(where, names, train.labels, "readable image")
    val = _split(paths, labels, decoded, kept[kept >= first_val]) if val_root else None
    if val is not None and not len(val):
        raise Mistake(f"{where}: {val_root} holds no readable image")
    others = [path for part in parts for path in part.others]
    notes += decoded.notes + _left_out(others)
    return Found(train, val, _classes(settings, len(names)), names, notes)


def _parts(where: str, root: str) -> tuple[str, str | None, tuple[str, ...]]:
    """Return the folders of the training and the validation set, and notes."""
    folders = _folders(where, root)
    # A class may be called train, too.
    if "train" not in folders or not _folders(where, os.path.join(root, "train")):
        for name in VALIDATION_FOLDERS[:2]:
            if name in folders:
                raise Mistake(f"{where} has {name}/ but no train/ with class folders: add it")
        return root, None, ()
    there = [name for name in VALIDATION_FOLDERS if name in folders]
    unused = [name for name in folders if name != "train" and name not in there[:1]]
    notes = (f"{where}: not used: {', '.join(f'{name}/' for name in unused)}",) if unused else ()
    val_root = os.path.join(root, there[0]) if there else None
    return os.path.join(root, "train"), val_root, notes


def _class_names(where: str, root: str) -> tuple[str, ...]:
    names = tuple(_folders(where, root))
    if len(names) < 2:
        seen = f"one class folder, {names[0]}" if names else "no class folder"
        raise Mistake(
            f"{where}: {root} has {seen}: give a folder for each class, at least two, with its "
            f"images in it"
        )
    return names


def _folders(where: str, root: str) -> list[str]:
    try:
        with os.scandir(root) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir() and _seen(entry.name))
    except OSError as error:
        raise Mistake(f"{where}: {root} cannot be read: {error.strerror}") from error


def _seen(name: str) -> bool:
    """Tell whether a name is not hidden, nor what macOS adds to archives."""
    return not name.startswith(".") and name != "__MACOSX"


def _list_images(root: str, names: tuple[str, ...]) -> Listing:
    """Return the files in the class folders of ``root``, and in folders within, sorted."""
    listing = Listing([], np.zeros(0, np.int64), [])
    labels: list[int] = []
    for label, name in enumerate(names):
        for folder, inner, files in os.walk(os.path.join(root, name)):
            inner[:] = sorted(filter(_seen, inner))
            for file in sorted(filter(_seen, files)):
                path = os.path.join(folder, file)
                if os.path.splitext(file)[1].lower() in EXTENSIONS:
                    listing.paths.append(path)
                    labels.append(label)
                else:
                    listing.others.append(path)
    return listing._replace(labels=np.array(labels, np.int64))


def _check_each_class(where: str, names: tuple[str, ...], labels: np.ndarray, what: str) -> None:
    for name, images in zip(names, np.bincount(labels, minlength=len(names))):
        if not images:
            raise Mistake(
                f"{where}: the class folder {name} has no {what} for training "
                f"({', '.join(sorted(EXTENSIONS))}): add one, or take the folder away"
            )


def _check_validation_classes(where: str, root: str, names: tuple[str, ...]) -> None:
    for name in _folders(where, root):
        if name not in names:
            raise Mistake(
                f"{where}: {os.path.join(root, name)} is of a class that train/ does not have: "
                f"its classes are {', '.join(names)}"
            )


def _classes(settings: Settings, folders: int) -> int:
    if settings.classes == "auto":
        return folders
    if settings.classes < folders:
        raise Mistake(
            f"--classes={settings.classes}: --data={settings.data} has {folders} class folders: "
            f"leave out --classes"
        )
    return settings.classes


def _split(paths: list[str], labels: np.ndarray, decoded: Decoded, kept: np.ndarray) -> Split:
    """Return the examples at ``kept`` (ascending), without a copy where none is left out."""
    if decoded.images is None:
        return Files([paths[index] for index in kept], labels[kept], decoded.shape)
    whole = len(kept) and len(kept) == kept[-1] - kept[0] + 1
    images = decoded.images[kept[0] : kept[-1] + 1] if whole else decoded.images[kept]
    return Arrays(images, labels[kept])


def _left_out(others: list[str]) -> tuple[str, ...]:
    if not others:
        return ()
    return (f"left out as no images: {len(others)} files, the first is {others[0]}",)
