"""Get MNIST once, before the image is built, and prove that it is MNIST.

Runs in the base image, so it needs numpy and nothing newer than Python 3.8::

    python mnist.py fetch DIR     write DIR/mnist.npz, from the first source that has it
    python mnist.py check FILE    say whether FILE holds MNIST

What is compared is the content of the four arrays. The file around it may be
packed in any way: every mirror packs it differently.
"""

import gzip
import hashlib
import io
import os
import sys
import tempfile
import urllib.request
from typing import Dict, List

import numpy as np

Arrays = Dict[str, np.ndarray]

SHA256 = "e5ea4841dd6fde90b155843179ce5756a4864227194eec7fb09d7cfc4cf702a5"
# The arrays in the order of the checksum, and the files that mirrors of the
# original keep them in.
NAMES = {
    "x_train": "train-images-idx3-ubyte.gz",
    "y_train": "train-labels-idx1-ubyte.gz",
    "x_test": "t10k-images-idx3-ubyte.gz",
    "y_test": "t10k-labels-idx1-ubyte.gz",
}
# Either an .npz as Keras keeps it, or a folder of the original's files. Two
# owners, so that one outage is not the end. MNIST_SOURCES replaces the list.
SOURCES = (
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz "
    "https://storage.googleapis.com/cvdf-datasets/mnist/ "
    "https://ossci-datasets.s3.amazonaws.com/mnist/"
)
TIMEOUT = float(os.environ.get("MNIST_TIMEOUT", "30"))
# No file of MNIST is larger; more than this is something else.
MOST_BYTES = 64 << 20


def digest(arrays: Arrays) -> str:
    """Return one checksum over name, type, shape and content of all four arrays."""
    whole = hashlib.sha256()
    for name in NAMES:
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def download(url: str) -> bytes:
    """Return the body of ``url``, whole or not at all."""
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        body = answer.read(MOST_BYTES + 1)
        length = answer.headers.get("Content-Length")
    if length is not None and len(body) != int(length):
        raise ValueError(f"cut off after {len(body)} of {length} bytes")
    return body


def read_npz(body: bytes) -> Arrays:
    """Return the four arrays of an ``.npz`` file; nothing in it is executed."""
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        return {name: archive[name] for name in NAMES}


def read_idx(body: bytes) -> np.ndarray:
    """Return the array of one gzipped file in the original's own format."""
    plain = gzip.decompress(body)
    # Two zeros, the type (8: unsigned byte), the number of axes, their lengths.
    if plain[:3] != b"\0\0\x08":
        raise ValueError("not an idx file of bytes")
    axes = plain[3]
    shape = np.frombuffer(plain, ">u4", count=axes, offset=4)
    return np.frombuffer(plain, np.uint8, offset=4 + 4 * axes).reshape(shape)


def load_source(source: str) -> Arrays:
    """Return MNIST from one source; raise when it gives anything else."""
    if source.endswith("/"):
        arrays = {name: read_idx(download(source + file)) for name, file in NAMES.items()}
    else:
        arrays = read_npz(download(source))
    if digest(arrays) != SHA256:
        raise ValueError("its arrays are not MNIST's")
    return arrays


def write(arrays: Arrays, folder: str) -> None:
    """Write ``mnist.npz`` so that it is never seen half written."""
    handle, part = tempfile.mkstemp(dir=folder, prefix=".mnist-")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.chmod(part, 0o644)
        os.replace(part, os.path.join(folder, "mnist.npz"))
    except BaseException:
        os.unlink(part)
        raise


def fetch(folder: str) -> str:
    """Fill ``folder``; return what went wrong, or nothing."""
    tried = []
    for source in os.environ.get("MNIST_SOURCES", SOURCES).split():
        try:
            arrays = load_source(source)
        # Whatever a server may send, the next source may be right.
        except Exception as error:
            why = str(getattr(error, "reason", "") or error) or type(error).__name__
            tried.append(f"{source} ({' '.join(why.split())})")
            continue
        write(arrays, folder)
        print(f"MNIST fetched from {source}", flush=True)
        return ""
    return (
        f"MNIST could not be fetched; tried {', '.join(tried)}; "
        "give a folder that holds mnist.npz: --datasets DIR"
    )


def check(path: str) -> str:
    """Return why ``path`` is not MNIST, or nothing."""
    try:
        with open(path, "rb") as file:
            right = digest(read_npz(file.read())) == SHA256
    # A damaged archive fails in many ways; each means the same to the reader.
    except Exception as error:
        return f"{path} cannot be read as mnist.npz: {' '.join(str(error).split())}"
    return "" if right else f"{path} holds other arrays than MNIST's"


def main(arguments: List[str]) -> int:
    """Run one of the two commands; one line on stderr says what went wrong."""
    commands = {"fetch": fetch, "check": check}
    if len(arguments) != 2 or arguments[0] not in commands:
        print("usage: mnist.py fetch DIR | mnist.py check FILE", file=sys.stderr)
        return 2
    problem = commands[arguments[0]](arguments[1])
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
