"""`train` on what people bring: their data, their model, their folders, their disks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from conftest import IMAGE, assert_mistake, docker_run, wait_until

# Three classes of PNG and JPEG files of several sizes, one of them cut short; arrays; a model.
MAKE = """
import numpy as np
from pathlib import Path
from PIL import Image
random = np.random.default_rng(0)
for label, name in enumerate(("cat", "dog", "owl")):
    folder = Path("photos") / name
    folder.mkdir(parents=True)
    for number in range(20):
        pixels = random.integers(0, 80, (12 + number % 3, 12, 3)) + 85 * label
        Image.fromarray(pixels.astype("uint8")).save(folder / f"{number:02}.{'png' if number % 2 else 'jpg'}")
broken = Path("photos/dog/04.jpg")
broken.write_bytes(broken.read_bytes()[:300])
labels = random.integers(0, 3, 600)
images = random.normal(size=(600, 20)).astype("float32") + labels[:, None]
np.savez("arrays.npz", x_train=images[:500], y_train=labels[:500], x_test=images[500:], y_test=labels[500:])
Path("mine.py").write_text('''
import tensorflow as tf
def build(input_shape, classes):
    return tf.keras.Sequential([
        tf.keras.layers.Input(input_shape),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dropout(0.1),
        tf.keras.layers.Dense(classes, activation="softmax", dtype="float32"),
    ])
''')
"""  # noqa: E501
OUT = "--out=/workspace/r"


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this machine with what ``MAKE`` makes, for the user of the container."""
    folder = tmp_path_factory.mktemp("brought")
    folder.chmod(0o777)
    made = docker_run("-v", f"{folder}:/workspace", IMAGE, "python", "-c", MAKE)
    assert made.returncode == 0, made.stderr
    return folder


def train(folder: Path, *flags: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    mount = ("-v", f"{folder}:/data:ro", "-w", "/data", *options)
    return docker_run(*mount, IMAGE, "train", *flags)


def test_own_arrays_and_own_model_by_path(brought: Path) -> None:
    show = "train --data=arrays.npz --model=mine.py:build --out=/tmp/r && cat /tmp/r/*.json"
    result = docker_run("-v", f"{brought}:/data:ro", "-w", "/data", IMAGE, "bash", "-c", show)
    assert result.returncode == 0, result.stderr
    assert '"train_examples": 500' in result.stdout
    assert '"applied_steps": 20' in result.stdout


def test_a_broken_image_is_named(brought: Path) -> None:
    result = train(brought, "--data=photos", OUT)
    assert_mistake(result, "photos/dog/04.jpg", "--skip_broken")


def test_a_broken_image_is_skipped_on_demand(brought: Path) -> None:
    result = train(
        brought, "--data=photos", "--skip_broken", "--batch_size=8", "--model=cnn", "--out=/tmp/r"
    )
    assert result.returncode == 0, result.stderr
    assert "04.jpg" in result.stdout + result.stderr


def test_a_folder_that_docker_makes_can_be_written(tmp_path: Path) -> None:
    mount = f"{tmp_path}/new:/workspace"
    result = docker_run("-v", mount, IMAGE, "train", "--train_samples=256", "--epochs=1")
    assert result.returncode == 0, result.stderr
    (out,) = (tmp_path / "new" / "runs").iterdir()
    assert (out / "summary.json").exists()


def test_a_read_only_file_system_is_named() -> None:
    flags = ("--read-only", "--tmpfs", "/tmp", IMAGE, "train")
    assert_mistake(docker_run(*flags), "/workspace", "read-only file system")


def test_a_read_only_output_folder_is_a_mistake(brought: Path) -> None:
    assert_mistake(train(brought, "--out=/data/r"), "/data/r")


def test_a_full_disk_ends_with_a_verdict(brought: Path) -> None:
    # The first checkpoint of the MLP has 7 MB.
    options = ("--tmpfs", "/small:size=3m,mode=1777")
    result = train(brought, "--train_samples=2048", "--epochs=1", "--out=/small/r", options=options)
    assert result.returncode == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("failed: ")]
    assert "the disk is full" in line
    assert "--out" in line


def test_killed_and_run_again(start, tmp_path: Path) -> None:
    """The same command goes on in the same folder, and ends with the same steps."""
    tmp_path.chmod(0o777)
    flags = ("--epochs=4", "--train_samples=20000", "--checkpoint_steps=50", "--log_steps=10", OUT)
    metrics = tmp_path / "r" / "metrics.jsonl"
    workbench = start("train", *flags, volumes={str(tmp_path): {"bind": "/workspace"}})
    wait_until(lambda: metrics.exists() and metrics.read_text().count("\n") >= 25, 60, "step 250")
    workbench.container.kill()
    assert workbench.ended() == 137
    result = docker_run("-v", f"{tmp_path}:/workspace", IMAGE, "train", *flags)
    assert result.returncode == 0, result.stderr
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["applied_steps"] == 4 * 157
    assert summary["resumed_from_step"] >= 157
    assert len(list((tmp_path / "r" / "checkpoints").glob("ckpt-*.index"))) == 3
    steps = [json.loads(line)["step"] for line in metrics.read_text().splitlines()]
    assert steps == sorted(set(steps))
    assert steps[-1] == 4 * 157
