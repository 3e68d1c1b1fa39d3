"""A person's mistake: one line, status 2, nothing run, nothing written."""

from __future__ import annotations

import os
import subprocess
import time

import numpy as np
import pytest

from conftest import ROOT, SMALL_TRAIN, environment, run_train, train_command

# (arguments, what the line must contain)
WRONG_FLAGS = [
    (["--" + "x" * 100_000], ["--xxx", " … ", "xxx"]),
    (["--epochs=\x1b[31m5"], [r"--epochs=\x1b[31m5"]),
    (["--epoch=5"], ["--epoch", "--epochs"]),
    (["--lr=0.1"], ["--lr"]),
    (["--batchsize=1"], ["--batchsize", "--batch_size"]),
    (["--polcy=auto"], ["--polcy", "--policy"]),
    (["--resume=always"], ["--resume=always", "auto, never"]),
    (["--loop=keras"], ["--loop=keras", "custom, fit"]),
    (["--noepochs"], ["--noepochs"]),
    (["--Epochs=5"], ["--Epochs"]),
    (["-epochs=5"], ["-epochs", "--epochs"]),
    (["-e", "5"], ["-e"]),
    (["5"], ["'5'"]),
    (["epochs=5"], ["'epochs=5'"]),
    (["train"], ["'train'"]),
    (["--epochs=1", "extra"], ["'extra'"]),
    (["--epochs", "1", "2"], ["'2'"]),
    (["--"], ["'--'"]),
    (["--", "--trace"], ["'--'"]),
    ([""], ["''"]),
    (["help", "--epochs=1"], ["'help'"]),
    (["--epochs=1", "--epochs=2"], ["--epochs", "twice"]),
    (["--batch_size=1", "--batch-size=2"], ["--batch_size", "twice"]),
    (["--epochs"], ["--epochs", "no value"]),
    (["--epochs", "--seed=1"], ["--epochs", "no value"]),
    (["--epochs="], ["--epochs="]),
    (["--epochs=0"], ["--epochs=0", "from 1"]),
    (["--epochs", "0"], ["--epochs=0"]),
    (["--epochs", "-1"], ["--epochs=-1"]),
    (["--epochs=five"], ["--epochs=five", "whole number"]),
    (["--epochs=2.5"], ["--epochs=2.5", "whole number"]),
    (["--epochs=5.0"], ["--epochs=5.0"]),
    (["--epochs=1e1"], ["--epochs=1e1"]),
    (["--epochs=1_0"], ["--epochs=1_0"]),
    (["--epochs= 5"], ["--epochs= 5"]),
    (["--epochs=0x5"], ["--epochs=0x5"]),
    (["--epochs=True"], ["--epochs=True"]),
    (["--epochs=[1]"], ["--epochs=[1]"]),
    (["--epochs=\u0665"], ["--epochs="]),
    (["--epochs=99999999999999999999"], ["--epochs=99999999999999999999"]),
    (["--epochs=1\n2"], ["--epochs=1 2"]),
    (["--policy=fp16"], ["--policy=fp16", "mixed_float16"]),
    (["--policy=FLOAT32"], ["--policy=FLOAT32"]),
    (["--policy=float16"], ["--policy=float16"]),
    (["--policy="], ["--policy="]),
    (["--batch_size=-1"], ["--batch_size=-1"]),
    (["--batch_size=0"], ["--batch_size=0"]),
    (["--batch-size=x"], ["--batch_size=x"]),
    (["--learning_rate=nan"], ["--learning_rate=nan"]),
    (["--learning_rate=inf"], ["--learning_rate=inf"]),
    (["--learning_rate=0"], ["--learning_rate=0"]),
    (["--learning_rate=-0.1"], ["--learning_rate=-0.1"]),
    (["--learning_rate=1e39"], ["--learning_rate=1e39"]),
    (["--learning_rate=1e999"], ["--learning_rate=1e999"]),
    (["--learning_rate=1e-50"], ["--learning_rate=1e-50"]),
    (["--learning_rate=0.1.2"], ["--learning_rate=0.1.2"]),
    (["--learning_rate=0,1"], ["--learning_rate=0,1"]),
    (["--initial_scale=0"], ["--initial_scale=0"]),
    (["--initial_scale=0.5"], ["--initial_scale=0.5"]),
    (["--initial_scale=nan"], ["--initial_scale=nan"]),
    (["--initial_scale=1e38"], ["--initial_scale=1e38"]),
    (["--growth_steps=0"], ["--growth_steps=0"]),
    (["--loss_scale=abc"], ["--loss_scale=abc", "dynamic"]),
    (["--loss_scale=0"], ["--loss_scale=0"]),
    (["--loss_scale=-2"], ["--loss_scale=-2"]),
    (["--seed=-1"], ["--seed=-1"]),
    (["--seed=4294967296"], ["--seed=4294967296"]),
    (["--checkpoint_steps=0"], ["--checkpoint_steps=0", "'epoch'"]),
    (["--checkpoint_minutes=0"], ["--checkpoint_minutes=0", "'off'"]),
    (["--steps_per_execution=0"], ["--steps_per_execution=0", "'auto'"]),
    (["--accumulate_steps=0"], ["--accumulate_steps=0"]),
    (["--early_stopping=0"], ["--early_stopping=0", "'off'"]),
    (["--clip_norm=0"], ["--clip_norm=0", "'off'"]),
    (["--label_smoothing=1"], ["--label_smoothing=1"]),
    (["--validation_split=0"], ["--validation_split=0"]),
    (["--validation_split=0.2"], ["--validation_split", "its own validation set"]),
    (["--image_size=8"], ["--image_size", "folder of images"]),
    (["--image_size=8x"], ["--image_size=8x"]),
    (["--classes=1"], ["--classes=1"]),
    (["--schedule=linear"], ["--schedule=linear", "cosine"]),
    (["--warmup_steps=-1"], ["--warmup_steps=-1"]),
    (["--deterministic=yes"], ["--deterministic=yes", "true or false"]),
    (["--jit_compile", "no"], ["'no'"]),
    (["--input=gpu"], ["--input=gpu", "device"]),
    (["--weights=imagenet"], ["--weights=imagenet", "--model=mlp"]),
    (["--model=resnet5"], ["--model=resnet5", "ResNet50"]),
    (["--data=none.npz"], ["--data=none.npz", "is not there"]),
    (["--steps_per_epoch=99"], ["--steps_per_epoch=99", "at most 16"]),
    (["--accumulate_steps=17"], ["--accumulate_steps=17", "at most 16"]),
    (["--log_steps=0"], ["--log_steps=0"]),
    (["--train_samples=0"], ["--train_samples=0"]),
    (["--train_samples=none"], ["--train_samples=none", "all"]),
    (["--model=resnet"], ["--model=resnet", "mlp"]),
    (["--data=imagenet"], ["--data=imagenet", "mnist"]),
    (["--out="], ["--out="]),
    (["--out= "], ["--out="]),
    (["--initial_scale=1024", "--policy=float32"], ["--initial_scale", "--policy=float32"]),
    (["--policy=mixed_bfloat16", "--growth_steps=9"], ["--growth_steps", "mixed_bfloat16"]),
    (["--policy=float32", "--loss_scale=8"], ["--loss_scale", "--policy=float32"]),
    (["--loss_scale=8", "--initial_scale=8"], ["--initial_scale", "--loss_scale=8"]),
    (["--loss_scale=8", "--growth_steps=8"], ["--growth_steps", "--loss_scale=8"]),
    ([f"--train_samples={SMALL_TRAIN + 1}"], [str(SMALL_TRAIN + 1), f"{SMALL_TRAIN} training"]),
    ([f"--batch_size={SMALL_TRAIN + 1}"], [str(SMALL_TRAIN + 1), f"at most {SMALL_TRAIN}"]),
    (["--train_samples=100"], ["--batch_size=128", "at most 100"]),
]


