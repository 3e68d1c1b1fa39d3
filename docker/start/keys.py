"""The public keys that may log in, each checked before anything starts."""

import os
import re
import stat
import subprocess
from typing import List, Mapping, NamedTuple, Tuple

from start import setting_files
from start.account import HOME, Account
from workbench.errors import Mistake
from workbench.log import warn

SHOWN = 24  # characters of a bad line: enough to find it, too few to give it away
HOME_FILE = HOME / ".ssh" / "authorized_keys"

# The options that sshd(8) lists for authorized_keys: it refuses a key with any other one,
# and ssh-keygen does not look at them.
PLAIN_OPTIONS = (
    "agent-forwarding|cert-authority|no-agent-forwarding|no-port-forwarding|no-pty|no-touch-required"
    "|no-user-rc|no-X11-forwarding|port-forwarding|pty|restrict|user-rc|verify-required"
    "|X11-forwarding"
)
VALUE_OPTIONS = "command|environment|expiry-time|from|permitlisten|permitopen|principals|tunnel"
OPTION = rf'(?:(?:{PLAIN_OPTIONS})|(?:{VALUE_OPTIONS})="(?:[^"\\]|\\.)*")'
KEY_LINE = re.compile(
    rf"(?:{OPTION}(?:,{OPTION})*\s+)?(?P<type>(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-\S+)\s+\S+(?:\s.*)?",
    re.IGNORECASE,
)


def collect(env: Mapping[str, str]) -> List[str]:
    """Return the authorized keys of AUTHORIZED_KEYS and AUTHORIZED_KEYS_FILE, as lines.

    Raises Mistake for a line that is no public key, and for a setting without one.
    """
    sources: List[Tuple[str, str]] = []
    if env.get("AUTHORIZED_KEYS", "").strip():
        sources.append(("AUTHORIZED_KEYS", env["AUTHORIZED_KEYS"].lstrip("\ufeff")))
    if env.get("AUTHORIZED_KEYS_FILE"):
        text = setting_files.text(env, "AUTHORIZED_KEYS_FILE")
        sources.append((f"AUTHORIZED_KEYS_FILE={env['AUTHORIZED_KEYS_FILE']}", text))
    keys: List[str] = []
    for source, text in sources:
        found = _keys_of(source, text)
        if not found:
            raise Mistake(f"{source} holds no key; give the line of a .pub file")
        keys += found
    return keys


class HomeKeys(NamedTuple):
    """The user's own ~/.ssh/authorized_keys, as it comes with a home volume or a mount."""

    any: bool  # whether it lets anyone in
    to_copy: List[str]  # its keys, where sshd itself would refuse the file


def of_home(user: Account) -> HomeKeys:
    """Look at the user's own file. sshd reads it itself, so that a change counts at once.

    Only where owner or mode would make sshd refuse it (a mount from the host), its keys are
    to be copied. Its content is the user's, and this is root: nothing of it is quoted, no
    link is followed, and nothing but a file of bearable size is read.
    """
    try:
        descriptor = os.open(str(HOME_FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return HomeKeys(False, [])
    except OSError as error:
        warn(f"{HOME_FILE} is not looked at: {error.strerror}")
        return HomeKeys(False, [])
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > setting_files.LARGEST:
            warn(f"{HOME_FILE} is not looked at: it is no plain file of bearable size")
            return HomeKeys(False, [])
        text = os.read(descriptor, setting_files.LARGEST).decode("utf-8-sig", "replace")
    finally:
        os.close(descriptor)
    lines = [line for _, line in _lines(text)]
    keys = [key for key in lines if KEY_LINE.fullmatch(key) and _public_keys(key) == 1]
    if len(keys) != len(lines):
        warn(f"{HOME_FILE}: {len(lines) - len(keys)} of its lines are no public keys")
    refused = status.st_uid not in (0, user.uid) or status.st_mode & 0o022
    return HomeKeys(bool(keys), keys if refused else [])


def _keys_of(source: str, text: str) -> List[str]:
    keys = _lines(text)
    for number, key in keys:
        if key.startswith("-----BEGIN"):
            raise Mistake(f"{source} line {number} is a private key; give the .pub file beside it")
        form = KEY_LINE.fullmatch(key)
        if form and "-cert-v01@" in form["type"]:
            raise Mistake(f"{source} line {number} is a certificate; give the key's own .pub file")
        if form and form["type"] == "ssh-dss":
            raise Mistake(f"{source} line {number} is a DSA key, which sshd no longer takes")
        if not form:
            raise _no_key(source, number, key)
    # Without root there is no sshd; and ssh-keygen wants a user with a name.
    if os.geteuid() != 0:
        return [key for _, key in keys]
    # OpenSSH itself decides; one call for all, and line by line only to find the bad one.
    if keys and _public_keys("\n".join(key for _, key in keys)) != len(keys):
        for number, key in keys:
            if _public_keys(key) != 1:
                raise _no_key(source, number, key)
    return [key for _, key in keys]


def _lines(text: str) -> List[Tuple[int, str]]:
    """Return the lines that count, each with its number, from 1."""
    numbered = ((number, line.strip()) for number, line in enumerate(text.split("\n"), start=1))
    return [(number, line) for number, line in numbered if line and not line.startswith("#")]


def _no_key(source: str, number: int, key: str) -> Mistake:
    return Mistake(
        f"{source} line {number} is no public key: {key[:SHOWN]!r}…; "
        "give the whole line of a .pub file, such as ~/.ssh/id_ed25519.pub"
    )


def _public_keys(lines: str) -> int:
    """Return in how many of the lines ssh-keygen finds a key."""
    check = subprocess.run(
        ["ssh-keygen", "-l", "-f", "-"],
        input=f"{lines}\n".encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return check.stdout.count(b"\n")
