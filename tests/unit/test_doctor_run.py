"""``doctor --run``: why a run ended, how far a running one is, and what its figures say."""

from __future__ import annotations

import copy
import fcntl
import json
import os
import time

import pytest

from workbench.doctor import run_reader
from workbench.doctor.rules import RUN
from workbench.errors import Mistake
from workbench.run_folder import CLAIM, CONFIG, finite
from workbench.verdicts import NEED_OTHER_FLAGS, VERDICTS

T4 = {"name": "Tesla T4", "compute_capability": [7, 5], "memory_bytes": 16 * 2**30}
P100 = {"name": "Tesla P100-PCIE-16GB", "compute_capability": [6, 0], "memory_bytes": 16 * 2**30}
FLAGS = {
    "epochs": 4,
    "steps_per_epoch": "all",
    "batch_size": 128,
    "accumulate_steps": 1,
    "loss_scale": "dynamic",
    "initial_scale": 32768.0,
    "growth_steps": 20,
    "early_stopping": "off",
}


class Folder:
    """A run of 4 epochs with 100 steps each, on a T4, that went well: to be spoilt by a test."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        self.config = {
            "flags": copy.deepcopy(FLAGS),
            "policy": "mixed_float16",
            "policy_reason": "Tesla T4 (compute capability 7.5) has float16 Tensor Cores",
            "data": {"train_examples": 12750, "classes": 10},
            "hardware": {
                "gpus": [T4],
                "gpus_in_use": [T4],
                "cpu": {"name": "a CPU", "cores": 8, "features": ["avx2", "avx512f"]},
                "memory_bytes": 64 * 2**30,
            },
        }
        self.summary = {
            "epochs": 4,
            "applied_steps": 400,
            "skipped_steps": 0,
            "resumed_from_step": None,
            "seconds_per_epoch": [12.0, 10.0, 10.0, 10.0],
            "input": "device",
            "input_wait_share": 0.01,
            "peak_memory_bytes": 3 * 2**30,
            "val_loss": 0.1,
            "val_accuracy": 0.97,
            "accuracy_gap": 0.005,
            "gap_opened_in_epoch": None,
            "best_epoch": 4,
            "stopped_because": "finished",
        }
        self.windows = [
            {
                "step": step,
                "epoch": 1 + (step - 1) // 100,
                "loss": 1.0 - step / 500,
                "accuracy": 0.9,
                "loss_scale": 32768.0 if step < 200 else 65536.0,
                "applied_steps": step,
                "skipped_steps": 0,
                "images_per_second": 1000.0,
                "seconds": step / 10,
            }
            for step in range(25, 401, 25)
        ]

    def write(self):
        for name, content in ((CONFIG, self.config), ("summary.json", self.summary)):
            if content is not None:
                (self.path / name).write_text(json.dumps(finite(content)))
        lines = [json.dumps(finite(window)) + "\n" for window in self.windows]
        (self.path / CLAIM).write_text("".join(lines))

    def read(self):
        self.write()
        return run_reader.read(str(self.path))

    def checkpoint(self, number):
        (self.path / "checkpoints").mkdir(exist_ok=True)
        (self.path / "checkpoints" / f"ckpt-{number}.index").touch()

    def on_cpu(self, policy):
        self.config["policy"] = policy
        self.config["hardware"].update(gpus=[], gpus_in_use=[])

    def last(self, count, **values):
        for window in self.windows[-count:]:
            window.update(values)


@pytest.fixture
def run(tmp_path):
    return Folder(tmp_path / "run")


def ids(report):
    return [finding.id for finding in report.findings]


def test_a_run_that_went_well(run):
    report = run.read()
    assert report.findings == []
    assert report.lines == [
        f"run: {run.path}",
        "state: finished",
        "policy: mixed_float16 (Tesla T4 (compute capability 7.5) has float16 Tensor Cores)",
        "progress: epoch 4 of 4, step 400 of 400",
        "last window: loss 0.2, accuracy 0.9, images_per_second 1000",
    ]


@pytest.mark.parametrize("name", VERDICTS)
def test_a_run_that_failed(run, name):
    run.summary["stopped_because"] = name
    run.checkpoint(2)
    report = run.read()
    finding = report.findings[0]
    assert (finding.id, finding.level) == (f"verdict_{name}", "error")
    assert VERDICTS[name].cause in finding.symptom
    assert finding.remedy.startswith(VERDICTS[name].remedy)
    assert ("new --out" in finding.remedy) == (name in NEED_OTHER_FLAGS)
    assert finding.evidence.endswith("the last line of metrics.jsonl is step 400, epoch 4")
    assert report.lines[1] == f"state: failed ({name})"
    assert report.lines[-1] == "resume: checkpoint ckpt-2; the same command goes on from it"


def test_a_run_that_was_stopped(run):
    run.summary["stopped_because"] = "SIGTERM"
    run.checkpoint(1)
    run.checkpoint(10)
    report = run.read()
    assert [(finding.id, finding.level) for finding in report.findings] == [("run_stopped", "info")]
    assert report.lines[1] == "state: stopped (SIGTERM)"
    assert "ckpt-10" in report.lines[-1]


def test_a_run_that_was_killed(run):
    run.summary = None
    report = run.read()
    assert ids(report) == ["run_killed"]
    assert report.findings[0].evidence.endswith("is step 400, epoch 4")
    assert report.lines[-1] == "resume: no checkpoint; it begins anew"


def test_a_run_that_was_killed_after_it_was_resumed(run):
    run.summary.update(applied_steps=200, stopped_because="SIGINT")
    assert ids(run.read()) == ["run_killed"]


def test_a_run_that_never_began(run):
    run.config = run.summary = None
    run.windows = []
    report = run.read()
    assert (report.state, ids(report)) == ("not started", ["run_before_its_start"])


def test_a_run_that_goes_on(run):
    run.summary = None
    del run.windows[8:]
    run.write()
    with (run.path / CLAIM).open("a") as claim:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # What is being written is no damage.
        claim.write('{"step": 2')
        claim.flush()
        report = run_reader.read(str(run.path))
    assert (report.state, report.findings) == ("running", [])
    assert report.lines[-3] == "progress: epoch 2 of 4, step 200 of 400"
    assert report.lines[-1] == "time left: about 0 min"


def test_the_time_left_of_a_long_run(run):
    run.config["flags"]["epochs"] = 1000
    run.write()
    with (run.path / CLAIM).open("a") as claim:
        fcntl.flock(claim, fcntl.LOCK_EX)
        report = run_reader.read(str(run.path))
    # 99600 steps at 10 a second.
    assert report.lines[-1] == "time left: about 2 h 46 min"


def test_a_running_one_that_is_silent(run):
    run.summary = None
    run.write()
    long_ago = time.time() - 3600
    for file in run.path.iterdir():
        os.utime(file, (long_ago, long_ago))
    with (run.path / CLAIM).open("r") as claim:
        fcntl.flock(claim, fcntl.LOCK_EX)
        report = run_reader.read(str(run.path))
    assert ids(report) == ["run_silent"]
    assert report.findings[0].evidence == "nothing written for 60 minutes"


def test_reading_changes_nothing_and_leaves_no_lock(run):
    run.write()
    before = {file.name: file.stat().st_mtime_ns for file in run.path.iterdir()}
    run_reader.read(str(run.path))
    with (run.path / CLAIM).open("a") as claim:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert {file.name: file.stat().st_mtime_ns for file in run.path.iterdir()} == before


def spoil_gpu_idle(run):
    run.on_cpu("float32")
    run.config["hardware"]["gpus"] = [T4]


def spoil_nan(run):
    run.windows[5]["loss"] = float("nan")


def spoil_scale_floor(run):
    run.last(1, loss_scale=1.0)


def spoil_float16_on_cpu(run):
    run.on_cpu("mixed_float16")


def spoil_many_skipped(run):
    run.last(1, applied_steps=360, skipped_steps=40)
    run.summary.update(applied_steps=360, skipped_steps=40)


def spoil_scale_never_grew(run):
    run.last(16, loss_scale=8192.0)


def spoil_no_tensor_cores(run):
    run.config["hardware"].update(gpus=[P100], gpus_in_use=[P100])


def spoil_float32(run):
    run.config["policy"] = "float32"


def spoil_no_amx(run):
    run.on_cpu("mixed_bfloat16")


def spoil_guess(run):
    run.summary["val_accuracy"] = 0.104


def spoil_overfitting(run):
    run.summary.update(gap_opened_in_epoch=2, accuracy_gap=0.064)


def spoil_past_its_best(run):
    run.summary["best_epoch"] = 2


def spoil_loss_rose(run):
    run.last(4, loss=0.9)


def spoil_input(run):
    run.summary.update(input_wait_share=0.62, input="stream")


def spoil_first_epoch(run):
    run.summary["seconds_per_epoch"] = [900.0, 10.0, 10.0, 11.0]


def spoil_speed(run):
    run.last(4, images_per_second=300.0)


def spoil_memory(run):
    run.summary["peak_memory_bytes"] = 15 * 2**30


def spoil_second_gpu(run):
    run.config["hardware"].update(gpus=[T4, T4], gpus_in_use=[T4, T4])


def spoil_batch(run):
    run.config["flags"]["batch_size"] = 100


FIGURES = [
    ("run_gpu_idle", spoil_gpu_idle, "NVML: Tesla T4 (compute capability 7.5); in use: none"),
    ("run_loss_not_finite", spoil_nan, "metrics.jsonl: step 150, epoch 2"),
    ("run_scale_at_floor", spoil_scale_floor, "loss_scale 1 at step 400"),
    ("run_float16_on_cpu", spoil_float16_on_cpu, "policy mixed_float16, no GPU in use"),
    ("run_many_skipped", spoil_many_skipped, "40 of 400 steps skipped"),
    ("run_scale_never_grew", spoil_scale_never_grew, "loss_scale 8192 after 400 applied steps"),
    (
        "run_float16_without_tensor_cores",
        spoil_no_tensor_cores,
        "Tesla P100-PCIE-16GB (compute capability 6.0)",
    ),
    (
        "run_float32_on_tensor_cores",
        spoil_float32,
        "Tesla T4 (compute capability 7.5), policy float32",
    ),
    ("run_bfloat16_without_amx", spoil_no_amx, "a CPU: avx2, avx512f"),
    ("run_guess_level", spoil_guess, "val_accuracy 0.104 with 10 classes"),
    (
        "run_overfitting",
        spoil_overfitting,
        "the gap opened in epoch 2 and is 6.4 points of accuracy",
    ),
    ("run_past_its_best", spoil_past_its_best, "best in epoch 2 of 4"),
    ("run_loss_rose", spoil_loss_rose, "mean loss 0.9 in the last epoch, 0.475 in the best"),
    ("run_waits_for_input", spoil_input, "input_wait_share 0.62, input stream"),
    ("run_first_epoch_slow", spoil_first_epoch, "900 s, the others 10.0 s"),
    ("run_slowed_down", spoil_speed, "300 images/s in the last quarter, 1000 in the fastest"),
    ("run_memory_nearly_full", spoil_memory, "peak 15.0 GB of 16.0 GB"),
    (
        "run_some_gpus_unused",
        spoil_second_gpu,
        "2 GPUs, Tesla T4 (compute capability 7.5) was used",
    ),
    ("run_batch_not_multiple_of_8", spoil_batch, "--batch_size=100"),
]


@pytest.mark.parametrize(("rule", "spoil", "evidence"), FIGURES, ids=[each[0] for each in FIGURES])
def test_what_the_figures_say(run, rule, spoil, evidence):
    spoil(run)
    report = run.read()
    assert [(finding.id, finding.evidence) for finding in report.findings] == [(rule, evidence)]


def test_every_rule_on_runs_is_tested():
    elsewhere = {"run_killed", "run_stopped", "run_before_its_start", "run_silent"}
    tested = {each[0] for each in FIGURES} | elsewhere | {"run_file_damaged"}
    assert {rule.id for rule in RUN} == tested | {f"verdict_{name}" for name in VERDICTS}


def test_the_worst_stands_first(run):
    spoil_batch(run)
    spoil_input(run)
    run.summary["stopped_because"] = "out_of_memory"
    report = run.read()
    assert ids(report) == [
        "verdict_out_of_memory",
        "run_waits_for_input",
        "run_batch_not_multiple_of_8",
    ]


def test_a_validation_that_is_not_finite(run):
    run.summary["val_loss"] = float("inf")
    (finding,) = run.read().findings
    assert (finding.id, finding.evidence) == (
        "run_loss_not_finite",
        "summary.json: val_loss is not finite",
    )


def test_a_float32_run_has_no_loss_scale(run):
    run.on_cpu("float32")
    run.last(16, loss_scale=1.0)
    assert run.read().findings == []


@pytest.mark.parametrize(
    ("name", "content", "evidence"),
    [
        (CONFIG, '{"flags": {"epo', "config.json: Unterminated string"),
        (CONFIG, "[]", "config.json: no JSON object"),
        ("summary.json", "", "summary.json: Expecting value"),
        ("summary.json", b"\xff\xfe\x00", "summary.json: "),
        (CLAIM, '{"step": 1, "epoch": 1}\n{"step": 2, "epo\n', "metrics.jsonl: line 2 is no log"),
        (CLAIM, '{"step": 1}\n7\n', "metrics.jsonl: line 2 is no log window"),
        (CLAIM, '{"step": null}\n', "metrics.jsonl: line 1 is no log window"),
        (CLAIM, "[" * 100_000 + "\n", "metrics.jsonl: line 1 is no log window"),
    ],
)
def test_a_damaged_file_is_told(run, name, content, evidence):
    run.write()
    (run.path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    report = run_reader.read(str(run.path))
    told = [finding.evidence for finding in report.findings if finding.id == "run_file_damaged"]
    assert len(told) == 1
    assert told[0].startswith(evidence)


WRONG = [None, True, "x", -1, 1e308, [], {}, [None], {"a": []}]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_figures_of_another_kind_do_no_harm(run, wrong):
    """Each figure in turn is replaced by something else."""
    for part in (run.config, run.config["flags"], run.config["hardware"], run.summary):
        for name in list(part):
            kept, part[name] = part[name], wrong
            assert run.read().folder == str(run.path)
            part[name] = kept
    for name in list(run.windows[0]):
        if name != "step":
            kept, run.windows[-1][name] = run.windows[-1][name], wrong
            assert run.read().folder == str(run.path)
            run.windows[-1][name] = kept
    run.config["hardware"]["gpus"] = [{**T4, "compute_capability": wrong, "memory_bytes": wrong}]
    assert run.read().state == "finished"


def test_the_report_for_machines(run):
    run.summary["stopped_because"] = "diverged"
    content = json.loads(json.dumps(run.read().as_json()))
    assert (content["run"], content["state"]) == (str(run.path), "failed")
    assert [finding["id"] for finding in content["findings"]] == ["verdict_diverged"]


def test_a_real_run(trainer, small_datasets):
    assert trainer("--model=mlp", "--epochs=1", "--log_steps=4", "--policy=float32") == 0
    report = run_reader.read(str(trainer.out))
    assert (report.state, report.findings) == ("finished", [])
    assert report.lines[3] == "progress: epoch 1 of 1, step 16 of 16"


def test_a_folder_of_runs_is_a_mistake_that_names_the_newest(run):
    run.write()
    with pytest.raises(Mistake, match=r"holds no run \(did you mean .*/run\?\)"):
        run_reader.read(str(run.path.parent))


@pytest.mark.parametrize("name", ["gone", "file", "empty"])
def test_what_is_no_run_is_a_mistake(tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    words = {"gone": "No such file", "file": "Not a directory", "empty": "holds no run: name"}
    with pytest.raises(Mistake, match=words[name]):
        run_reader.read(str(tmp_path / name))