def check_one_line(result, contained):
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.endswith("\n")
    assert len(result.stderr.splitlines()) == 1
    for text in contained:
        assert text in result.stderr


@pytest.mark.parametrize(("arguments", "contained"), WRONG_FLAGS, ids=lambda value: " ".join(value))
def test_wrong_flag(arguments, contained, tmp_path, small_datasets, no_tensorflow):
    out = [] if any(argument.startswith("--out") for argument in arguments) else ["--out=new/run"]
    result = run_train(
        *out, *arguments, datasets=small_datasets, cwd=tmp_path, PYTHONPATH=str(no_tensorflow)
    )
    check_one_line(result, contained)
    assert list(tmp_path.iterdir()) == []


def make_file(folder):
    (folder / "out").write_text("a file")


def make_other_files(folder):
    (folder / "out").mkdir()
    (folder / "out" / "summary.json").write_text("{}")


def make_half_a_run(folder):
    make_other_files(folder)
    (folder / "out" / "config.json").write_text('{"flags": {}')


def make_dangling_link(folder):
    (folder / "out").symlink_to(folder / "nowhere")


@pytest.mark.parametrize(
    ("make", "out", "contained"),
    [
        (make_file, "out", "is not a folder"),
        (make_file, "out/run", "Not a directory"),
        (make_other_files, "out", "holds files that are no run"),
        (make_half_a_run, "out", "its config.json cannot be read"),
        (make_dangling_link, "out", "leads nowhere"),
        (lambda folder: None, "x" * 300, "name too long"),
        (lambda folder: None, "/dev/null", "is not a folder"),
        (lambda folder: None, b"\xff", "name of a folder"),
        (lambda folder: None, "run[1]", "takes * ? [ ] and \\ for patterns: leave them out"),
        (lambda folder: None, "a*b/run", "for patterns"),
        (lambda folder: None, "what?", "for patterns"),
        (lambda folder: None, "a\\b", "for patterns"),
    ],
)
def test_unusable_output_folder(make, out, contained, tmp_path, small_datasets, no_tensorflow):
    make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    out = out if isinstance(out, str) else os.fsdecode(out)
    result = run_train(
        f"--out={out}", datasets=small_datasets, cwd=tmp_path, PYTHONPATH=str(no_tensorflow)
    )
    check_one_line(result, ["--out="])
    assert contained.lower() in result.stderr.lower()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("flag", "told"),
    [("--out=run", "--out=run"), ("--data=mine:data", "--data=mine:data")],
)
def test_a_working_directory_that_is_gone(flag, told, tmp_path, small_datasets, no_tensorflow):
    gone, out = tmp_path / "gone", tmp_path / "run"
    gone.mkdir()
    flags = [flag] if flag.startswith("--out") else [flag, f"--out={out}"]
    script = 'cd "$0"; rmdir "$0"; exec "$@"'
    result = subprocess.run(
        ["bash", "-c", script, gone, *train_command(*flags)],
        env=environment(small_datasets, PYTHONPATH=str(no_tensorflow)),
        capture_output=True,
        text=True,
        check=False,
    )
    check_one_line(result, [f"error: {told}: the working directory is gone: change to another"])
    assert list(tmp_path.iterdir()) == []


