"""The output folder of a run: checked before anything runs, its JSON files written whole."""

from __future__ import annotations

import fcntl
import itertools
import json
import math
import os
import re
import time
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from workbench.errors import Mistake

RUNS = Path("/workspace/runs")
# Docker makes it in every container.
DOCKER_MARK = Path("/.dockerenv")
# The first file of every run; it is locked as long as the run lives.
CLAIM = "metrics.jsonl"
CONFIG = "config.json"
# The folders in it.
FOLDERS = ("checkpoints", "tensorboard", "model")
# What may be there before the config is.
BEFORE_CONFIG = {CLAIM, f"{CONFIG}.tmp", "summary.json"}


class Choice(NamedTuple):
    """The folder of a run, and the config.json of the run that it holds (None: a new run)."""

    path: Path
    former: dict[str, Any] | None


def folder_path(out: str | None, name: str) -> Path:
    """Return the absolute path named by ``--out=out``, or a new one of the time and ``name``."""
    if out is None:
        return RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{plain_name(name)}"
    try:
        return Path(os.path.abspath(os.path.expanduser(out)))
    except FileNotFoundError:
        raise Mistake(f"--out={out}: the working directory is gone: change to another") from None


def plain_name(text: str) -> str:
    """Return ``text`` as the name of a file, with - for what is no letter, digit, _ or dot."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)


def check_can_be_made(folder: Path) -> None:
    """Raise ``Mistake`` where ``folder`` is not there and cannot be made, or not be written to."""
    try:
        ancestor = folder
        while not _is_folder(ancestor):
            ancestor = ancestor.parent
    except OSError as error:
        raise _unusable(folder, error) from error
    if not os.access(ancestor, os.W_OK | os.X_OK):
        raise Mistake(f"--out={folder}: {_refusal(ancestor)}: name another folder")


def names_in(folder: Path) -> set[str]:
    """Return the names of what is in ``folder``. Raises ``Mistake`` where it cannot be read."""
    try:
        return {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise _unusable(folder, error) from error


def check_no_pattern(folder: Path) -> None:
    """Raise ``Mistake`` where TensorFlow would take the path ``folder`` for a pattern."""
    if re.search(r"[*?\[\]\\]", str(folder)):
        raise Mistake(
            f"--out={folder}: TensorFlow takes * ? [ ] and \\ for patterns: leave them out"
        )


def choose_folder(out: str | None, model: str, resume: str) -> Choice:
    """Return the absolute folder named by ``--out``, or a new one named by time and model.

    Makes nothing. Raises ``Mistake`` when it is a file, holds something that is no run or a run
    and ``--resume=never``, or cannot be made.
    """
    folder = folder_path(out, model.rpartition("/")[2])
    check_no_pattern(folder)
    try:
        former = None
        if _is_folder(folder) and not _holds_nothing(folder):
            former = _former_run(folder, resume)
            _check_access(folder)
        check_can_be_made(folder)
    except OSError as error:
        raise _unusable(folder, error) from error
    return Choice(folder, former)


def _holds_nothing(folder: Path) -> bool:
    """Tell whether ``folder`` is empty, or a run was ended in it before it really began."""
    names = {entry.name for entry in folder.iterdir()}
    return not names or (CLAIM in names and names <= BEFORE_CONFIG)


def _former_run(folder: Path, resume: str) -> dict[str, Any]:
    file = folder / CONFIG
    if resume == "never":
        raise Mistake(f"--out={folder} is not empty, and --resume=never: name a new folder")
    try:
        former = json.loads(file.read_text(encoding="utf-8"))
        former["flags"].items(), former["data"]["digest"], former["bits"].items(), former["policy"]
    except FileNotFoundError:
        raise Mistake(f"--out={folder} holds files that are no run: name a new folder") from None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise Mistake(
            f"--out={folder}: its {CONFIG} cannot be read ({type(error).__name__}: {error}): "
            f"name a new folder"
        ) from error
    return former


def _check_access(folder: Path) -> None:
    """Raise ``Mistake`` where something that a run in ``folder`` writes to cannot be written."""
    files = [folder / name for name in (CLAIM, CONFIG, "summary.json")]
    folders = [folder / name for name in FOLDERS if os.path.lexists(folder / name)]
    for path in folders:
        if not path.is_dir():
            raise Mistake(f"--out={folder}: {path.name} is not a folder: name another --out")
    inner = [path for each in folders for path in each.iterdir() if path.is_dir()]
    for path in [*files, *folders, *inner]:
        if path.exists() and not os.access(path, os.W_OK):
            raise Mistake(f"--out={folder}: {_refusal(path)}: name another folder")


def lost_with_container_warning(folder: Path) -> list[str]:
    """Return a warning when ``folder`` is in a container's own workspace, on no volume."""
    workspace = RUNS.parent
    if not DOCKER_MARK.exists() or workspace not in folder.parents or os.path.ismount(workspace):
        return []
    return [f"{workspace} is on no volume: what is written there is lost with the container"]


def claim_folder(
    folder: Path, *, named: bool, lock: str = CLAIM, record: str = CONFIG
) -> tuple[Path, TextIO]:
    """Make ``folder`` and its parents, and take it for this run as long as it lives.

    Returns the folder taken, and the claim: the locked file, which must be kept open. Two runs
    may want one folder at the same moment. The lock on the file ``lock`` decides: the other takes
    the next number, or where the user ``named`` the folder it ends with ``Mistake``, as it does
    where the system refuses the folder. The system ends the lock with the program. A folder that
    is not ``named`` is taken only where no ``record`` of another run is in it.
    """
    for candidate in itertools.chain(
        [folder], () if named else (Path(f"{folder}-{number}") for number in itertools.count(2))
    ):
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            claim = (candidate / lock).open("a", encoding="utf-8")
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A folder of our own choice that another run has used and left since.
            if named or not (candidate / record).exists():
                return candidate, claim
        except BlockingIOError:
            continue
        except OSError as error:
            raise _unusable(folder, error) from error
    raise Mistake(f"--out={folder} is in use by another run: wait for it, or name a new folder")


def forget_after(folder: Path, step: int) -> None:
    """Leave only whole lines of steps up to ``step`` in the metrics of ``folder``.

    A run that was killed had gone on after its last checkpoint; these steps come again.
    """
    kept = []
    for line in (folder / CLAIM).read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            if json.loads(line)["step"] <= step:
                kept.append(line + "\n")
        except (ValueError, KeyError, TypeError):
            continue
    # In place: the file is locked, and another run would lock a new one of this name.
    with (folder / CLAIM).open("r+", encoding="utf-8") as stream:
        stream.write("".join(kept))
        stream.truncate()


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write ``content`` to ``file``, whole or not at all; what is not finite becomes null."""
    text = json.dumps(finite(content), indent=2, allow_nan=False) + "\n"
    write_whole(file, text.encode("utf-8"))


def write_whole(file: Path, content: bytes) -> None:
    """Write ``content`` to ``file``, whole or not at all. Raises ``OSError``."""
    partial = file.with_name(file.name + ".tmp")
    try:
        with partial.open("wb") as stream:
            stream.write(content)
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


def _refusal(path: Path) -> str:
    owner, me = path.stat().st_uid, os.geteuid()
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return f"{path} is on a read-only file system (mount a volume there)"
    if owner == me:
        remedy = "its mode forbids it: chmod u+w"
    elif owner:
        remedy = f"run with -e PUID={owner}, without --user; or chown it on the host"
    else:
        remedy = "chown it on the host"
    return f"user {me} cannot write to {path}, which is user {owner}'s ({remedy})"


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
