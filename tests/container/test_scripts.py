"""The host scripts' own answers: options, mistakes, the choice of the base. No engine needed.

Where a script would ask Docker, a stand-in on the path answers and notes what it was asked.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NO_SUCH_HOST = "Error response from daemon: Get https://registry.invalid/v2/: no such host"
# Settings of whoever runs the tests must not decide them.
VARIABLES = (
    *("INSTALL_ENGINE", "BASE", "DATASETS_DIR", "CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE"),
    *("PYTHON38", "TAG", "NO_CACHE", "SOAK", "BIND_ADDRESS", "SERVICES", "BASE_IMAGE"),
    *("AUTHORIZED_KEYS", "AUTHORIZED_KEYS_FILE", "JUPYTER_TOKEN", "JUPYTER_TOKEN_FILE"),
    *("JUPYTER_PASSWORD_HASH_FILE", "JUPYTER_CERTFILE", "JUPYTER_KEYFILE"),
)

# Answers like an engine that holds no official image; $CALLS gets every question.
DOCKER = """#!/bin/sh
printf '%s\\n' "$*" >>"$CALLS"
case "$*" in
  "version"*) printf '%s\\n' "$ENGINE"; exit "$ENGINE_STATUS" ;;
  "buildx version" | "compose version"*) exit "$PLUGIN_STATUS" ;;
  "pull "*) echo "$PULL"; exit 1 ;;
  *"--format {{.Id}} tf29-base:"*) echo sha256:0 ;;
  "image inspect tensorflow"* | "container inspect"*) exit 1 ;;
  "context show") echo default ;;
  "info"*Runtimes*) echo "runc $RUNTIMES" ;;
  "info"*CDI*) echo /etc/cdi ;;
