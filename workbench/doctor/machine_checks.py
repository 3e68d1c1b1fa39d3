"""Which rules of the table the facts of a machine show. Pure functions of these facts."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from workbench.doctor import cuda
from workbench.doctor.cards import Card
from workbench.doctor.findings import LEVELS, Finding
from workbench.doctor.machine import Machine
from workbench.doctor.rules import RULES, found
from workbench.policy import describe, max_cpu_isa, recommended_policy

MIB, GIB = 2**20, 2**30

# NVIDIA, CUDA 11.2 Release Notes, table "CUDA Toolkit and Compatible Driver Versions".
DRIVER_OF_CUDA = (460, 27, 3)
DRIVER_BY_MINOR_COMPATIBILITY = (450, 80, 2)
# What TensorFlow 2.9's wheel holds: machine code up to 7.5, PTX of 8.0.
LOWEST_CAPABILITY, FIRST_FROM_PTX = (3, 5), (8, 0)
# 8.9 and 9.0 were seen to run from PTX (tensorflow#60739, #62320); what follows is not known to.
FIRST_TOO_NEW = (10, 0)
# Half of what the image sets.
ENOUGH_JIT_CACHE = GIB
# CUDA C++ Programming Guide, CUDA Environment Variables; newer drivers may have more.
DRIVERS_OWN_JIT_CACHE = 256 * MIB
DOCKERS_SHM = 64 * MIB
ENOUGH_SHM = GIB
# A rule of thumb: CUDA's context, cuDNN and cuBLAS take their share before the first tensor.
GPU_MEMORY_FULL = GIB
SHARE_TAKEN = 0.25
MEMORY_SMALL, MEMORY_TIGHT = GIB, 4 * GIB
DISK_FULL, DISK_LOW = 200 * MIB, 2 * GIB

# nvmlReturn_t (NVML API Reference).
NO_PERMISSION, DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, MISMATCH, UNKNOWN = 4, 9, 12, 18, 999
NVML_RULES = {
    DRIVER_NOT_LOADED: "machine_driver_not_loaded",
    MISMATCH: "machine_driver_mismatch",
    NO_PERMISSION: "nvml_lost_in_container",
    UNKNOWN: "nvml_lost_in_container",
}
# CUresult, where a rule of the logs knows more.
CUDA_RULES = {
    cuda.STUB_LIBRARY: "machine_libcuda_stub",
    46: "gpu_busy_exclusive",
    100: "no_cuda_device",
    101: "device_number_wrong",
    214: "gpu_memory_faulty",
    304: "cuda_unknown_error",
    802: "fabric_manager_missing",
    803: "libcuda_and_module_differ",
    804: "cuda_compat_on_path",
    999: "cuda_unknown_error",
}


class Shown(NamedTuple):
    """A rule that the facts show, and the evidence."""

    rule: str
    evidence: str


def findings(machine: Machine) -> list[Finding]:
    """Return what is wrong, or worth knowing, errors first, each level in the table's order."""
    shown = [
        *_nvml(machine),
        *_driver(machine),
        *_usable(machine),
        *(each for card in machine.cards.cards for each in _card(card, machine)),
        *_several(machine),
        *_cpu(machine),
        *_container(machine),
    ]
    order = list(RULES)
    results = [found(each.rule, each.evidence) for each in dict.fromkeys(shown)]
    return sorted(results, key=lambda each: (LEVELS.index(each.level), order.index(each.id)))


def _nvml(machine: Machine) -> Iterator[Shown]:
    cards = machine.cards
    if cards.error:
        code, words = cards.error
        if code != LIBRARY_NOT_FOUND:
            rule = NVML_RULES.get(code, "machine_nvml_failed")
            yield Shown(rule, f"NVML: {words} ({code})")
        elif machine.device_files:
            yield Shown("machine_nvml_missing", f"{', '.join(machine.device_files)}; {words}")
        elif machine.host_driver:
            yield Shown("machine_gpu_not_given", "/proc/driver/nvidia/version is there")
        else:
            yield Shown("machine_no_gpu", f"no /dev/nvidia*; {words}")
    elif not (cards.cards or cards.faults or cards.mig_empty):
        yield Shown("machine_no_card", f"driver {cards.driver}, 0 cards")
    for fault in cards.faults:
        # Versions that cannot be had make no card unreadable.
        rule = "machine_card_unreadable" if fault.startswith("GPU") else "machine_nvml_failed"
        yield Shown(rule, f"NVML: {fault}")
    for name in cards.mig_empty:
        yield Shown("machine_mig_empty", name)


