"""How much memory this process can still take, with the limits of its container."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Iterator, NamedTuple

CGROUPS = Path("/sys/fs/cgroup")


class Controller(NamedTuple):
    """The files in which a version of Linux's control groups gives limit, use and page cache."""

    limit: str
    usage: str
    cache: str


V1 = Controller("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = Controller("memory.max", "memory.current", "inactive_file")


def available_memory(proc: Path = Path("/proc"), cgroups: Path = CGROUPS) -> int:
    """Return the bytes that can be taken without swapping: the machine's, or the container's.

    The least of what /proc/meminfo calls available and what each control group above this
    process leaves; page cache that can be given up at once counts as free.
    """
    machine = _fields((proc / "meminfo").read_text())["MemAvailable:"] * 1024
    return max(0, min([machine, *_left_by_groups(proc, cgroups)]))


def _left_by_groups(proc: Path, cgroups: Path) -> Iterator[int]:
    for line in (proc / "self" / "cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            top, files = cgroups, V2
        elif "memory" in controllers.split(","):
            top, files = cgroups / "memory", V1
        else:
            continue
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            # Not every level has files; inside a container the path may be that of the host.
            with contextlib.suppress(OSError, ValueError):
                yield _left(folder, files)
            if folder == top:
                break


def _left(folder: Path, files: Controller) -> int:
    # "max" is no limit: a ValueError.
    limit = int((folder / files.limit).read_text())
    usage = int((folder / files.usage).read_text())
    cache = _fields((folder / "memory.stat").read_text()).get(files.cache, 0)
    return limit - usage + cache


def _fields(text: str) -> dict[str, int]:
    """Return lines of ``name number`` as a dict."""
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if line.strip()}
