"""`docker run IMAGE …`: what is run, as whom, and with which status."""

from __future__ import annotations

import json

import pytest

from conftest import IMAGE, docker_run


def test_python_prints_and_nothing_else() -> None:
    result = docker_run(IMAGE, "python", "-c", "print(1)")
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-command"], 127),
        (["/etc/passwd"], 126),
    ],
)
def test_status_is_the_commands_own(command: list[str], status: int) -> None:
    assert docker_run(IMAGE, *command).returncode == status


def test_commands_run_as_user_with_the_images_environment() -> None:
    script = (
        "import json, os; print(json.dumps({'uid': os.getuid(), 'gid': os.getgid(),"
        " 'groups': os.getgroups(), 'cwd': os.getcwd(), 'env': dict(os.environ)}))"
    )
    seen = json.loads(docker_run("-e", "GIVEN=a b", IMAGE, "python", "-c", script).stdout)
    assert (seen["uid"], seen["gid"], seen["groups"]) == (1000, 1000, [1000])
    assert seen["cwd"] == "/workspace"
    expected = {
        "HOME": "/home/user",
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/bash",
        "GIVEN": "a b",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "CUDA_CACHE_PATH": "/var/cache/cuda",
        "CUDA_CACHE_MAXSIZE": "2147483648",
    }
    assert {name: seen["env"].get(name) for name in expected} == expected
    assert "/usr/local/cuda/lib64" in seen["env"]["LD_LIBRARY_PATH"]
    assert not seen["env"].get("DEBIAN_FRONTEND")


# Names that a shell would drop, keep for itself, or take for its own variables.
AWKWARD = {
    **{"UID": "5", "EUID": "5", "PPID": "5", "RANDOM": "5", "IFS": ",", "OPTIND": "9"},
    **{"home": "/data", "pair": "x", "odd": "/bin/ls", "name": "ann", "log": "l", "services": "s"},
    **{"SHELLOPTS": "xtrace", "BASH_ENV": "/none", "POSIXLY_CORRECT": "1", "my.name": "dotted"},
}


def test_every_variable_arrives(start) -> None:
    given = [text for name, value in AWKWARD.items() for text in ("-e", f"{name}={value}")]
    output = docker_run(*given, IMAGE, "env", "-0").stdout
    seen = dict(pair.split("=", 1) for pair in output.split("\0") if pair)
    assert {name: seen.get(name) for name in AWKWARD} == AWKWARD


def test_a_path_of_the_users_own() -> None:
    result = docker_run("-e", "PATH=/usr/bin", IMAGE, "printenv", "PATH")
    assert (result.returncode, result.stdout) == (0, "/usr/bin\n")


def test_puid_takes_the_cuda_cache_along() -> None:
    command = ["sh", "-c", "touch $CUDA_CACHE_PATH/here && stat -c %u:%g $CUDA_CACHE_PATH"]
    result = docker_run("-e", "PUID=1234", "-e", "PGID=4321", IMAGE, *command)
    assert (result.returncode, result.stdout) == (0, "1234:4321\n")


def test_another_user_gets_cudas_own_default_for_the_cache() -> None:
    result = docker_run("--user", "1234", IMAGE, "printenv", "CUDA_CACHE_PATH")
    assert (result.returncode, result.stdout) == (1, "")


def test_nothing_is_no_command() -> None:
    result = docker_run(IMAGE, "")
    assert (result.returncode, result.stderr) == (
        127,
        "error: '' cannot be run: No such file or directory\n",
    )


def test_another_user_stays_that_user() -> None:
    result = docker_run("--user", "1234:1234", IMAGE, "sh", "-c", "id -u; id -g; touch $HOME/x")
    assert (result.returncode, result.stdout) == (0, "1234\n1234\n")


def test_puid_and_pgid_change_the_user() -> None:
    command = ["sh", "-c", "id -u; id -g; touch /workspace/x ~/y && stat -c %u:%g /workspace/x"]
    result = docker_run("-e", "PUID=1234", "-e", "PGID=4321", IMAGE, *command)
    assert (result.returncode, result.stdout) == (0, "1234\n4321\n1234:4321\n")


@pytest.mark.parametrize("command", [["train", "--help"], ["--help"]])
def test_flags_alone_are_the_trainer(command: list[str]) -> None:
    result = docker_run(IMAGE, *command)
    assert result.returncode == 0
    assert "--policy" in result.stdout


def test_stop_reaches_a_command(start) -> None:
    command = "import signal, sys; print('up', flush=True); signal.pause()"
    workbench = start("python", "-c", command)
    next(workbench.container.logs(stream=True))
    workbench.container.stop()
    assert workbench.ended() == 143
