"""What a run leaves in config.json and summary.json."""

from __future__ import annotations

import platform
import resource
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from workbench import hardware
from workbench.assembly import Parts
from workbench.policy import Choice
from workbench.precision import describe_optimizer, describe_precision
from workbench.progress import Progress


def config(
    flags: dict[str, Any],
    choice: Choice,
    nvml: hardware.NvmlReport,
    cpu: hardware.Cpu,
    gpus_in_use: list[hardware.Gpu],
    bits: dict[str, Any],
    parts: Parts,
) -> dict[str, Any]:
    """Return the content of config.json: what was asked for, and what it was run with."""
    build = tf.sysconfig.get_build_info()
    model, objective = parts.model, parts.objective
    return {
        "flags": flags,
        "policy": choice.policy,
        "policy_reason": choice.reason,
        "data": parts.data,
        "bits": bits,
        "model": {
            "name": model.name,
            "weights": model.count_params(),
            "output": objective.kind,
        },
        "layers": describe_precision(model),
        "optimizer": describe_optimizer(parts.step.optimizer),
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
    policy: str,
    parts: Parts,
    resumed_from_step: int | None,
    stopped_because: str,
) -> dict[str, Any]:
    """Return the content of summary.json: how the run went, up to now.

    ``accuracy_gap`` is training less validation after the last whole epoch. Where the training
    goes on to improve and the validation loss does not, ``best_epoch`` stays behind ``epochs``.
    """
    progress, step = parts.progress, parts.step
    return {
        "policy": policy,
        "epochs": len(progress.seconds_per_epoch),
        "applied_steps": step.applied_steps.numpy().item(),
        "skipped_steps": step.skipped_steps.numpy().item(),
        "resumed_from_step": resumed_from_step,
        "seconds_per_epoch": progress.seconds_per_epoch,
        "images_per_second": images_per_second(progress),
        "input": parts.feed.name_in_summary,
        "input_wait_share": input_wait_share(progress),
        "peak_memory_bytes": peak_memory_bytes(),
        "train_loss": progress.train_loss,
        "train_accuracy": progress.train_accuracy,
        "val_loss": progress.val_loss,
        "val_accuracy": progress.val_accuracy,
        "accuracy_gap": progress.accuracy_gap,
        "gap_opened_in_epoch": progress.gap_opened_in_epoch,
        "best_epoch": progress.best_epoch,
        "stopped_because": stopped_because,
    }


def images_per_second(progress: Progress) -> float | None:
    """Return the training images of all whole epochs but the first over their wall time.

    Validation is included in the time. With one epoch it is that epoch's, with none None.
    """
    first = 1 if len(progress.seconds_per_epoch) > 1 else 0
    seconds = sum(progress.seconds_per_epoch[first:])
    return sum(progress.examples_per_epoch[first:]) / seconds if seconds else None


def input_wait_share(progress: Progress) -> float:
    """Return the share of the epochs' wall time in which the loop had to wait for its input.

    With the data on the device that is the time to make the order and bring it there.
    """
    seconds = sum(progress.seconds_per_epoch) + progress.seconds_in_epoch
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

    lines = [
        f"policy: {summary['policy']}",
        f"training: loss {value('train_loss', '.4f')}, accuracy {value('train_accuracy', '.4f')}",
        f"validation: loss {value('val_loss', '.4f')}, accuracy {value('val_accuracy', '.4f')}",
        f"steps: {summary['applied_steps']} applied, {summary['skipped_steps']} skipped",
        f"speed: {value('images_per_second', '.0f')} images/s",
        f"stopped: {summary['stopped_because']}",
        f"files: {folder}",
    ]
    if summary["accuracy_gap"] is not None:
        opened, best = summary["gap_opened_in_epoch"], summary["best_epoch"]
        lines.insert(
            3,
            f"gap: {100 * summary['accuracy_gap']:+.1f} points of accuracy between the two"
            + (f"; it opened in epoch {opened}" if opened else "")
            + (f"; validation loss was best in epoch {best}" if best < summary["epochs"] else ""),
        )
    return "\n".join(lines)
