"""The environment that SSH sessions get: what `docker exec` has, less our own secrets."""

import fnmatch
import re
from typing import Mapping

from start import state
from start.account import Account

# Ours: how to get in. What the user gave beside it is the user's own business.
OWN_SECRETS = ("JUPYTER_TOKEN", "AUTHORIZED_KEYS")
# Belongs to the session or to the shell that started us, not to the container.
OF_THE_SESSION = ("HOME", "USER", "LOGNAME", "SHELL", "TERM", "PWD", "OLDPWD", "SHLVL", "_")
OF_THE_START = ("WORKBENCH_RUN",)


def for_sessions(env: Mapping[bytes, bytes]) -> bytes:
    """Return NAME=value pairs, each ended by a NUL byte: values may hold any other byte.

    SSH_ENV_DENY lists patterns of names (commas or white space between them) that
    stay out.
    """
    patterns = re.split(r"[,\s]+", env.get(b"SSH_ENV_DENY", b"").decode("utf-8", "surrogateescape"))
    kept = []
    for name, value in sorted(env.items()):
        text = name.decode("utf-8", "surrogateescape")
        if text in OWN_SECRETS + OF_THE_SESSION + OF_THE_START:
            continue
        if any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns if pattern):
            continue
        kept.append(name + b"=" + value + b"\0")
    return b"".join(kept)


def write(env: Mapping[bytes, bytes], account: Account) -> None:
    """Keep the environment where the user's login shell can read it."""
    state.write("environment", for_sessions(env), account)
