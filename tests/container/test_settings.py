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
    ({"JUPYTER_TOKEN": "two words"}, ["JUPYTER_TOKEN holds a space"]),
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
    ({"JUPYTER_TOKEN_FILE": "/dev/zero"}, ["JUPYTER_TOKEN_FILE=/dev/zero", "no regular file"]),
    ({"JUPYTER_TOKEN": "x" * 513}, ["JUPYTER_TOKEN holds 513 characters"]),
    ({"JUPYTER_TOKEN": "tökén"}, ["JUPYTER_TOKEN holds", "not ASCII"]),
    ({"JUPYTER_CERTFILE": "/etc/passwd"}, ["JUPYTER_CERTFILE=/etc/passwd", "PEM"]),
    ({"JUPYTER_BASE_URL": "/.."}, ["JUPYTER_BASE_URL='/..'"]),
    ({"AUTHORIZED_KEYS": "ssh-ed25519-cert-v01@openssh.com AAAA"}, ["line 1 is a certificate"]),
    ({"AUTHORIZED_KEYS": "ssh-dss AAAA"}, ["line 1 is a DSA key"]),
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


def test_an_option_that_sshd_does_not_know(public_key: str) -> None:
    result = docker_run("-e", f'AUTHORIZED_KEYS=frobnicate="1" {public_key}', IMAGE)
    assert_mistake(result, "AUTHORIZED_KEYS line 1 is no public key")


def test_a_hash_that_nobody_can_fulfil(tmp_path: Path) -> None:
    (tmp_path / "hash").write_text("argon2:$argon2id$junk\n")
    mount = ["-v", f"{tmp_path}:/h", "-e", "JUPYTER_PASSWORD_HASH_FILE=/h/hash"]
    assert_mistake(docker_run(*mount, IMAGE), "JUPYTER_PASSWORD_HASH_FILE=/h/hash holds no hash")


WAYS_TO_RUN = [
    (["--cap-drop=ALL"], ["CHOWN, KILL, SETGID, SETUID", "--cap-add=CHOWN"]),
    (["--read-only"], ["/run is read-only; add --tmpfs /run"]),
    (["--read-only", "--tmpfs=/run", "-e", "PUID=7"], ["PUID and PGID cannot be applied"]),
]


@pytest.mark.parametrize(("options", "words"), WAYS_TO_RUN)
def test_mistake_in_how_it_is_run(options: list[str], words: list[str]) -> None:
    assert_mistake(docker_run(*options, IMAGE), *words)


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
