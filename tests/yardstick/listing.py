#!/usr/bin/env python3
"""The guide's complete MNIST program as it stands: what the trainer's speed is measured against.

numpy arrays in float32, one-hot labels and ``model.fit`` one step at a time. Only what a
measurement needs is added: the seed, the number of epochs, and a small JSON file at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from pathlib import Path

# Must be set before TensorFlow is first imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

BATCH_SIZE = 128
CLASSES = 10


class EpochTimes(tf.keras.callbacks.Callback):
    """Wall seconds of each epoch; Keras ends an epoch after its validation."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        """Take the time."""
        self._started = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Note how long it took."""
        self.seconds.append(time.perf_counter() - self._started)


def read_arguments() -> argparse.Namespace:
    """Return the command line; argparse ends the program with status 2 on a mistake."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--policy", default="float32", choices=["float32", "mixed_float16", "mixed_bfloat16"]
    )
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    return parser.parse_args()


def load_split(arrays: dict[str, np.ndarray], split: str) -> tuple[np.ndarray, np.ndarray]:
    """Return images (N, 784) float32 in [0, 1] and one-hot labels (N, 10) float32."""
    images = arrays[f"x_{split}"].reshape(-1, 784).astype("float32") / 255
    return images, tf.keras.utils.to_categorical(arrays[f"y_{split}"], CLASSES)


def build_model() -> tf.keras.Model:
    """Return 784-512-256-10 with float32 input and output, under the global policy."""
    return tf.keras.Sequential(
        [
            tf.keras.layers.InputLayer(input_shape=(784,), dtype="float32"),
            tf.keras.layers.Dense(512, activation="relu"),
            tf.keras.layers.Dense(256, activation="relu"),
            tf.keras.layers.Dense(CLASSES, activation="softmax", dtype="float32"),
        ]
    )


def images_per_second(seconds_per_epoch: list[float], images: int) -> float:
    """Return training images over wall time, without the first epoch where there are more.

    The rule of the trainer's summary.json.
    """
    counted = seconds_per_epoch[1:] or seconds_per_epoch
    return images * len(counted) / sum(counted)


def main() -> None:
    """Run the program and write what was measured."""
    arguments = read_arguments()
    tf.keras.utils.set_random_seed(arguments.seed)
    tf.keras.mixed_precision.set_global_policy(arguments.policy)
    # The image sets the variable; elsewhere it names the folder with the file.
    with np.load(Path(os.environ["WORKBENCH_DATASETS"]) / "mnist.npz") as arrays:
        x_train, y_train = load_split(arrays, "train")
        x_test, y_test = load_split(arrays, "test")
    model = build_model()
    optimizer = tf.keras.optimizers.Adam()
    # The guide has float16 in mind; the other policies need no scaled loss.
    if arguments.policy == "mixed_float16":
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
    model.compile(optimizer=optimizer, loss="categorical_crossentropy", metrics=["accuracy"])
    times = EpochTimes()
    history = model.fit(
        x_train,
        y_train,
        batch_size=BATCH_SIZE,
        epochs=arguments.epochs,
        validation_data=(x_test, y_test),
        callbacks=[times],
    )
    measured = {
        "policy": arguments.policy,
        "seconds_per_epoch": times.seconds,
        "images_per_second": images_per_second(times.seconds, len(x_train)),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "val_accuracy": history.history["val_accuracy"][-1],
    }
    arguments.out.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
