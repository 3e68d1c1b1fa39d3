"""What the machine has, without TensorFlow: GPUs by NVML, the CPU by /proc."""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pynvml

# The CPU features that decide on speed here; config.json keeps these of some hundred.
NOTED_CPU_FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16")


class Gpu(NamedTuple):
    """A GPU: its name, compute capability (major, minor), memory in bytes (None: unknown)."""

    name: str
    compute_capability: tuple[int, int]
    memory_bytes: int | None = None


class NvmlReport(NamedTuple):
    """What NVML says: the GPUs, the driver's version, and the error where it says nothing."""

    gpus: list[Gpu]
    driver: str | None
    error: str | None


class Cpu(NamedTuple):
    """The CPU: its name, features as Linux names them, and the cores this process may use."""

    name: str
    features: frozenset[str]
    cores: int


@contextlib.contextmanager
def nvml() -> Iterator[None]:
    """NVML, for calls of pynvml inside. Raises ``pynvml.NVMLError`` where there is none."""
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def nvml_report() -> NvmlReport:
    """Ask NVML for the GPUs. Without a driver the list is empty and ``error`` says why.

    A card that does not answer is left out, and ``error`` names it.
    """
    gpus, driver, errors = [], None, []
    try:
        with nvml():
            driver = pynvml.nvmlSystemGetDriverVersion()
            for index in range(pynvml.nvmlDeviceGetCount()):
                try:
                    gpus.append(gpu(pynvml.nvmlDeviceGetHandleByIndex(index)))
                except pynvml.NVMLError as error:
                    errors.append(f"GPU {index}: {error}")
    except pynvml.NVMLError as error:
        errors.append(str(error))
    return NvmlReport(gpus, driver, "; ".join(errors) or None)


def gpu(handle: Any) -> Gpu:
    """Return the GPU that NVML knows by ``handle``. Raises ``pynvml.NVMLError``."""
    name = pynvml.nvmlDeviceGetName(handle)
    capability = tuple(pynvml.nvmlDeviceGetCudaComputeCapability(handle))
    # Not every GPU tells how much memory it has; it can be used all the same.
    memory = None
    with contextlib.suppress(pynvml.NVMLError):
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle).total
    return Gpu(name, capability, memory)


def parse_cpuinfo(text: str) -> tuple[str, frozenset[str]]:
    """Return the CPU's name and features from the text of /proc/cpuinfo (x86 or Arm)."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    features = fields.get("flags", fields.get("Features", ""))
    return fields.get("model name", platform.machine()), frozenset(features.split())


def cpu() -> Cpu:
    """Return the CPU of this machine."""
    name, features = parse_cpuinfo(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return Cpu(name, features, len(os.sched_getaffinity(0)))


def memory_bytes() -> int:
    """Return the size of the machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
