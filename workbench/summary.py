"""What a run leaves in config.json and summary.json."""

from __future__ import annotations

import platform
import resource
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from workbench import hardware
from workbench.models import describe_optimizer, describe_precision
from workbench.policy import Choice
from workbench.step import TrainingStep
from workbench.training import Progress


def config(
    flags: dict[str, Any],
    choice: Choice,
    nvml: hardware.NvmlReport,
    cpu: hardware.Cpu,
    gpus_in_use: list[hardware.Gpu],
    step: TrainingStep,
) -> dict[str, Any]:
    """Return the content of config.json: what was asked for, and what it was run with."""
    build = tf.sysconfig.get_build_info()
    return {
        "flags": flags,
        "policy": choice.policy,
        "policy_reason": choice.reason,
        "model": {"name": step.model.name, "weights": step.model.count_params()},
        "layers": describe_precision(step.model),
        "optimizer": describe_optimizer(step.optimizer),
        "versions": {
            "python": platform.python_version(),
            "tensorflow": tf.__version__,
            "keras": tf.keras.__version__,
            "numpy": np.__version__,
            "cuda": build.get("cuda_version"),
            "cudnn": build.get("cudnn_version"),
        },
        "hardware": {
            "gpus": [gpu._asdict() for gpu in nvml.gpus],
            "gpus_in_use": [gpu._asdict() for gpu in gpus_in_use],
            "driver": nvml.driver,
            "nvml_error": nvml.error,
            "cpu": {
                "name": cpu.name,
                "cores": cpu.cores,
                "features": [name for name in hardware.NOTED_CPU_FEATURES if name in cpu.features],
            },
            "memory_bytes": hardware.memory_bytes(),
        },
    }


def summary(
    policy: str, progress: Progress, step: TrainingStep, stopped_because: str
) -> dict[str, Any]:
    """Return the content of summary.json: how the run went, up to now."""
    return {
        "policy": policy,
        "epochs": len(progress.seconds_per_epoch),
        "applied_steps": step.applied_steps.numpy().item(),
        "skipped_steps": step.skipped_steps.numpy().item(),
        "resumed_from_step": None,
        "seconds_per_epoch": progress.seconds_per_epoch,
        "images_per_second": images_per_second(progress),
        "input": "device",
        "input_wait_share": input_wait_share(progress),
        "peak_memory_bytes": peak_memory_bytes(),
        "train_loss": progress.train_loss,
        "train_accuracy": progress.train_accuracy,
        "val_loss": progress.val_loss,
        "val_accuracy": progress.val_accuracy,
        "stopped_because": stopped_because,
    }


def images_per_second(progress: Progress) -> float | None:
    """Return the training images of all whole epochs but the first over their wall time.

    Validation is included in the time. With one epoch it is that epoch's, with none None.
    """
    first = 1 if len(progress.seconds_per_epoch) > 1 else 0
    seconds = sum(progress.seconds_per_epoch[first:])
    return sum(progress.images_per_epoch[first:]) / seconds if seconds else None


def input_wait_share(progress: Progress) -> float:
    """Return the share of the epochs' wall time in which the loop had to wait for its input.

    With the data on the device that is the time to make the order and bring it there.
    """
    seconds = sum(progress.seconds_per_epoch)
    return progress.input_seconds / seconds if seconds else 0.0


def peak_memory_bytes() -> int:
    """Return the peak of the GPU's allocator, or on a CPU that of the resident memory."""
    if tf.config.list_logical_devices("GPU"):
        return tf.config.experimental.get_memory_info("GPU:0")["peak"]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def report(summary: dict[str, Any], folder: Path) -> str:
    """Return the end of a run in words, for the terminal."""

    def value(name: str, form: str) -> str:
        return "unknown" if summary[name] is None else format(summary[name], form)

    return "\n".join(
        [
            f"policy: {summary['policy']}",
            f"training: loss {value('train_loss', '.4f')}, "
            f"accuracy {value('train_accuracy', '.4f')}",
            f"validation: loss {value('val_loss', '.4f')}, accuracy {value('val_accuracy', '.4f')}",
            f"steps: {summary['applied_steps']} applied, {summary['skipped_steps']} skipped",
            f"speed: {value('images_per_second', '.0f')} images/s",
            f"stopped: {summary['stopped_because']}",
            f"files: {folder}",
        ]
    )
