"""Reading the files that settings name."""

import pathlib
import stat
from typing import Mapping

from workbench.errors import Mistake

LARGEST = 1 << 20


def content(env: Mapping[str, str], name: str) -> bytes:
    """Return the content of the file that the variable ``name`` names.

    Raises Mistake, which names the variable and the path, when it cannot be read, is
    no regular file, is larger than a megabyte, or is empty.
    """
    path = pathlib.Path(env[name])
    try:
        status = path.stat()
        # A device or a pipe may never end.
        if not stat.S_ISREG(status.st_mode):
            raise Mistake(f"{name}={path} is no regular file; name the file itself")
        if status.st_size > LARGEST:
            raise Mistake(f"{name}={path} is larger than {LARGEST} bytes; is it the right file?")
        found = path.read_bytes()
    except OSError as error:
        raise Mistake(
            f"{name}={path} cannot be read in the container ({error.strerror}); "
            "mount it, for example -v FILE:/run/secrets/NAME:ro"
        ) from None
    if not found.strip():
        raise Mistake(f"{name}={path} is empty")
    return found


def text(env: Mapping[str, str], name: str) -> str:
    """Return the file's text, without the mark that some editors put in front of UTF-8."""
    try:
        return content(env, name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Mistake(f"{name}={env[name]} is no text file") from None
