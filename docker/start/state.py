"""The folder where a container keeps what its services need to know."""

import errno
import os
import pathlib
from typing import Optional

from start.account import Account
from workbench.errors import Mistake


def folder() -> pathlib.Path:
    """Return the state folder: root's, or where there is none the one of this other user."""
    of_root = pathlib.Path("/run/workbench")
    if os.geteuid() == 0 or of_root.is_dir():
        return of_root
    return pathlib.Path(f"/tmp/workbench-{os.geteuid()}")


def make() -> None:
    """Make the folder, and forget which services an earlier start had."""
    try:
        folder().mkdir(mode=0o755, exist_ok=True)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        raise Mistake(f"{folder().parent} is read-only; add --tmpfs {folder().parent}") from None
    (folder() / "services").unlink(missing_ok=True)


def write(name: str, content: bytes, reader: Optional[Account] = None) -> pathlib.Path:
    """Write ``content`` to the file ``name`` whole: for ``reader`` and root alone, or for all."""
    mode = 0o444 if reader is None else 0o440
    path = folder() / name
    fresh = path.with_name(f".{name}")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(str(fresh), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        if reader is not None and os.geteuid() == 0:
            # By its group: root without its usual powers (--cap-drop) reads it as the owner.
            os.fchown(file.fileno(), 0, reader.gid)
        file.write(content)
    fresh.replace(path)
    return path
