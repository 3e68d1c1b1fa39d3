"""The public keys that may log in, each checked before anything starts."""

import re
import subprocess
from typing import List, Mapping, Tuple

from start import secrets
from start.account import HOME
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
    """Return the authorized keys: of AUTHORIZED_KEYS, its file, and the user's own file.

    Raises Mistake for a line that is no public key, and for a setting without one. The
    user's own file comes with a home volume; a bad line there is only warned about.
    """
    sources: List[Tuple[str, str]] = []
    if env.get("AUTHORIZED_KEYS", "").strip():
        sources.append(("AUTHORIZED_KEYS", env["AUTHORIZED_KEYS"].lstrip("\ufeff")))
    if env.get("AUTHORIZED_KEYS_FILE"):
        text = secrets.text_of_file(env, "AUTHORIZED_KEYS_FILE")
        sources.append((f"AUTHORIZED_KEYS_FILE={env['AUTHORIZED_KEYS_FILE']}", text))
    keys: List[str] = []
    for source, text in sources:
        found = _keys_of(source, text)
        if not found:
            raise Mistake(f"{source} holds no key; give the line of a .pub file")
        keys += found
    return keys + _keys_of_home()


def _keys_of_home() -> List[str]:
    # Read by root and copied, so that a mounted file may have any owner and mode.
    try:
        text = HOME_FILE.read_text("utf-8-sig")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        warn(f"{HOME_FILE} is not used: {error}")
        return []
    try:
        return _keys_of(str(HOME_FILE), text)
    except Mistake as mistake:
        warn(f"{mistake}; none of that file's keys is used at this start")
        return []


def _keys_of(source: str, text: str) -> List[str]:
    numbered = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1)]
    keys = [(number, key) for number, key in numbered if key and not key.startswith("#")]
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
    # OpenSSH itself decides; one call for all, and line by line only to find the bad one.
    if keys and _public_keys("\n".join(key for _, key in keys)) != len(keys):
        for number, key in keys:
            if _public_keys(key) != 1:
                raise _no_key(source, number, key)
    return [key for _, key in keys]


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
