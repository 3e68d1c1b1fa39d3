"""`docker run tf29-workbench audit …`: a model of one's own in a mounted folder."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from conftest import IMAGE, assert_mistake, docker_run

MODEL = """
import tensorflow as tf

def model(input_shape, classes):
    return tf.keras.Sequential([
        tf.keras.layers.Flatten(input_shape=input_shape),
        tf.keras.layers.Dense(17, name="odd"),
        tf.keras.layers.Dense(classes, activation="softmax", name="out"),
    ])
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder of this machine as /workspace, with a model in it."""
    (tmp_path / "mine.py").write_text(MODEL)
    os.chown(tmp_path, 1000, 1000)
    return tmp_path


def audit(workspace: Path, *flags: str):
    return docker_run("-v", f"{workspace}:/workspace", IMAGE, "audit", *flags)


def test_a_model_of_ones_own_on_mnist(workspace: Path) -> None:
    result = audit(
        workspace, "--model=mine.py:model", "--data=mnist", "--batches=2", "--out=/workspace/a"
    )
    assert (result.returncode, result.stderr) == (1, "")
    assert "error: output_softmax_float16 at out" in result.stdout.splitlines()
    assert "warning: size_not_multiple_of_8 at odd" in result.stdout.splitlines()
    said = json.loads((workspace / "a" / "audit.json").read_text())
    assert said["examples"] == 64
    html = (workspace / "a" / "audit.html").read_text()
    assert not re.search(r"""(?:src|srcset|href)=["'](?!data:|#)""", html)


def test_a_clean_model(workspace: Path) -> None:
    result = audit(workspace, "--model=cnn", "--out=/workspace/a")
    assert result.returncode == 0, result.stderr
    assert "cnn is fit for mixed_float16: nothing found" in result.stdout.splitlines()


def test_a_mistake_is_one_line(workspace: Path) -> None:
    before = sorted(workspace.iterdir())
    assert_mistake(audit(workspace), "--model is missing")
    assert sorted(workspace.iterdir()) == before
