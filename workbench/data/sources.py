"""From the text of --data to a data set that passed all checks."""

from __future__ import annotations

import os
import re
from typing import Container

from workbench.catalogue import DATA_SETS
from workbench.data import check, split
from workbench.data.builtin import read_builtin
from workbench.data.digest import digest
from workbench.data.folder import read_folder
from workbench.data.function import call_function
from workbench.data.npz import read_npz
from workbench.data.types import Dataset
from workbench.errors import Mistake
from workbench.flags import nearest
from workbench.settings import Settings

READERS = {
    "name": read_builtin,
    "npz": read_npz,
    "folder": read_folder,
    "function": call_function,
}


def load(settings: Settings, given: Container[str]) -> Dataset:
    """Return the data set that ``settings`` name; ``given`` are the flags that the user gave.

    All is read and checked here, once. TensorFlow is imported only by a user's function and
    for the data sets of Keras. Raises ``Mistake`` for whatever is wrong.
    """
    kind = kind_of(settings.data)
    check.check_folder_flags(settings.data, kind, given)
    found = READERS[kind](settings)
    if found.val is not None:
        check.check_split_flag(settings.data, given)
    else:
        found = split.with_validation(found, settings)
    train = split.first_samples(found.train, settings.train_samples)
    notes = found.notes + split.absent_classes(train, found.classes, found.class_names)
    dataset = Dataset(
        train,
        found.val,
        found.classes,
        found.class_names,
        digest(train, found.val, found.class_names),
        notes,
    )
    check.check_sizes(dataset, settings)
    return dataset


def kind_of(data: str) -> str:
    """Return which of ``READERS`` reads ``data``. What exists wins over what it may be called.

    Raises ``Mistake`` when there is none.
    """
    if data in DATA_SETS:
        return "name"
    if os.path.isdir(data):
        return "folder"
    if os.path.exists(data):
        if data.lower().endswith(".npz") and os.path.isfile(data):
            return "npz"
        raise Mistake(f"--data={data}: {_other_file(data)}")
    if re.fullmatch(r"(.+\.py|[^\W\d][\w.]*):[^\W\d]\w*", data):
        return "function"
    if data.lower().endswith(".npz"):
        raise Mistake(f"--data={data}: the file is not there: check its name")
    raise Mistake(
        f"--data={data} is not the name of a data set{nearest(data, DATA_SETS)}, a file or a "
        f"folder: give {', '.join(DATA_SETS)}, a .npz file, a folder of class folders, "
        f"module:function or path.py:function"
    )


def _other_file(data: str) -> str:
    if data.endswith(".py"):
        return f"a Python file needs the name of its function: give {data}:function"
    return (
        "a file of this kind is not read: give a .npz file with x_train and y_train "
        "(numpy.savez), or path.py:function with a function of yours that reads it"
    )