esac
"""


class Host:
    """A machine as the scripts see it: a stand-in for Docker, a root with or without a GPU."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.calls_file = folder / "calls"
        self.data = folder / "data"
        self.data.mkdir()
        (self.data / "mnist.npz").touch()
        (self.root / "dev").mkdir(parents=True)
        self.calls_file.touch()
        program = folder / "bin" / "docker"
        program.parent.mkdir()
        program.write_text(DOCKER)
        program.chmod(0o755)
        self.environment = {k: v for k, v in os.environ.items() if k not in VARIABLES}
        self.environment.update(
            PATH=f"{program.parent}:{os.environ['PATH']}",
            HOME=str(folder),
            CALLS=str(self.calls_file),
            TF29_HOST_ROOT=str(self.root),
            TF29_NAME="tf29-test-scripts",
            ENGINE="26.1.5",
            ENGINE_STATUS="0",
            PLUGIN_STATUS="0",
            PULL=NO_SUCH_HOST,
            RUNTIMES="",
        )

    def run(
        self, script: str, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ROOT / "scripts" / script), *arguments],
            cwd=self.root.parent,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )

    def calls(self) -> str:
        return self.calls_file.read_text()

    def add_gpu(self, device: str = "dev/nvidia0") -> None:
        path = self.root / device
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def assert_one_line(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """One line on stderr with these words, status 2."""
    assert result.returncode == 2, result
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: "), lines
    for word in words:
        assert word in lines[0], lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param("up --fast", "'--fast'", id="unknown option"),
        pytest.param("up now", "'now'", id="argument"),
        pytest.param("up -x", "'-x'", id="short option"),
        pytest.param("up --tag=x", "'--tag=x'", id="option of another script"),
        pytest.param("down --base=registry", "'--base=registry'", id="down takes none"),
        pytest.param("lock --soak", "'--soak'", id="lock has no soak"),
        pytest.param("up --base", "--base needs a value", id="no value at the end"),
        pytest.param("up --base=", "--base needs a value", id="empty value"),
        pytest.param("up --datasets --base=registry", "--datasets needs a value", id="no value"),
        pytest.param(
            "up --install-engine=no", "--install-engine takes no value", id="flag with value"
        ),
        pytest.param("up --base=debian", "'debian'", id="unknown base"),
        pytest.param("up --base debian", "'debian'", id="unknown base, two words"),
        pytest.param("build --datasets=/nowhere", "'/nowhere'", id="no such folder"),
        pytest.param("build --datasets=.", "no mnist.npz in '.'", id="folder without the data"),
        pytest.param("test --ca=/nowhere", "'/nowhere'", id="no such certificate"),
        pytest.param("test --python38=/nowhere", "'/nowhere'", id="no such Python"),
        pytest.param("test --soak=0", "'0'", id="no repetition"),
        pytest.param("test --soak=many", "'many'", id="count in words"),
    ],
)
def test_option_mistake_is_one_line_before_anything(host: Host, arguments: str, words: str) -> None:
    result = host.run(*arguments.split())
    assert_one_line(result, words)
    assert result.stdout == ""
    assert host.calls() == ""


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("BASE", "debian", "'debian'"),
        ("DATASETS_DIR", "/nowhere", "DATASETS_DIR"),
        ("CA_BUNDLE", "/nowhere", "CA_BUNDLE"),
        ("PIP_CERT", "/nowhere", "PIP_CERT"),
        ("SSL_CERT_FILE", "/nowhere", "SSL_CERT_FILE"),
        ("PYTHON38", "/nowhere", "PYTHON38"),
        ("INSTALL_ENGINE", "perhaps", "INSTALL_ENGINE"),
        ("AUTHORIZED_KEYS_FILE", "/nowhere", "AUTHORIZED_KEYS_FILE"),
        ("JUPYTER_TOKEN_FILE", "/", "JUPYTER_TOKEN_FILE"),
        ("JUPYTER_PASSWORD_HASH_FILE", "/nowhere", "JUPYTER_PASSWORD_HASH_FILE"),
        ("JUPYTER_CERTFILE", "/nowhere", "JUPYTER_CERTFILE"),
        ("JUPYTER_KEYFILE", "/nowhere", "JUPYTER_KEYFILE"),
    ],
)
def test_variable_mistake_is_one_line_before_anything(
    host: Host, variable: str, value: str, words: str
) -> None:
    result = host.run("up", **{variable: value})
    assert_one_line(result, words, variable)
    assert host.calls() == ""


def test_option_wins_over_variable(host: Host) -> None:
    result = host.run("up", f"--datasets={host.data}", "--base=nothing", DATASETS_DIR="/nowhere")
    assert_one_line(result, "'nothing'")


@pytest.mark.parametrize("script", ["up", "down", "build", "test", "lock"])
def test_help_says_what_it_does(host: Host, script: str) -> None:
    result = host.run(script, "--help")
    assert result.returncode == 0
    assert result.stderr == ""
    assert result.stdout.startswith(f"Usage: scripts/{script}")
    assert host.calls() == ""


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        pytest.param(
            {"ENGINE": "Cannot connect to the Docker daemon", "ENGINE_STATUS": "1"},
            ("does not run", "--install-engine"),
            id="stopped",
        ),
        pytest.param(
            {"ENGINE": "permission denied while trying to connect", "ENGINE_STATUS": "1"},
            ("may not use", "usermod -aG docker"),
            id="not allowed",
        ),
        pytest.param({"ENGINE": "20.10.24"}, ("20.10.24", "too old"), id="old"),
        pytest.param({"PLUGIN_STATUS": "1"}, ("buildx", "--install-engine"), id="no plugin"),
    ],
)
@pytest.mark.parametrize("script", ["up", "build", "test", "down"])
def test_unusable_engine_is_one_line(
    host: Host, script: str, engine: dict[str, str], words: tuple[str, ...]
) -> None:
    assert_one_line(host.run(script, **engine), *words)


