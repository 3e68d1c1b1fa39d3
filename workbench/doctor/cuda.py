"""cuInit of the CUDA driver: the one call that tells whether CUDA works, in a child process.

A libcuda that loads proves nothing: CUDA's toolkit brings a stub. A driver that is stuck can hang
in the call or crash the process, so it is called in another one, with a time limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

# On a machine with eight cards cuInit takes some seconds where no persistence daemon runs.
TIME_LIMIT_S = 15.0

# Values of CUresult (CUDA Driver API).
STUB_LIBRARY = 34
NAMES = {
    1: "CUDA_ERROR_INVALID_VALUE",
    2: "CUDA_ERROR_OUT_OF_MEMORY",
    3: "CUDA_ERROR_NOT_INITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    46: "CUDA_ERROR_DEVICE_UNAVAILABLE",
    100: "CUDA_ERROR_NO_DEVICE",
    101: "CUDA_ERROR_INVALID_DEVICE",
    214: "CUDA_ERROR_ECC_UNCORRECTABLE",
    304: "CUDA_ERROR_OPERATING_SYSTEM",
    802: "CUDA_ERROR_SYSTEM_NOT_READY",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    999: "CUDA_ERROR_UNKNOWN",
}

# Which file was loaded stands in the process's own map of memory.
CHILD = """
import ctypes, json
try:
    library = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    print(json.dumps({"problem": str(error)}))
else:
    lines = open("/proc/self/maps").read().split("\\n")
    paths = [line.split()[-1] for line in lines if "libcuda.so" in line]
    print(json.dumps({"status": library.cuInit(0), "library": (paths or [None])[0]}))
"""


class CudaInit(NamedTuple):
    """What cuInit said: its status (None: there was none, and ``problem`` says why).

    ``library`` is the file that was loaded, ``missing`` whether there is none at all.
    """

    status: int | None
    problem: str | None = None
    library: str | None = None
    missing: bool = False

    @property
    def words(self) -> str:
        """The result in words."""
        if self.status is None:
            return self.problem or "unknown"
        name = "ready" if self.status == 0 else NAMES.get(self.status, "an error")
        return name if self.status == 0 else f"cuInit gives {self.status}, {name}"


def init(time_limit_s: float = TIME_LIMIT_S) -> CudaInit:
    """Call cuInit(0) in a child process. Never raises."""
    try:
        child = subprocess.run(
            [sys.executable, "-ISc", CHILD],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=time_limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return CudaInit(None, f"cuInit has not returned in {time_limit_s:g} s")
    except OSError as error:
        return CudaInit(None, f"no process for cuInit could be started ({error.strerror})")
    if child.returncode != 0:
        return CudaInit(None, f"cuInit ended its process with status {child.returncode}")
    said = json.loads(child.stdout)
    if "problem" in said:
        return CudaInit(None, said["problem"], missing=True)
    return CudaInit(said["status"], library=said["library"])
