"""Which Keras precision policy fits the hardware: pure functions of what the hardware is."""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple, Sequence

from workbench.errors import Mistake
from workbench.hardware import Cpu, Gpu

# float16 Tensor Cores came with Volta, compute capability 7.0
# (NVIDIA, "Train With Mixed Precision", user guide).
FIRST_WITH_TENSOR_CORES = (7, 0)

# The small Turing chips TU116 and TU117 report compute capability 7.5 like the large ones, but
# have no Tensor Cores. They are sold as GeForce GTX 16xx, MX450 and MX550, as
# (Quadro) T400 to T2000, and as CMP 30HX.
TURING = (7, 5)
TURING_WITHOUT_TENSOR_CORES = re.compile(
    r"\b(GTX 16\d\d|MX[45]50|T(400|500|550|600|1000|1200|2000)|CMP 30HX)\b", re.IGNORECASE
)

# Values of ONEDNN_MAX_CPU_ISA (oneDNN, "CPU Dispatcher Control") below AMX.
ISAS_WITHOUT_AMX = frozenset(
    [
        "SSE41",
        "AVX",
        "AVX2",
        "AVX2_VNNI",
        "AVX512_MIC",
        "AVX512_MIC_4OPS",
        "AVX512_CORE",
        "AVX512_CORE_VNNI",
        "AVX512_CORE_BF16",
        "AVX512_CORE_FP16",
    ]
)


class Choice(NamedTuple):
    """A policy by its Keras name, and the reason for it."""

    policy: str
    reason: str


def has_tensor_cores(gpu: Gpu) -> bool:
    """Tell whether ``gpu`` has Tensor Cores for float16."""
    if gpu.compute_capability == TURING and TURING_WITHOUT_TENSOR_CORES.search(gpu.name):
        return False
    return gpu.compute_capability >= FIRST_WITH_TENSOR_CORES


def recommended_policy(gpus: Sequence[Gpu], cpu: Cpu, environ: Mapping[str, str]) -> Choice:
    """Return the fastest policy that is safe on ``gpus``, or on ``cpu`` where there is none.

    Of several GPUs the weakest decides. ``environ`` matters on a CPU: it can switch oneDNN,
    or AMX in it, off.
    """
    if gpus:
        without = [gpu for gpu in gpus if not has_tensor_cores(gpu)]
        if without:
            return Choice("float32", f"{describe(without[0])} has no float16 Tensor Cores")
        return Choice("mixed_float16", f"{describe(gpus[0])} has float16 Tensor Cores")
    if not {"amx_tile", "amx_bf16"} <= cpu.features:
        return Choice("float32", "no GPU, and this CPU has no AMX for bfloat16")
    if not onednn_enabled(environ):
        return Choice("float32", "no GPU; the CPU has AMX, but TF_ENABLE_ONEDNN_OPTS is off")
    isa = max_cpu_isa(environ)
    if isa in ISAS_WITHOUT_AMX:
        return Choice("float32", f"no GPU; the CPU has AMX, but ONEDNN_MAX_CPU_ISA is {isa}")
    return Choice("mixed_bfloat16", "no GPU; this CPU has AMX for bfloat16, and oneDNN is on")


def resolve(
    asked: str, gpus: Sequence[Gpu], cpu: Cpu, environ: Mapping[str, str]
) -> tuple[Choice, list[str]]:
    """Return the policy for ``--policy=asked`` on the GPUs in use, and warnings about it.

    Raises ``Mistake`` for mixed_bfloat16 on a GPU.
    """
    if asked == "auto":
        return recommended_policy(gpus, cpu, environ), []
    choice = Choice(asked, f"asked for by --policy={asked}")
    if asked == "mixed_bfloat16" and gpus:
        raise Mistake(
            f"--policy=mixed_bfloat16: TensorFlow 2.9 has no bfloat16 kernels for a GPU "
            f"({gpus[0].name}): use --policy=mixed_float16, or CUDA_VISIBLE_DEVICES=-1 for the CPU"
        )
    if asked != "mixed_float16":
        return choice, []
    if not gpus:
        return choice, [
            "mixed_float16 on a CPU is about a hundred times slower than float32: "
            "good for a trial with --train_samples=512 --epochs=1, not for work"
        ]
    return choice, [
        f"{describe(gpu)} has no float16 Tensor Cores: mixed_float16 may be slower than float32"
        for gpu in gpus
        if not has_tensor_cores(gpu)
    ][:1]


def onednn_enabled(environ: Mapping[str, str]) -> bool:
    """Tell whether TensorFlow 2.9 uses oneDNN on a CPU with AMX.

    On Linux it is on by default for CPUs with AVX512_VNNI, AVX_VNNI or AMX; TensorFlow reads
    ``0``, ``false``, ``1`` and ``true``, and ignores other values.
    """
    return environ.get("TF_ENABLE_ONEDNN_OPTS", "").lower() not in ("0", "false")


def describe(gpu: Gpu) -> str:
    """Return ``gpu`` in words: its name and compute capability."""
    major, minor = gpu.compute_capability
    return f"{gpu.name} (compute capability {major}.{minor})"


def max_cpu_isa(environ: Mapping[str, str]) -> str:
    """Return the instruction set at which ``environ`` stops oneDNN, in capitals; empty: none."""
    # DNNL_ is the older prefix, which oneDNN still reads when the newer one is not set.
    isa = environ.get("ONEDNN_MAX_CPU_ISA") or environ.get("DNNL_MAX_CPU_ISA") or ""
    return isa.upper()
