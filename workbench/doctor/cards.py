"""What NVML tells of each card beyond its name: memory, processes, modes. No call is relied on."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, NamedTuple

import pynvml

from workbench import hardware
from workbench.hardware import Gpu

COMPUTE_MODES = {
    pynvml.NVML_COMPUTEMODE_EXCLUSIVE_THREAD: "exclusive",
    pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: "exclusive",
    pynvml.NVML_COMPUTEMODE_PROHIBITED: "prohibited",
}


class Process(NamedTuple):
    """A process that uses a card: its name and memory in bytes, each None where not known."""

    pid: int
    name: str | None
    memory_bytes: int | None


class Card(NamedTuple):
    """A card, or a MIG instance of one; memory in bytes, None where NVML does not tell.

    ``processes`` is None where the driver is too old to tell them. ``mode`` is default,
    exclusive or prohibited.
    """

    index: int
    gpu: Gpu
    memory_free: int | None = None
    memory_used: int | None = None
    processes: tuple[Process, ...] | None = None
    mode: str = "default"


class Cards(NamedTuple):
    """What NVML tells: the cards, the versions, and what went wrong.

    ``driver_cuda`` is (major, minor) of the newest CUDA that the driver runs. ``error`` is
    NVML's code and words where it does not work at all; ``faults`` are lines about single calls
    that failed; ``mig_empty`` are cards in MIG mode without an instance, ``mig_unused`` counts
    the instances beyond the first of all, which is the only one CUDA uses.
    """

    cards: tuple[Card, ...] = ()
    driver: str | None = None
    driver_cuda: tuple[int, int] | None = None
    error: tuple[int, str] | None = None
    faults: tuple[str, ...] = ()
    mig_empty: tuple[str, ...] = ()
    mig_unused: int = 0

    @property
    def gpus(self) -> list[Gpu]:
        """The GPUs alone, as the choice of a policy takes them."""
        return [card.gpu for card in self.cards]


def look() -> Cards:
    """Ask NVML for all cards. Never raises: what cannot be had stands in the result."""
    try:
        with hardware.nvml():
            return _look()
    except pynvml.NVMLError as error:
        return Cards(error=(error.value, str(error)))


def _look() -> Cards:
    faults: list[str] = []
    driver = _asked("the driver's version", faults, pynvml.nvmlSystemGetDriverVersion)
    cuda = _asked("the driver's CUDA", faults, pynvml.nvmlSystemGetCudaDriverVersion)
    cards: list[Card] = []
    mig_empty = []
    mig_cards = 0
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            gpu = hardware.gpu(handle)
        except pynvml.NVMLError as error:
            faults.append(f"GPU {index}: {error}")
            continue
        if not _in_mig_mode(handle):
            cards.append(_card(index, gpu, handle))
            continue
        instances = list(_mig_instances(handle))
        if not instances:
            mig_empty.append(f"GPU {index}: {gpu.name}")
        mig_cards += len(instances)
        for instance in instances:
            name = _quiet(pynvml.nvmlDeviceGetName, instance) or f"{gpu.name} MIG"
            memory = _quiet(pynvml.nvmlDeviceGetMemoryInfo, instance)
            total = memory.total if memory else None
            cards.append(_card(index, Gpu(name, gpu.compute_capability, total), instance))
    return Cards(
        tuple(cards),
        driver,
        (cuda // 1000, cuda % 1000 // 10) if cuda else None,
        faults=tuple(faults),
        mig_empty=tuple(mig_empty),
        # CUDA gives a process one instance, and none beside whole cards.
        mig_unused=max(0, mig_cards - 1),
    )


def _card(index: int, gpu: Gpu, handle: Any) -> Card:
    memory = _quiet(pynvml.nvmlDeviceGetMemoryInfo, handle)
    mode = _quiet(pynvml.nvmlDeviceGetComputeMode, handle)
    return Card(
        index,
        gpu,
        memory.free if memory else None,
        memory.used if memory else None,
        _processes(handle),
        COMPUTE_MODES.get(mode, "default"),
    )


def _processes(handle: Any) -> tuple[Process, ...] | None:
    # Drivers before 510 know the second version only.
    for ask in (
        pynvml.nvmlDeviceGetComputeRunningProcesses_v3,
        pynvml.nvmlDeviceGetComputeRunningProcesses_v2,
    ):
        found = _quiet(ask, handle)
        if found is not None:
            return tuple(
                Process(
                    each.pid,
                    # In a container, processes of others have no name.
                    _quiet(pynvml.nvmlSystemGetProcessName, each.pid),
                    each.usedGpuMemory,
                )
                for each in found
            )
    return None


def _in_mig_mode(handle: Any) -> bool:
    modes = _quiet(pynvml.nvmlDeviceGetMigMode, handle)
    return bool(modes and modes[0])


def _mig_instances(handle: Any) -> Iterator[Any]:
    for number in range(_quiet(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        # Numbers without an instance lie between others.
        with contextlib.suppress(pynvml.NVMLError):
            yield pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)


def _asked(what: str, faults: list[str], ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except pynvml.NVMLError as error:
        faults.append(f"{what}: {error}")
        return None


def _quiet(ask: Callable[..., Any], *arguments: Any) -> Any:
    """Return what NVML answers, or None: what not every card or driver has is no fault."""
    try:
        return ask(*arguments)
    except pynvml.NVMLError:
        return None
