"""What runs add up to: medians, ratios with their intervals, verdicts and their reasons."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from workbench.bench import compare, explain
from workbench.bench.results import Comparison, Run
from workbench.bench.student import QUANTILES, quantile, ratio_interval
from workbench.hardware import Cpu, Gpu

T4, GTX = Gpu("Tesla T4", (7, 5)), Gpu("NVIDIA GeForce GTX 1660 Ti", (7, 5))
AMX = frozenset(["avx512_bf16", "amx_tile", "amx_bf16"])
AMX_CPU, BF16_CPU, OLD_CPU = (
    Cpu("CPU", features, 2) for features in (AMX, frozenset(["avx512_bf16"]), frozenset(["avx2"]))
)


def run(arm, seed, speed=1000.0, **more):
    figures = {"seconds_per_epoch": 60000 / speed, "images_per_second": speed} if speed else {}
    more = {"model": "mlp", "batch_size": 128, **figures, **more}
    return Run(arm=arm, seed=seed, **more)


def pairs(ratios, arm="mixed_bfloat16", baseline="float32"):
    """Pairs of runs, the arm ``ratios`` times as fast; the machine's own speed comes and goes."""
    runs = []
    for seed, ratio in enumerate(ratios):
        speed = 1000.0 * (1 + seed % 3)
        runs += [run(baseline, seed, speed), run(arm, seed, speed * ratio)]
    return runs


def compared(ratios, **more):
    (comparison,) = compare.comparisons(pairs(ratios, **more))
    return comparison


def share_within(t, degrees):
    """The share of Student's distribution between -t and t, by Simpson's rule."""
    factor = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2))
    factor /= math.sqrt(degrees * math.pi)
    x = np.linspace(0, t, 20001)
    y = factor * (1 + x**2 / degrees) ** (-(degrees + 1) / 2)
    return 2 * (x[1] / 3) * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum())


@pytest.mark.parametrize("degrees", [*range(1, len(QUANTILES) + 3), 60, 1000])
def test_between_the_quantiles_lies_95_percent(degrees):
    assert share_within(quantile(degrees), degrees) == pytest.approx(0.95, abs=6e-5)


def test_the_interval_is_that_of_the_logarithms():
    # Logarithms 0 and log 4: mean log 2, standard error log 2, t(1) = 12.706.
    interval = ratio_interval([1.0, 4.0])
    reach = 12.706 * math.log(2)
    assert interval == pytest.approx((2.0, 2 * math.exp(-reach), 2 * math.exp(reach)))


def test_turned_round_the_ratios_give_the_interval_turned_round():
    mean, low, high = ratio_interval([1.1, 1.3, 1.7])
    turned = ratio_interval([1 / 1.1, 1 / 1.3, 1 / 1.7])
    assert turned == pytest.approx((1 / mean, 1 / high, 1 / low))


def test_equal_ratios_leave_no_width_and_one_leaves_no_interval():
    assert ratio_interval([2.0, 2.0, 2.0]) == pytest.approx((2.0, 2.0, 2.0))
    assert ratio_interval([2.0]) == pytest.approx((2.0, None, None))


def test_the_interval_holds_the_true_ratio_in_95_of_100_benchmarks():
    random = np.random.default_rng(0)
    held = 0
    for ratios in 1.5 * np.exp(random.normal(0, 0.2, (4000, 5))):
        _, low, high = ratio_interval(ratios)
        held += low <= 1.5 <= high
    assert held / 4000 == pytest.approx(0.95, abs=0.012)


def test_an_arm_is_the_median_of_its_runs_and_the_mean_of_its_accuracies():
    runs = [
        run("float32", 0, 1000.0, accuracy=0.97, peak_memory_bytes=100, step_ms=1.0),
        run("float32", 1, 4000.0, accuracy=0.98, peak_memory_bytes=300, step_ms=2.0),
        run("float32", 2, 2000.0, accuracy=0.96, peak_memory_bytes=200, step_ms=9.0),
        run("float32", 3, None, failed="not_finite"),
    ]
    (result,) = compare.results(runs)
    assert dataclasses.asdict(result) == {
        "model": "mlp",
        "arm": "float32",
        "batch_size": 128,
        "runs": 3,
        "seconds_per_epoch": 30.0,
        "images_per_second": 2000.0,
        "step_ms": 2.0,
        "peak_memory_bytes": 200,
        "accuracy": pytest.approx(0.97),
        "accuracy_low": 0.96,
        "accuracy_high": 0.98,
        "failed": "not_finite",
    }


