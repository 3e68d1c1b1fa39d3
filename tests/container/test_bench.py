"""`docker run tf29-workbench bench …`: a short benchmark as a person runs it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from conftest import IMAGE, assert_mistake, docker_run, wait_until

# Short: a second or two of training in each run.
SHORT = ("bench", "--preset=mnist", "--epochs=2", "--train_samples=4096")
RESULT = {
    "model", "arm", "seconds_per_epoch", "images_per_second", "peak_memory_bytes", "accuracy",
}  # fmt: skip
COMPARISON = {
    "model", "baseline", "arm", "speedup", "low", "high", "memory_saved", "verdict",
}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder of this machine as /workspace, for the user of the container."""
    os.chown(tmp_path, 1000, 1000)
    return tmp_path


def bench(workspace: Path, *flags: str):
    return docker_run("-v", f"{workspace}:/workspace", IMAGE, *SHORT, "--out=/workspace/b", *flags)


def read(workspace: Path) -> dict:
    return json.loads((workspace / "b" / "bench.json").read_text())


def without_times(runs: list[dict]) -> list[tuple]:
    return [(run["model"], run["arm"], run["batch_size"], run["seed"]) for run in runs]


def test_the_tutorials_table(workspace: Path) -> None:
    result = bench(workspace, "--repeats=2")
    assert result.returncode == 0, result.stdout + result.stderr
    found = read(workspace)
    assert found["complete"] is True
    assert [set(each) >= RESULT for each in found["results"]] == [True, True]
    assert [each["arm"] for each in found["results"]] == ["float32", "mixed_bfloat16"]
    assert all(each["images_per_second"] > 0 for each in found["results"])
    assert all(0.5 < each["accuracy"] <= 1 for each in found["results"])
    (comparison,) = found["comparisons"]
    assert set(comparison) >= COMPARISON
    assert 0 < comparison["low"] <= comparison["speedup"] <= comparison["high"]
    # The arms took turns.
    assert without_times(found["runs"]) == [
        ("mlp", arm, 128, seed) for seed in (0, 1) for arm in ("float32", "mixed_bfloat16")
    ]
    # The table stands on the terminal, with the verdict and the word about bfloat16.
    assert re.search(r"^float32 +[\d.]+ s +\d+ +\d+ MB +[\d.]+ %", result.stdout, re.MULTILINE)
    assert f"mixed_bfloat16 to float32: {comparison['verdict']}" in result.stdout
    assert "mixed_float16 would take hours" in result.stdout
    # One page with everything in it, and the chart.
    html = (workspace / "b" / "bench.html").read_text()
    assert "bench --preset=mnist" in html
    assert not re.search(r"""(?:src|srcset|href)=["'](?!data:|#)""", html)
    assert (workspace / "b" / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_a_gate_that_is_not_met(workspace: Path) -> None:
    result = bench(workspace, "--repeats=1", "--min_speedup=50")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "50" in result.stderr.strip().splitlines()[-1]
    assert read(workspace)["complete"] is True


def test_stopped_in_the_middle_it_goes_on_with_the_same_command(workspace: Path, start) -> None:
    command = (*SHORT, "--repeats=2", "--out=/workspace/b")
    container = start(*command, volumes=[f"{workspace}:/workspace"])
    json_file = workspace / "b" / "bench.json"

    def one_run_is_finished() -> bool:
        return json_file.is_file() and len(read(workspace)["runs"]) >= 1

    wait_until(one_run_is_finished, 120, "the first run is in bench.json")
    container.container.stop(timeout=30)
    assert container.ended() == 143, container.logs()
    before = read(workspace)
    assert before["complete"] is False
    assert 1 <= len(before["runs"]) < 4
    assert (workspace / "b" / "bench.html").is_file()
    result = bench(workspace, "--repeats=2")
    assert result.returncode == 0, result.stdout + result.stderr
    after = read(workspace)
    assert after["complete"] is True
    assert after["runs"][: len(before["runs"])] == before["runs"]
    assert len(after["runs"]) == 4
    other = bench(workspace, "--repeats=2", "--batch_size=64")
    assert_mistake(other, "/workspace/b", "batch_size")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--repeats=0"], ["--repeats=0"]),
        (["--model=mlp", "--preset=compute"], ["--preset", "--model"]),
        (["--min_speedup=fast"], ["--min_speedup=fast"]),
        (["--batch_sizes=64,x"], ["--batch_sizes=64,x"]),
        (["--policy=float32"], ["--policy"]),
    ],
)
def test_a_mistake_is_one_line(workspace: Path, flags: list[str], words: list[str]) -> None:
    result = docker_run("-v", f"{workspace}:/workspace", IMAGE, "bench", *flags)
    assert_mistake(result, *words)
    assert list(workspace.iterdir()) == []
