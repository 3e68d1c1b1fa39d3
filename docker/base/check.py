"""The build's last step: is the image what it says it is? Ends with one line if not."""

import ctypes
import json
import os
import sys
from pathlib import Path

# What TensorFlow 2.9 opens by name when it finds a GPU, in its own order.
CUDA = [
    "libcudart.so.11.0",
    "libcublas.so.11",
    "libcublasLt.so.11",
    "libcufft.so.10",
    "libcurand.so.10",
    "libcusolver.so.11",
    "libcusparse.so.11",
]
CUDNN = ["libcudnn.so.8"] + [
    f"libcudnn_{part}_{phase}.so.8"
    for part in ("ops", "cnn", "adv")
    for phase in ("infer", "train")
]
STUB_ERROR = 34  # CUDA_ERROR_STUB_LIBRARY
# Modules of the standard library that need a library of the system.
MODULES = [
    "bz2",
    "ctypes",
    "curses",
    "hashlib",
    "lzma",
    "readline",
    "sqlite3",
    "ssl",
    "uuid",
    "zlib",
]


def expect(what: str, seen: object, wanted: object) -> None:
    """End the build when a fact is not as it should be."""
    if seen != wanted:
        sys.exit(f"error: the base is not what it claims: {what} is {seen!r}, not {wanted!r}")


def main(kind: str) -> None:
    """Check the interpreter, the libraries of the kind, and TensorFlow."""
    expect("Python", sys.version_info[:2], (3, 8))
    for module in MODULES:
        __import__(module)
    expect("the packages' folder", [Path(p).name for p in sys.path[-1:]], ["dist-packages"])

    expect("cuInit(0) of the stub", ctypes.CDLL("libcuda.so.1").cuInit(0), STUB_ERROR)
    libraries = CUDA + CUDNN if kind == "full" else CUDA[:1]
    for name in libraries:
        ctypes.CDLL(name)
    cudart = Path("/usr/local/cuda/lib64/libcudart.so.11.0").resolve().name
    expect("libcudart", cudart, "libcudart.so.11.2.152")
    statement = json.loads(Path("/etc/tf29-base.json").read_text())
    expect("the statement of its kind", statement["kind"], kind)

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    expect("TensorFlow", tf.__version__, "2.9.1")
    expect("its CUDA", build["cuda_version"], "11.2")
    expect("its cuDNN", build["cudnn_version"], "8")
    expect("is_cuda_build", build["is_cuda_build"], True)
    print(
        f"checked: Python {sys.version.split()[0]}, TensorFlow {tf.__version__}, "
        f"{len(libraries)} CUDA libraries"
    )


if __name__ == "__main__":
    main(sys.argv[1])
