"""TensorFlow's side of the hardware: how it is loaded, and which GPUs it can use."""

from __future__ import annotations

import logging
import os
import warnings
from typing import Any, Mapping, Sequence

import tensorflow as tf
from absl import logging as absl_logging

from workbench.hardware import NOTED_CPU_FEATURES, Cpu, Gpu
from workbench.policy import onednn_enabled


def quiet() -> None:
    """Leave only errors of TensorFlow's own Python log, unless its log is asked for."""
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") not in ("0", "1"):
        tf.get_logger().setLevel(logging.ERROR)
        tf.autograph.set_verbosity(0)
        absl_logging.set_verbosity(absl_logging.ERROR)
        # A constant beyond float16 is told by the step that overflows, not by NumPy.
        warnings.filterwarnings("ignore", category=RuntimeWarning)


def gpus_in_use() -> list[Gpu]:
    """Return the GPUs that TensorFlow can use, by name and compute capability."""
    gpus = []
    for device in tf.config.list_physical_devices("GPU"):
        details = tf.config.experimental.get_device_details(device)
        gpus.append(Gpu(details["device_name"], details["compute_capability"]))
    return gpus


def idle_gpus_warning(
    seen: Sequence[Gpu], in_use: Sequence[Gpu], environ: Mapping[str, str]
) -> list[str]:
    """Return a warning when NVML sees GPUs and TensorFlow can use none of them."""
    if in_use or not seen:
        return []
    names = ", ".join(gpu.name for gpu in seen)
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        why = f"CUDA_VISIBLE_DEVICES={visible} hides them"
    else:
        why = "the CUDA libraries are missing or do not load; TF_CPP_MIN_LOG_LEVEL=0 names them"
    return [f"NVML sees {names}, but TensorFlow can use no GPU ({why}): training on the CPU"]


def set_threads(policy: str, model: str, cores: int, environ: Mapping[str, str]) -> bool:
    """Give the operations of a small bfloat16 model one thread each on two cores.

    The multiplications of the mlp are so short with AMX that splitting them costs more than it
    gains; two that run side by side gain (docs/decisions.md). Returns whether it was done:
    not where the user has set threads, nor after TensorFlow has started them.
    """
    asked = {"TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"} & set(environ)
    if policy != "mixed_bfloat16" or model != "mlp" or cores != 2 or asked:
        return False
    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(2)
    except RuntimeError:
        return False
    return True


def bits(cpu: Cpu, gpus: Sequence[Gpu], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the last bits of a result depend on, beside the flags."""
    return {
        "tensorflow": tf.__version__,
        "cpu": cpu.name,
        "cpu_features": sorted(cpu.features & set(NOTED_CPU_FEATURES)),
        "cores": cpu.cores,
        "gpus": [gpu.name for gpu in gpus],
        "onednn": onednn_enabled(environ),
    }


def unused_gpus_warning(gpus: Sequence[Gpu]) -> list[str]:
    """Return a warning when there are more GPUs than the trainer uses, one."""
    if len(gpus) < 2:
        return []
    return [
        f"of {len(gpus)} GPUs one is used, {gpus[0].name}: the trainer has no strategy for more"
    ]


def set_policy(policy: str) -> None:
    """Set the global precision policy. A model that is built already keeps its own."""
    tf.keras.mixed_precision.set_global_policy(policy)


def set_tf32(tf32: str) -> None:
    """Allow TF32 ("on"), TensorFlow's own default, or have float32 computed in full ("off")."""
    tf.config.experimental.enable_tensor_float_32_execution(tf32 == "on")


def set_seed(seed: int, deterministic: bool) -> None:
    """Seed all generators: the initial weights of a model that is built next follow from it.

    With ``deterministic`` every operation gives the same bits each time, or refuses.
    """
    tf.keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()
