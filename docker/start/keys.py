"""The public keys that may log in, each checked before anything starts."""

import subprocess
from typing import List, Mapping, Tuple

from start import secrets
from start.account import HOME
from workbench.errors import Mistake

SHOWN = 24  # characters of a bad line: enough to find it, too few to give it away


def collect(env: Mapping[str, str]) -> List[str]:
    """Return the authorized keys of AUTHORIZED_KEYS and AUTHORIZED_KEYS_FILE, as lines.

    Raises Mistake for a line that is no public key, and for a file without one.
    """
    sources: List[Tuple[str, str]] = []
    if env.get("AUTHORIZED_KEYS", "").strip():
        sources.append(("AUTHORIZED_KEYS", env["AUTHORIZED_KEYS"]))
    if env.get("AUTHORIZED_KEYS_FILE"):
        text = secrets.text_of_file(env, "AUTHORIZED_KEYS_FILE")
        sources.append((f"AUTHORIZED_KEYS_FILE={env['AUTHORIZED_KEYS_FILE']}", text))
    keys: List[str] = []
    for source, text in sources:
        found = _keys_of(source, text)
        if not found:
            raise Mistake(f"{source} holds no key; give the line of a .pub file")
        keys += found
    return keys


def home_has_keys() -> bool:
    """Whether the user's own ~/.ssh/authorized_keys (kept on a home volume) lets someone in."""
    path = HOME / ".ssh" / "authorized_keys"
    try:
        return bool(path.read_bytes().strip())
    except OSError:
        return False


def _keys_of(source: str, text: str) -> List[str]:
    keys = []
    for number, line in enumerate(text.splitlines(), start=1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if "PRIVATE KEY" in key:
            raise Mistake(f"{source} line {number} is a private key; give the .pub file beside it")
        if not _is_public_key(key):
            raise Mistake(
                f"{source} line {number} is no public key: {key[:SHOWN]!r}…; "
                "give the whole line of a .pub file, such as ~/.ssh/id_ed25519.pub"
            )
        keys.append(key)
    return keys


def _is_public_key(line: str) -> bool:
    # OpenSSH itself decides: it knows every key type and the options before a key.
    check = subprocess.run(
        ["ssh-keygen", "-l", "-f", "-"],
        input=line.encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return check.returncode == 0
