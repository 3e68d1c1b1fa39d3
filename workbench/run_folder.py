"""The output folder of a run: checked before anything runs, its JSON files written whole."""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from pathlib import Path
from typing import Any

from workbench.errors import Mistake

RUNS = Path("/workspace/runs")
# Docker makes it in every container.
DOCKER_MARK = Path("/.dockerenv")
# The first file of every run.
CLAIM = "metrics.jsonl"


def choose_folder(out: str | None, model: str) -> Path:
    """Return the absolute folder named by ``--out``, or a new one named by time and model.

    Makes nothing. Raises ``Mistake`` when it is a file, is not empty, or cannot be made.
    """
    if out is None:
        folder = RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{model}"
    else:
        folder = Path(os.path.abspath(os.path.expanduser(out)))
    try:
        exists = _is_folder(folder)
        if exists and any(folder.iterdir()):
            raise Mistake(f"--out={folder} holds a run or other files already: name a new folder")
        ancestor = folder
        while not _is_folder(ancestor):
            ancestor = ancestor.parent
        if not os.access(ancestor, os.W_OK | os.X_OK):
            raise Mistake(f"--out={folder}: {_refusal(ancestor)}: name another folder")
    except OSError as error:
        raise _unusable(folder, error) from error
    return folder


def lost_with_container_warning(folder: Path) -> list[str]:
    """Return a warning when ``folder`` is in a container's own workspace, on no volume."""
    workspace = RUNS.parent
    if not DOCKER_MARK.exists() or workspace not in folder.parents or os.path.ismount(workspace):
        return []
    return [f"{workspace} is on no volume: what is written there is lost with the container"]


def claim_folder(folder: Path, named: bool) -> Path:
    """Make ``folder`` and its parents, and take it for this run; return the folder taken.

    Two runs may choose one folder at the same moment. The file CLAIM decides, since only one
    of them can create it: the other takes the next number, or where the user ``named`` the
    folder it ends with ``Mistake``, as it does where the system refuses the folder.
    """
    for candidate in itertools.chain(
        [folder], () if named else (Path(f"{folder}-{number}") for number in itertools.count(2))
    ):
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            (candidate / CLAIM).touch(exist_ok=False)
            return candidate
        except FileExistsError:
            continue
        except OSError as error:
            raise _unusable(folder, error) from error
    raise Mistake(f"--out={folder} was taken by another run just now: name a new folder")


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write ``content`` to ``file``, whole or not at all; what is not finite becomes null."""
    partial = file.with_name(file.name + ".tmp")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            stream.write(json.dumps(finite(content), indent=2, allow_nan=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def finite(value: Any) -> Any:
    """Return ``value`` with every number that JSON cannot hold (NaN, infinity) as None."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _refusal(folder: Path) -> str:
    owner = folder.stat().st_uid
    remedy = f"run with -e PUID={owner}" if owner else "chown it on the host"
    return f"user {os.geteuid()} cannot write to {folder}, which is user {owner}'s ({remedy})"


def _is_folder(path: Path) -> bool:
    # stat() and not is_dir(): a file among the parents, or a name too long, is an error here.
    try:
        path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise Mistake(f"--out={path} is a link that leads nowhere: name a folder") from None
        return False
    if not path.is_dir():
        raise Mistake(f"--out={path} is not a folder: name a folder")
    return True


def _unusable(folder: Path, error: OSError) -> Mistake:
    return Mistake(f"--out={folder} cannot be used ({error.strerror}): name another folder")
