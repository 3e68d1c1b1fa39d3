"""The data set, tiny models with their step, and the trainer run as a person runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

# As train.py does it: before TensorFlow is imported, which reads it then.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from tensorflow.python.framework.config import disable_op_determinism

from workbench.data.types import Arrays
from workbench.device_feed import DeviceFeed
from workbench.fit_loop import FitLoop
from workbench.loop import CustomLoop
from workbench.objective import Objective
from workbench.optimizer import build_optimizer
from workbench.randomness import KeyedRandomness
from workbench.settings import Settings
from workbench.step import TrainingStep
from workbench.stream_feed import StreamFeed
from workbench.window import joined

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / "train.py"
FULL_DATASETS = Path(os.environ.get("WORKBENCH_DATASETS") or ROOT / "datasets")
SMALL_TRAIN, SMALL_TEST = 2048, 500


def train_command(*arguments):
    return [sys.executable, str(TRAIN), *arguments]


def environment(datasets, **more):
    return {**os.environ, "WORKBENCH_DATASETS": str(datasets), **more}


def run_train(*arguments, datasets, cwd=None, **more):
    return subprocess.run(
        train_command(*arguments),
        env=environment(datasets, **more),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def wait_until(condition, seconds, what):
    """Wait until ``condition`` is true; fail with ``what`` after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)  # between two looks at the condition


def read_json(file):
    """Read JSON; NaN and Infinity, which JSON does not have, fail."""

    def refuse(name):
        raise ValueError(f"{name} in {file}")

    return json.loads(file.read_text(), parse_constant=refuse)


def read_lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def tiny_model(*middle):
    """A model 784-16-10, with the layers ``middle`` between the two."""
    return tf.keras.Sequential(
        [
            tf.keras.Input((784,), dtype="float32"),
            tf.keras.layers.Dense(16, activation="relu"),
            *middle,
            tf.keras.layers.Dense(10, activation="softmax", dtype="float32"),
        ]
    )


def tiny_step(policy, *, make=tiny_model, shape=(784,), inputs=tf.float32, **flags):
    """A step of the model of ``make``: with the same weights under every policy."""
    tf.keras.mixed_precision.set_global_policy(policy)
    tf.keras.utils.set_random_seed(3)
    model = make()
    settings = Settings(**{"batch_size": 8, **flags})
    smoothing = settings.label_smoothing
    objective = Objective.of(model, tf.zeros((1, *shape), inputs), None, smoothing)
    return TrainingStep(
        model,
        build_optimizer(policy, settings, total_steps=1000),
        objective,
        KeyedRandomness(model, settings.seed),
        settings,
        shape,
        inputs,
    )


def batch(mnist, size=8):
    images = mnist["x_train"][:size].reshape(size, 784).astype(np.float32) / 255
    return tf.constant(images), tf.constant(mnist["y_train"][:size].astype(np.int64))


def examples(mnist, count):
    return Arrays(mnist["x_train"][:count], mnist["y_train"][:count].astype(np.int64))


def tiny_loop(step, arrays, way="device", seed=0, steps="all", per_call=7):
    """A loop around ``step``: custom with its input on the "device" or a "stream", or "fit"."""
    size = step.batch_size * step.batches
    feed = (DeviceFeed if way == "device" else StreamFeed)(arrays, (784,), size, seed, steps)
    with tf.device("CPU:0"):
        stop = tf.Variable(False, trainable=False)
    loop = FitLoop(step, feed, stop, per_call) if way == "fit" else CustomLoop(step, feed, stop)
    loop.step, loop.feed, loop.stop = step, feed, stop
    return loop


def run_epoch(loop, epoch=0, first=0, per_call=7, stop_after=None):
    """Run an epoch in calls of ``per_call`` steps; return the windows of the calls.

    It ends early after ``stop_after`` calls, by the stop flag, and when the step is hopeless.
    """
    windows = []

    def on_chunk(window):
        windows.append(window)
        return len(windows) != stop_after and not (loop.stop or loop.step.hopeless())

    loop.run_epoch(epoch, first, lambda step: min(step + per_call, loop.feed.steps), on_chunk)
    return windows


