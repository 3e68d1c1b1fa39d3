"""Rules on the figures of a run: each check returns its evidence, or None."""

from __future__ import annotations

import statistics
from typing import Any, Callable, Mapping

from workbench.doctor.run_files import RECENT, Run, inner, number, steps_of
from workbench.judgement import GUESS_ACCURACY
from workbench.policy import describe, has_tensor_cores

# More skipped steps than the search for the first scale takes (2^15 down to 1), and this share.
MANY_SKIPPED, SKIPPED_SHARE = 20, 0.02
# Above this share of waiting, a faster step gains little.
WAIT_SHARE = 0.2
# An epoch's mean loss this many times the lowest of the epochs before is no noise.
ROSE_TIMES = 1.2
# The first epoch, against the median of the others.
SLOW_TIMES, SLOW_SECONDS = 3.0, 30.0
# The last quarter of the windows, against the fastest: the share, and the least windows for it.
SLOWED_SHARE, SLOWED_WINDOWS = 0.7, 12
FULL_SHARE = 0.9
# No line for this time, and for this many times the usual distance of two, is a silence.
SILENT_SECONDS, SILENT_TIMES = 600.0, 10.0
# Epochs after the best one that are no accident.
PAST_BEST = 2


def _gpu_idle(run: Run) -> str | None:
    seen = run.gpus_seen
    return f"NVML: {describe(seen[0])}; in use: none" if seen and not run.gpus_in_use else None


def _loss_not_finite(run: Run) -> str | None:
    applied_before = 0.0
    for window in run.windows:
        applied = number(window, "applied_steps") or 0
        if applied > applied_before and window.get("loss") is None:
            return f"metrics.jsonl: step {window['step']}, epoch {window.get('epoch')}"
        applied_before = applied
    if number(run.summary, "val_accuracy") is not None and run.summary.get("val_loss") is None:
        return "summary.json: val_loss is not finite"
    return None


def _scale_at_floor(run: Run) -> str | None:
    scales = _scales(run)
    return f"loss_scale {scales[-1]:g} at step {run.last_step}" if scales[-1:] == [1.0] else None


def _float16_on_cpu(run: Run) -> str | None:
    return "policy mixed_float16, no GPU in use" if _on_cpu(run, "mixed_float16") else None


def _many_skipped(run: Run) -> str | None:
    last = run.windows[-1] if run.windows else run.summary
    skipped, steps = number(last, "skipped_steps") or 0, steps_of(last)
    if skipped <= MANY_SKIPPED or skipped <= SKIPPED_SHARE * steps:
        return None
    return f"{skipped:.0f} of {steps:.0f} steps skipped"


def _scale_never_grew(run: Run) -> str | None:
    scales, growth = _scales(run), number(inner(run.config, "flags"), "growth_steps")
    applied = number(run.windows[-1], "applied_steps") if run.windows else None
    if not scales or not growth or not applied or applied < 2 * growth:
        return None
    grew = any(later > earlier for earlier, later in zip(scales, scales[1:]))
    return None if grew else f"loss_scale {scales[-1]:g} after {applied:.0f} applied steps"


def _float16_without_tensor_cores(run: Run) -> str | None:
    without = [gpu for gpu in run.gpus_in_use if not has_tensor_cores(gpu)]
    return describe(without[0]) if without and run.policy == "mixed_float16" else None


def _float32_on_tensor_cores(run: Run) -> str | None:
    gpus = run.gpus_in_use
    if run.policy != "float32" or not gpus or not all(map(has_tensor_cores, gpus)):
        return None
    return f"{describe(gpus[0])}, policy float32"


def _bfloat16_without_amx(run: Run) -> str | None:
    cpu = inner(inner(run.config, "hardware"), "cpu")
    features = cpu.get("features")
    if not _on_cpu(run, "mixed_bfloat16") or not isinstance(features, list):
        return None
    return None if "amx_bf16" in features else f"{cpu.get('name')}: {', '.join(map(str, features))}"


def _guess_level(run: Run) -> str | None:
    accuracy = number(run.summary, "val_accuracy")
    classes = number(inner(run.config, "data"), "classes")
    if accuracy is None or not classes or accuracy > GUESS_ACCURACY / classes:
        return None
    return f"val_accuracy {accuracy:.4g} with {classes:.0f} classes"


def _overfitting(run: Run) -> str | None:
    gap, opened = number(run.summary, "accuracy_gap"), number(run.summary, "gap_opened_in_epoch")
    if opened is None or gap is None or gap <= 0:
        return None
    return f"the gap opened in epoch {opened:.0f} and is {100 * gap:.1f} points of accuracy"


def _past_its_best(run: Run) -> str | None:
    best, epochs = number(run.summary, "best_epoch"), number(run.summary, "epochs")
    if best is None or epochs is None or run.flag("early_stopping") != "off":
        return None
    return f"best in epoch {best:.0f} of {epochs:.0f}" if epochs - best >= PAST_BEST else None


