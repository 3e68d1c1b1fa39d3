"""The environment that commands, services and SSH sessions get: that of `docker exec`."""

import fnmatch
import os
import re
from typing import Dict, Mapping

from start import state
from start.account import HOME, NAME, Account

Environment = Mapping[bytes, bytes]

# Ours: how to get in. What the user gave beside it is the user's own business.
OWN_SECRETS = (b"JUPYTER_TOKEN", b"AUTHORIZED_KEYS")
# What sshd knows better for each session.
OF_THE_SESSION = (b"HOME", b"USER", b"LOGNAME", b"TERM", b"PWD")
# What Docker sets by itself for root, whom nobody here works as.
HOME_OF_ROOT = b"/root"


def minimal() -> Dict[bytes, bytes]:
    """Return the little that a shell script of ours needs."""
    return {b"PATH": b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def for_commands(given: Environment) -> Dict[bytes, bytes]:
    """Return what was given, with the user in place of root."""
    env = dict(given)
    # docker/etc/profile.d/workbench.sh says why.
    env[b"WORKBENCH_PATH"] = env.get(b"PATH", b"")
    env[b"SHELL"] = b"/bin/bash"
    if os.geteuid() == 0:
        env[b"USER"] = env[b"LOGNAME"] = NAME.encode()
        if env.get(b"HOME", HOME_OF_ROOT) == HOME_OF_ROOT:
            env[b"HOME"] = str(HOME).encode()
    return env


def for_services() -> Dict[bytes, bytes]:
    """Return what :func:`write` kept for the services of this container."""
    pairs = (state.folder() / "environment").read_bytes().split(b"\0")[:-1]
    env = dict(pair.split(b"=", 1) for pair in pairs)
    env[b"WORKBENCH_RUN"] = str(state.folder()).encode()
    return env


def write(given: Environment, account: Account) -> None:
    """Keep the environment for the services, and for docker/login-shell.

    Each pair is NAME=value and a NUL byte: values may hold any other byte. SSH_ENV_DENY
    lists patterns of names that stay out of SSH sessions.
    """
    env = {n: v for n, v in for_commands(given).items() if n not in OWN_SECRETS}
    state.write("environment", _joined(env), account)
    patterns = re.split(rb"[,\s]+", env.get(b"SSH_ENV_DENY", b""))
    session = {
        name: value
        for name, value in env.items()
        if name not in OF_THE_SESSION
        and not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns if pattern)
    }
    state.write("ssh-environment", _joined(session), account)


def _joined(env: Environment) -> bytes:
    return b"".join(name + b"=" + value + b"\0" for name, value in sorted(env.items()))
