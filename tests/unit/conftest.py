"""The data set, and the trainer run as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / "train.py"
FULL_DATASETS = Path(os.environ.get("WORKBENCH_DATASETS") or ROOT / "datasets")
SMALL_TRAIN, SMALL_TEST = 2048, 500


def train_command(*arguments):
    return [sys.executable, str(TRAIN), *arguments]


def environment(datasets, **more):
    return {**os.environ, "WORKBENCH_DATASETS": str(datasets), **more}


def run_train(*arguments, datasets, cwd=None, **more):
    return subprocess.run(
        train_command(*arguments),
        env=environment(datasets, **more),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def read_json(file):
    """Read JSON; NaN and Infinity, which JSON does not have, fail."""

    def refuse(name):
        raise ValueError(f"{name} in {file}")

    return json.loads(file.read_text(), parse_constant=refuse)


def read_lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(scope="session")
def mnist():
    file = FULL_DATASETS / "mnist.npz"
    if not file.is_file():
        pytest.fail(f"{file} is not there: name its folder by WORKBENCH_DATASETS")
    with np.load(file) as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.fixture(scope="session")
def small_datasets(mnist, tmp_path_factory):
    """A folder with the first images of MNIST, for runs of a second."""
    folder = tmp_path_factory.mktemp("datasets")
    np.savez(
        folder / "mnist.npz",
        x_train=mnist["x_train"][:SMALL_TRAIN],
        y_train=mnist["y_train"][:SMALL_TRAIN],
        x_test=mnist["x_test"][:SMALL_TEST],
        y_test=mnist["y_test"][:SMALL_TEST],
    )
    return folder


@pytest.fixture(scope="session")
def no_tensorflow(tmp_path_factory):
    """A folder for PYTHONPATH in which importing TensorFlow, or asking NVML, ends the program."""
    folder = tmp_path_factory.mktemp("poisoned")
    for name in ("tensorflow", "pynvml"):
        (folder / f"{name}.py").write_text(f"raise SystemExit('{name} was imported')\n")
    return folder
