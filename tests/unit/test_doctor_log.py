"""``doctor --log``: each fault is named by the line that shows it, the root before the rest."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest

from conftest import ROOT
from workbench.doctor import log_reader, log_text
from workbench.doctor.findings import LEVELS
from workbench.doctor.rules import LOG, MACHINE, RULES, RUN
from workbench.errors import Mistake
from workbench.verdicts import VERDICTS, Failure

LOGS = ROOT / "tests" / "unit" / "logs"

# Longer logs, with noise and several symptoms: all that is found, the root first.
MIXED = {
    "mixed_compose_ssh": ["ssh_key_modes", "ssh_key_refused"],
    "mixed_cpu_machine_labels": ["labels_and_loss_differ", "gpu_not_in_container"],
    "mixed_cudnn_version": ["cudnn_version_differs", "no_convolution_algorithm"],
    "mixed_docker_build_apt": ["apt_key_rotated"],
    "mixed_float16_nan": ["nan_under_float16", "retracing"],
    "mixed_gpu_lost_in_container": ["nvml_lost_in_container", "no_cuda_device"],
    "mixed_notebook_memory": ["kernel_died", "allocation_exceeds_share"],
    "mixed_other_process": ["gpu_memory_taken", "cublas_handle_failed"],
    "mixed_started_well": ["ptx_jit"],
    "mixed_two_driver_versions": ["libcuda_and_module_differ", "no_cuda_device"],
    "mixed_worker_out_of_memory": ["gpu_out_of_memory", "worker_lost"],
    "mixed_xla_optimizer": ["libdevice_missing"],
}


def ids(report):
    return [finding.id for finding in report.findings]


@pytest.fixture
def report(tmp_path):
    """Write a log, as text or bytes, and read it."""

    def read(log):
        file = tmp_path / "train.log"
        file.write_bytes(log if isinstance(log, bytes) else log.encode())
        return log_reader.read(str(file))

    return read


@pytest.mark.parametrize("rule", LOG, ids=lambda rule: rule.id)
def test_each_fault_is_named_first(rule):
    log = LOGS / f"{rule.id}.txt"
    first = log_reader.read(str(log)).findings[0]
    assert first.id == rule.id
    assert (first.level, first.cause, first.remedy) == (rule.level, rule.cause, rule.remedy)
    number, line = re.fullmatch(r"line (\d+): (.+)", first.evidence).groups()
    quoted = log.read_text().splitlines()[int(number) - 1]
    assert line.strip("… ").replace("\\", "")[:40] in quoted.replace("\\", "")


@pytest.mark.parametrize("name", VERDICTS)
def test_the_trainers_own_verdicts(name, report):
    log = f"policy: float32 (no GPU)\nfailed: {Failure(name, 'epoch 2: so it was')}\n"
    finding = report(log).findings[0]
    assert finding.id == f"verdict_{name}"
    assert finding.evidence.startswith("line 2: failed: ")


@pytest.mark.parametrize("name", MIXED)
def test_the_root_stands_before_what_follows(name):
    expected = MIXED[name]
    assert ids(log_reader.read(str(LOGS / f"{name}.txt")))[: len(expected)] == expected


def test_the_table_is_complete():
    rules = (*MACHINE, *RUN, *LOG)
    assert len(rules) == len(RULES), "an id is given twice"
    for rule in rules:
        assert re.fullmatch(r"[a-z0-9_]+", rule.id)
        assert rule.level in LEVELS
        for text in (rule.symptom, rule.cause, rule.remedy, rule.source):
            assert text.strip() == text != "", rule.id
            assert "\n" not in text, rule.id
        for pattern in (*rule.log, *rule.also):
            re.compile(pattern)
    assert all(rule.log for rule in LOG if rule.id != "unknown_error")
    assert {file.stem for file in LOGS.glob("*.txt")} == {rule.id for rule in LOG} | set(MIXED)


def test_harmless_lines_are_named_where_there_is_nothing_else(report):
    numa = (LOGS / "harmless_numa.txt").read_text()
    alone = report(numa)
    assert ids(alone) == ["harmless_numa"]
    assert "only harmless lines" in alone.lines[-1]
    assert ids(report(numa + (LOGS / "retracing.txt").read_text())) == ["retracing"]


def test_an_error_stands_before_a_warning(report):
    log = (LOGS / "retracing.txt").read_text() + (LOGS / "label_out_of_range.txt").read_text()
    assert ids(report(log)) == ["label_out_of_range", "retracing"]


def test_an_unknown_error_is_shown_by_its_last_line(report):
    log = "start\nerror: first\nTraceback (most recent call last):\nmy.GlitchError: no phase\nbye\n"
    unknown = report(log)
    assert ids(unknown) == ["unknown_error"]
    assert unknown.findings[0].evidence == "line 4: my.GlitchError: no phase"
    assert unknown.lines[-1] == "no rule of the doctor fits its error"


def test_an_unknown_error_beside_a_warning(report):
    log = "GlitchError: out of phase\n" + (LOGS / "retracing.txt").read_text()
    assert ids(report(log)) == ["unknown_error", "retracing"]


def test_an_unknown_error_on_a_machine_without_a_gpu(report):
    log = (LOGS / "cudart_missing.txt").read_text() + "GlitchError: out of phase\n"
    assert ids(report(log)) == ["cudart_missing", "unknown_error"]


def test_a_line_is_named_by_its_particular_words_alone(report):
    log = (LOGS / "float16_type_mismatch.txt").read_text()
    assert ids(report(log)) == ["float16_type_mismatch"]


@pytest.mark.parametrize(
    "log",
    [
        "all is well\n",
        "Epoch 1/2 - loss: 0.3 - error: 0.12 - mean_absolute_error: 0.1\n",
        "epoch 1/5  step 9/9  loss 0.2214  loss_scale 1  applied_steps 9\nstopped: finished\n",
    ],
)
def test_nothing_wrong(report, log):
    fine = report(log)
    assert fine.findings == []
    assert "no line of it looks like an error" in fine.lines[-1]


KILLED = "Epoch 1/20\n{}Killed\n"


@pytest.mark.parametrize(
    "log",
    [
        b"Epoch 1/20\r\nKilled\r\n",
        b"Epoch 1/20\n\x1b[31mKilled\x1b[0m\n",
        b"box-1  | Epoch 1/20\nbox-1  | 2026-05-05T10:11:12.123456Z Killed\n",
        b'{"log":"Epoch 1/20\\n","stream":"stdout","time":"t"}\n'
        b'{"log":"Killed\\n","stream":"stderr","time":"t"}\n',
        b"> Epoch 1/20\n> Killed\n",
        "Epoch 1/20\nKilled\n".encode("utf-16"),
        b"\xef\xbb\xbfEpoch 1/20\nKilled",
        "größer\nKilled\n".encode("latin-1"),
        b"\x00\xff\xfe\x01" * 50 + b"\nKilled\n",
    ],
    ids=[
        "crlf",
        "colours",
        "compose",
        "json",
        "quoted",
        "utf-16",
        "utf-8-bom",
        "latin-1",
        "binary",
    ],
)
def test_a_log_in_any_form(report, log):
    (finding,) = report(log).findings
    assert (finding.id, finding.evidence) == ("killed_for_memory", "line 2: Killed")


def test_the_states_of_a_bar_are_one_line(report):
    bar = "".join(f" {n}/1875 [{'=' * (n // 100)}>...] - loss: 0.{n:04}\r" for n in range(1875))
    log = report(f"Epoch 1/1\n{bar}\nKilled\n")
    assert [finding.evidence for finding in log.findings] == ["line 3: Killed"]
    assert log.line_count == 3


def test_a_huge_log_is_searched_at_both_ends(report, monkeypatch):
    monkeypatch.setattr(log_text, "HEAD_LETTERS", 2000)
    monkeypatch.setattr(log_text, "TAIL_LETTERS", 2000)
    words = ["".join(chr(97 + int(digit)) for digit in str(n)) for n in range(2000)]
    middle = "".join(f"a line about {word}\n" for word in words)
    log = report(
        f"libnvinfer\n{middle}bash: nvidia-smi: command not found\n{middle[:500]}\nKilled\n"
    )
    assert ids(log) == ["nvidia_smi_missing", "killed_for_memory"]
    assert log.findings[0].evidence == "line 2002: bash: nvidia-smi: command not found"
    assert log.left_out > 1500
    assert any(line.startswith("left out: ") for line in log.lines)


def test_a_long_line_is_quoted_around_what_was_found(report):
    log = "x" * 5000 + " nvidia-container-cli: requirement error: unsatisfied condition: cuda>=11.2"
    (evidence,) = [f.evidence for f in report(log).findings if f.id == "driver_too_old_for_image"]
    assert "unsatisfied condition: cuda>=11.2" in evidence
    assert len(evidence) < 300


def test_the_report_for_machines(report):
    content = json.loads(json.dumps(report("a\nKilled\n").as_json()))
    assert content["lines"] == 2
    (finding,) = content["findings"]
    assert list(finding) == [
        "id",
        "level",
        "symptom",
        "evidence",
        "cause",
        "remedy",
        "source",
    ]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nKilled\n")))
    log = log_reader.read("-")
    assert (ids(log), log.lines[0]) == (["killed_for_memory"], "log: standard input, 2 lines")


@pytest.mark.parametrize("content", [b"", b"\n \n\x1b[0m\n"])
def test_an_empty_log_is_a_mistake(report, content):
    with pytest.raises(Mistake, match=r"train\.log is empty: give what the program printed"):
        report(content)


@pytest.mark.parametrize(("name", "words"), [("gone.txt", "No such file"), (".", "Is a directory")])
def test_what_cannot_be_read_is_a_mistake(tmp_path, name, words):
    with pytest.raises(Mistake, match=words):
        log_reader.read(str(tmp_path / name))
