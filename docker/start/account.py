"""The container's user: who it is, how PUID and PGID change it, how a process becomes it."""

import errno
import os
import pathlib
import pwd
import subprocess
import sys
from typing import Dict, List, Mapping, NamedTuple, Optional

from workbench.errors import Mistake
from workbench.log import warn

NAME = "user"
HOME = pathlib.Path("/home/user")
WORKSPACE = pathlib.Path("/workspace")
CUDA_CACHE = pathlib.Path("/var/cache/cuda")
LARGEST_ID = 2**31 - 1
# What a shell answers for a command that is not there, or cannot be run.
NOT_FOUND, NOT_EXECUTABLE = 127, 126


class Account(NamedTuple):
    """The numeric ids that services and commands run with."""

    uid: int
    gid: int


def current() -> Account:
    """Return the ids of the image's user, or of whoever this container was started as."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    entry = pwd.getpwnam(NAME)
    return Account(entry.pw_uid, entry.pw_gid)


def wanted_id(env: Mapping[str, str], name: str) -> Optional[int]:
    """Return the id in the variable ``name``, None when it is not set.

    Raises Mistake for anything but a number from 1 up: 0 would be root.
    """
    text = env.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 12 and 1 <= int(text) <= LARGEST_ID):
        raise Mistake(
            f"{name}={text!r} is no id from 1 to {LARGEST_ID}; take that of the folder's owner, "
            "and give a folder of root's to somebody else first"
        )
    return int(text)


def apply(uid: Optional[int], gid: Optional[int]) -> None:
    """Give the user other ids, and with them home, CUDA cache and the workspace's own folder."""
    before = current()
    after = Account(uid or before.uid, gid or before.gid)
    if after == before:
        return
    if os.geteuid() != 0:
        warn(f"PUID and PGID need a start as root; this one runs as {before.uid}:{before.gid}")
        return
    if after.gid != before.gid:
        _change("groupmod", "--non-unique", "--gid", str(after.gid))
    if after.uid != before.uid:
        # usermod gives the home and what is in it to the new id.
        _change("usermod", "--non-unique", "--uid", str(after.uid))
    ours = [HOME, *HOME.rglob("*"), CUDA_CACHE, *CUDA_CACHE.rglob("*")]
    for path in [WORKSPACE, *ours]:
        owner = path.lstat()
        if (owner.st_uid, owner.st_gid) in {before, Account(after.uid, before.gid)}:
            os.lchown(path, after.uid, after.gid)


def adopt_folders(account: Account) -> None:
    """Take over empty folders that Docker made for a bind mount."""
    for path in _folders_without_access(account):
        roots = os.geteuid() == 0 and path.stat().st_uid == 0
        if roots and not _read_only(path) and _made_by_docker(path):
            os.chown(path, account.uid, account.gid)


def warn_of_folders(account: Account) -> None:
    """Warn of folders that ``account`` cannot write to."""
    for path in _folders_without_access(account):
        owner = path.stat()
        if _read_only(path):
            remedy = "it is read-only, so mount a volume there"
        elif owner.st_uid == 0 or os.geteuid() != 0:
            remedy = f"on the host: chown {account.uid}:{account.gid} its folder"
        else:
            remedy = f"run with -e PUID={owner.st_uid} -e PGID={owner.st_gid}"
        warn(
            f"{account.uid}:{account.gid} cannot write to {path}, which belongs to "
            f"{owner.st_uid}:{owner.st_gid}; {remedy}"
        )


def _folders_without_access(account: Account) -> List[pathlib.Path]:
    return [path for path in (WORKSPACE, HOME) if not _can_write(account, path)]


def _read_only(path: pathlib.Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def become(command: List[str], env: Dict[bytes, bytes]) -> int:
    """Become the user and then ``command``; return a shell's status when it cannot be run."""
    if os.geteuid() == 0:
        me = current()
        try:
            os.setgroups([me.gid])
            os.setgid(me.gid)
            os.setuid(me.uid)
        except PermissionError:
            raise Mistake(
                "root may not become the user here; add --cap-add=SETUID --cap-add=SETGID, "
                "or start with --user 1000:1000"
            ) from None
    if not os.access(env.get(b"HOME", b"/"), os.W_OK):
        env[b"HOME"] = b"/tmp"
    if not os.access(env.get(b"CUDA_CACHE_PATH", b"/"), os.W_OK):
        env.pop(b"CUDA_CACHE_PATH", None)  # CUDA's own default is in the home
    try:
        if not command[0]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        os.execvpe(command[0], command, env)
    except OSError as error:
        print(f"error: {command[0]!r} cannot be run: {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def _made_by_docker(path: pathlib.Path) -> bool:
    """Whether this is an empty folder in a container whose root is the host's root.

    With mapped ids (rootless Docker) a changed owner would lock the host's user out.
    """
    if any(path.iterdir()):
        return False
    return pathlib.Path("/proc/self/uid_map").read_text("utf-8").split()[:2] == ["0", "0"]


def _can_write(account: Account, path: pathlib.Path) -> bool:
    if os.geteuid() != 0:
        return os.access(path, os.W_OK)
    as_user = ["setpriv", f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    return subprocess.run([*as_user, "test", "-w", str(path)], check=False).returncode == 0


def _change(*command: str) -> None:
    result = subprocess.run([*command, NAME], stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        raise Mistake(f"PUID and PGID cannot be applied: {result.stderr.strip()}")
