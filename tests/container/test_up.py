"""scripts/up and scripts/down for real, beside any workbench that runs here already."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "tf29-workbench"
NAME = "tf29-test-up"
ADDRESS = "127.0.0.6"
Result = subprocess.CompletedProcess
Script = Callable[..., Result]


def docker(*arguments: str) -> str:
    return subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, check=False
    ).stdout.strip()


@pytest.fixture
def script(tmp_path: Path, public_key: str) -> Iterator[Script]:
    """Run a host script with a name, an address and volumes of its own."""
    with open(tmp_path / "mnist.npz", "wb") as file:
        copy = ["docker", "run", "--rm", "--entrypoint", "cat", IMAGE]
        subprocess.run([*copy, "/opt/workbench/datasets/mnist.npz"], stdout=file, check=True)
    settings = {
        **{"TF29_NAME": NAME, "BIND_ADDRESS": ADDRESS, "DATASETS_DIR": str(tmp_path)},
        "AUTHORIZED_KEYS": public_key,
    }

    def run(name: str, **variables: str | None) -> Result:
        """Run it with these variables; None leaves one out."""
        given = {**os.environ, **settings, **variables}
        return subprocess.run(
            [str(ROOT / "scripts" / name)],
            env={name: value for name, value in given.items() if value is not None},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=600,
            check=False,
        )

    # A run that was killed may have left its container behind.
    remove()
    yield run
    remove()


def remove() -> None:
    docker("rm", "--force", "--volumes", NAME)
    docker("network", "rm", f"{NAME}_default")
    volumes = docker("volume", "ls", "--quiet", "--filter", f"name=^{NAME}_").split()
    docker("volume", "rm", "--force", *volumes)


def line(result: Result, start: str) -> str:
    """The value of one line of the report."""
    found = re.search(rf"^{start} +(.*)$", result.stdout, re.MULTILINE)
    assert found, result
    return found[1]


def test_up_says_how_to_reach_it_and_changes_nothing_twice(script: Script, key: Path) -> None:
    first = script("up")
    assert first.returncode == 0, first
    url = line(first, "Jupyter:")
    assert url.startswith(f"http://{ADDRESS}:8888/lab?token=")
    assert urllib.request.urlopen(url, timeout=10).status == 200
    ssh = line(first, "SSH:").split()
    options = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    login = [*ssh, "-i", str(key), *options, "-F", "/dev/null", "id -un"]
    answer = subprocess.run(login, capture_output=True, text=True, timeout=30, check=False)
    assert answer.stdout == "user\n", answer
    assert "GPU" in first.stdout.splitlines()[-1]

    container = docker("container", "inspect", "--format", "{{.Id}}", NAME)
    start = time.monotonic()
    second = script("up")
    assert time.monotonic() - start < 15
    assert docker("container", "inspect", "--format", "{{.Id}}", NAME) == container
    assert line(second, "Jupyter:") == url
    assert line(second, "Host key:") == line(first, "Host key:")


def test_a_plain_up_keeps_the_settings(script: Script, tmp_path: Path, key: Path) -> None:
    token = tmp_path / "token"
    token.write_text("given-by-file\n")
    keys = key.with_suffix(".pub").read_text() * 2
    first = script("up", AUTHORIZED_KEYS=keys, JUPYTER_TOKEN_FILE=str(token), SSH_ENV_DENY="A B")
    assert first.returncode == 0, first
    container = docker("container", "inspect", "--format", "{{.Id}}", NAME)
    # Neither the settings nor the data have to be given again.
    unset = {"AUTHORIZED_KEYS": None, "BIND_ADDRESS": None, "DATASETS_DIR": None}
    plain = script("up", **unset)
    assert plain.returncode == 0, plain
    kept = "BIND_ADDRESS AUTHORIZED_KEYS SSH_ENV_DENY JUPYTER_TOKEN_FILE"
    assert f"Kept as the container has it: {kept}." in plain.stdout
    assert docker("container", "inspect", "--format", "{{.Id}}", NAME) == container
    # An empty one takes a setting back.
    back = script("up", **{**unset, "SSH_ENV_DENY": ""})
    assert "Replaced the container" in back.stdout
    denied = docker("exec", NAME, "printenv", "SSH_ENV_DENY")
    assert denied == ""


def test_down_keeps_the_volumes(script: Script) -> None:
    first = script("up")
    docker("exec", "--user", "user", NAME, "touch", "/workspace/kept", "/home/user/kept")
    assert script("down").returncode == 0
    assert docker("container", "ls", "--all", "--quiet", "--filter", f"name=^{NAME}$") == ""
    third = script("up")
    assert line(third, "Host key:") == line(first, "Host key:")
    kept = docker("exec", NAME, "ls", "/workspace/kept", "/home/user/kept")
    assert kept.split() == ["/home/user/kept", "/workspace/kept"]
    # Down again, when nothing is there, is no mistake.
    script("down")
    assert script("down").returncode == 0


def test_files_of_this_machine_are_mounted(script: Script, tmp_path: Path, key: Path) -> None:
    token = tmp_path / 'a $token "file"'
    token.write_text("given-by-file\n")
    result = script(
        "up",
        JUPYTER_TOKEN_FILE=str(token),
        AUTHORIZED_KEYS="",
        AUTHORIZED_KEYS_FILE=str(key.with_suffix(".pub")),
    )
    assert result.returncode == 0, result
    # A token that was given is never printed.
    assert "given-by-file" not in result.stdout + result.stderr
    request = urllib.request.Request(
        f"http://{ADDRESS}:8888/api/contents", headers={"Authorization": "token given-by-file"}
    )
    assert urllib.request.urlopen(request, timeout=10).status == 200
    assert line(result, "SSH:") == f"ssh -p 2222 user@{ADDRESS}"


@pytest.mark.parametrize("port", [8888, 2222, 6006])
def test_port_in_use_is_named_before_anything(script: Script, port: int) -> None:
    with socket.create_server((ADDRESS, port)):
        result = script("up")
    assert result.returncode == 2
    (error,) = result.stderr.splitlines()
    assert f"port {port} on {ADDRESS} is in use" in error


def test_name_taken_by_hand_is_left_alone(script: Script) -> None:
    docker("run", "--detach", "--name", NAME, IMAGE, "sleep", "300")
    for name in ("up", "down"):
        result = script(name)
        assert result.returncode == 2
        (error,) = result.stderr.splitlines()
        assert f"docker rm --force {NAME}" in error
    assert docker("container", "inspect", "--format", "{{.State.Running}}", NAME) == "true"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"AUTHORIZED_KEYS": "no key at all"}, ["AUTHORIZED_KEYS line 1", "no key at all"]),
        ({"BIND_ADDRESS": "localhost"}, ["BIND_ADDRESS='localhost'"]),
        ({"JUPYTER_TOKEN": "x", "JUPYTER_TOKEN_FILE": "/etc/hostname"}, ["both set"]),
        ({"AUTHORIZED_KEYS_FILE": "/etc/hostname"}, ["AUTHORIZED_KEYS_FILE=/etc/hostname line 1"]),
        ({"JUPYTER_TOKEN": "two words"}, ["JUPYTER_TOKEN"]),
        ({"SERVICES": "jupiter"}, ["SERVICES='jupiter'"]),
    ],
    ids=["key", "address", "two tokens", "key file", "token", "services"],
)
def test_refused_setting_starts_nothing(script: Script, variables: dict, words: list) -> None:
    result = script("up", **variables)
    assert result.returncode == 2
    (error,) = result.stderr.splitlines()
    assert error.startswith("error: ")
    for word in words:
        assert word in error
    assert docker("container", "ls", "--all", "--quiet", "--filter", f"name={NAME}") == ""
