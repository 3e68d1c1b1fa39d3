"""The facts of this machine and container that decide on training, looked at once."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any, Mapping, NamedTuple

from workbench import hardware
from workbench.doctor import cards, cuda, cuda_libraries
from workbench.hardware import Cpu
from workbench.memory import available_memory
from workbench.run_folder import DOCKER_MARK, RUNS

WORKSPACE = RUNS.parent
BASE_FACTS = Path("/opt/workbench/base.json")
SHARED_MEMORY = Path("/dev/shm")
DRIVER_VERSION = Path("/proc/driver/nvidia/version")
# The driver's default where CUDA_CACHE_PATH is not set (CUDA C++ Programming Guide, CUDA
# Environment Variables).
DEFAULT_CACHE = "~/.nv/ComputeCache"
# How each of our services answers on its port: Jupyter with a certificate by an alert of TLS.
PORTS = {8888: (b"HTTP/", b"\x15\x03"), 2222: (b"SSH-",), 6006: (b"HTTP/",)}
PORT_PATIENCE_S = 0.3


class Folder(NamedTuple):
    """A folder: whether it is there, can be written, outlives the container; its free bytes."""

    path: str
    there: bool
    writable: bool
    kept: bool
    free: int | None


class Machine(NamedTuple):
    """All facts. Sizes are bytes; ``base`` is what the image says of its base, {} outside of it.

    ``foreign_ports`` are those of our services that something else answers on.
    ``missing_libraries`` are those of CUDA and cuDNN that TensorFlow would not find.
    ``device_files`` are those of NVIDIA's driver; ``host_driver`` tells whether its kernel
    module is loaded, which a container sees also where it was given no GPU.
    """

    cards: cards.Cards
    cuda: cuda.CudaInit
    cpu: Cpu
    environ: Mapping[str, str]
    base: Mapping[str, Any]
    memory: int
    memory_left: int
    shared_memory: int | None
    workspace: Folder
    jit_cache: Folder
    foreign_ports: tuple[int, ...]
    device_files: tuple[str, ...]
    host_driver: bool
    missing_libraries: tuple[str, ...]


def look(environ: Mapping[str, str]) -> Machine:
    """Return the facts of this machine. Changes nothing; never waits for long but for cuInit."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        cuda_init = pool.submit(cuda.init)
        foreign = pool.submit(_foreign_ports)
        nvml = cards.look()
        return Machine(
            cards=nvml,
            cuda=cuda_init.result(),
            cpu=hardware.cpu(),
            environ=environ,
            base=_base(),
            memory=hardware.memory_bytes(),
            memory_left=available_memory(),
            shared_memory=_size(SHARED_MEMORY),
            workspace=folder(_work_folder()),
            jit_cache=folder(environ.get("CUDA_CACHE_PATH") or os.path.expanduser(DEFAULT_CACHE)),
            foreign_ports=foreign.result(),
            device_files=tuple(sorted(str(file) for file in Path("/dev").glob("nvidia*"))),
            host_driver=DRIVER_VERSION.exists(),
            missing_libraries=cuda_libraries.missing(environ) if nvml.cards else (),
        )


def folder(path: str) -> Folder:
    """Return what can be told of ``path``, or of the nearest folder above it that is there.

    What this user may not look into counts as not there.
    """
    nearest = os.path.realpath(path)
    there = os.path.isdir(nearest)
    while not os.path.exists(nearest):
        nearest = os.path.dirname(nearest)
    free = None
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(nearest).free
    # Root may write all that is not mounted read-only; both are asked here.
    writable = os.access(nearest, os.W_OK | os.X_OK)
    return Folder(path, there, writable, _kept(Path(nearest)), free)


def _work_folder() -> str:
    """Return the image's folder for work; outside of the image the working directory."""
    try:
        return str(WORKSPACE) if WORKSPACE.exists() else os.getcwd()
    except FileNotFoundError:
        # The working directory was removed.
        return str(Path.home())


def _kept(path: Path) -> bool:
    """Tell whether ``path`` lies on another file system than a container's root."""
    if not DOCKER_MARK.exists():
        return True
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    # A mount point's spaces are written as octal numbers there.
    names = {str(each).replace(" ", r"\040") for each in (path, *path.parents)}
    return bool((names & mounts) - {"/"})


def _size(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path).total
    except OSError:
        return None


def _base() -> dict[str, Any]:
    try:
        return json.loads(BASE_FACTS.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def _foreign_ports() -> tuple[int, ...]:
    return tuple(port for port, greetings in PORTS.items() if is_foreign(port, greetings))


def is_foreign(port: int, greetings: tuple[bytes, ...]) -> bool:
    """Tell whether on ``port`` something answers otherwise than by one of ``greetings``.

    Who says nothing may be ours, at its start.
    """
    try:
        with socket.create_connection(("127.0.0.1", port), PORT_PATIENCE_S) as connection:
            if b"SSH-" not in greetings:
                connection.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
            answer = connection.recv(16)
    except OSError:
        return False
    return bool(answer) and not answer.startswith(greetings)
