"""sshd: host key, authorized keys and a check of the settings before it starts."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
from typing import List

from start import state
from workbench.errors import Mistake
from workbench.log import info

HOST_KEYS = pathlib.Path("/etc/ssh/host_keys")
HOST_KEY = HOST_KEYS / "ssh_host_ed25519_key"
PORT = 2222


class NotStartable(Exception):
    """sshd refuses its own settings; the text is sshd's."""


def prepare(keys: List[str]) -> None:
    """Make the host key if there is none, write the keys, and let sshd check itself.

    Raises NotStartable with sshd's own words, and Mistake where the host key cannot be
    made or used.
    """
    # /run may be a tmpfs, empty at each start.
    pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    fingerprint = _host_key()
    state.write("authorized_keys", "".join(f"{key}\n" for key in keys).encode())
    check = subprocess.run(["/usr/sbin/sshd", "-t"], stderr=subprocess.PIPE, text=True, check=False)
    if check.returncode != 0:
        raise NotStartable(" ".join(check.stderr.split()))
    info(f"SSH: ssh -p {PORT} user@127.0.0.1 (host key {fingerprint})")


def _host_key() -> str:
    """Return the fingerprint of the host key, made now if there is none."""
    try:
        HOST_KEYS.mkdir(mode=0o700, exist_ok=True)
        if not HOST_KEY.exists():
            _make_host_key()
    except OSError as error:
        raise Mistake(
            f"the host key cannot be kept in {HOST_KEYS} ({error.strerror}): "
            "mount a volume with room there"
        ) from None
    try:
        if HOST_KEY.stat().st_mode & 0o077:
            HOST_KEY.chmod(0o600)  # sshd takes no key that others can read
    except OSError as error:
        raise Mistake(
            f"{HOST_KEY} is readable by others, which sshd refuses ({error.strerror}): "
            "chmod 0600 it on the host"
        ) from None
    # From the private key: a mounted one may come without its public half.
    shown = _keygen("-l", "-f", str(HOST_KEY))
    if shown.returncode != 0:
        raise Mistake(f"{HOST_KEY} is no host key; remove it, and the next start makes one")
    return shown.stdout.split()[1]


def _make_host_key() -> None:
    # ed25519 alone: made in a few milliseconds, and every client of the last ten years
    # knows it. Made aside and linked, so that of two containers that start on one
    # volume the first wins, and no half-written key is ever seen.
    with tempfile.TemporaryDirectory(dir=HOST_KEYS, prefix=".new-") as aside:
        fresh = pathlib.Path(aside, HOST_KEY.name)
        comment = "tf29-workbench"
        made = _keygen("-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(fresh))
        if made.returncode != 0:
            raise OSError(0, " ".join(made.stderr.split()))
        with contextlib.suppress(FileExistsError):
            try:
                os.link(fresh, HOST_KEY)
            except PermissionError:
                fresh.rename(HOST_KEY)  # a file system without hard links
            pathlib.Path(f"{fresh}.pub").replace(f"{HOST_KEY}.pub")


def _keygen(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["ssh-keygen", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
