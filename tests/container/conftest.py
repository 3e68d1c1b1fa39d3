"""The image under test in real containers, each removed when its test ends."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

ROOT = Path(__file__).resolve().parents[2]
IMAGE = os.environ.get("WORKBENCH_IMAGE", "tf29-workbench")
READY_S = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--soak", action="store", type=int, default=0, metavar="N", help="repeat N times"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "soak: repeated by --soak N")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked as soak N times under ``--soak N``, and once without it."""
    if metafunc.definition.get_closest_marker("soak"):
        metafunc.fixturenames.append("soak_round")
        rounds = range(metafunc.config.getoption("--soak") or 1)
        metafunc.parametrize("soak_round", rounds, ids=lambda n: f"round {n + 1}")


def wait_until(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    """Return the condition's first true value; fail with ``what`` after ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)  # between two looks at the condition


class Workbench:
    """One running container, as a user meets it."""

    def __init__(self, container: Container, key: Path) -> None:
        self.container = container
        self.key = key

    def port(self, inside: int) -> int:
        self.container.reload()
        return int(self.container.ports[f"{inside}/tcp"][0]["HostPort"])

    def logs(self) -> str:
        return self.container.logs().decode()

    def run(self, *command: str, user: str = "user") -> tuple[int, str]:
        """Run a command as ``docker exec`` does; return its status and its output."""
        result = self.container.exec_run(list(command), user=user)
        return result.exit_code, result.output.decode()

    def healthy(self) -> bool:
        # As Docker runs it: as whoever the container was started.
        return self.run("healthcheck", user="")[0] == 0

    def wait_ready(self) -> Workbench:
        def look() -> bool:
            self.container.reload()
            assert self.container.status == "running", self.logs()
            return self.healthy()

        wait_until(look, READY_S, "every service answers")
        return self

    def ended(self, seconds: int = 30) -> int:
        """Wait until the container has ended; return its status."""
        return self.container.wait(timeout=seconds)["StatusCode"]

    def ssh_command(self, *options: str, user: str = "user") -> list[str]:
        return [
            "ssh",
            *("-p", str(self.port(2222)), "-i", str(self.key), "-o", "IdentitiesOnly=yes"),
            *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
            *("-o", "LogLevel=ERROR", "-o", "ConnectTimeout=10", "-F", "/dev/null"),
            *options,
            f"{user}@127.0.0.1",
        ]

    def ssh(self, command: str, *options: str, user: str = "user") -> subprocess.CompletedProcess:
        return subprocess.run(
            [*self.ssh_command(*options, user=user), command],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="session")
def engine() -> docker.DockerClient:
    return docker.from_env(timeout=600)


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key pair; the public half lies beside it as ``.pub``."""
    path = tmp_path_factory.mktemp("ssh") / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@pytest.fixture(scope="session")
def public_key(key: Path) -> str:
    return key.with_suffix(".pub").read_text().strip()


def _start(engine: docker.DockerClient, key: Path, *command: str, **settings: Any) -> Workbench:
    settings.setdefault(
        "ports", {f"{port}/tcp": ("127.0.0.1", None) for port in (8888, 2222, 6006)}
    )
    container = engine.containers.run(IMAGE, list(command) or None, detach=True, **settings)
    return Workbench(container, key)


@pytest.fixture
def start(engine: docker.DockerClient, key: Path) -> Iterator[Callable[..., Workbench]]:
    """Start containers; every one is removed with its anonymous volumes afterwards."""
    started: list[Workbench] = []

    def starter(*command: str, **settings: Any) -> Workbench:
        started.append(_start(engine, key, *command, **settings))
        return started[-1]

    yield starter
    for workbench in started:
        workbench.container.remove(force=True, v=True)


@pytest.fixture(scope="module")
def workstation(engine: docker.DockerClient, key: Path, public_key: str) -> Iterator[Workbench]:
    """A serving container that the tests of a module share; they leave it as it was."""
    workbench = _start(engine, key, environment={"AUTHORIZED_KEYS": public_key})
    yield workbench.wait_ready()
    workbench.container.remove(force=True, v=True)


def docker_run(*arguments: str, timeout: int = 600) -> subprocess.CompletedProcess[str]:
    """``docker run --rm`` with the real client: its status and both outputs."""
    return subprocess.run(
        ["docker", "run", "--rm", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
        check=False,
    )


def assert_mistake(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """A person's mistake: one line on stderr with these words, status 2, nothing else said."""
    lines = result.stderr.strip().splitlines()
    assert result.returncode == 2, result
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: "), lines
    assert result.stdout == ""
    for word in words:
        assert word in lines[0], lines
