"""A benchmark that is stopped, goes on, or is refused: its record and its folder."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess

import bench_stand_in as stand_in
import pytest
from bench_stand_in import run_bench

from conftest import wait_until
from workbench import run_folder
from workbench.bench import folder, record
from workbench.bench.results import Run
from workbench.errors import Mistake
from workbench.hardware import Cpu, Gpu

CPU = Cpu("EPYC", frozenset(["avx2"]), 2)
T4 = Gpu("Tesla T4", (7, 5), 16 * 10**9)
MACHINE = {
    "gpus": [],
    "gpus_in_use": [],
    "driver": None,
    "cpu": {"name": "EPYC", "cores": 2, "features": ["avx2"]},
    "memory_bytes": 10**10,
}
ON_T4 = {**MACHINE, "gpus": [T4._asdict()], "gpus_in_use": [T4._asdict()], "driver": "470"}
CONFIG = {"hardware": MACHINE, "versions": {"tensorflow": "2.9.1"}}


def run(arm="float32", seed=0, speed=1000.0, **more):
    return Run("mlp", arm, 128, seed, images_per_second=speed, **more)


def a_record(machine=MACHINE, **changes):
    fields = {"command": "bench", "preset": "mnist", "settings": {"epochs": 5}, "environment": {}}
    made = record.Record(**{**fields, **changes})
    if machine:
        made.learn({**CONFIG, "hardware": machine})
    return made


def write(path, made, complete=False):
    run_folder.write_json(path / "bench.json", made.content(complete))


# The record.


@pytest.mark.parametrize("machine", [MACHINE, ON_T4, None])
def test_a_record_is_read_as_it_was_written(tmp_path, machine):
    made = a_record(machine, runs=[run(), run("mixed_bfloat16", 0, 2000.0)])
    made.overhead, made.notes = {"mlp": 0.5, "cnn": None}, ["a note"]
    write(tmp_path, made)
    # What JSON has no word for.
    plain = json.loads(json.dumps(dataclasses.asdict(made)))
    assert dataclasses.asdict(record.read(tmp_path)) == {
        **plain,
        "runs": [dataclasses.asdict(each) for each in made.runs],
    }


def test_the_record_holds_what_the_contract_names(tmp_path):
    made = a_record(runs=[run(), run("mixed_bfloat16", 0, 2000.0)])
    content = made.content(complete=True)
    assert content["complete"] is True
    for each in content["results"]:
        assert {
            *("model", "arm", "seconds_per_epoch", "images_per_second", "peak_memory_bytes"),
            "accuracy",
        } <= set(each)
    (comparison,) = content["comparisons"]
    assert {
        *("model", "baseline", "arm", "speedup", "low", "high", "memory_saved", "verdict"),
    } <= set(comparison)
    assert comparison["speedup"] == pytest.approx(2.0)


def test_a_run_that_failed_is_forgotten_when_the_record_is_read(tmp_path):
    write(tmp_path, a_record(runs=[run(), Run("mlp", "float32", 128, 1, failed="not_finite")]))
    assert record.read(tmp_path).runs == [run()]


def test_without_a_record_there_is_none(tmp_path):
    assert record.read(tmp_path) is None


def damaged(**changes):
    def damage(content):
        return {**content, **changes}

    return damage


def without(name):
    return lambda content: {key: value for key, value in content.items() if key != name}


def other_run(**changes):
    return lambda content: {**content, "runs": [{**content["runs"][0], **changes}]}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: [], "TypeError: list indices"),
        (lambda content: None, "TypeError: "),
        (without("command"), "KeyError: 'command'"),
        (without("overhead"), "KeyError: 'overhead'"),
        (damaged(settings=[]), "TypeError: settings is []"),
        (damaged(environment=None), "TypeError: environment is None"),
        (damaged(preset=3), "TypeError: preset is 3"),
        (damaged(runs={}), "TypeError: runs is {}"),
        (damaged(runs=[3]), "TypeError: run 0: 3 is no object"),
        (damaged(overhead={"mlp": "0.5"}), "TypeError: overhead: mlp is '0.5'"),
        (damaged(hardware={"cpu": {}}), "KeyError: 'gpus'"),
        (damaged(hardware={**MACHINE, "cpu": {"name": "EPYC"}}), "KeyError: 'cores'"),
        (damaged(hardware={**MACHINE, "gpus": ["T4"]}), "TypeError: gpu: 'T4' is no object"),
        (damaged(gpus_in_use=[{"name": "T4"}]), "KeyError: 'compute_capability'"),
        (damaged(versions={}), "KeyError: 'tensorflow'"),
        (other_run(images_per_second="fast"), "TypeError: run 0: images_per_second is 'fast'"),
        (other_run(seed=None), "TypeError: run 0: seed is None"),
        (other_run(failed=1), "TypeError: run 0: failed is 1"),
        (other_run(surprise=1), "TypeError: "),
    ],
)
def test_a_damaged_record_is_a_mistake_that_says_where(tmp_path, damage, words):
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(damage(a_record(runs=[run()]).content(complete=True))))
    with pytest.raises(Mistake) as mistake:
        record.read(tmp_path)
    text = str(mistake.value)
    assert text.startswith(f"--out={tmp_path}: its bench.json cannot be read ({words}")
    assert text.endswith("): name a new folder")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\ud800"])
def test_a_record_that_is_no_json_is_a_mistake(tmp_path, text):
    (tmp_path / "bench.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(Mistake, match=r"its bench\.json cannot be read"):
        record.read(tmp_path)


def test_a_record_that_is_a_folder_is_a_mistake(tmp_path):
    (tmp_path / "bench.json").mkdir()
    with pytest.raises(Mistake, match=r"its bench\.json cannot be read"):
        folder.choose(str(tmp_path))


def test_a_note_is_taken_once():
    made = a_record()
    assert [made.note("one"), made.note("two"), made.note("one")] == [True, True, False]
    assert made.notes == ["one", "two"]


def test_the_command_can_be_pasted_with_its_variables():
    environ = {"PATH": "/bin", "OMP_NUM_THREADS": "2", "CUDA_VISIBLE_DEVICES": ""}
    assert record.environment(environ) == {"OMP_NUM_THREADS": "2", "CUDA_VISIBLE_DEVICES": ""}
    assert record.command(environ, ["--model=my net.py:net", "--repeats=3"]) == (
        "CUDA_VISIBLE_DEVICES='' OMP_NUM_THREADS=2 bench '--model=my net.py:net' --repeats=3"
    )


def test_the_evidence_for_a_reason_is_of_the_same_model_and_batch():
    made = a_record(
        runs=[
            run(step_ms=2.0, input_wait_share=0.5),
            run(seed=1, step_ms=4.0),
            run("mixed_bfloat16", input_wait_share=0.1),
            dataclasses.replace(run(step_ms=99.0), model="cnn"),
            dataclasses.replace(run(step_ms=99.0), batch_size=64),
        ]
    )
    made.overhead["mlp"] = 0.7
    (comparison,) = made.comparisons()
    assert made.evidence(comparison) == (3.0, 0.7, 0.1)


# The folder.


def test_choosing_a_folder_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert folder.choose("new/bench") == tmp_path / "new" / "bench"
    assert list(tmp_path.iterdir()) == []
    chosen = folder.choose(str(tmp_path))
    assert chosen == tmp_path


def test_a_folder_of_our_own_choice_has_the_time_and_bench_in_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "RUNS", tmp_path)
    assert folder.choose(None).name.endswith("-bench")
    assert folder.choose(None).parent == tmp_path


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").touch()
    words = f"^--out={tmp_path} holds files that are no benchmark: name a new folder$"
    with pytest.raises(Mistake, match=words):
        folder.choose(str(tmp_path))
    (tmp_path / "bench.json").write_text(json.dumps(a_record().content(complete=False)))
    # What a person laid beside a benchmark is no matter.
    assert folder.choose(str(tmp_path)) == tmp_path


def test_a_benchmark_that_was_killed_in_its_first_run_can_begin_again(tmp_path):
    for name in (".lock", "bench.json.tmp"):
        (tmp_path / name).touch()
    (tmp_path / "runs" / "mlp-float32-b128-s0").mkdir(parents=True)
    assert folder.choose(str(tmp_path)) == tmp_path


def test_runs_that_are_no_folder_are_refused(tmp_path):
    (tmp_path / "runs").touch()
    with pytest.raises(Mistake, match="runs is not a folder: name another --out"):
        folder.choose(str(tmp_path))


@pytest.mark.parametrize("name", ["runs", ".lock"])
def test_what_cannot_be_written_is_named(tmp_path, monkeypatch, name):
    (tmp_path / "runs").mkdir()
    (tmp_path / ".lock").touch()
    refused = tmp_path / name
    # Root may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: path != refused)
    with pytest.raises(Mistake, match=f"{refused} cannot be written: name another folder"):
        folder.choose(str(tmp_path))


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "iterdir", refuse)
    words = f"^--out={tmp_path} cannot be used \\(Permission denied\\): name another folder$"
    with pytest.raises(Mistake, match=words):
        folder.choose(str(tmp_path))


def test_a_claim_is_held_and_can_be_undone(tmp_path):
    path = tmp_path / "a" / "b"
    claim = folder.Claim(path, named=True)
    claim.runs.mkdir()
    with pytest.raises(Mistake, match=f"^--out={path} is in use by another run"):
        folder.Claim(path, named=True)
    claim.undo()
    assert list(tmp_path.iterdir()) == []
    # What was there before stays.
    folder.Claim(tmp_path, named=True).undo()
    assert tmp_path.is_dir()


# Who may go on.


def difference(former=None, now=None, cpu=CPU, gpus=(), path="/b"):
    """The differences in the words of the mistake, or None where there is none."""
    try:
        folder.check_same(path, former or a_record(), now or a_record(), cpu, list(gpus))
    except Mistake as mistake:
        start, _, rest = str(mistake).partition(": ")
        assert start == "--out=/b holds a run with other settings"
        assert rest.endswith(": give the same ones, or a new --out")
        return rest[: -len(": give the same ones, or a new --out")]
    return None


def test_the_same_benchmark_goes_on():
    assert difference() is None
    # As JSON gives it back.
    sizes = {"settings": {"batch_sizes": [64, 128]}}, {"settings": {"batch_sizes": (64, 128)}}
    assert difference(*(a_record(**each) for each in sizes)) is None
    changed = {"repeats": 9, "min_speedup": 1.3, "download": True, "out": "/c"}
    assert difference(now=a_record(settings={"epochs": 5, **changed})) is None


def test_a_flag_that_the_former_benchmark_did_not_know_is_as_it_is_now():
    assert difference(now=a_record(settings={"epochs": 5, "invented": 3})) is None


@pytest.mark.parametrize(
    ("former", "now", "words"),
    [
        ({}, {"settings": {"epochs": 6}}, "--epochs was 5 and is 6"),
        ({}, {"preset": "compute"}, "--preset was mnist and is compute"),
        ({}, {"preset": None}, "--preset was mnist and is not given"),
        (
            {"environment": {"OMP_NUM_THREADS": "1"}},
            {"environment": {"ONEDNN_MAX_CPU_ISA": "AVX2"}},
            "OMP_NUM_THREADS was 1 and is not set; ONEDNN_MAX_CPU_ISA was not set and is AVX2",
        ),
    ],
)
def test_another_benchmark_is_refused(former, now, words):
    assert difference(a_record(**former), a_record(**now)) == words


@pytest.mark.parametrize(
    ("machine", "cpu", "gpus", "words"),
    [
        (MACHINE, CPU._replace(name="Xeon"), [], "the CPU was EPYC and is Xeon"),
        (MACHINE, CPU._replace(cores=8), [], "the number of cores was 2 and is 8"),
        (MACHINE, CPU, [T4], "the GPUs was none and is Tesla T4"),
        (ON_T4, CPU, [T4, T4], "the GPUs was Tesla T4 and is Tesla T4, Tesla T4"),
        (ON_T4, CPU, [T4], None),
        # Before the first run nothing is known.
        (None, CPU._replace(name="Xeon"), [T4], None),
    ],
)
def test_another_machine_is_refused(machine, cpu, gpus, words):
    assert difference(a_record(machine), cpu=cpu, gpus=gpus) == words


# Stopped and gone on with.


@pytest.fixture
def out(tmp_path):
    return tmp_path / "bench"


HANGING = "mlp-mixed_bfloat16-b128-s0"


def stopped_in_its_second_run(out, number):
    """Send ``number`` while the second run hangs; return the benchmark and that run's process."""
    process = subprocess.Popen(
        stand_in.command(f"--out={out}", "--repeats=2"),
        env=stand_in.environment({"mixed_bfloat16": "hangs"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # As on a terminal: a shell's background job ignores it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    mark = out / "runs" / HANGING / "process"
    wait_until(lambda: mark.is_file() and mark.read_text(), 30, "the second run hangs")
    hanging = int(mark.read_text())
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    wait_until(lambda: not stand_in.lives(hanging), 5, "the run ends with its benchmark")
    return process.returncode, stdout, stderr


def without_times(runs):
    return [(each["arm"], each["seed"]) for each in runs]


ALL = [(arm, seed) for seed in (0, 1) for arm in ("float32", "mixed_bfloat16")]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_stopped_it_reports_what_it_has_and_goes_on_with_the_same_command(out, number, status):
    code, stdout, stderr = stopped_in_its_second_run(out, number)
    assert (code, stderr) == (status, "warning: seen by train\n")
    lines = stdout.splitlines()
    assert lines[0] == "run 1 of 4: mlp float32, seed 0: 1000 images/s, accuracy 0.900"
    assert "note: incomplete: the same command with this --out goes on" in lines
    assert lines[-1] == f"files: {out}"
    assert (out / "bench.html").is_file()
    before = stand_in.content(out)
    assert (before["complete"], without_times(before["runs"])) == (False, ALL[:1])
    # Of the run that was under way nothing is left.
    assert stand_in.left_in(out) == ["mlp-float32-b128-s0", "mlp-float32-b128-s0.log"]

    result = run_bench(f"--out={out}", "--repeats=2")
    # The warning is known.
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("run 2 of 4: mlp mixed_bfloat16, seed 0: 2000 images/s")
    after = stand_in.content(out)
    assert (after["complete"], without_times(after["runs"])) == (True, ALL)
    assert after["runs"][0] == before["runs"][0]
    assert "incomplete" not in result.stdout


def test_killed_it_goes_on_and_its_run_does_not_outlive_it(out):
    code, _, _ = stopped_in_its_second_run(out, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert without_times(stand_in.content(out)["runs"]) == ALL[:1]
    result = run_bench(f"--out={out}", "--repeats=2")
    assert result.returncode == 0, result.stderr
    assert without_times(stand_in.content(out)["runs"]) == ALL
    assert not (out / "runs" / HANGING / "process").exists()


def test_stopped_in_its_first_run_it_leaves_nothing(tmp_path):
    out = tmp_path / "new" / "bench"
    process = subprocess.Popen(
        stand_in.command(f"--out={out}"),
        env=stand_in.environment({"float32": "hangs"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    mark = out / "runs" / "mlp-float32-b128-s0" / "process"
    wait_until(mark.is_file, 30, "the first run hangs")
    process.terminate()
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_two_benchmarks_do_not_measure_into_one_folder(out):
    claim = folder.Claim(out, named=True)
    result = run_bench(f"--out={out}")
    assert (result.returncode, result.stdout) == (2, "")
    words = f"--out={out} is in use by another run: wait for it, or name a new folder"
    assert result.stderr == f"error: {words}\n"
    claim.undo()


def test_what_failed_is_tried_again_and_what_is_done_is_not(out):
    first = run_bench(f"--out={out}", "--repeats=1", fails={"mixed_bfloat16": "fails"})
    assert first.returncode == 1
    again = run_bench(f"--out={out}", "--repeats=1")
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("run 2 of 2: mlp mixed_bfloat16, seed 0: 2000 images/s")
    assert [each["failed"] for each in stand_in.content(out)["runs"]] == [None, None]
    # Finished, it says the same again and runs nothing.
    once_more = run_bench(f"--out={out}", "--repeats=1", fails={"float32": "fails"})
    assert once_more.returncode == 0
    assert once_more.stdout.lstrip("\n") == again.stdout.partition("\n\n")[2]
    # More repeats are more of the same.
    more = run_bench(f"--out={out}", "--repeats=2", "--min_speedup=2.5")
    assert more.returncode == 1
    assert more.stdout.startswith("run 3 of 4: mlp float32, seed 1: 1100 images/s")
    assert without_times(stand_in.content(out)["runs"]) == ALL


def test_another_benchmark_in_the_folder_is_a_mistake_and_changes_nothing(out):
    assert run_bench(f"--out={out}", "--repeats=1").returncode == 0
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    for flags, more, words in (
        (["--batch_size=64"], {}, "--batch_size was 128 and is 64"),
        (["--preset=compute"], {}, "--preset was mnist and is compute"),
        ([], {"TF_ENABLE_ONEDNN_OPTS": "0"}, "TF_ENABLE_ONEDNN_OPTS was not set and is 0"),
    ):
        result = run_bench(f"--out={out}", "--repeats=1", *flags, **more)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(f"error: --out={out} holds a run with other settings: ")
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before
