"""Killed at random steps and run again, a training ends as one that was not killed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from conftest import IMAGE, docker_run, wait_until

KILLS = 3  # in a round; `scripts/test --soak 7` makes more than twenty
STEPS = 4 * 256
# The cnn has dropout.
FLAGS = (
    "train", "--model=cnn", "--train_samples=4096", "--batch_size=16", "--epochs=4",
    "--log_steps=5", "--checkpoint_steps=20", "--deterministic",
)  # fmt: skip
COMPARE = """
import numpy as np, tensorflow as tf
one, other = (tf.train.load_checkpoint(f"/workspace/{name}/checkpoints")
              for name in ("straight", "killed"))
names = [name for name in one.get_variable_to_shape_map()
         if "progress" not in name and "save_counter" not in name]
assert sum("OPTIMIZER_SLOT" in name for name in names) > 8, names
for name in names:
    np.testing.assert_array_equal(one.get_tensor(name), other.get_tensor(name), err_msg=name)
"""


def last_step(out: Path) -> int:
    """Return the last step that the metrics of the run in ``out`` tell of."""
    metrics = out / "metrics.jsonl"
    # The last line may be half written.
    lines = metrics.read_text().split("\n")[:-1] if metrics.exists() else []
    return json.loads(lines[-1])["step"] if lines else 0


@pytest.mark.soak
def test_killed_at_random_steps(start, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    volumes = {str(tmp_path): {"bind": "/workspace"}}
    straight = docker_run(
        "-v", f"{tmp_path}:/workspace", IMAGE, *FLAGS, "--out=/workspace/straight"
    )
    assert straight.returncode == 0, straight.stderr
    seed = random.randrange(10**6)
    print(f"seed of the kills: {seed}")  # Shown when the test fails.
    draw = random.Random(seed)
    out = tmp_path / "killed"
    for step in sorted(draw.randrange(1, STEPS - 100) for _ in range(KILLS)):
        workbench = start(*FLAGS, "--out=/workspace/killed", volumes=volumes)
        wait_until(lambda step=step: last_step(out) >= step, 120, f"step {step}")
        workbench.container.kill()
        assert workbench.ended() == 137
    result = docker_run("-v", f"{tmp_path}:/workspace", IMAGE, *FLAGS, "--out=/workspace/killed")
    assert (result.returncode, result.stderr) == (0, straight.stderr)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["applied_steps"] == STEPS
    assert summary["resumed_from_step"] > 0
    steps = [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(set(steps))
    same = docker_run("-v", f"{tmp_path}:/workspace", IMAGE, "python", "-c", COMPARE)
    assert same.returncode == 0, same.stderr
