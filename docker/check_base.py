"""Prove that the base is what the image claims, before anything is built on it.

Prints what was found as JSON. A base that is something else ends the build
with one line that names what it is. Runs with the base's own Python.
"""

import json
import os
import platform
import sys
from typing import Any, Dict, List

# What TensorFlow 2.9's own build configuration says of its GPU wheel.
WANTED_CUDA = "11.2"
WANTED_CUDNN = "8"
BASE_FACTS = "/etc/tf29-base.json"  # only the compatible base has it


def find() -> Dict[str, Any]:
    """Return the versions of Python, TensorFlow, CUDA and cuDNN of this base."""
    found: Dict[str, Any] = {"python": platform.python_version(), "kind": "official", "gpu": True}
    if os.path.exists(BASE_FACTS):
        with open(BASE_FACTS, encoding="utf-8") as facts:
            found.update(json.load(facts))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import tensorflow as tf
    except ImportError as error:
        return dict(found, tensorflow=f"none ({error})")
    build = tf.sysconfig.get_build_info()
    return dict(
        found,
        tensorflow=tf.__version__,
        cuda=build.get("cuda_version", "none"),
        cudnn=build.get("cudnn_version", "none"),
    )


def wrong(found: Dict[str, Any]) -> List[str]:
    """Return what does not fit, each as ``name value``; empty when all fits."""
    fits = {
        "python": found["python"].startswith("3.8."),
        "tensorflow": found["tensorflow"].startswith("2.9."),
        "cuda": found.get("cuda") == WANTED_CUDA,
        "cudnn": found.get("cudnn") == WANTED_CUDNN,
    }
    return [f"{name} {found.get(name, 'none')}" for name, right in fits.items() if not right]


def main() -> int:
    """Print the facts; return 1 after one line when the base does not fit."""
    found = find()
    misfits = wrong(found)
    if misfits:
        print(
            f"error: BASE_IMAGE has {', '.join(misfits)}; this image needs Python 3.8 and "
            f"TensorFlow 2.9 built for CUDA {WANTED_CUDA} and cuDNN {WANTED_CUDNN}",
            file=sys.stderr,
        )
        return 1
    print(json.dumps(found, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
