"""Files of pretrained weights: only those at hand, unless downloads are allowed."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator
from unittest import mock

from keras.utils import data_utils

from workbench.errors import Mistake

FOLDER = os.path.join("~", ".keras", "models")


@contextlib.contextmanager
def weight_files(model: str, download: bool) -> Iterator[None]:
    """Let keras.applications find weights inside the block; a ``Mistake`` names what is missing.

    Keras fetches a file whenever it is not there or damaged, without asking; here only if
    ``download``.
    """
    get_file = data_utils.get_file

    def fetch(fname: str, origin: str, **details: Any) -> str:
        try:
            return get_file(fname, origin, **details)
        # Keras raises Exception itself for a server that cannot be reached.
        except Exception as error:
            raise Mistake(f"--model={model}: weights cannot be downloaded: {error}") from error

    def find(fname: str, origin: str, **details: Any) -> str:
        file = os.path.join(os.path.expanduser(FOLDER), fname)
        if not os.path.isfile(file):
            raise Mistake(
                f"--weights=imagenet: {file} is not there: add --download, or put {origin} there"
            )
        file_hash = details.get("file_hash")
        if file_hash and not data_utils.validate_file(file, file_hash):
            raise Mistake(
                f"--weights=imagenet: {file} is damaged: add --download, or put {origin} there"
            )
        return file

    with mock.patch.object(data_utils, "get_file", fetch if download else find):
        yield
