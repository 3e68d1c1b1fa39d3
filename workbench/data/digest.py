"""A hash of the examples: a resumed run must see the same ones."""

from __future__ import annotations

import hashlib
import os
from typing import Sequence

from workbench.data.types import Arrays, Files, Split, Stream


def digest(*parts: Split | Sequence[str] | None) -> str:
    """Return a hash of ``parts``: training set, validation set, names of the classes.

    Of arrays it is over their bytes. Of files it is over the last two parts of their names
    (class and file) and their sizes: copying a folder changes nothing. Of a stream it is over
    its types, shapes and number only: its content is known only by running it.
    """
    # Not for secrecy: SHA-1 is what processors have instructions for.
    total = hashlib.sha1()
    for part in parts:
        if isinstance(part, Arrays):
            for array in part:
                total.update(f"{array.dtype} {array.shape} ".encode())
                total.update(array)
        elif isinstance(part, Files):
            total.update(f"{part.shape} ".encode())
            for path, label in zip(part.paths, part.labels):
                name = os.path.join(*os.path.normpath(path).split(os.sep)[-2:])
                total.update(os.fsencode(f"{name} {os.path.getsize(path)} {label}\n"))
        elif isinstance(part, Stream):
            total.update(f"{part.dataset.element_spec} {part.count}".encode())
        else:
            total.update(repr(part).encode())
    return total.hexdigest()
