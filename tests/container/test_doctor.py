"""`docker run tf29-workbench doctor …`: the machine, a run, and a log."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import IMAGE, assert_mistake, docker_run

CUINIT_LOG = (
    "failed call to cuInit: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility was "
    "attempted on non supported HW\n"
)


def doctor(*arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return docker_run(*options, IMAGE, "doctor", *arguments)


def ids(result: subprocess.CompletedProcess[str]) -> list[str]:
    return [finding["id"] for finding in json.loads(result.stdout)["findings"]]


def test_a_machine_without_a_gpu_is_right_for_its_cpu() -> None:
    result = doctor("--json", options=("-v", "/workspace", "--shm-size=1g"))
    assert (result.returncode, result.stderr) == (0, "")
    said = json.loads(result.stdout)
    assert said["gpus"] == []
    assert said["recommended_policy"] in ("float32", "mixed_bfloat16")
    assert {"id", "level", "symptom", "evidence", "cause", "remedy", "source"} == set(
        said["findings"][0]
    )
    assert ids(result) == ["machine_no_gpu"]


@pytest.mark.parametrize(
    ("options", "finding", "status"),
    [
        ((), "machine_shm_default", 0),
        ((), "machine_workspace_lost", 0),
        (("--memory=900m",), "machine_memory_small", 1),
        (("--memory=2g",), "machine_memory_tight", 0),
        (("--tmpfs=/workspace:size=1m,mode=1777",), "machine_disk_full", 1),
        (("--volume=/etc:/workspace:ro",), "machine_workspace_read_only", 1),
    ],
)
def test_what_the_container_lacks(options: tuple[str, ...], finding: str, status: int) -> None:
    result = doctor("--json", options=options)
    assert finding in ids(result)
    assert result.returncode == status


def test_a_log_from_standard_input() -> None:
    result = subprocess.run(
        ["docker", "run", "--rm", "-i", IMAGE, "doctor", "--log=-"],
        input=CUINIT_LOG, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert "[cuda_compat_on_path]" in result.stdout


def test_a_run_that_train_left(tmp_path: Path) -> None:
    os.chown(tmp_path, 1000, 1000)
    mount = ("-v", f"{tmp_path}:/workspace")
    flags = ("--epochs=1", "--train_samples=512", "--policy=float32", "--out=/workspace/run")
    trained = docker_run(*mount, IMAGE, "train", *flags)
    assert trained.returncode == 0, trained.stderr
    result = doctor("--run=/workspace/run", options=mount)
    assert "state: finished" in result.stdout.splitlines()
    assert result.returncode == 0, result.stdout


def test_tensorflow_computes_here() -> None:
    result = doctor("--deep", "--json")
    assert result.returncode == 0, result.stdout
    operations = json.loads(result.stdout)["trial"]["operations"]
    assert {each["operation"] for each in operations} == {"matmul", "conv2d"}
    assert all(each["right"] for each in operations)


def test_a_mistake_is_one_line() -> None:
    assert_mistake(doctor("--run=/nowhere"), "--run=/nowhere")