def test_output_folder_that_the_system_refuses(small_datasets):
    # For root, too: nobody makes a folder in /proc.
    check_one_line(run_train("--out=/proc/runs/1", datasets=small_datasets), ["--out=/proc/runs/1"])


def good_arrays():
    images = np.zeros((256, 28, 28), np.uint8)
    labels = np.zeros(256, np.uint8)
    return {"x_train": images, "y_train": labels, "x_test": images, "y_test": labels}


def save(file, **changed):
    arrays = {**good_arrays(), **changed}
    np.savez(file, **{name: array for name, array in arrays.items() if array is not None})


def truncated(file):
    save(file)
    file.write_bytes(file.read_bytes()[:-2000])


def flipped(file):
    np.savez_compressed(file, **good_arrays())
    content = bytearray(file.read_bytes())
    content[60:200] = b"\xff" * 140
    file.write_bytes(content)


def plain_array(file):
    with file.open("wb") as stream:
        np.save(stream, np.zeros(3))


def bad_label(file):
    labels = np.zeros(256, np.uint8)
    labels[17] = 10
    save(file, y_train=labels)


@pytest.mark.parametrize(
    ("make", "contained"),
    [
        (lambda file: None, "is not there"),
        (lambda file: file.mkdir(), "is not there"),
        (lambda file: file.write_bytes(b""), "cannot be read"),
        (lambda file: file.write_text("<html>not found</html>"), "cannot be read"),
        (truncated, "cannot be read"),
        (flipped, "cannot be read"),
        (plain_array, "cannot be read"),
        (lambda file: save(file, y_test=None), "y_test"),
        (lambda file: save(file, x_train=np.array([{}] * 256, object)), "cannot be read"),
        (lambda file: save(file, x_train=np.zeros((256, 28, 28))), "x_train is float64"),
        (lambda file: save(file, x_test=np.zeros((256, 784), np.uint8)), "shape (256, 784)"),
        (lambda file: save(file, x_test=np.zeros((0, 28, 28), np.uint8)), "x_test"),
        (lambda file: save(file, y_train=np.zeros(255, np.uint8)), "y_train"),
        (lambda file: save(file, y_train=np.zeros((256, 10), np.uint8)), "y_train"),
        (bad_label, "y_train[17] is 10"),
    ],
)
def test_unusable_data(make, contained, tmp_path, no_tensorflow):
    make(tmp_path / "mnist.npz")
    result = run_train(f"--out={tmp_path}/out", datasets=tmp_path, PYTHONPATH=str(no_tensorflow))
    check_one_line(result, [str(tmp_path / "mnist.npz"), contained])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"], ["--epochs=0", "--help"]])