def whole(windows):
    """The sum of windows of numbers."""
    first, *others = windows
    for other in others:
        first = joined(first, other)
    return first


def counts(step):
    return int(step.applied_steps), int(step.skipped_steps)


def weights(step):
    return [variable.numpy() for variable in step.model.weights]


def slots(step):
    return [variable.numpy() for variable in step.optimizer.variables()]


def assert_equal(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(autouse=True)
def float32_afterwards():
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


@pytest.fixture
def deterministic():
    """What is to be equal to the bit: several threads may add up in any order."""
    tf.config.experimental.enable_op_determinism()
    yield
    disable_op_determinism()


class InProcess:
    """The program called inside this process, which saves the seconds of its start."""

    def __init__(self, monkeypatch, capfd, folder):
        self._monkeypatch = monkeypatch
        self._capfd = capfd
        self.out = folder / "run"

    def __call__(self, *arguments):
        """Return the status; what was written is in ``stdout`` and ``stderr`` then."""
        import train
        from workbench.errors import report_mistake

        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["train", f"--out={self.out}", *map(str, arguments)])
            patch.setattr(sys, "stdout", sys.stdout)
            self._capfd.readouterr()
            status = report_mistake(train.main)
            sys.stdout.flush()
        self.stdout, self.stderr = self._capfd.readouterr()
        return status

    @property
    def summary(self):
        return read_json(self.out / "summary.json")

    @property
    def lines(self):
        return read_lines(self.out / "metrics.jsonl")

    @property
    def checkpoints(self):
        """The numbers of the checkpoints there are."""
        files = (self.out / "checkpoints").glob("ckpt-*.index")
        return sorted(int(file.stem.rpartition("-")[2]) for file in files)


@pytest.fixture
def trainer(monkeypatch, capfd, tmp_path, small_datasets):
    """The program in this process, with the small data, a folder of its own, and its signals."""
    handlers = {number: signal.getsignal(number) for number in (1, signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setenv("WORKBENCH_DATASETS", str(small_datasets))
    monkeypatch.chdir(tmp_path)
    yield InProcess(monkeypatch, capfd, tmp_path)
    signal.set_wakeup_fd(-1)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def tensors(out):
    """All tensors of the last checkpoint of the run in ``out``, by name."""
    reader = tf.train.load_checkpoint(str(out / "checkpoints"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.fixture(scope="session")
def mnist():
    file = FULL_DATASETS / "mnist.npz"
    if not file.is_file():
        pytest.fail(f"{file} is not there: name its folder by WORKBENCH_DATASETS")
    with np.load(file) as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.fixture(scope="session")
def small_datasets(mnist, tmp_path_factory):
    """A folder with the first images of MNIST, for runs of a second."""
    folder = tmp_path_factory.mktemp("datasets")
    np.savez(
        folder / "mnist.npz",
        x_train=mnist["x_train"][:SMALL_TRAIN],
        y_train=mnist["y_train"][:SMALL_TRAIN],
        x_test=mnist["x_test"][:SMALL_TEST],
        y_test=mnist["y_test"][:SMALL_TEST],
    )
    return folder


@pytest.fixture(scope="session")
def no_tensorflow(tmp_path_factory):
    """A folder for PYTHONPATH in which importing TensorFlow, or asking NVML, ends the program."""
    folder = tmp_path_factory.mktemp("poisoned")
    for name in ("tensorflow", "pynvml"):
        (folder / f"{name}.py").write_text(f"raise SystemExit('{name} was imported')\n")
    return folder


def classes_without_tensorflow(data, cwd, no_tensorflow):
    """Load ``data`` where TensorFlow and NVML cannot be imported; return what is printed."""
    code = (
        "import sys; from workbench.data import load; from workbench.settings import Settings;"
        "print(load(Settings(data=sys.argv[1], batch_size=4), ()).classes)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, data],
        cwd=cwd,
        env={"PYTHONPATH": f"{no_tensorflow}:{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout + result.stderr