def _loss_rose(run: Run) -> str | None:
    sums: dict[float | None, list[float]] = {}
    for window in run.windows:
        loss = number(window, "loss")
        if loss is not None:
            sums.setdefault(number(window, "epoch"), []).append(loss)
    means = [statistics.mean(losses) for losses in sums.values()]
    if len(means) < 2 or means[-1] <= ROSE_TIMES * min(means[:-1]):
        return None
    return f"mean loss {means[-1]:.4g} in the last epoch, {min(means[:-1]):.4g} in the best"


def _waits_for_input(run: Run) -> str | None:
    share = number(run.summary, "input_wait_share")
    if share is None or share <= WAIT_SHARE:
        return None
    return f"input_wait_share {share:.2f}, input {run.summary.get('input')}"


def _first_epoch_slow(run: Run) -> str | None:
    seconds = run.summary.get("seconds_per_epoch")
    if not isinstance(seconds, list) or len(seconds) < 3 or run.summary.get("resumed_from_step"):
        return None
    numbers = [number({"s": each}, "s") for each in seconds]
    if None in numbers:
        return None
    usual = statistics.median(numbers[1:])
    if numbers[0] <= max(SLOW_TIMES * usual, usual + SLOW_SECONDS):
        return None
    return f"{numbers[0]:.0f} s, the others {usual:.1f} s"


def _slowed_down(run: Run) -> str | None:
    speeds = [number(window, "images_per_second") for window in run.windows]
    known = [speed for speed in speeds if speed is not None]
    if len(known) < SLOWED_WINDOWS:
        return None
    size = len(known) // 4
    quarters = [statistics.median(known[size * i : size * (i + 1)]) for i in range(4)]
    if quarters[-1] >= SLOWED_SHARE * max(quarters):
        return None
    return f"{quarters[-1]:.0f} images/s in the last quarter, {max(quarters):.0f} in the fastest"


def _silent(run: Run) -> str | None:
    times = [number(window, "seconds") or 0.0 for window in run.windows[-RECENT:]]
    usual = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 0.0
    if not run.running or run.seconds_silent < max(SILENT_SECONDS, SILENT_TIMES * usual):
        return None
    return f"nothing written for {run.seconds_silent / 60:.0f} minutes"


def _memory_nearly_full(run: Run) -> str | None:
    peak, gpus = number(run.summary, "peak_memory_bytes"), run.gpus_in_use
    memory = gpus[0].memory_bytes if gpus else number(_hardware(run), "memory_bytes")
    if not peak or not memory or peak < FULL_SHARE * memory:
        return None
    return f"peak {peak / 2**30:.1f} GB of {memory / 2**30:.1f} GB"


def _some_gpus_unused(run: Run) -> str | None:
    gpus = run.gpus_in_use
    return f"{len(gpus)} GPUs, {describe(gpus[0])} was used" if len(gpus) > 1 else None


def _batch_not_multiple_of_8(run: Run) -> str | None:
    size = run.flag("batch_size")
    if not isinstance(size, int) or not size % 8 or not run.gpus_in_use:
        return None
    return f"--batch_size={size}" if run.policy == "mixed_float16" else None


# By the id of the rule, whose level and texts stand in the table.
CHECKS: dict[str, Callable[[Run], str | None]] = {
    "run_gpu_idle": _gpu_idle,
    "run_loss_not_finite": _loss_not_finite,
    "run_scale_at_floor": _scale_at_floor,
    "run_float16_on_cpu": _float16_on_cpu,
    "run_many_skipped": _many_skipped,
    "run_scale_never_grew": _scale_never_grew,
    "run_float16_without_tensor_cores": _float16_without_tensor_cores,
    "run_float32_on_tensor_cores": _float32_on_tensor_cores,
    "run_bfloat16_without_amx": _bfloat16_without_amx,
    "run_guess_level": _guess_level,
    "run_overfitting": _overfitting,
    "run_past_its_best": _past_its_best,
    "run_loss_rose": _loss_rose,
    "run_waits_for_input": _waits_for_input,
    "run_first_epoch_slow": _first_epoch_slow,
    "run_slowed_down": _slowed_down,
    "run_silent": _silent,
    "run_memory_nearly_full": _memory_nearly_full,
    "run_some_gpus_unused": _some_gpus_unused,
    "run_batch_not_multiple_of_8": _batch_not_multiple_of_8,
}


def _hardware(run: Run) -> Mapping[str, Any]:
    return inner(run.config, "hardware")


def _on_cpu(run: Run, policy: str) -> bool:
    """Tell whether the run had this policy and, as far as it says, no GPU."""
    known = isinstance(_hardware(run).get("gpus_in_use"), list)
    return known and run.policy == policy and not run.gpus_in_use


def _scales(run: Run) -> list[float]:
    """Return the loss scales of the windows, where scaling is dynamic."""
    if run.policy != "mixed_float16" or run.flag("loss_scale") != "dynamic":
        return []
    scales = [number(window, "loss_scale") for window in run.windows]
    return [scale for scale in scales if scale is not None]
