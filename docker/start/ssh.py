"""sshd: host key, authorized keys and a check of the settings before it starts."""

import os
import pathlib
import subprocess
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

    Raises NotStartable with sshd's own words, and Mistake where no host key can be kept.
    """
    # /run may be a tmpfs, empty at each start.
    pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    HOST_KEYS.mkdir(mode=0o700, exist_ok=True)
    if not HOST_KEY.exists():
        if not os.access(HOST_KEYS, os.W_OK):
            raise Mistake(f"the host key has no place in {HOST_KEYS}: mount a volume there")
        # ed25519 alone: made in a few milliseconds, and every client of the last
        # ten years knows it.
        _keygen("-q", "-t", "ed25519", "-N", "", "-C", "tf29-workbench", "-f", str(HOST_KEY))
        os.chmod(HOST_KEY, 0o600)
    state.write("authorized_keys", "".join(f"{key}\n" for key in keys).encode())
    check = subprocess.run(["/usr/sbin/sshd", "-t"], stderr=subprocess.PIPE, text=True, check=False)
    if check.returncode != 0:
        raise NotStartable(" ".join(check.stderr.split()))
    fingerprint = _keygen("-l", "-f", f"{HOST_KEY}.pub").split()[1]
    info(f"SSH: ssh -p {PORT} user@127.0.0.1 (host key {fingerprint})")


def _keygen(*arguments: str) -> str:
    command = ["ssh-keygen", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
