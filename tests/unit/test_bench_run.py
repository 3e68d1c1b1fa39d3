"""A benchmark from its flags to its status: what is run, in which order, and what is said."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import bench_stand_in as stand_in
import numpy as np
import pytest
import tensorflow as tf
from bench_stand_in import run_bench

from conftest import ROOT, wait_until
from workbench import flags
from workbench.bench import child, figures_of_run, presets, probe
from workbench.bench.arms import (
    FLOAT32,
    MIXED_BFLOAT16,
    MIXED_FLOAT16,
    TF32,
    arm_flags,
    arms,
    unused_flags,
)
from workbench.bench.gate import gate
from workbench.bench.models import wide_cnn, wide_mlp
from workbench.bench.progress import Progress
from workbench.bench.results import Comparison, Run
from workbench.bench.schedule import Place, all_places, pending
from workbench.bench.settings import HANDED_ON, Settings, check_together
from workbench.errors import Mistake
from workbench.hardware import Gpu
from workbench.settings import SCALING_FLAGS
from workbench.settings import Settings as Train

P100, T4, A100 = Gpu("P100", (6, 0)), Gpu("T4", (7, 5)), Gpu("A100", (8, 0))


def read(*arguments):
    """The flags as the command reads them; raises ``Mistake``."""
    given = flags.parse(arguments, Settings)
    check_together(given)
    return given


# Flags.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--repeats=0", "--repeats=0: give a whole number from 1 to 1000"),
        ("--repeats=1001", "--repeats=1001: give a whole number from 1 to 1000"),
        ("--preset=big", "--preset=big: give one of: mnist, compute"),
        ("--min_speedup=0", "--min_speedup=0: give 'off' or a number from 0.01 to 1000"),
        ("--min_speedup=fast", "--min_speedup=fast: give 'off' or a number from 0.01 to 1000"),
        ("--policy=float32", "unknown flag --policy (--help lists all flags)"),
        ("--batch_size=64 --batch_sizes=off --seed=-1", "--seed=-1: give a whole number from 0 to"),
        (
            "--preset=mnist --model=cnn",
            "--preset=mnist and --model=cnn exclude each other: a preset has its own model and "
            "data; leave out one of the two",
        ),
        ("--data=x.npz --preset=compute", "--preset=compute and --data=x.npz exclude each other"),
        (
            "--batch_size=64 --batch_sizes=64,128",
            "--batch_size has no effect with --batch_sizes, which lists all of them: leave out "
            "one of the two",
        ),
        (
            "--seed=4294967295 --repeats=3",
            "--seed=4294967295: each of 3 repeats has the next seed, and 4294967295 is the last "
            "there is: give at most 4294967293",
        ),
        (
            "--preset=compute --weights=imagenet",
            "--weights=imagenet has no effect with --preset=compute, which has its own models",
        ),
        ("--weights=imagenet", "--weights=imagenet has no effect with --preset=mnist"),
        ("--model=cnn --weights=imagenet", "--weights=imagenet has no effect with --model=cnn"),
        # What train refuses, too.
        ("--loss_scale=8 --growth_steps=9", "--growth_steps has no effect with --loss_scale=8"),
        ("--loop=fit --input=device", "--input=device has no effect with --loop=fit"),
    ],
)
def test_a_wrong_flag_is_named_with_the_remedy(arguments, words):
    with pytest.raises(Mistake, match="^" + re.escape(words)):
        read(*arguments.split())


@pytest.mark.parametrize(
    "sizes", ["64,x", "64,", "", "64,64", "128,64", "0,1", "64 128", "1000001"]
)
def test_batch_sizes_must_grow(sizes):
    words = f"--batch_sizes={sizes}: give 'off' or batch sizes from 1 to 1000000, each larger"
    with pytest.raises(Mistake, match=re.escape(words)):
        read(f"--batch_sizes={sizes}")


def test_flags_are_understood():
    assert read("--batch_sizes=64,128,256", "--repeats=3", "--min_speedup=1.3") == {
        "batch_sizes": (64, 128, 256),
        "repeats": 3,
        "min_speedup": 1.3,
    }
    # The default written out excludes nothing.
    assert read("--batch_sizes=off", "--batch_size=64")["batch_size"] == 64
    last = 2**32 - 1
    assert read(f"--seed={last}", "--repeats=1")["seed"] == last


def test_every_flag_is_handed_on_or_the_benchmarks_own():
    ours, theirs = flags.declared(Settings), flags.declared(Train)
    own = {"preset", "batch_sizes", "repeats", "min_speedup", "out"}
    assert set(ours) == {*HANDED_ON, *SCALING_FLAGS, *own}
    assert {*HANDED_ON, *SCALING_FLAGS} <= set(theirs)
    # The same flag means the same.
    for name in {*HANDED_ON, *SCALING_FLAGS}:
        assert ours[name].kind is theirs[name].kind
        assert ours[name].default == theirs[name].default


def test_a_mistake_and_help_answer_at_once(tmp_path_factory, tmp_path):
    slow = tmp_path_factory.mktemp("slow")
    for name in ("tensorflow", "matplotlib", "numpy"):
        (slow / f"{name}.py").write_text(f"raise SystemExit('{name} was imported')\n")

    def bench(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "workbench.bench", *arguments],
            env={"PYTHONPATH": f"{slow}:{ROOT}", "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    wrong = bench("--repeats=none")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "error: --repeats=none: give a whole number from 1 to 1000\n"
    page = bench("--help")
    assert (page.returncode, page.stderr) == (0, "")
    for name in flags.declared(Settings):
        assert f"    --{name}" in page.stdout
    assert list(tmp_path.iterdir()) == []


# What is measured.


def test_the_preset_mnist_is_the_tutorials_table():
    plain = {"model": "mlp", "data": "mnist", "epochs": 5, "batch_size": 128}
    assert presets.cases({}, gpu=False) == [("mlp", plain)]
    assert presets.cases({"preset": "mnist"}, gpu=True) == [("mlp", plain)]
    assert presets.preset({}) == "mnist"


@pytest.mark.parametrize(
    ("gpu", "size", "batches"),
    [
        (False, {"epochs": 3, "train_samples": 8192}, (512, 128)),
        (True, {"epochs": 5}, (2048, 512)),
    ],
)
def test_the_preset_compute_is_as_large_as_the_hardware(gpu, size, batches):
    models = "workbench.bench.models"
    assert presets.cases({"preset": "compute"}, gpu) == [
        (name, {"model": f"{models}:{name}", "data": "mnist", "batch_size": batch, **size})
        for name, batch in zip(("wide_mlp", "wide_cnn"), batches)
    ]


def test_flags_change_a_preset_and_own_models_take_its_place():
    given = {"preset": "compute", "epochs": 9, "batch_size": 8, "repeats": 2, "loss_scale": 8.0}
    for _, found in presets.cases(given, gpu=False):
        assert (found["epochs"], found["batch_size"], found["train_samples"]) == (9, 8, 8192)
        # Those are no flags of every run.
        assert not {"preset", "repeats", "loss_scale"} & set(found)
    assert presets.cases({"model": "m.py:net", "seed": 3}, gpu=True) == [
        (
            "m.py:net",
            {"model": "m.py:net", "data": "mnist", "epochs": 5, "batch_size": 128, "seed": 3},
        )
    ]
    assert presets.cases({"data": "d.npz"}, gpu=True)[0].flags["model"] == "mlp"
    assert presets.preset({"data": "d.npz"}) is None


def test_settings_are_what_the_cases_made_of_them():
    settings = {name: flag.default for name, flag in flags.declared(Settings).items()}
    known = presets.understood(settings, presets.cases({"preset": "compute"}, gpu=False))
    assert (known["epochs"], known["train_samples"], known["data"]) == (3, 8192, "mnist")
    # Those in which the two cases differ.
    assert (known["model"], known["batch_size"]) == (None, None)
    assert "preset" not in known


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_the_models_of_compute_have_probabilities_in_float32(policy):
    tf.keras.mixed_precision.set_global_policy(policy)
    for model, shape in ((wide_mlp((784,), 10), (784,)), (wide_cnn((28, 28), 10), (28, 28, 1))):
        outputs = model(tf.random.uniform((3, *shape)))
        assert (outputs.shape, outputs.dtype) == ((3, 10), tf.float32)
        np.testing.assert_allclose(tf.reduce_sum(outputs, 1), 1, rtol=1e-5)
        assert {weight.dtype for weight in model.weights} == {tf.float32}
        assert model.layers[0].compute_dtype == policy.replace("mixed_", "")


# Arms and their order.


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        (None, [FLOAT32, MIXED_BFLOAT16]),
        (P100, [FLOAT32, MIXED_FLOAT16]),
        (T4, [FLOAT32, MIXED_FLOAT16]),
        (A100, [FLOAT32, TF32, MIXED_FLOAT16]),
    ],
)
def test_the_hardware_decides_on_the_arms(gpu, expected):
    assert arms(gpu) == expected


def test_each_arm_has_its_policy_and_only_float16_scales_the_loss():
    given = {"loss_scale": 8.0, "epochs": 3}
    assert arm_flags(FLOAT32, given) == {"policy": "float32", "tf32": "off"}
    assert arm_flags(TF32, given) == {"policy": "float32", "tf32": "on"}
    assert arm_flags(MIXED_BFLOAT16, given) == {"policy": "mixed_bfloat16", "tf32": "on"}
    assert arm_flags(MIXED_FLOAT16, given) == {
        "policy": "mixed_float16",
        "tf32": "on",
        "loss_scale": 8.0,
    }
    assert unused_flags(arms(T4), given) == []
    assert unused_flags(arms(None), given) == [
        "--loss_scale has no effect: on a CPU the mixed arm is mixed_bfloat16, which does not "
        "scale the loss"
    ]


TWO = ("float32", "mixed_bfloat16")


def places(*models, **given):
    return all_places([presets.Case(model, {"batch_size": 32}) for model in models], given, TWO)


def test_the_arms_take_turns_and_a_repeat_has_its_seed():
    assert places("a", "b", repeats=2, seed=7) == [
        Place(model, arm, 32, seed) for model in "ab" for seed in (7, 8) for arm in TWO
    ]


def test_a_sweep_goes_from_the_smallest_batch_to_the_largest():
    assert places("a", "b", repeats=1, batch_sizes=(8, 16)) == [
        Place(model, arm, batch, 0) for batch in (8, 16) for model in "ab" for arm in TWO
    ]


def test_what_is_done_is_not_run_again():
    todo = places("a", repeats=2)
    assert pending(todo, []) == todo
    assert pending(todo, [Run(*todo[1]), Run(*todo[2], failed="not_finite")]) == [todo[0], todo[3]]
    assert pending(todo, [Run(*place) for place in todo]) == []


def test_after_a_batch_that_does_not_fit_there_is_no_larger_one():
    todo = places("a", "b", repeats=2, batch_sizes=(8, 16, 32))
    failed = Run("a", "float32", 16, 0, failed="does not fit in memory")
    left = pending(todo, [failed])
    # No other seed of that arm, no larger batch of that model; the other model goes on.
    assert [place for place in left if place.model == "a" and place.batch_size > 8] == [
        Place("a", "mixed_bfloat16", 16, 0),
        Place("a", "mixed_bfloat16", 16, 1),
    ]
    assert [place for place in left if place.model == "b"] == places(
        "b", repeats=2, batch_sizes=(8, 16, 32)
    )


def test_the_name_of_a_runs_files_has_nothing_that_a_path_minds():
    place = Place("/home/me/my models/m.py:net", "float32", 128, 3)
    assert place.file_name == "m.py-net-float32-b128-s3"


# The gate.


def compared(speedup, low=None, high=None, arm="mixed_float16", baseline="float32", model="mlp"):
    figures = {"pairs": 1, "memory_saved": None, "memory_low": None, "memory_high": None}
    names = {"model": model, "baseline": baseline, "arm": arm, "batch_size": 128}
    found = {"speedup": speedup, "low": low, "high": high, "verdict": ""}
    return Comparison(**names, **figures, **found, accuracy_difference=None)


@pytest.mark.parametrize(
    ("found", "met", "line"),
    [
        (
            [compared(1.5, 1.4, 1.6)],
            True,
            "--min_speedup=1.3 is met: mixed_float16 is 1.50 times as fast as float32 with mlp, "
            "batch 128 (interval 1.40-1.60)",
        ),
        (
            [compared(1.25)],
            False,
            "--min_speedup=1.3 is not met: mixed_float16 is 1.25 times as fast as float32 with "
            "mlp, batch 128 (one pair of runs: no interval)",
        ),
        (
            [compared(1.35, 1.2, 1.5)],
            True,
            "--min_speedup=1.3 is met: mixed_float16 is 1.35 times as fast as float32 with mlp, "
            "batch 128 (1.3 lies within the interval 1.20-1.50)",
        ),
        # Exactly as fast as was asked.
        (
            [compared(1.3)],
            True,
            "--min_speedup=1.3 is met: mixed_float16 is 1.30 times as fast as float32 with mlp, "
            "batch 128 (one pair of runs: no interval)",
        ),
        # The worst decides.
        (
            [compared(9.0), compared(1.1, model="cnn")],
            False,
            "--min_speedup=1.3 is not met: mixed_float16 is 1.10 times as fast as float32 with "
            "cnn, batch 128 (one pair of runs: no interval)",
        ),
        # Neither TF32 nor the gain over TF32 is asked about.
        (
            [
                compared(1.0, arm="tf32"),
                compared(2.0),
                compared(1.0, baseline="tf32"),
            ],
            True,
            "--min_speedup=1.3 is met: mixed_float16 is 2.00 times as fast as float32 with mlp, "
            "batch 128 (one pair of runs: no interval)",
        ),
        ([], False, "--min_speedup=1.3 is not met: no speed-up could be measured"),
        ([compared(None)], False, "--min_speedup=1.3 is not met: no speed-up could be measured"),
    ],
)
def test_gate(found, met, line):
    assert gate(found, 1.3) == (met, line)


# The figures that a run leaves.


def run_folder(path, speeds, *, batch=100, examples=600, accumulate=1):
    """A run with ``speeds`` as (epoch, step, images per second)."""
    path.mkdir(exist_ok=True)
    config = {
        "flags": {"batch_size": batch, "accumulate_steps": accumulate},
        "data": {"train_examples": examples},
    }
    (path / "config.json").write_text(json.dumps(config))
    lines = [
        json.dumps({"epoch": epoch, "step": step, "images_per_second": speed})
        for epoch, step, speed in speeds
    ]
    (path / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("speeds", "more", "expected"),
    [
        # The first epoch and the windows that end one are left out.
        ([(1, 3, 1), (1, 6, 1), (2, 9, 1000), (2, 12, 1)], {}, 100.0),
        ([(1, 3, 1), (1, 6, 1), (2, 8, 1000), (2, 10, 500), (2, 12, 1)], {}, 150.0),
        # With one epoch there is no other.
        ([(1, 3, 1000), (1, 6, 1)], {}, 100.0),
        # With one window an epoch, it is what there is: its last batch is half as large.
        ([(1, 6, 1), (2, 12, 1000)], {"examples": 550}, 1000 * (550 / 6) / 1000),
        # A step of several batches.
        ([(1, 3, 1), (1, 6, 1), (2, 9, 1000), (2, 12, 1)], {"accumulate": 4}, 400.0),
        ([], {}, None),
    ],
)
def test_the_time_of_a_step(tmp_path, speeds, more, expected):
    found = figures_of_run.step_ms(run_folder(tmp_path, speeds, **more))
    assert found == (None if expected is None else pytest.approx(expected))


def test_the_figures_of_a_run_leave_its_first_epoch_out(tmp_path):
    run_folder(tmp_path, [(1, 3, 1), (1, 6, 1), (2, 9, 1000), (2, 12, 1)])
    summary = {
        "seconds_per_epoch": [50.0, 2.0, 4.0],
        "images_per_second": 200.0,
        "peak_memory_bytes": 5,
        "val_accuracy": None,
        "input_wait_share": 0.1,
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    place = Place("mlp", "float32", 100, 3)
    run = figures_of_run.read_run(place, tmp_path, tmp_path / "log", 0)
    assert run == Run("mlp", "float32", 100, 3, 3.0, 200.0, 100.0, 5, None, 0.1, None)
    (tmp_path / "summary.json").write_text(json.dumps({**summary, "seconds_per_epoch": [50.0]}))
    only = figures_of_run.read_run(place, tmp_path, tmp_path / "log", 0)
    assert only.seconds_per_epoch == 50.0


TRACEBACK = "Traceback (most recent call last):\n  File x\nKeyError: 'a'\n"


@pytest.mark.parametrize(
    ("status", "verdict", "log", "failed"),
    [
        (1, "not_finite", "failed: a\nfailed: the loss is not finite\n", "the loss is not finite"),
        (2, None, "error: --model=x: it failed\n", "--model=x: it failed"),
        (1, "out_of_memory", "failed: out of memory\n", "does not fit in memory"),
        (1, None, TRACEBACK, "ended with status 1 (KeyError: 'a'): see run.log"),
        (3, None, "hello\n", "ended with status 3: see run.log"),
        (3, None, "", "ended with status 3: see run.log"),
        (-signal.SIGKILL, None, "", "does not fit in memory (killed by SIGKILL)"),
        (-signal.SIGABRT, None, "what(): std::bad_alloc\n", "does not fit in memory (std::bad_all"),
        (-signal.SIGABRT, None, "", "ended by SIGABRT: see run.log"),
        (-signal.SIGSEGV, None, "", "ended by SIGSEGV: see run.log"),
        (1, "not_finite", b"\xff\xfe\nfailed: caf\xe9\n", "caf\ufffd"),
    ],
)
def test_why_a_run_failed(tmp_path, status, verdict, log, failed):
    if verdict:
        (tmp_path / "summary.json").write_text(json.dumps({"stopped_because": verdict}))
    file = tmp_path / "run.log"
    file.write_bytes(log if isinstance(log, bytes) else log.encode())
    run = figures_of_run.read_run(Place("mlp", "float32", 128, 0), tmp_path, file, status)
    assert run.failed.startswith(failed)
    assert run.images_per_second is None


def test_warnings_of_train_are_those_before_it_began(tmp_path):
    log = tmp_path / "log"
    log.write_text("warning: one\n  warning: not at the beginning\npolicy: float32\nwarning: two\n")
    assert figures_of_run.warnings(log) == ["one"]


# The process of a run.


def trainer(monkeypatch, tmp_path, code):
    script = tmp_path / "train.py"
    script.write_text(code)
    monkeypatch.setattr(child, "TRAIN", script)
    return child.Trainer()


def test_a_run_is_train_with_these_flags_and_its_output_in_the_log(monkeypatch, tmp_path):
    runs = trainer(
        monkeypatch,
        tmp_path,
        "import os, sys; print(sys.argv[1:], sys.stdin.read() == '', flush=True);"
        "print('to stderr', file=sys.stderr); sys.exit(os.getsid(0) == os.getpid() and 7)",
    )
    given = {"model": "m.py:net", "image_size": (8, 16), "train_samples": "all", "download": True}
    assert runs.run(given, tmp_path / "log") == 7
    assert (tmp_path / "log").read_text().splitlines() == [
        "['--model=m.py:net', '--image_size=8x16', '--train_samples=all', '--download=True'] True",
        "to stderr",
    ]


def test_a_signal_that_ended_a_run_is_told(monkeypatch, tmp_path):
    runs = trainer(monkeypatch, tmp_path, "import os; os.abort()")
    assert runs.run({}, tmp_path / "log") == -signal.SIGABRT


def test_end_ends_the_run_with_what_it_has_started_and_no_other_begins(monkeypatch, tmp_path):
    runs = trainer(
        monkeypatch,
        tmp_path,
        "import subprocess, time;"
        "print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(60)",
    )
    log = tmp_path / "log"

    def end():
        try:
            wait_until(
                lambda: log.is_file() and log.read_text().endswith("\n"), 30, "it has started"
            )
        finally:
            runs.end()

    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(child.Stopped):
        runs.run({}, log)
    thread.join()
    grandchild = int(log.read_text())
    wait_until(lambda: not stand_in.lives(grandchild), 5, "what it has started ends too")
    with pytest.raises(child.Stopped):
        runs.run({}, log)


# Progress, and the overhead of a step.


def test_progress_has_a_line_for_each_run_and_tells_how_long_it_takes(monkeypatch, capsys):
    clock = iter([0, 10, 100, 120, 200, 230])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    progress = Progress(sweep=False)
    for seed, (done, left) in enumerate([(1, 2), (2, 1), (3, 0)]):
        place = Place("mlp", "float32", 128, seed)
        progress.begin(place)
        progress.end(Run(*place, images_per_second=1234.5, accuracy=0.98765), done, left, arms=2)
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "run 1 of 3: mlp float32, seed 0: 1234 images/s, accuracy 0.988",
        "run 2 of 3: mlp float32, seed 1: 1234 images/s, accuracy 0.988; about 15 s left",
        "run 3 of 3: mlp float32, seed 2: 1234 images/s, accuracy 0.988",
    ]
    assert err == ""


def test_progress_tells_the_batch_of_a_sweep_failures_and_minutes(monkeypatch, capsys):
    clock = iter([0, 100, 100, 300])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    progress = Progress(sweep=True)
    place = Place("mlp", "float32", 64, 0)
    progress.begin(place)
    progress.end(Run(*place, failed="not_finite"), 1, 3, arms=1)
    progress.begin(place)
    progress.end(Run(*place, images_per_second=5.0), 2, 2, arms=1)
    out, err = capsys.readouterr()
    assert err == "warning: run 1 of 4: mlp float32, batch 64, seed 0: failed: not_finite\n"
    assert out == (
        "run 2 of 4: mlp float32, batch 64, seed 0: 5 images/s, accuracy unknown; "
        "about 5 min left\n"
    )


def test_on_a_terminal_the_run_under_way_is_shown_and_taken_away(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    progress = Progress(sweep=False)
    progress.begin(Place("mlp", "float32", 128, 0))
    progress.clear()
    assert capsys.readouterr().out == "\r\033[Kmlp float32, seed 0 ...\r\033[K"


class FakeTrainer:
    """Leaves a run with steps of 0.5 ms, or fails."""

    def __init__(self, status):
        self.status = status

    def run(self, given, log):
        self.given, self.log = given, log
        folder = log.with_suffix("")
        run_folder(folder, [(1, 2, 1), (1, 4, 1), (2, 6, 2000), (2, 8, 1)], batch=1, examples=0)
        return self.status


@pytest.mark.parametrize(("known_ms", "steps"), [(1.0, 300), (100.0, 50), (10_000.0, 20)])
def test_the_overhead_is_the_time_of_a_step_with_one_example(tmp_path, known_ms, steps):
    fake = FakeTrainer(0)
    given = {"model": "cnn", "data": "mnist", "batch_size": 128, "epochs": 5}
    assert probe.probe(fake, given, known_ms, tmp_path) == pytest.approx(0.5)
    assert fake.log == tmp_path / "overhead.log"
    assert fake.given == {
        "model": "cnn",
        "data": "mnist",
        "batch_size": 1,
        "epochs": 2,
        "steps_per_epoch": steps,
        "log_steps": steps // 5,
        "policy": "float32",
        "tf32": "off",
        "out": str(tmp_path / "overhead"),
    }


def test_an_overhead_that_cannot_be_measured_is_none(tmp_path):
    assert probe.probe(FakeTrainer(1), {}, 1.0, tmp_path) is None


# The whole command. Its runs are a stand-in, but for the last test.


@pytest.fixture
def out(tmp_path):
    return tmp_path / "bench"


def test_a_benchmark_from_its_flags_to_its_files(out):
    result = run_bench(f"--out={out}", "--repeats=2", "--seed=3", "--clip_norm=1")
    assert (result.returncode, result.stderr) == (0, "warning: seen by train\n")
    lines = result.stdout.splitlines()
    assert [re.sub(r"about \d+ s left", "about N s left", line) for line in lines[:4]] == [
        "run 1 of 4: mlp float32, seed 3: 1300 images/s, accuracy 0.930",
        "run 2 of 4: mlp mixed_bfloat16, seed 3: 2600 images/s, accuracy 0.930; about N s left",
        "run 3 of 4: mlp float32, seed 4: 1400 images/s, accuracy 0.940; about N s left",
        "run 4 of 4: mlp mixed_bfloat16, seed 4: 2800 images/s, accuracy 0.940",
    ]
    assert "mixed_bfloat16 to float32: faster: 2.00x (2.00-2.00)" in lines
    assert "note: seen by train" in lines
    assert lines[-1] == f"files: {out}"
    assert sorted(file.name for file in out.iterdir()) == [
        ".lock",
        "bench.html",
        "bench.json",
        "bench.png",
        "runs",
    ]
    found = stand_in.content(out)
    assert (found["complete"], found["preset"]) == (True, "mnist")
    assert found["command"] == f"bench --out={out} --repeats=2 --seed=3 --clip_norm=1"
    (comparison,) = found["comparisons"]
    assert comparison["speedup"] == pytest.approx(2.0)
    assert comparison["memory_saved"] == pytest.approx(0.25)
    run = out / "runs" / "mlp-mixed_bfloat16-b128-s4"
    assert stand_in.arguments(out, run.name) == {
        "model": "mlp",
        "data": "mnist",
        "epochs": "5",
        "batch_size": "128",
        "clip_norm": "1.0",
        "policy": "mixed_bfloat16",
        "tf32": "on",
        "seed": "4",
        "checkpoint_minutes": "off",
        "out": str(run),
    }
    # Without the weights, which take the room.
    assert not (run / "model").exists()
    assert not (run / "checkpoints").exists()


def test_one_run_of_each_is_said_as_one(out):
    result = run_bench(f"--out={out}", "--repeats=1", "--epochs=1")
    lines = result.stdout.splitlines()
    assert "mlp on mnist: batch 128; 1 epoch; 1 run of each" in lines
    words = "with one epoch the speed holds the building of the graph: give --epochs=2"
    assert f"note: {words}" in lines


@pytest.mark.parametrize(("asked", "status"), [("1.9", 0), ("2.1", 1)])
def test_the_gate_is_the_status(out, asked, status):
    result = run_bench(f"--out={out}", "--repeats=1", f"--min_speedup={asked}")
    assert result.returncode == status
    said = "is not met" if status else "is met"
    line = (
        f"--min_speedup={asked} {said}: mixed_bfloat16 is 2.00 times as fast as float32 with mlp, "
        f"batch 128 (one pair of runs: no interval)"
    )
    stream = result.stderr if status else result.stdout
    assert stream.splitlines()[-1] == ("failed: " if status else "") + line
    assert stand_in.content(out)["complete"] is True


def test_an_arm_that_fails_leaves_the_others_and_status_1(out):
    result = run_bench(f"--out={out}", "--repeats=2", fails={"mixed_bfloat16": "fails"})
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "warning: seen by train",
        "warning: run 2 of 4: mlp mixed_bfloat16, seed 0: failed: the loss is not finite",
        "warning: run 4 of 4: mlp mixed_bfloat16, seed 1: failed: the loss is not finite",
        "failed: 2 of 4 runs failed, the first one: the loss is not finite",
    ]
    verdict = "not compared: mixed_bfloat16 failed (the loss is not finite)"
    assert f"mixed_bfloat16 to float32: {verdict}" in result.stdout.splitlines()
    assert [each["runs"] for each in stand_in.content(out)["results"]] == [2, 0]


def test_a_crash_is_told_by_its_error_and_its_log(out):
    result = run_bench(f"--out={out}", "--repeats=1", fails={"float32": "crashes"})
    assert result.returncode == 1
    words = "ended with status 1 (RuntimeError: planted): see mlp-float32-b128-s0.log"
    assert result.stderr.splitlines()[-1] == f"failed: 1 of 2 runs failed, the first one: {words}"
    assert (out / "runs" / "mlp-float32-b128-s0.log").is_file()


def test_where_no_run_tells_the_hardware_the_benchmark_is_not_complete(out):
    result = run_bench(f"--out={out}", "--repeats=2", fails={"float32": "early"})
    assert result.returncode == 1
    found = stand_in.content(out)
    assert (found["complete"], [each["arm"] for each in found["runs"]]) == (False, ["float32"] * 2)
    assert "note: incomplete: the same command with this --out goes on" in result.stdout


def test_what_train_refuses_at_once_is_one_line_and_leaves_nothing(tmp_path):
    result = run_bench(f"--out={tmp_path}/new/bench", fails={"float32": "refused"})
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "error: --model=x: it is wrong\n"
    assert list(tmp_path.iterdir()) == []
    # A folder that was there stays, as empty as it was.
    result = run_bench(f"--out={tmp_path}", fails={"float32": "refused"})
    assert result.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_ends_at_the_first_batch_that_does_not_fit(out):
    result = run_bench(
        f"--out={out}",
        "--repeats=1",
        "--batch_sizes=64,128,256",
        fails={"float32-b128": "bad_alloc"},
    )
    # That is its result and no failure.
    assert result.returncode == 0, result.stderr
    assert [(run["arm"], run["batch_size"]) for run in stand_in.content(out)["runs"]] == [
        (arm, batch) for batch in (64, 128) for arm in TWO
    ]
    words = "does not fit in memory (std::bad_alloc)"
    assert result.stderr.splitlines()[1:] == [
        f"warning: run 3 of 4: mlp float32, batch 128, seed 0: failed: {words}"
    ]
    assert f"note: mlp, float32, batch 128: {words}" in result.stdout.splitlines()


def test_a_sweep_whose_smallest_batch_does_not_fit_has_failed(out):
    fails = {"float32": "out_of_memory", "mixed_bfloat16": "killed"}
    result = run_bench(f"--out={out}", "--batch_sizes=64,128", fails=fails)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "failed: 2 of 2 runs failed, the first one: does not fit in memory"
    )


def test_a_full_disk_ends_the_benchmark(out):
    result = run_bench(f"--out={out}", "--repeats=2", fails={"mixed_bfloat16": "disk_full"})
    assert result.returncode == 1
    log = out / "runs" / "mlp-mixed_bfloat16-b128-s0.log"
    assert result.stderr.splitlines()[-1] == (
        f"failed: the disk is full (mlp-mixed_bfloat16-b128-s0: see {log}). Make room, or choose "
        f"another disk with --out."
    )
    assert len(stand_in.content(out)["runs"]) == 1


def test_without_another_reason_the_overhead_of_a_step_is_measured(out):
    result = run_bench(
        f"--out={out}",
        "--repeats=1",
        STAND_IN_SPEEDUP="1",
        STAND_IN_FEATURES="amx_tile amx_bf16 avx512_bf16",
    )
    assert result.returncode == 0, result.stderr
    reason = "the step is bound by overhead (1e+02 ms of 1.3e+02 ms)"
    assert f"no gain: {reason} (one pair: no interval)" in result.stdout
    assert stand_in.content(out)["overhead"] == {"mlp": 100.0}
    assert stand_in.arguments(out, "overhead")["batch_size"] == "1"
    assert not (out / "runs" / "overhead" / "model").exists()


def test_scaling_flags_on_a_cpu_are_told_to_be_without_effect(out):
    result = run_bench(f"--out={out}", "--repeats=1", "--loss_scale=8")
    words = "--loss_scale has no effect: on a CPU the mixed arm is mixed_bfloat16"
    assert result.stderr.startswith(f"warning: {words}")
    assert f"note: {words}" in result.stdout
    for name in ("mlp-float32-b128-s0", "mlp-mixed_bfloat16-b128-s0"):
        assert "loss_scale" not in stand_in.arguments(out, name)


MODEL = """
import tensorflow as tf