def test_help(arguments, small_datasets, no_tensorflow):
    started = time.monotonic()
    result = run_train(*arguments, datasets=small_datasets, PYTHONPATH=str(no_tensorflow))
    assert time.monotonic() - started < 0.5
    assert result.returncode == 0
    assert result.stderr == ""
    for text in ("--initial_scale=X", "Default: 32768.", "EXIT STATUS", "EXAMPLES", "images/s"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 96


def test_every_setting_of_the_contract_has_its_default():
    from workbench.flags import declared
    from workbench.settings import Settings

    defaults = {name: flag.default for name, flag in declared(Settings).items()}
    assert defaults == {
        "data": "mnist",
        "download": False,
        "validation_split": 0.1,
        "train_samples": "all",
        "classes": "auto",
        "image_size": "auto",
        "skip_broken": False,
        "input": "auto",
        "model": "mlp",
        "weights": "random",
        "policy": "auto",
        "tf32": "on",
        "loss_scale": "dynamic",
        "initial_scale": 32768,
        "growth_steps": 2000,
        "loop": "custom",
        "epochs": 5,
        "steps_per_epoch": "all",
        "batch_size": 128,
        "accumulate_steps": 1,
        "learning_rate": 0.001,
        "schedule": "constant",
        "warmup_steps": 0,
        "clip_norm": "off",
        "label_smoothing": 0,
        "early_stopping": "off",
        "seed": 0,
        "deterministic": False,
        "jit_compile": False,
        "steps_per_execution": "auto",
        "checkpoint_steps": "epoch",
        "checkpoint_minutes": 10,
        "resume": "auto",
        "log_steps": 100,
        "out": None,
    }


@pytest.mark.parametrize("out", ["1e3", "None", "[1, 2]", "it's", 'a "b"', "--x", "a b", "é", "\\"])
def test_fire_hands_on_exactly_what_was_read(out):
    import fire

    from workbench import flags
    from workbench.settings import Settings

    written = [f"--out={out}", "--epochs", "7", "--learning-rate=1e-4", "--loss_scale=512"]
    given = flags.parse(written, Settings)
    handed_on = fire.Fire(
        lambda **values: values, flags.as_command(given), serialize=lambda value: None
    )
    expected = {"out": out, "epochs": 7, "learning_rate": 1e-4, "loss_scale": 512.0}
    assert handed_on == given == expected


def test_the_program_stands_where_the_image_expects_it():
    assert (ROOT / "train.py").is_file()
    assert (ROOT / "workbench" / "flags.py").is_file()