def test_what_is_unknown_stays_unknown():
    (result,) = compare.results([run("float32", 0, 1000.0)])
    assert (result.peak_memory_bytes, result.accuracy, result.step_ms) == (None, None, None)
    (comparison,) = compare.comparisons(pairs([2.0, 2.0]))
    assert (comparison.memory_saved, comparison.accuracy_difference) == (None, None)


def test_models_and_batches_are_never_mixed():
    runs = [
        run(arm, 0, speed, model=model, batch_size=batch)
        for model in ("mlp", "cnn")
        for batch in (64, 128)
        for arm, speed in (("float32", 100.0 * batch), ("mixed_bfloat16", 300.0 * batch))
    ]
    assert [(each.model, each.batch_size, each.arm) for each in compare.results(runs)] == [
        (model, batch, arm)
        for model in ("mlp", "cnn")
        for batch in (64, 128)
        for arm in ("float32", "mixed_bfloat16")
    ]
    assert [(each.model, each.batch_size, each.pairs) for each in compare.comparisons(runs)] == [
        ("mlp", 64, 1),
        ("mlp", 128, 1),
        ("cnn", 64, 1),
        ("cnn", 128, 1),
    ]
    assert [each.speedup for each in compare.comparisons(runs)] == pytest.approx([3.0] * 4)


def test_with_tf32_there_are_three_comparisons():
    runs = [
        run(arm, seed, speed)
        for seed in range(3)
        for arm, speed in (("float32", 1000.0), ("tf32", 2000.0), ("mixed_float16", 5000.0))
    ]
    found = [(each.arm, each.baseline, each.speedup) for each in compare.comparisons(runs)]
    assert found == [
        ("tf32", "float32", pytest.approx(2.0)),
        ("mixed_float16", "float32", pytest.approx(5.0)),
        ("mixed_float16", "tf32", pytest.approx(2.5)),
    ]


def test_only_runs_with_equal_seeds_are_pairs():
    runs = [run("float32", 0, 1000.0), run("float32", 1, 1000.0), run("float32", 2, 1000.0)]
    runs += [run("mixed_bfloat16", 1, 1500.0), run("mixed_bfloat16", 7, 9000.0)]
    runs += [run("mixed_bfloat16", 2, None, failed="not_finite")]
    (comparison,) = compare.comparisons(runs)
    assert (comparison.pairs, comparison.speedup) == (1, pytest.approx(1.5))


def test_memory_saved_and_accuracy_are_those_of_the_pairs():
    runs = []
    for seed, (before, after, gained) in enumerate([(200, 100, 0.01), (400, 240, -0.02)]):
        runs.append(run("float32", seed, peak_memory_bytes=before, accuracy=0.9))
        runs.append(run("mixed_float16", seed, peak_memory_bytes=after, accuracy=0.9 + gained))
    (comparison,) = compare.comparisons(runs)
    mean, low, high = ratio_interval([0.5, 0.6])
    assert comparison.memory_saved == pytest.approx(1 - mean)
    assert (comparison.memory_low, comparison.memory_high) == pytest.approx((1 - high, 1 - low))
    assert comparison.memory_low < comparison.memory_saved < comparison.memory_high
    assert comparison.accuracy_difference == pytest.approx(-0.005)


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.7, 1.8, 1.9], "faster: 1.80x (1.57-2.06)"),
        ([0.69, 0.70, 0.71], "slower: 0.70x (0.68-0.73)"),
        ([0.99, 1.01, 1.02], "no gain: 1.01x (0.97-1.05)"),
        (
            [1.0, 2.0],
            "no gain shown: 1.41x (0.02-115.60), the runs differ too much: give more --repeats",
        ),
        # One pair: five per cent is a difference.
        ([1.04], "no gain: 1.04x (one pair: no interval)"),
        ([1.06], "faster: 1.06x (one pair: no interval)"),
        ([0.96], "no gain: 0.96x (one pair: no interval)"),
        ([0.94], "slower: 0.94x (one pair: no interval)"),
    ],
)
def test_verdict(ratios, verdict):
    assert compared(ratios).verdict == verdict


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        (
            [run("float32", 0), run("mixed_bfloat16", 0, None, failed="not_finite")],
            "not compared: mixed_bfloat16 failed (not_finite)",
        ),
        (
            [run("float32", 0), run("mixed_bfloat16", 1)],
            "not compared: no two runs with the same seed yet",
        ),
    ],
)
def test_without_a_pair_there_are_no_figures(runs, verdict):
    (comparison,) = compare.comparisons(runs)
    assert comparison.verdict == verdict
    assert (comparison.speedup, comparison.low, comparison.memory_saved) == (None, None, None)
    assert explain.with_reason(comparison, "a reason") == comparison
    assert not explain.needs_probe(comparison, None, None, AMX_CPU, {})