def _driver(machine: Machine) -> Iterator[Shown]:
    version = driver_version(machine.cards.driver)
    if version is None or not machine.cards.cards:
        return
    evidence = f"driver {machine.cards.driver}"
    from_ptx = [gpu for gpu in machine.cards.gpus if gpu.compute_capability >= FIRST_FROM_PTX]
    if version < DRIVER_BY_MINOR_COMPATIBILITY:
        yield Shown("machine_driver_too_old", evidence)
    elif version < DRIVER_OF_CUDA and from_ptx:
        yield Shown("machine_driver_without_jit", f"{evidence}; {describe(from_ptx[0])}")
    elif version < DRIVER_OF_CUDA:
        yield Shown("machine_driver_minor", evidence)


def driver_version(text: str | None) -> tuple[int, ...] | None:
    """Return a driver's version as numbers, 460.27.03 as (460, 27, 3); None: not known."""
    if text is None or not re.fullmatch(r"\d+(\.\d+)+", text):
        return None
    return tuple(int(part) for part in text.split("."))


def _usable(machine: Machine) -> Iterator[Shown]:
    """Why CUDA cannot use the cards that NVML reports."""
    gpus = machine.cards.gpus
    if not gpus:
        return
    if machine.base.get("gpu") is False:
        yield Shown("machine_base_without_gpu", f"{gpus[0].name}; {machine.base.get('reason')}")
        return
    hidden = hidden_by(machine.environ.get("CUDA_VISIBLE_DEVICES"), len(gpus))
    if hidden:
        yield Shown("machine_gpus_hidden", hidden)
    if machine.missing_libraries:
        # Where more than cuDNN is missing, CUDA itself is.
        alone = all(name.startswith("libcudnn") for name in machine.missing_libraries)
        rule = "cudnn_missing" if alone else "cuda_library_missing"
        yield Shown(rule, f"not found: {', '.join(machine.missing_libraries)}")
    init = machine.cuda
    if init.status == 0 or (hidden and init.status == 100):
        return
    if init.status is None:
        rule = "machine_libcuda_missing" if init.missing else "machine_cuda_fails"
    else:
        rule = CUDA_RULES.get(init.status, "machine_cuda_fails")
    where = f" ({init.library})" if init.library else ""
    yield Shown(rule, f"{init.words}{where}")


def hidden_by(visible: str | None, count: int) -> str | None:
    """Return why ``CUDA_VISIBLE_DEVICES=visible`` shows none of ``count`` cards, or None.

    Names (GPU-…, MIG-…) are left to CUDA.
    """
    if visible is None:
        return None
    first = visible.split(",")[0].strip()
    if re.match(r"(GPU|MIG)-", first):
        return None
    if re.fullmatch(r"\d+", first) and int(first) < count:
        return None
    return f"CUDA_VISIBLE_DEVICES={visible!r}, {count} here"


def _card(card: Card, machine: Machine) -> Iterator[Shown]:
    gpu, name = card.gpu, f"GPU {card.index}: {describe(card.gpu)}"
    if gpu.compute_capability < LOWEST_CAPABILITY:
        yield Shown("machine_gpu_too_old", name)
    if gpu.compute_capability >= FIRST_TOO_NEW:
        yield Shown("machine_gpu_too_new", name)
    if gpu.compute_capability >= FIRST_FROM_PTX:
        yield _jit(name, machine)
    if card.mode == "prohibited":
        yield Shown("machine_compute_prohibited", name)
    if card.mode == "exclusive" and card.processes:
        yield Shown("machine_compute_exclusive", f"{name}; {users(card)}")
    yield from _card_memory(card)


def _jit(name: str, machine: Machine) -> Shown:
    environ, cache = machine.environ, machine.jit_cache
    size = environ.get("CUDA_CACHE_MAXSIZE", "")
    # What is no number CUDA ignores.
    size_bytes = int(size) if re.fullmatch(r"\d+", size) else DRIVERS_OWN_JIT_CACHE
    if environ.get("CUDA_CACHE_DISABLE", "0") not in ("", "0"):
        return Shown("machine_jit_off", f"{name}; CUDA_CACHE_DISABLE is set")
    if size_bytes < ENOUGH_JIT_CACHE:
        named = f"CUDA_CACHE_MAXSIZE={size}" if size else "CUDA_CACHE_MAXSIZE is not set"
        return Shown("machine_jit_off", f"{name}; {named}")
    if not cache.writable:
        return Shown("machine_jit_off", f"{name}; {cache.path} cannot be written")
    if not cache.kept:
        return Shown("machine_jit_off", f"{name}; {cache.path} is no volume")
    return Shown("machine_jit", name)