@pytest.mark.parametrize("device", ["dev/nvidia0", "dev/nvidiactl", "proc/driver/nvidia/version"])
def test_gpu_and_no_registry_is_refused_with_both_ways_out(host: Host, device: str) -> None:
    host.add_gpu(device)
    result = host.run("up", f"--datasets={host.data}")
    assert_one_line(
        result, "GPU", "no such host", "make the registry reachable", "--base compatible"
    )
    assert "build" not in host.calls().replace("buildx version", "")


def test_registry_asked_for_and_not_there_is_refused(host: Host) -> None:
    result = host.run("build", "--base=registry")
    assert_one_line(result, "--base registry", "no such host", "--base compatible")


@pytest.mark.parametrize(
    ("gpu", "arguments", "kind"),
    [
        pytest.param(False, (), "cudart", id="no registry"),
        pytest.param(False, ("--base", "compatible"), "cudart", id="asked for"),
        pytest.param(True, ("--base", "compatible"), "full", id="asked for where a GPU is"),
    ],
)
def test_compatible_base_fits_the_machine(
    host: Host, gpu: bool, arguments: tuple[str, ...], kind: str
) -> None:
    if gpu:
        host.add_gpu()
    result = host.run("build", f"--datasets={host.data}", "--tag=tf29-test", *arguments)
    assert result.returncode == 0, result
    assert f"--tag tf29-test --build-arg BASE_IMAGE=tf29-base:{kind}" in host.calls()
    assert ("cannot use a GPU" in result.stdout) == (kind == "cudart")
    assert ("The registry does not give it" in result.stdout) == (not arguments)


@pytest.mark.parametrize(
    ("gpu", "runtime", "cdi", "expected"),
    [
        pytest.param(True, "nvidia", False, "nvidia", id="toolkit"),
        pytest.param(True, "", True, "cdi", id="CDI alone"),
        pytest.param(True, "", False, "warned", id="no toolkit"),
        pytest.param(False, "nvidia", True, "none", id="toolkit without a GPU"),
    ],
)
def test_gpus_are_handed_on_where_docker_can(
    host: Host, gpu: bool, runtime: str, cdi: bool, expected: str
) -> None:
    if gpu:
        host.add_gpu()
    if cdi:
        host.add_gpu("etc/cdi/nvidia.yaml")
        (host.root / "etc/cdi/nvidia.yaml").write_text("kind: nvidia.com/gpu\n")
    arguments = (f"--datasets={host.data}", "--base=compatible")
    # The stand-in starts nothing, so the script says in the end that nothing runs.
    result = host.run("up", *arguments, RUNTIMES=runtime, BIND_ADDRESS="127.0.0.8")
    compose = next(line for line in host.calls().splitlines() if " up --detach" in line)
    override = json.loads((ROOT / ".cache/compose/tf29-test-scripts.json").read_text())
    assert ("compose.gpu.yaml" in compose) == (expected == "nvidia")
    assert ("deploy" in override["services"]["workbench"]) == (expected == "cdi")
    assert ("NVIDIA Container Toolkit" in result.stderr) == (expected == "warned")


def test_certificates_reach_the_build_as_a_secret(host: Host) -> None:
    bundle = host.root / "ca.pem"
    bundle.touch()
    host.run("build", f"--datasets={host.data}", "--no-cache", PIP_CERT=str(bundle))
    build = next(line for line in host.calls().splitlines() if line.startswith("buildx build"))
    assert f"--secret id=ca,src={bundle}" in build
    assert "--no-cache" in build


def test_key_of_the_caller_is_said(host: Host) -> None:
    (host.root.parent / ".ssh").mkdir()
    (host.root.parent / ".ssh" / "id_ed25519.pub").write_text("ssh-ed25519 AAAA me\n")
    result = host.run("up")
    assert "SSH lets in the owner of" in result.stdout
    assert "id_ed25519.pub" in result.stdout


def test_no_key_is_said_with_the_remedy(host: Host) -> None:
    result = host.run("up")
    assert "without one sshd stays off. Give one: AUTHORIZED_KEYS=" in result.stdout
