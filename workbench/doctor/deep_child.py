"""What ``doctor --deep`` has TensorFlow do: ``python -m workbench.doctor.deep_child POLICY``."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Callable

import tensorflow as tf

# Large enough for Tensor Cores, small enough for any card: 2 x 2 MiB to 2 x 4 MiB.
SIZE = 1024
IMAGES, SIDE, CHANNELS = 16, 32, 64
WARM_CALLS = 10


def main(policy: str) -> None:
    """Print what was computed as one line of JSON."""
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    dtype = tf.keras.mixed_precision.Policy(policy).compute_dtype
    dtypes = list(dict.fromkeys(["float32", dtype]))
    names = [f"GPU:{number}" for number in range(len(gpus))] or ["CPU:0"]
    operations: list[dict[str, Any]] = []
    problem = None
    try:
        for device in names:
            for each in dtypes:
                operations += [_matmul(device, each), _convolution(device, each)]
    except tf.errors.OpError as error:
        problem = f"{device}: {each}: {type(error).__name__}: {error.message.splitlines()[0]}"
    details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
    found = [each.get("device_name", "GPU") for each in details]
    print(json.dumps({"gpus": found, "operations": operations, "problem": problem}))


def _matmul(device: str, dtype: str) -> dict[str, Any]:
    with tf.device(device):
        ones = tf.ones([SIZE, SIZE], dtype)
        # 1024 ones add up to 1024, which every one of these types holds exactly.
        return _timed(device, "matmul", dtype, lambda: tf.matmul(ones, ones), SIZE)


def _convolution(device: str, dtype: str) -> dict[str, Any]:
    with tf.device(device):
        images = tf.ones([IMAGES, SIDE, SIDE, CHANNELS], dtype)
        kernel = tf.ones([1, 1, CHANNELS, CHANNELS], dtype)
        convolve = lambda: tf.nn.conv2d(images, kernel, 1, "SAME")  # noqa: E731
        return _timed(device, "conv2d", dtype, convolve, CHANNELS)


def _timed(
    device: str, operation: str, dtype: str, compute: Callable[[], tf.Tensor], expected: int
) -> dict[str, Any]:
    started = time.perf_counter()
    # The value comes back only when the device is done.
    values = compute().numpy()
    cold = time.perf_counter() - started
    started = time.perf_counter()
    for _ in range(WARM_CALLS):
        last = compute()
    last[0, 0].numpy()
    return {
        "device": device,
        "operation": operation,
        "dtype": dtype,
        "cold_s": cold,
        "warm_s": (time.perf_counter() - started) / WARM_CALLS,
        "right": bool((values.astype("float32") == expected).all()),
    }


if __name__ == "__main__":
    main(sys.argv[1])
