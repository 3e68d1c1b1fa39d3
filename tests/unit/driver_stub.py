"""The stand-ins for the driver's libraries: tests/nvml-stub, built in the image or here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "nvml-stub"

# name, compute capability, MiB in all, MiB used; the policy, and whether there are Tensor Cores.
CARDS = {
    "V100": ("Tesla V100-SXM2-16GB,7.0,16160,300", "mixed_float16", True),
    "T4": ("Tesla T4,7.5,15109,300", "mixed_float16", True),
    "GTX 1660 Ti": ("NVIDIA GeForce GTX 1660 Ti,7.5,5944,300", "float32", False),
    "GTX 1650": ("GeForce GTX 1650,7.5,3911,300", "float32", False),
    "P100": ("Tesla P100-PCIE-16GB,6.0,16280,300", "float32", False),
    "A100": ("NVIDIA A100-SXM4-40GB,8.0,40536,400", "mixed_float16", True),
    "RTX 4090": ("NVIDIA GeForce RTX 4090,8.9,24564,400", "mixed_float16", True),
    "H100": ("NVIDIA H100 80GB HBM3,9.0,81559,500", "mixed_float16", True),
    "H200": ("NVIDIA H200,9.0,143771,500", "mixed_float16", True),
    "K80": ("Tesla K80,3.7,11441,100", "float32", False),
    "Titan V": ("NVIDIA TITAN V,7.0,12066,100", "mixed_float16", True),
    "L4": ("NVIDIA L4,8.9,23034,100", "mixed_float16", True),
    "A10G": ("NVIDIA A10G,8.6,23028,100", "mixed_float16", True),
    "RTX 2060": ("NVIDIA GeForce RTX 2060,7.5,5934,100", "mixed_float16", True),
    "T1000": ("NVIDIA T1000 8GB,7.5,7980,100", "float32", False),
    "T600": ("NVIDIA T600 Laptop GPU,7.5,3911,100", "float32", False),
    "MX450": ("NVIDIA GeForce MX450,7.5,2002,100", "float32", False),
    "GTX 1080 Ti": ("NVIDIA GeForce GTX 1080 Ti,6.1,11178,100", "float32", False),
    "M60": ("Tesla M60,5.2,8129,100", "float32", False),
}


def build(tmp_path_factory):
    """Return the folder with ``nvml/`` and ``cuda/``; the image has it already."""
    if (SOURCES / "nvml").is_dir():
        return SOURCES
    built = tmp_path_factory.mktemp("nvml-stub")
    subprocess.run(
        ["make", "-f", SOURCES / "Makefile", f"SOURCES={SOURCES}", f"OUT={built}"], check=True
    )
    return built


def run_doctor(*arguments, libraries=(), cwd=None, before=None, **environment):
    """Run the command with these folders of libraries alone, and variables.

    ``before`` is called in the process, in ``cwd``, before the command begins.
    """
    names = {name: value for name, value in os.environ.items() if not name.startswith("STUB_")}
    names.pop("CUDA_VISIBLE_DEVICES", None)
    paths = os.pathsep.join(map(str, libraries))
    return subprocess.run(
        [sys.executable, "-m", "workbench.doctor", *arguments],
        env={**names, "PYTHONPATH": str(ROOT), "LD_LIBRARY_PATH": paths, **environment},
        cwd=cwd,
        preexec_fn=before,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
