"""Which libraries of CUDA 11.2 and cuDNN 8 the loader would find, without loading them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from typing import Mapping

# What TensorFlow 2.9 opens for a GPU; without one of them it uses none
# (tensorflow/stream_executor/platform/default/dso_loader.cc of 2.9).
NEEDED = (
    "libcudart.so.11.0",
    "libcublas.so.11",
    "libcublasLt.so.11",
    "libcufft.so.10",
    "libcurand.so.10",
    "libcusolver.so.11",
    "libcusparse.so.11",
    "libcudnn.so.8",
)


def missing(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of :data:`NEEDED` that the loader would not find."""
    folders = [part for part in environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    return tuple(
        name
        for name in NEEDED
        if not any(os.path.exists(os.path.join(folder, name)) for folder in folders)
        and name not in _known_to_loader()
    )


@functools.lru_cache(maxsize=None)
def _known_to_loader() -> frozenset[str]:
    """Return the names of the libraries in the loader's cache."""
    # A plain user's PATH may lack /sbin.
    program = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if program is None:
        return frozenset()
    # It fails where there is no cache: then no library is in it.
    cache = subprocess.run([program, "-p"], capture_output=True, text=True, check=False).stdout
    return frozenset(line.split()[0] for line in cache.splitlines() if " => " in line)
