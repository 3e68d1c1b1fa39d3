"""Checkpoints: three kept, any damage survived or told, the loss scale taken up."""

from __future__ import annotations

import shutil

import pytest

from conftest import ROOT, run_train, tensors
from workbench import user_code

USER = ROOT / "tests" / "unit" / "user_models.py"
FLAGS = (
    f"--model={USER}:tiny",
    "--policy=mixed_float16",
    "--train_samples=512",
    "--batch_size=64",
    f"--initial_scale={2**20}",
    "--growth_steps=6",
)
STEPS = 8  # In an epoch.


@pytest.fixture(scope="module")
def four_epochs(tmp_path_factory, small_datasets):
    out = tmp_path_factory.mktemp("run") / "run"
    result = run_train(*FLAGS, "--epochs=4", f"--out={out}", datasets=small_datasets)
    assert result.returncode == 0, result.stderr
    return out


@pytest.fixture
def copy(trainer, four_epochs):
    """The trainer with a copy of the run of four epochs in its folder."""
    shutil.copytree(four_epochs, trainer.out)
    return trainer


def file(run, number, end):
    (found,) = (run.out / "checkpoints").glob(f"ckpt-{number}.{end}")
    return found


def largest_data(run, number):
    return max(
        (run.out / "checkpoints").glob(f"ckpt-{number}.data*"), key=lambda file: file.stat().st_size
    )


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def state(run):
    return run.out / "checkpoints" / "checkpoint"


def go_on(run, *flags):
    return run(*FLAGS, "--epochs=5", *flags)


def last_is_whole(run):
    """Check that the run has gone on to the end of five epochs, three checkpoints kept."""
    summary = run.summary
    assert summary["applied_steps"] + summary["skipped_steps"] == 5 * STEPS
    assert (summary["epochs"], summary["stopped_because"]) == (5, "finished")
    assert len(run.checkpoints) == 3
    assert len(list((run.out / "checkpoints").glob("*.index"))) == 3
    assert [line["step"] for line in run.lines] == [8, 16, 24, 32, 40]


def test_three_are_kept(copy):
    assert copy.checkpoints == [2, 3, 4]
    assert go_on(copy) == 0
    assert "damaged" not in copy.stderr
    last_is_whole(copy)
    assert copy.checkpoints == [3, 4, 5]
    assert copy.summary["resumed_from_step"] == 4 * STEPS


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: cut(largest_data(run, 4)),
        lambda run: flip(largest_data(run, 4)),
        lambda run: largest_data(run, 4).write_bytes(b""),
        lambda run: largest_data(run, 4).unlink(),
        lambda run: cut(file(run, 4, "index")),
        lambda run: file(run, 4, "index").write_bytes(b""),
        lambda run: file(run, 4, "index").unlink(),
    ],
    ids=["cut", "flipped", "empty", "gone", "index cut", "index empty", "index gone"],
)
def test_a_damaged_newest_one_falls_back(copy, damage):
    damage(copy)
    assert go_on(copy) == 0
    (warning,) = (line for line in copy.stderr.splitlines() if "damaged" in line)
    assert "ckpt-4 is damaged (" in warning
    assert "going back to ckpt-3" in warning
    assert copy.summary["resumed_from_step"] == 3 * STEPS
    last_is_whole(copy)


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: state(run).write_text("garbage {"),
        lambda run: state(run).write_bytes(b"\xff\xfe\x00"),
        lambda run: state(run).write_text(""),
        lambda run: state(run).unlink(),
    ],
    ids=["garbage", "not text", "empty", "gone"],
)
def test_without_the_state_file_they_are_found_all_the_same(copy, damage):
    damage(copy)
    assert go_on(copy) == 0
    assert copy.summary["resumed_from_step"] == 4 * STEPS
    assert "damaged" not in copy.stderr
    last_is_whole(copy)
    assert copy.checkpoints == [3, 4, 5]


