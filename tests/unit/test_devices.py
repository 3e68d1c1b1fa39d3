"""TensorFlow's side of the hardware: what is warned about, and when threads are set."""

from __future__ import annotations

import pytest
import tensorflow as tf

from workbench import devices
from workbench.hardware import Gpu

BFLOAT16 = ("mixed_bfloat16", "mlp", 2, {})


@pytest.fixture
def threads(monkeypatch):
    """A list of the numbers of threads that were set: within an operation, and of operations."""
    set_to = []
    for name in ("intra", "inter"):
        monkeypatch.setattr(
            tf.config.threading, f"set_{name}_op_parallelism_threads", set_to.append
        )
    return set_to


def test_threads_of_a_small_bfloat16_model_on_two_cores(threads):
    assert devices.set_threads(*BFLOAT16)
    assert threads == [1, 2]


@pytest.mark.parametrize(
    "others",
    [
        ("float32", "mlp", 2, {}),
        ("mixed_bfloat16", "cnn", 2, {}),
        ("mixed_bfloat16", "mlp", 4, {}),
        ("mixed_bfloat16", "mlp", 1, {}),
        ("mixed_bfloat16", "mlp", 2, {"TF_NUM_INTRAOP_THREADS": "2"}),
        ("mixed_bfloat16", "mlp", 2, {"TF_NUM_INTEROP_THREADS": "0"}),
        ("mixed_bfloat16", "mlp", 2, {"OMP_NUM_THREADS": "1"}),
    ],
)
def test_elsewhere_threads_are_tensorflows_choice(threads, others):
    assert not devices.set_threads(*others)
    assert threads == []


def test_threads_stay_once_tensorflow_has_started_them():
    tf.zeros([])
    before = tf.config.threading.get_intra_op_parallelism_threads()
    assert not devices.set_threads(*BFLOAT16)
    assert tf.config.threading.get_intra_op_parallelism_threads() == before


def test_gpus_that_are_not_used_are_told():
    t4, a100 = Gpu("Tesla T4", (7, 5)), Gpu("A100", (8, 0))
    assert devices.unused_gpus_warning([]) == devices.unused_gpus_warning([t4]) == []
    assert devices.unused_gpus_warning([a100, t4, t4]) == [
        "of 3 GPUs one is used, A100: the trainer has no strategy for more"
    ]


def test_a_gpu_that_tensorflow_cannot_use_is_told():
    gpu = Gpu("Tesla T4", (7, 5))
    assert devices.idle_gpus_warning([], [], {}) == []
    assert devices.idle_gpus_warning([gpu], [gpu], {}) == []
    (warning,) = devices.idle_gpus_warning([gpu], [], {})
    assert "NVML sees Tesla T4, but TensorFlow can use no GPU" in warning
    (warning,) = devices.idle_gpus_warning([gpu], [], {"CUDA_VISIBLE_DEVICES": "-1"})
    assert "CUDA_VISIBLE_DEVICES=-1 hides" in warning


@pytest.mark.parametrize("tf32", ["off", "on"])
def test_tf32_is_as_the_flag_says(tf32):
    allowed = tf.config.experimental.tensor_float_32_execution_enabled
    before = allowed()
    try:
        devices.set_tf32(tf32)
        assert allowed() is (tf32 == "on")
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)
