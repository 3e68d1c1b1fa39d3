"""``audit``: planted faults are named, clean models are left alone, and the advice is right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from html_page import assert_needs_no_network

from conftest import ROOT, environment, run_train
from workbench.audit import inspection
from workbench.audit.settings import Settings
from workbench.data.types import Arrays, Dataset

MODELS = Path(__file__).with_name("audited_models.py")
WIDTH, CLASSES = 24, 10


@pytest.fixture(autouse=True)
def _global_policy():
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


def arrays(count=128):
    numbers = np.random.default_rng(0)
    images = numbers.random((count, WIDTH), np.float32)
    # The class can be learned.
    return Arrays(images, (images[:, 0] * CLASSES).astype(np.int64))


def dataset():
    return Dataset(arrays(), arrays(64), CLASSES, None, "digest", [])


def audit(name, data=None, **flags):
    flags.setdefault("input_shape", (WIDTH,))
    model = name if name in ("mlp", "cnn", "ResNet50") else f"{MODELS}:{name}"
    return inspection.inspect(Settings(model=model, **flags), data)


def shown(result):
    return [(each.id, each.level, each.layer) for each in result.findings]


@pytest.mark.parametrize("name", ["clean", "float32_norms", "harmless_zeros", "compiled"])
def test_nothing_is_found_in_a_clean_model(name):
    result = audit(name)
    assert shown(result) == []
    assert not result.failed


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_our_own_models_are_clean(name):
    assert shown(audit(name, input_shape="auto")) == []


def test_resnet50_is_clean():
    result = audit("ResNet50", input_shape=(64, 64, 3))
    assert shown(result) == []
    assert len(result.layers) > 170


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("epsilon", ("epsilon_vanishes", "error", "norm")),
        ("unit", ("epsilon_vanishes", "error", "unit")),
        ("log", ("epsilon_vanishes", "error", "lambda")),
        ("subnormal", ("epsilon_subnormal", "warning", "part")),
        ("softmax16", ("output_softmax_float16", "error", "out")),
        ("logits16", ("output_float16", "error", "out")),
        ("inner_softmax", ("softmax_float16", "warning", "inner")),
        ("hard16", ("hard_coded_low_precision", "error", "hard")),
        ("hard64", ("hard_coded_float64", "warning", "hard")),
        ("heavy32", ("heavy_layer_float32", "info", "heavy")),
        ("all32", ("policy_without_effect", "error", "first")),
        ("late_policy", ("policy_set_late", "error", "first")),
        ("own_policy", ("builder_sets_policy", "warning", None)),
        ("odd_size", ("size_not_multiple_of_8", "warning", "odd")),
        ("custom_loss", ("loss_float16", "error", None)),
        ("long_sum", ("long_sum_float16", "warning", "sum")),
        ("not_wrapped", ("optimizer_not_wrapped", "error", None)),
        ("wrapped_twice", ("optimizer_wrapped_twice", "error", None)),
        ("experimental", ("optimizer_cannot_be_wrapped", "error", None)),
        ("mixes_types", ("fails_in_mixed_float16", "error", None)),
        ("Subclassed", ("output_softmax_float16", "error", "out")),
    ],
)
def test_a_planted_fault_is_named_and_no_other(name, finding):
    result = audit(name)
    # That a layer is not one of Keras's own is said beside it.
    assert [each for each in shown(result) if each[0] != "custom_layer"] == [finding]
    assert result.failed is (finding[1] == "error")


def test_a_layer_of_the_users_own_is_said_to_be_one():
    assert ("custom_layer", "info", "norm") in shown(audit("epsilon"))


def test_rows_of_the_layers():
    rows = {row.name: row for row in audit("clean").layers}
    assert rows["first"][1:] == ("Dense", "float16", "float32", "float16", 16 * (WIDTH + 1))
    assert rows["out"][1:] == ("Dense", "float32", "float32", "float32", CLASSES * 17)


def test_ranges_are_those_of_the_values():
    result = audit("huge", dataset())
    rows = {(row.name, row.kind): row for row in result.ranges.rows}
    images = np.asarray(dataset().train.images)
    sums = images.sum(axis=1)
    first = rows["first", "activation"]
    assert first.largest == pytest.approx(sums.max(), rel=1e-5)
    assert first.smallest == pytest.approx(sums.min(), rel=1e-5)
    assert first.input_largest == pytest.approx(images.max(), rel=1e-6)
    huge = rows["huge", "activation"]
    assert huge.overflow == pytest.approx((sums * 140000 / WIDTH > 65504).mean())
    assert result.ranges.examples == 128
    assert {row.kind for row in result.ranges.rows} == {"activation", "signal", "gradient"}


def test_shares_that_vanish_and_overflow_with_the_scale():
    plain = audit("clean", dataset(), initial_scale=1.0)
    scaled = audit("clean", dataset(), initial_scale=2.0**40)
    for row in plain.ranges.rows:
        if row.kind != "activation":
            assert row.vanish_scaled == row.vanish
    assert "scale_overflows" in [each.id for each in scaled.findings]
    assert any(row.overflow_scaled for row in scaled.ranges.rows if row.kind == "gradient")


def test_the_advised_scale_leaves_room():
    result = audit("clean", dataset())
    largest = max(row.largest for row in result.ranges.rows if row.kind != "activation")
    scale = result.advice.initial_scale
    assert scale * largest * 8 <= 65504 < scale * largest * 16
    assert np.log2(scale) == int(np.log2(scale))


def test_the_layers_that_give_too_much_and_those_that_take_it_are_named():
    result = audit("huge", dataset())
    assert [each for each in shown(result) if each[1] == "error"] == [
        ("activation_overflows", "error", "huge"),
        ("activation_overflows", "error", "between"),
        ("activation_overflows", "error", "small"),
    ]
    assert result.advice.float32_layers == ["huge", "between", "small"]
    assert not audit("huge_mended", dataset()).failed


def test_what_is_not_finite_is_told_once_where_it_begins():
    result = audit("not_a_number", dataset())
    assert [each for each in shown(result) if each[0] == "not_finite_in_float32"] == [
        ("not_finite_in_float32", "error", "root")
    ]


def run_audit(*arguments, cwd, datasets):
    return subprocess.run(
        [sys.executable, "-m", "workbench.audit", *arguments],
        env=environment(datasets, PYTHONPATH=str(ROOT)),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def npz(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "data.npz"
    train, test = arrays(512), arrays(64)
    np.savez(
        file, x_train=train.images, y_train=train.labels, x_test=test.images, y_test=test.labels
    )
    return file


def test_the_command_and_its_files(tmp_path, npz):
    result = run_audit(
        f"--model={MODELS}:huge", f"--data={npz}", "--out=a", cwd=tmp_path, datasets=tmp_path
    )
    assert (result.returncode, result.stderr) == (1, "")
    assert "error: activation_overflows at huge" in result.stdout.splitlines()
    assert "keep in float32: huge, between, small" in result.stdout.splitlines()
    assert sorted(file.name for file in (tmp_path / "a").iterdir()) == ["audit.html", "audit.json"]
    said = json.loads((tmp_path / "a" / "audit.json").read_text())
    assert said["advice"]["float32_layers"] == ["huge", "between", "small"]
    assert said["examples"] == 256
    page = (tmp_path / "a" / "audit.html").read_text()
    assert_needs_no_network(page)
    assert "activation_overflows" in page
    assert f"audit --model={MODELS}:huge" in page


def test_after_its_advice_the_model_trains_in_mixed_float16(tmp_path, npz):
    flags = ("--policy=mixed_float16", f"--data={npz}", "--epochs=2", "--learning_rate=0.01")
    before, after = (
        run_train(f"--model={MODELS}:{name}", *flags, f"--out={tmp_path / name}", datasets=tmp_path)
        for name in ("huge", "huge_mended")
    )
    assert before.returncode == 1
    assert "not one step was applied" in before.stderr
    assert after.returncode == 0, after.stderr
    summary = json.loads((tmp_path / "huge_mended" / "summary.json").read_text())
    assert summary["applied_steps"] > 0
    assert summary["train_loss"] < 5


@pytest.mark.parametrize("form", ["saved.h5", "saved"])
def test_a_saved_model_is_judged_by_the_types_it_was_saved_with(tmp_path, form, npz):
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(16, input_shape=(WIDTH,)),
            tf.keras.layers.Dense(CLASSES, "softmax", name="out"),
        ]
    )
    model.save(tmp_path / form)
    tf.keras.mixed_precision.set_global_policy("float32")
    result = inspection.inspect(Settings(model=str(tmp_path / form)), dataset())
    assert shown(result)[0] == ("output_softmax_float16", "error", "out")
    assert result.ranges.examples == 128


def test_a_model_saved_in_float32_is_measured_as_it_would_be(tmp_path):
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Rescaling(1e6, input_shape=(WIDTH,), name="huge"),
            tf.keras.layers.Dense(CLASSES, "softmax", name="out"),
        ]
    )
    model.save(tmp_path / "saved.h5")
    result = inspection.inspect(Settings(model=str(tmp_path / "saved.h5")), dataset())
    assert shown(result)[0] == ("activation_overflows", "error", "huge")
    assert ("saved_in_float32", "warning", None) in shown(result)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--model is missing"),
        (["--model=RestNet50"], "did you mean ResNet50?"),
        (["--model=nowhere.h5"], "--model=nowhere.h5: the file is not there"),
        (["--model=."], "--model=.: the folder holds no SavedModel"),
        (["--model=cnn", "--batches=3"], "--batches has no effect without --data"),
        (["--model=cnn", "--data=x", "--input_shape=3"], "--input_shape has no effect with --data"),
        (["--model=cnn", "--input_shape=3,x"], "--input_shape=3,x: give"),
        (["--model=cnn", "--policy=float32"], "unknown flag --policy"),
        (["--model=cnn", "--data=nowhere.npz"], "nowhere.npz"),
        ([f"--model={MODELS}:fails_anyway"], "it failed: ValueError: not today"),
        ([f"--model={MODELS}:nothing"], "has no function nothing"),
        (["--model=broken.h5"], "--model=broken.h5 cannot be loaded"),
        (["--model=cnn", "--out=full"], "holds files that are no audit"),
    ],
)
def test_mistakes(tmp_path, arguments, words):
    (tmp_path / "broken.h5").write_bytes(b"no HDF5")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    out = [] if "--out=full" in arguments else ["--out=new"]
    result = run_audit(*arguments, *out, cwd=tmp_path, datasets=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert sorted(tmp_path.rglob("*")) == before


def test_an_audit_replaces_its_own_files(tmp_path):
    for name, status in (("softmax16", 1), ("clean", 0)):
        result = run_audit(
            f"--model={MODELS}:{name}", f"--input_shape={WIDTH}", "--out=a",
            cwd=tmp_path, datasets=tmp_path,
        )  # fmt: skip
        assert result.returncode == status, result.stderr
    assert json.loads((tmp_path / "a" / "audit.json").read_text())["findings"] == []
