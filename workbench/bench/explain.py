"""Why mixed precision gains nothing: what is known about the hardware and the step decides."""

from __future__ import annotations

import dataclasses
import re
from typing import Mapping

from workbench.bench.compare import NO_GAIN, NO_INTERVAL, SLOWER, interval_text, outcome
from workbench.bench.results import Comparison
from workbench.hardware import Cpu, Gpu
from workbench.policy import has_tensor_cores, max_cpu_isa, onednn_enabled, recommended_policy

# Above this share of its time the loop waits for data, and faster arithmetic cannot show.
INPUT_BOUND = 0.2
# From this share of a step on, what a step of one example takes as well decides its time.
OVERHEAD_BOUND = 0.5
# Values of ONEDNN_MAX_CPU_ISA below AVX-512 BF16 (oneDNN, "CPU Dispatcher Control").
ISAS_WITHOUT_BF16 = frozenset(
    ["SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX512_CORE", "AVX512_CORE_VNNI"]
)


def needs_reason(comparison: Comparison) -> bool:
    """Tell whether ``comparison`` came out without a gain, so that a reason is owed."""
    came = outcome(comparison.speedup, comparison.low, comparison.high, comparison.pairs)
    return came in (NO_GAIN, SLOWER)


def needs_probe(
    comparison: Comparison,
    input_wait_share: float | None,
    gpu: Gpu | None,
    cpu: Cpu,
    environ: Mapping[str, str],
) -> bool:
    """Tell whether only the time of a step with one example can explain ``comparison``."""
    return needs_reason(comparison) and not reason(
        comparison, None, None, input_wait_share, gpu, cpu, environ
    )


def reason(
    comparison: Comparison,
    step_ms: float | None,
    floor_ms: float | None,
    input_wait_share: float | None,
    gpu: Gpu | None,
    cpu: Cpu,
    environ: Mapping[str, str],
) -> str | None:
    """Return why ``comparison`` shows no gain, or None where nothing that is known explains it.

    ``step_ms`` is the median time of the baseline's step, ``floor_ms`` that of its step with one
    example, ``input_wait_share`` the share of the time in which the loop waited for data; each
    may be None, unknown. ``gpu`` is the one in use, None on a CPU. ``environ`` is what TensorFlow
    and oneDNN read.
    """
    if comparison.arm.startswith("mixed_"):
        hardware = _no_float16(gpu) if gpu else _no_bfloat16(cpu, environ)
        if hardware:
            return hardware
    if input_wait_share is not None and input_wait_share > INPUT_BOUND:
        return f"the loop waits for its input {100 * input_wait_share:.0f} % of the time"
    if step_ms and floor_ms and floor_ms / step_ms >= OVERHEAD_BOUND:
        return f"the step is bound by overhead ({floor_ms:.2g} ms of {step_ms:.2g} ms)"
    return None


def with_reason(comparison: Comparison, reason: str | None) -> Comparison:
    """Return ``comparison`` with the ``reason`` in its verdict, where it came without a gain."""
    if not needs_reason(comparison):
        return comparison
    speedup, low, high = comparison.speedup, comparison.low, comparison.high
    figures = interval_text(speedup, low, high)
    if outcome(speedup, low, high, comparison.pairs) == SLOWER:
        verdict = f"{SLOWER}: {figures}" + (f": {reason}" if reason else "")
    elif reason:
        verdict = f"{NO_GAIN}: {reason}" + (f" ({NO_INTERVAL})" if low is None else "")
    else:
        verdict = f"{NO_GAIN}: {figures} is within the noise"
    return dataclasses.replace(comparison, verdict=verdict)


def _no_float16(gpu: Gpu) -> str | None:
    return None if has_tensor_cores(gpu) else "this GPU has no fp16 Tensor Cores"


def _no_bfloat16(cpu: Cpu, environ: Mapping[str, str]) -> str | None:
    # What the environment has switched off comes before what the CPU lacks: it can be undone.
    isa = max_cpu_isa(environ)
    if not onednn_enabled(environ):
        return "TF_ENABLE_ONEDNN_OPTS is off, and bfloat16 is emulated without oneDNN"
    if isa in ISAS_WITHOUT_BF16 and "avx512_bf16" in cpu.features:
        return f"ONEDNN_MAX_CPU_ISA={isa} keeps oneDNN from this CPU's bfloat16 instructions"
    choice = recommended_policy([], cpu, environ)
    if choice.policy == "mixed_bfloat16":
        return None
    return re.sub(r"^no GPU(, and|;) ", "", choice.reason)
