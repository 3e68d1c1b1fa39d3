"""Going on with a run: with the same settings only, at the exact step, to the same bits."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import ROOT, environment, read_json, read_lines, run_train, tensors, train_command
from workbench import run_folder
from workbench.errors import Mistake
from workbench.resume import check_flags, check_world

USER = ROOT / "tests" / "unit" / "user_models.py"
TINY = f"--model={USER}:tiny"
SMALL = ("--policy=float32", "--train_samples=256", "--batch_size=32", "--log_steps=3")


def mistake(trainer, *arguments):
    """Run what must be refused; return its one line. Nothing in the folder may change."""
    before = {path: path.stat().st_mtime_ns for path in trainer.out.rglob("*")}
    assert trainer(*arguments) == 2
    assert trainer.stdout == ""
    (line,) = trainer.stderr.splitlines()
    assert line.startswith("error: ")
    assert {path: path.stat().st_mtime_ns for path in trainer.out.rglob("*")} == before
    return line


def test_flags_that_differ_are_listed(trainer):
    assert trainer(TINY, *SMALL, "--epochs=1", "--seed=5") == 0
    line = mistake(
        trainer, TINY, *SMALL, "--epochs=1", "--learning_rate=0.01", "--clip_norm=1", "--loop=fit"
    )
    assert line == (
        f"error: --out={trainer.out} holds a run with other settings: "
        f"--loop was custom and is fit; --learning_rate was 0.001 and is 0.01; "
        f"--clip_norm was off and is 1.0; --seed was 5 and is 0: "
        f"give the same ones, or a new --out"
    )
    line = mistake(trainer, *SMALL, "--epochs=1", "--seed=5")
    assert f"--model was {USER}:tiny and is mlp: give" in line


def test_never(trainer):
    assert trainer(TINY, *SMALL, "--epochs=1", "--resume=never") == 0
    line = mistake(trainer, TINY, *SMALL, "--epochs=2", "--resume=never")
    assert line == (
        f"error: --out={trainer.out} is not empty, and --resume=never: name a new folder"
    )


def test_more_epochs_and_other_logs_go_on(trainer):
    assert trainer(TINY, *SMALL, "--epochs=1") == 0
    assert (trainer.summary["resumed_from_step"], trainer.summary["epochs"]) == (None, 1)
    seconds = trainer.lines[-1]["seconds"]
    more = ("--epochs=2", "--log_steps=2", "--checkpoint_steps=5", "--checkpoint_minutes=off")
    assert trainer(TINY, *SMALL[:3], *more) == 0
    assert "resuming after step 8, in epoch 2" in trainer.stdout
    summary = trainer.summary
    assert (summary["resumed_from_step"], summary["epochs"]) == (8, 2)
    assert (summary["applied_steps"], len(summary["seconds_per_epoch"])) == (16, 2)
    assert [line["step"] for line in trainer.lines] == [3, 6, 8, 10, 12, 14, 16]
    assert [line["epoch"] for line in trainer.lines] == [1, 1, 1, 2, 2, 2, 2]
    assert trainer.lines[3]["seconds"] > seconds
    config = read_json(trainer.out / "config.json")
    assert (config["flags"]["epochs"], config["flags"]["log_steps"]) == (2, 2)


def test_a_run_that_has_finished(trainer):
    assert trainer(TINY, *SMALL, "--epochs=2") == 0
    before, lines = tensors(trainer.out), trainer.lines
    assert trainer(TINY, *SMALL, "--epochs=2") == 0
    assert "this run has finished: more than --epochs=2 goes on with it" in trainer.stdout
    assert trainer.lines == lines
    after = tensors(trainer.out)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert (trainer.out / "model" / "saved_model.pb").exists()
    assert trainer.summary["stopped_because"] == "finished"


def test_the_end_of_a_cosine_may_not_move(trainer):
    flags = (TINY, *SMALL, "--schedule=cosine")
    assert trainer(*flags, "--epochs=1") == 0
    assert "--epochs was 1 and is 2" in mistake(trainer, *flags, "--epochs=2")


def test_other_data(trainer, tmp_path):
    file = tmp_path / "own.npz"
    images, labels = np.zeros((64, 784), np.uint8), np.arange(64) % 10
    images[np.arange(64), labels] = 255
    flags = (f"--data={file}", TINY, "--policy=float32", "--batch_size=8")
    np.savez(file, x_train=images, y_train=labels)
    assert trainer(*flags, "--epochs=3") == 0
    images[0, 700] = 1
    np.savez(file, x_train=images, y_train=labels)
    assert "settings: the data was another: give" in mistake(trainer, *flags, "--epochs=4")


def test_another_policy_by_auto(trainer, monkeypatch):
    flags = (TINY, *SMALL[1:])
    assert trainer(*flags, "--epochs=1") == 0
    config = read_json(trainer.out / "config.json")
    config["policy"] = "mixed_float16"
    run_folder.write_json(trainer.out / "config.json", config)
    assert "the policy was mixed_float16 and is " in mistake(trainer, *flags, "--epochs=2")


def changed_bits(trainer):
    """Make the run in the folder one of another machine; return the number of cores here."""
    config = read_json(trainer.out / "config.json")
    cores, config["bits"]["cores"] = config["bits"]["cores"], 999
    run_folder.write_json(trainer.out / "config.json", config)
    return cores


def test_another_machine_is_a_mistake_when_bits_count(trainer, deterministic):
    flags = (TINY, *SMALL, "--deterministic")
    assert trainer(*flags, "--epochs=1") == 0
    cores = changed_bits(trainer)
    assert mistake(trainer, *flags, "--epochs=2") == (
        f"error: --out={trainer.out} holds a run with other settings: cores was 999 and is "
        f"{cores} (--deterministic): give the same ones, or a new --out"
    )


def test_another_machine_goes_on_where_bits_do_not_count(trainer):
    assert trainer(TINY, *SMALL, "--epochs=1") == 0
    cores = changed_bits(trainer)
    assert trainer(TINY, *SMALL, "--epochs=2") == 0
    assert trainer.summary["resumed_from_step"] == 8
    assert read_json(trainer.out / "config.json")["bits"]["cores"] == cores


def test_what_the_last_bits_depend_on():
    bits = {"tensorflow": "2.9.1", "cpu_features": ["amx"], "gpus": [], "onednn": True}
    former = {"policy": "float32", "data": {"digest": "1"}, "bits": bits}
    for deterministic in (True, False):
        former["flags"] = {"deterministic": deterministic}
        check_world("run", former, "float32", "1", bits)
    former["flags"] = {"deterministic": True}
    others = {"tensorflow": "2.9.3", "cpu_features": [], "gpus": ["A100"], "onednn": False}
    for name, other in others.items():
        words = re.escape(
            f"settings: {name} was {bits[name]} and is {other} (--deterministic): give"
        )
        with pytest.raises(Mistake, match=words):
            check_world("run", former, "float32", "1", {**bits, name: other})


def test_a_flag_that_the_former_program_did_not_know():
    flags = {"clip_norm": "off", "schedule": "constant", "seed": 0}
    check_flags("run", {"flags": {"seed": 0}}, flags)
    with pytest.raises(Mistake, match="--clip_norm was off and is"):
        check_flags("run", {"flags": {"seed": 0}}, {**flags, "clip_norm": 1.0})


DEEP = pytest.param("[" * 100_000, id="deep")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"flags": 1}', "\x00", DEEP])
def test_a_config_that_cannot_be_read(trainer, content):
    trainer.out.mkdir()
    (trainer.out / "config.json").write_text(content)
    line = mistake(trainer, TINY, *SMALL)
    assert "its config.json cannot be read (" in line


def test_metrics_after_the_checkpoint_are_forgotten(tmp_path):
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text('{"step": 3}\n{"step": 6}\n\n{"step": 8}\n[]\n{"step": 10}\n{"step": 1')
    run_folder.forget_after(tmp_path, 8)
    assert metrics.read_text() == '{"step": 3}\n{"step": 6}\n{"step": 8}\n'
    run_folder.forget_after(tmp_path, 0)
    assert metrics.read_text() == ""


def started(out, datasets, *flags):
    return subprocess.Popen(
        train_command(*flags, f"--out={out}"),
        env=environment(datasets),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_step(program, out, step):
    """Wait until a line of the metrics tells of ``step`` or a later one."""
    metrics = out / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while program.poll() is None and time.monotonic() < deadline:
        lines = metrics.read_text().splitlines()[:-1] if metrics.exists() else []
        if lines and read_last(lines) >= step:
            return
        time.sleep(0.001)  # Between two looks.
    program.kill()
    raise AssertionError(f"no step {step}: {program.stderr.read()}")


def read_last(lines):
    return int(lines[-1].partition('"step": ')[2].partition(",")[0])


def test_of_two_runs_in_one_folder_the_second_is_refused(tmp_path, small_datasets):
    out = tmp_path / "run"
    flags = (TINY, *SMALL, "--epochs=100000")
    first = started(out, small_datasets, *flags)
    wait_for_step(first, out, 8)
    second = run_train(*flags, f"--out={out}", datasets=small_datasets)
    assert second.returncode == 2
    assert second.stderr == (
        f"error: --out={out} is in use by another run: wait for it, or name a new folder\n"
    )
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) == 143
    assert read_json(out / "summary.json")["stopped_because"] == "SIGTERM"


KILLED = (
    f"--model={USER}:resumable",
    "--policy=float32",
    "--train_samples=1024",
    "--batch_size=4",
    "--epochs=3",
    "--log_steps=5",
    "--checkpoint_steps=40",
    "--deterministic",
)
KILLED_STEPS = 3 * 256


def test_killed_and_resumed_it_ends_with_the_same_bits(tmp_path, small_datasets):
    straight = tmp_path / "straight"
    result = run_train(*KILLED, f"--out={straight}", datasets=small_datasets)
    assert (result.returncode, result.stderr) == (0, "")
    seed = random.randrange(10**6)
    print(f"seed of the kills: {seed}")  # Shown when the test fails.
    draw = random.Random(seed)
    points = [draw.randrange(1, 150), draw.randrange(220, 400), draw.randrange(480, 600)]
    out = tmp_path / "killed"
    for point in points:
        program = started(out, small_datasets, *KILLED)
        wait_for_step(program, out, point)
        program.kill()
        program.communicate()
    program = started(out, small_datasets, *KILLED)
    wait_for_step(program, out, points[-1] + 30)
    program.terminate()
    assert program.wait(30) == 143
    stopped = read_json(out / "summary.json")
    assert stopped["stopped_because"] == "SIGTERM"
    result = run_train(*KILLED, f"--out={out}", datasets=small_datasets)
    assert (result.returncode, result.stderr) == (0, "")
    summary, expected = (read_json(folder / "summary.json") for folder in (out, straight))
    assert summary["resumed_from_step"] == stopped["applied_steps"] + stopped["skipped_steps"]
    same = ("applied_steps", "skipped_steps", "train_loss", "train_accuracy", "val_loss")
    assert [summary[name] for name in same] == [expected[name] for name in same]
    assert summary["applied_steps"] == KILLED_STEPS
    # Each step once, and none left out.
    steps = [line["step"] for line in read_lines(out / "metrics.jsonl")]
    assert steps == sorted(set(steps))
    assert set(steps) >= {line["step"] for line in read_lines(straight / "metrics.jsonl")}
    assert_equal_checkpoints(straight, out)


def assert_equal_checkpoints(one, other):
    first, second = tensors(one), tensors(other)
    # The progress has seconds in it.
    names = {name for name in first if "progress" not in name and "save_counter" not in name}
    assert any("kernel" in name and "OPTIMIZER_SLOT" in name for name in names)
    for name in names:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