def test_two_damaged_ones(copy):
    cut(largest_data(copy, 4))
    file(copy, 3, "index").unlink()
    assert go_on(copy) == 0
    assert [f"ckpt-{number} is damaged" in copy.stderr for number in (2, 3, 4)] == [0, 1, 1]
    assert copy.summary["resumed_from_step"] == 2 * STEPS
    last_is_whole(copy)


@pytest.mark.parametrize("end", ["index", "data*"])
def test_an_oldest_one_that_was_being_deleted(copy, end):
    for part in (copy.out / "checkpoints").glob(f"ckpt-2.{end}"):
        part.unlink()
    assert go_on(copy) == 0
    assert copy.summary["resumed_from_step"] == 4 * STEPS
    last_is_whole(copy)
    assert not list((copy.out / "checkpoints").glob("ckpt-2*"))


def test_all_damaged_is_a_mistake(copy):
    for number in copy.checkpoints:
        cut(largest_data(copy, number))
    before = sorted(copy.out.rglob("*"))
    assert go_on(copy) == 2
    (line,) = (line for line in copy.stderr.splitlines() if not line.startswith("warning: "))
    assert line.startswith(f"error: {copy.out}/checkpoints holds no checkpoint that can be read (")
    assert "ckpt-4: " in line
    assert "give a new --out" in line
    assert sorted(copy.out.rglob("*")) == before


def test_no_checkpoint_at_all_starts_anew(copy):
    shutil.rmtree(copy.out / "checkpoints")
    assert go_on(copy) == 0
    assert "holds a run without a checkpoint: starting it from its beginning" in copy.stderr
    assert copy.summary["resumed_from_step"] is None
    last_is_whole(copy)


def test_leftovers_of_a_killed_save_are_removed(copy):
    folder = copy.out / "checkpoints"
    (folder / "ckpt-5_temp").mkdir()
    (folder / "ckpt-5_temp" / "part-00000-of-00001.data-00000-of-00001").write_text("half")
    (folder / "checkpoint.tmp1234").write_text("half")
    (folder / "ckpt-5.data-00000-of-00001.tempstate77").write_text("half")
    assert go_on(copy) == 0
    assert "damaged" not in copy.stderr
    last_is_whole(copy)
    assert not [path for path in folder.iterdir() if "temp" in path.name or "tmp" in path.name]


def test_the_loss_scale_and_its_counter_go_on(copy, tmp_path):
    scale = copy.lines[-1]["loss_scale"]
    before = tensors(copy.out)
    key = "optimizer/{}/.ATTRIBUTES/VARIABLE_VALUE"
    assert before[key.format("loss_scale/current_loss_scale")] == scale != 2**20
    assert go_on(copy) == 0
    (warning,) = (line for line in copy.stderr.splitlines() if "--initial_scale" in line)
    assert warning == (
        f"warning: --initial_scale=1.04858e+06 is not used: the loss scale goes on from the "
        f"checkpoint with {scale:g}"
    )
    resumed = copy.lines
    # A run that was not interrupted.
    copy.out = tmp_path / "straight"
    assert go_on(copy) == 0
    for name in ("loss_scale", "applied_steps", "skipped_steps"):
        assert [line[name] for line in resumed] == [line[name] for line in copy.lines]


@pytest.mark.parametrize("changed", ["model_of_17", "resumable"])
def test_a_checkpoint_that_does_not_fit_the_model(trainer, tmp_path, changed):
    code = tmp_path / "code.py"
    shutil.copy(USER, code)
    flags = (f"--model={code}:made", "--policy=float32", "--train_samples=256")
    for function, epochs, status in (("tiny", 1, 0), (changed, 2, 2)):
        code.write_text(f"{USER.read_text()}\n\nmade = {function}\n")
        user_code._module_of_file.cache_clear()
        assert trainer(*flags, f"--epochs={epochs}") == status
    (line,) = trainer.stderr.splitlines()
    assert line.startswith(f"error: {trainer.out}/checkpoints/ckpt-1 does not fit the model (")
    assert trainer.summary["epochs"] == 1
