"""A stand-in for train, so that the runs of a benchmark take no time and give known figures.

As a program it takes train's flags and leaves what train leaves. Its figures: float32 takes
``1000 + 100 * seed`` images per second, the mixed arm STAND_IN_SPEEDUP times as many; memory 400
and 300 MB; accuracy 0.9, and 0.01 more for each seed. STAND_IN_FAILS names what goes wrong, as
JSON: of a policy, or of a policy with a batch size ("float32", "float32-b256"), one of FAILURES.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = 6000
START = (
    "import sys; from pathlib import Path; from workbench.bench import child;"
    "child.TRAIN = Path(sys.argv.pop(1)); from workbench.bench.command import main;"
    "sys.exit(main())"
)


def command(*flags):
    """The command line of a benchmark whose runs are this stand-in."""
    return [sys.executable, "-c", START, __file__, *map(str, flags)]


def environment(fails=None, **more):
    # Here: the program that this file also is needs none of it.
    from workbench.bench.record import VARIABLES

    return {
        # The image sets some of those that a benchmark writes down.
        **{name: value for name, value in os.environ.items() if name not in VARIABLES},
        "PYTHONPATH": str(ROOT),
        "STAND_IN_FAILS": json.dumps(fails or {}),
        **more,
    }


def run_bench(*flags, fails=None, cwd=None, **more):
    return subprocess.run(
        command(*flags),
        env=environment(fails, **more),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def content(out):
    return json.loads((out / "bench.json").read_text())


def arguments(out, name):
    """The flags that the run ``name`` was given, as a dictionary of texts."""
    given = json.loads((out / "runs" / name / "arguments.json").read_text())
    return dict(argument[2:].split("=", 1) for argument in given)


def left_in(out):
    return sorted(path.name for path in (out / "runs").iterdir())


def lives(process):
    """Whether ``process`` is there, and not dead and only not yet collected."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def _refused(out):
    print("error: --model=x: it is wrong", file=sys.stderr)
    return 2


def _early(out):
    print("failed: before anything was known", file=sys.stderr)
    return 1


def _fails(out):
    _write(out / "summary.json", {"stopped_because": "not_finite"})
    print("warning: not of this failure\nfailed: the loss is not finite", file=sys.stderr)
    return 1


def _crashes(out):
    raise RuntimeError("planted")


def _out_of_memory(out):
    _write(out / "summary.json", {"stopped_because": "out_of_memory"})
    return 1


def _disk_full(out):
    _write(out / "summary.json", {"stopped_because": "disk_full"})
    return 1


def _bad_alloc(out):
    print("terminate called after throwing an instance of 'std::bad_alloc'", flush=True)
    os.kill(os.getpid(), signal.SIGABRT)


def _aborts(out):
    os.kill(os.getpid(), signal.SIGABRT)


def _killed(out):
    os.kill(os.getpid(), signal.SIGKILL)


def _hangs(out):
    (out / "process").write_text(str(os.getpid()))
    # Until it is killed; not for ever, should nobody do that.
    time.sleep(60)


FAILURES = {
    "refused": _refused,
    "early": _early,
    "fails": _fails,
    "crashes": _crashes,
    "out_of_memory": _out_of_memory,
    "disk_full": _disk_full,
    "bad_alloc": _bad_alloc,
    "aborts": _aborts,
    "killed": _killed,
    "hangs": _hangs,
}


def _write(file, value):
    file.write_text(json.dumps(value))


def _train(arguments):
    from workbench import hardware

    given = dict(argument[2:].split("=", 1) for argument in arguments)
    policy, batch, seed = given["policy"], int(given["batch_size"]), int(given.get("seed", 0))
    out = Path(given["out"])
    fails = json.loads(os.environ["STAND_IN_FAILS"])
    failure = fails.get(f"{policy}-b{batch}", fails.get(policy))
    if failure in ("refused", "early"):
        return FAILURES[failure](out)
    (out / "checkpoints").mkdir(parents=True)
    (out / "model").mkdir()
    print("warning: seen by train", file=sys.stderr, flush=True)
    print(f"policy: {policy}\nwarning: seen later", flush=True)
    name, features, cores = hardware.cpu()
    features = os.environ.get("STAND_IN_FEATURES", "avx2").split()
    # A GPU of this machine is seen, and not used.
    gpus = [gpu._asdict() for gpu in hardware.nvml_report().gpus]
    machine = {"gpus": gpus, "gpus_in_use": [], "driver": None, "memory_bytes": 16 * 10**9}
    config = {
        "flags": {"batch_size": batch, "accumulate_steps": 1},
        "data": {"train_examples": EXAMPLES},
        "hardware": {**machine, "cpu": {"name": name, "cores": cores, "features": features}},
        "versions": {"python": "3.8", "tensorflow": "2.9.1"},
    }
    _write(out / "config.json", config)
    _write(out / "arguments.json", arguments)
    if failure:
        return FAILURES[failure](out)
    mixed = policy != "float32"
    speed = (1000 + 100 * seed) * (float(os.environ.get("STAND_IN_SPEEDUP", "2")) if mixed else 1)
    # A step of one example takes 100 ms.
    speed = 10 if batch == 1 else speed
    windows = [
        {"epoch": epoch, "step": 60 * epoch - 60 + step, "images_per_second": speed}
        for epoch in (1, 2)
        for step in (20, 40, 60)
    ]
    (out / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in windows))
    summary = {
        "seconds_per_epoch": [99.0, EXAMPLES / speed],
        "images_per_second": speed,
        "peak_memory_bytes": 300_000_000 if mixed else 400_000_000,
        "val_accuracy": 0.9 + 0.01 * seed,
        "input_wait_share": 0.01,
        "stopped_because": "finished",
    }
    _write(out / "summary.json", summary)
    return 0


if __name__ == "__main__":
    sys.exit(_train(sys.argv[1:]))
