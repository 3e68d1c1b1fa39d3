"""The container's user: who it is, and how PUID and PGID make it someone else."""

import os
import pathlib
import pwd
import subprocess
from typing import Mapping, NamedTuple, Optional

from workbench.errors import Mistake
from workbench.log import warn

NAME = "user"
HOME = pathlib.Path("/home/user")
WORKSPACE = pathlib.Path("/workspace")
LARGEST_ID = 2**31 - 1


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
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= LARGEST_ID:
        raise Mistake(f"{name}={text!r} is no id from 1 to {LARGEST_ID}; take the one of `id -u`")
    return int(text)


def apply(uid: Optional[int], gid: Optional[int]) -> None:
    """Give the user other ids, and its home and workspace to them (not what lies in it)."""
    before = current()
    if os.geteuid() != 0:
        if (uid or before.uid, gid or before.gid) != before:
            warn(f"PUID and PGID need a start as root; this one runs as {before.uid}:{before.gid}")
        return
    after = Account(uid or before.uid, gid or before.gid)
    if after == before:
        return
    if after.gid != before.gid:
        _run("groupmod", "--non-unique", "--gid", str(after.gid), NAME)
    if after.uid != before.uid:
        # usermod gives the home and what is in it to the new id.
        _run("usermod", "--non-unique", "--uid", str(after.uid), NAME)
    for path in [WORKSPACE, HOME, *HOME.rglob("*")]:
        owner = path.lstat()
        if (owner.st_uid, owner.st_gid) in {(before.uid, before.gid), (after.uid, before.gid)}:
            os.lchown(path, after.uid, after.gid)


def check_folders(account: Account) -> None:
    """Warn where the user cannot write: the usual fault of a bind mount."""
    for path in (WORKSPACE, HOME):
        if _can_write(account, path):
            continue
        owner = path.stat()
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            remedy = "it is read-only, so mount a volume there"
        elif owner.st_uid == 0 or os.geteuid() != 0:
            remedy = f"on the host: chown {account.uid}:{account.gid} its folder"
        else:
            remedy = f"run with -e PUID={owner.st_uid} -e PGID={owner.st_gid}"
        warn(
            f"{account.uid}:{account.gid} cannot write to {path}, which belongs to "
            f"{owner.st_uid}:{owner.st_gid}; {remedy}"
        )


def _can_write(account: Account, path: pathlib.Path) -> bool:
    if os.geteuid() != 0:
        return os.access(path, os.W_OK)
    as_user = ["setpriv", f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    return subprocess.run([*as_user, "test", "-w", str(path)], check=False).returncode == 0


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