def net():
    return tf.keras.Sequential([
        tf.keras.Input((20,)),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(3, activation="softmax", dtype="float32"),
    ])
"""


def test_a_model_and_data_of_ones_own_by_train_itself(tmp_path):
    (tmp_path / "mine.py").write_text(MODEL)
    images = np.random.default_rng(0).normal(size=(1000, 20)).astype(np.float32)
    np.savez(tmp_path / "mine.npz", x_train=images, y_train=images[:, :3].argmax(1))
    result = subprocess.run(
        [
            *(sys.executable, "-m", "workbench.bench", "--model=mine.py:net", "--data=mine.npz"),
            *("--repeats=1", "--epochs=2", "--batch_size=64", "--out=b"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found = stand_in.content(tmp_path / "b")
    assert [(run["model"], run["arm"], run["failed"]) for run in found["runs"]] == [
        ("mine.py:net", arm, None) for arm in TWO
    ]
    for run in found["runs"]:
        assert run["images_per_second"] > 0
        # The process itself takes more than that.
        assert run["peak_memory_bytes"] > 10**8
        # 900 examples, 15 steps: both are of the same epoch.
        assert run["step_ms"] * 15 / 1000 <= run["seconds_per_epoch"]
        assert 0 <= run["accuracy"] <= 1
    assert found["comparisons"][0]["pairs"] == 1
    assert "mine.py:net on mine.npz: batch 64; 2 epochs; 1 run of each" in result.stdout
