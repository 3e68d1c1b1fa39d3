"""A person's mistakes in the settings of a workstation: one line, status 2, nothing started."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import IMAGE, assert_mistake, docker_run

MISTAKES = [
    (
        {"JUPYTER_TOKEN": "a", "JUPYTER_TOKEN_FILE": "/b"},
        ["JUPYTER_TOKEN", "JUPYTER_TOKEN_FILE=/b"],
    ),
    ({"JUPYTER_TOKEN": "two words"}, ["JUPYTER_TOKEN", "JUPYTER_TOKEN"]),
    ({"JUPYTER_TOKEN_FILE": "/none"}, ["JUPYTER_TOKEN_FILE=/none", "No such file"]),
    ({"JUPYTER_TOKEN_FILE": "/etc"}, ["JUPYTER_TOKEN_FILE=/etc", "no regular file"]),
    ({"JUPYTER_TOKEN_FILE": "/dev/null"}, ["JUPYTER_TOKEN_FILE=/dev/null", "no regular file"]),
    ({"JUPYTER_PASSWORD_HASH_FILE": "/none"}, ["JUPYTER_PASSWORD_HASH_FILE=/none"]),
    ({"JUPYTER_PASSWORD_HASH_FILE": "/etc/hostname"}, ["/etc/hostname", "no hash"]),
    ({"JUPYTER_BASE_URL": "lab"}, ["JUPYTER_BASE_URL='lab'"]),
    ({"JUPYTER_BASE_URL": "http://x/lab"}, ["JUPYTER_BASE_URL='http://x/lab'"]),
    ({"JUPYTER_CERTFILE": "/none.pem"}, ["JUPYTER_CERTFILE=/none.pem"]),
    ({"JUPYTER_KEYFILE": "/etc/passwd"}, ["JUPYTER_KEYFILE=/etc/passwd", "JUPYTER_CERTFILE"]),
    ({"AUTHORIZED_KEYS": "not a key"}, ["AUTHORIZED_KEYS line 1", "not a key"]),
    ({"AUTHORIZED_KEYS": "# a comment alone"}, ["AUTHORIZED_KEYS", "no key"]),
    ({"AUTHORIZED_KEYS": "ssh-ed25519 AAAA cut"}, ["AUTHORIZED_KEYS line 1"]),
    ({"AUTHORIZED_KEYS_FILE": "/none"}, ["AUTHORIZED_KEYS_FILE=/none", "No such file"]),
    ({"AUTHORIZED_KEYS_FILE": "/bin/true"}, ["AUTHORIZED_KEYS_FILE=/bin/true", "text"]),
    ({"AUTHORIZED_KEYS_FILE": "/etc/passwd"}, ["AUTHORIZED_KEYS_FILE=/etc/passwd line 1"]),
    ({"SERVICES": "jupiter"}, ["SERVICES='jupiter'", "jupyter, ssh, tensorboard"]),
    ({"SERVICES": ","}, ["SERVICES=','"]),
    ({"SERVICES": "ssh"}, ["no key was given"]),
    ({"PUID": "0"}, ["PUID='0'"]),
    ({"PUID": "ann"}, ["PUID='ann'"]),
    ({"PGID": "-1"}, ["PGID='-1'"]),
]


@pytest.mark.parametrize(("settings", "words"), MISTAKES, ids=[str(m[0]) for m in MISTAKES])
def test_mistake_in_a_setting(settings: dict[str, str], words: list[str]) -> None:
    given = [text for name, value in settings.items() for text in ("-e", f"{name}={value}")]
    assert_mistake(docker_run(*given, IMAGE), *words)


def test_second_key_is_named(public_key: str) -> None:
    result = docker_run("-e", f"AUTHORIZED_KEYS={public_key}\n\nssh-rsa broken", IMAGE)
    assert_mistake(result, "AUTHORIZED_KEYS line 3", "ssh-rsa broken")


def test_a_private_key_is_refused_and_not_shown(key: Path) -> None:
    private = key.read_text()
    result = docker_run("-e", f"AUTHORIZED_KEYS={private}", IMAGE)
    assert_mistake(result, "AUTHORIZED_KEYS line 1 is a private key")
    assert private.splitlines()[1][:16] not in result.stderr


@pytest.mark.parametrize("flag", ["PUID=0", "PUID=x"])
def test_mistake_before_a_command(flag: str) -> None:
    assert_mistake(docker_run("-e", flag, IMAGE, "true"), "PUID")


def test_a_mistake_leaves_no_host_key(tmp_path: Path) -> None:
    volume = f"{tmp_path}:/etc/ssh/host_keys"
    assert docker_run("-v", volume, "-e", "AUTHORIZED_KEYS=x", IMAGE).returncode == 2
    assert subprocess.run(["ls", str(tmp_path)], capture_output=True, check=True).stdout == b""