def reason(
    arm="mixed_bfloat16", step_ms=0.5, floor_ms=0.1, waits=0.0, gpu=None, cpu=AMX_CPU, **environ
):
    return explain.reason(compared([1.0], arm=arm), step_ms, floor_ms, waits, gpu, cpu, environ)


def on_gpu(gpu, **more):
    return reason(arm="mixed_float16", gpu=gpu, cpu=OLD_CPU, **more)


ISA = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (on_gpu(GTX), "this GPU has no fp16 Tensor Cores"),
        (on_gpu(T4), None),
        (reason(cpu=OLD_CPU), "this CPU has no AMX for bfloat16"),
        (reason(cpu=BF16_CPU), "this CPU has no AMX for bfloat16"),
        (
            reason(cpu=BF16_CPU, **ISA),
            "ONEDNN_MAX_CPU_ISA=AVX512_CORE keeps oneDNN from this CPU's bfloat16 instructions",
        ),
        (
            reason(**ISA),
            "ONEDNN_MAX_CPU_ISA=AVX512_CORE keeps oneDNN from this CPU's bfloat16 instructions",
        ),
        (
            reason(DNNL_MAX_CPU_ISA="avx512_core_bf16"),
            "the CPU has AMX, but ONEDNN_MAX_CPU_ISA is AVX512_CORE_BF16",
        ),
        (
            reason(TF_ENABLE_ONEDNN_OPTS="0"),
            "TF_ENABLE_ONEDNN_OPTS is off, and bfloat16 is emulated without oneDNN",
        ),
        # What the CPU lacks is no reason on a GPU, and none for TF32.
        (reason(arm="tf32", gpu=T4, cpu=OLD_CPU), None),
        (reason(waits=0.21), "the loop waits for its input 21 % of the time"),
        (reason(waits=0.2), None),
        (
            reason(floor_ms=0.4),
            "the step is bound by overhead (0.4 ms of 0.5 ms)",
        ),
        (
            on_gpu(T4, step_ms=12.34, floor_ms=6.17),
            "the step is bound by overhead (6.2 ms of 12 ms)",
        ),
        (reason(floor_ms=0.24), None),
        (reason(floor_ms=None), None),
        (reason(step_ms=None), None),
        # The hardware first, then the input, then the overhead.
        (on_gpu(GTX, waits=0.9, floor_ms=0.4), "this GPU has no fp16 Tensor Cores"),
        (reason(waits=0.9, floor_ms=0.4), "the loop waits for its input 90 % of the time"),
    ],
)
def test_reason(found, words):
    assert found == words


@pytest.mark.parametrize(
    ("ratios", "cause", "verdict"),
    [
        (
            [0.99, 1.01, 1.02],
            "the step is bound by overhead (0.4 ms of 0.5 ms)",
            "no gain: the step is bound by overhead (0.4 ms of 0.5 ms)",
        ),
        ([0.99, 1.01, 1.02], None, "no gain: 1.01x (0.97-1.05) is within the noise"),
        ([0.69, 0.70, 0.71], "no AMX", "slower: 0.70x (0.68-0.73): no AMX"),
        ([0.69, 0.70, 0.71], None, "slower: 0.70x (0.68-0.73)"),
        ([1.01], "no AMX", "no gain: no AMX (one pair: no interval)"),
        # Whoever gained needs no excuse, and what is not clear has no cause yet.
        ([1.7, 1.8, 1.9], "no AMX", "faster: 1.80x (1.57-2.06)"),
        (
            [1.0, 2.0],
            "no AMX",
            "no gain shown: 1.41x (0.02-115.60), the runs differ too much: give more --repeats",
        ),
    ],
)
def test_verdict_with_its_reason(ratios, cause, verdict):
    comparison = compared(ratios)
    explained = explain.with_reason(comparison, cause)
    assert explained == dataclasses.replace(comparison, verdict=verdict)


@pytest.mark.parametrize(
    ("ratios", "waits", "cpu", "needed"),
    [
        ([1.0, 1.01], 0.0, AMX_CPU, True),
        ([0.5, 0.51], None, AMX_CPU, True),
        ([1.0, 1.01], 0.5, AMX_CPU, False),
        ([1.0, 1.01], 0.0, OLD_CPU, False),
        ([2.0, 2.01], 0.0, AMX_CPU, False),
    ],
)
def test_the_overhead_is_measured_where_nothing_else_explains(ratios, waits, cpu, needed):
    assert explain.needs_probe(compared(ratios), waits, None, cpu, {}) is needed


def test_a_verdict_fits_the_comparison_read_from_its_file():
    comparison = compared([1.0, 1.01])
    assert Comparison(**dataclasses.asdict(comparison)) == comparison