def _card_memory(card: Card) -> Iterator[Shown]:
    total, free, used = card.gpu.memory_bytes, card.memory_free, card.memory_used
    if not total or free is None or used is None:
        return
    evidence = f"GPU {card.index}: {gib(free)} of {gib(total)} free{_used_by(card)}"
    # A MIG instance of 1 GiB has never more.
    if free < min(GPU_MEMORY_FULL, total / 2):
        yield Shown("machine_gpu_memory_full", evidence)
    elif used > SHARE_TAKEN * total:
        yield Shown("machine_gpu_memory_shared", evidence)


def _used_by(card: Card) -> str:
    return f"; {users(card)}" if card.processes else ""


def users(card: Card) -> str:
    """Return the processes on ``card`` in words, the largest first."""
    largest = sorted(card.processes or (), key=lambda each: -(each.memory_bytes or 0))
    return ", ".join(
        f"{each.name or 'a process'} (pid {each.pid})"
        + (f" {gib(each.memory_bytes)}" if each.memory_bytes is not None else "")
        for each in largest
    )


def _several(machine: Machine) -> Iterator[Shown]:
    gpus = machine.cards.gpus
    names = ", ".join(gpu.name for gpu in gpus)
    if len({(gpu.name, gpu.compute_capability) for gpu in gpus}) > 1:
        yield Shown("machine_gpus_differ", names)
    if len(gpus) > 1 or machine.cards.mig_unused:
        yield Shown(
            "machine_gpus_unused", f"{len(gpus)} here: {', '.join(gpu.name for gpu in gpus)}"
        )


def _cpu(machine: Machine) -> Iterator[Shown]:
    cpu = machine.cpu
    if "avx" not in cpu.features:
        # Not an x86 CPU: there is no such wheel at all, and the image does not start.
        yield Shown("machine_cpu_without_avx", cpu.name)
    if machine.cards.cards or not {"amx_tile", "amx_bf16"} <= cpu.features:
        return
    choice = recommended_policy([], cpu, machine.environ)
    if choice.policy == "float32":
        isa = max_cpu_isa(machine.environ)
        value = machine.environ.get("TF_ENABLE_ONEDNN_OPTS")
        named = f"ONEDNN_MAX_CPU_ISA={isa}" if isa else f"TF_ENABLE_ONEDNN_OPTS={value}"
        yield Shown("machine_amx_unused", f"{cpu.name}; {named}")


def _container(machine: Machine) -> Iterator[Shown]:
    left = f"{gib(machine.memory_left)} can be taken, of {gib(machine.memory)}"
    if machine.memory_left < MEMORY_SMALL:
        yield Shown("machine_memory_small", left)
    elif machine.memory_left < MEMORY_TIGHT:
        yield Shown("machine_memory_tight", left)
    shm = machine.shared_memory
    if shm is not None and shm < ENOUGH_SHM and len(machine.cards.cards) > 1:
        yield Shown("machine_shm_small", f"/dev/shm: {shm // MIB} MiB")
    elif shm is not None and shm <= DOCKERS_SHM:
        yield Shown("machine_shm_default", f"/dev/shm: {shm // MIB} MiB")
    work = machine.workspace
    if not work.writable:
        yield Shown("machine_workspace_read_only", work.path)
    elif not work.kept:
        yield Shown("machine_workspace_lost", work.path)
    if work.free is not None and work.free < DISK_FULL:
        yield Shown("machine_disk_full", f"{work.path}: {work.free // MIB} MiB free")
    elif work.free is not None and work.free < DISK_LOW:
        yield Shown("machine_disk_low", f"{work.path}: {gib(work.free)} free")
    for port in machine.foreign_ports:
        yield Shown("machine_port_foreign", f"127.0.0.1:{port}")


def gib(size: int) -> str:
    """Return a size in bytes in words."""
    return f"{size / GIB:.1f} GiB"
