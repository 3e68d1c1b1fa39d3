"""The report of a benchmark as a person reads it: the table, the notes, the page, the chart."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest
from html_page import Page, assert_needs_no_network, pictures

from conftest import ROOT
from workbench import figures, page
from workbench.bench import compare, table
from workbench.bench import page as bench_page
from workbench.bench.results import Run

CPU = {"name": "AMD EPYC", "cores": 2, "features": ["avx2", "avx512_bf16"]}
T4 = {"name": "Tesla T4", "compute_capability": [7, 5], "memory_bytes": 15843721216}
BFLOAT16_NOTE = "on a CPU the mixed arm is mixed_bfloat16: mixed_float16 would take hours there"


def run(arm, seed, seconds, memory, accuracy, **more):
    place = {"model": "mlp", "batch_size": 128, **more}
    return Run(
        arm=arm,
        seed=seed,
        seconds_per_epoch=seconds,
        images_per_second=60000 / seconds,
        step_ms=1000 * seconds / 469,
        peak_memory_bytes=memory,
        accuracy=accuracy,
        input_wait_share=0.01,
        **place,
    )


def bench(runs, gpu=None, **more):
    hardware = {
        "gpus": [gpu] if gpu else [],
        "gpus_in_use": [gpu] if gpu else [],
        "driver": "470.57.02" if gpu else None,
        "nvml_error": None,
        "cpu": CPU,
        "memory_bytes": 16 * 10**9,
    }
    return {
        "command": "bench --preset=mnist --out='a b'",
        "preset": "mnist",
        "settings": {"data": "mnist", "epochs": 5, "repeats": 2},
        "hardware": hardware,
        "versions": {"python": "3.8.18", "tensorflow": "2.9.1", "cuda": None},
        "gpus_in_use": hardware["gpus_in_use"],
        "complete": True,
        "runs": [dataclasses.asdict(each) for each in runs],
        "results": [dataclasses.asdict(each) for each in compare.results(runs)],
        "comparisons": [dataclasses.asdict(each) for each in compare.comparisons(runs)],
        "overhead": {},
        "notes": [],
        **more,
    }


def on_cpu(**more):
    return bench(
        [
            run("float32", 0, 1.0, 740_000_000, 0.978),
            run("mixed_bfloat16", 0, 0.8, 703_000_000, 0.976),
            run("float32", 1, 1.2, 740_000_000, 0.979),
            run("mixed_bfloat16", 1, 0.96, 703_000_000, 0.979),
        ],
        **more,
    )


def tutorials_table(**more):
    """The tutorial's own figures, as if a T4 had given them."""
    return bench(
        [
            run("float32", 0, 48.0, 5_200_000_000, 0.981),
            run("mixed_float16", 0, 31.0, 3_100_000_000, 0.982),
        ],
        gpu=T4,
        **more,
    )


def sweep():
    runs = [
        run(arm, seed, seconds / batch, batch * 10**7, 0.97, batch_size=batch)
        for batch in (64, 128)
        for seed in (0, 1)
        for arm, seconds in (("float32", 100), ("mixed_bfloat16", 80 + seed))
    ]
    too_large = Run("mlp", "float32", 256, 0, failed="does not fit in memory")
    return bench([*runs, too_large])


def test_the_table_on_a_cpu():
    assert table.text(on_cpu()).splitlines() == [
        "mlp on mnist: batch 128; 5 epochs; 2 runs of each",
        "CPU: AMD EPYC, 2 cores; TensorFlow 2.9.1",
        "",
        "precision       time per epoch  images/s  memory     accuracy (seeds)",
        "float32                  1.1 s     55000  740 MB  97.85 % (97.8-97.9)",
        "mixed_bfloat16          0.88 s     68750  703 MB  97.75 % (97.6-97.9)",
        "",
        "compared                            speed-up  memory saved      accuracy",
        "mixed_bfloat16 to float32  1.25x (1.25-1.25)  5 % (5 to 5)  -0.10 points",
        "",
        "mixed_bfloat16 to float32: faster: 1.25x (1.25-1.25)",
        "",
        f"note: {BFLOAT16_NOTE}",
    ]


def test_the_tutorials_table():
    assert table.text(tutorials_table()).splitlines() == [
        "mlp on mnist: batch 128; 5 epochs; 2 runs of each",
        "GPU: Tesla T4; CPU: AMD EPYC, 2 cores; TensorFlow 2.9.1",
        "",
        "precision      time per epoch  images/s   memory  accuracy (seeds)",
        "float32                  48 s      1250  5.20 GB           98.10 %",
        "mixed_float16            31 s      1935  3.10 GB           98.20 %",
        "",
        "compared                                       speed-up  memory saved      accuracy",
        "mixed_float16 to float32  1.55x (one pair: no interval)          40 %  +0.10 points",
        "",
        "mixed_float16 to float32: faster: 1.55x (one pair: no interval)",
    ]


def test_a_sweep_tells_the_batch_sizes_and_the_one_that_does_not_fit():
    lines = table.text(sweep()).splitlines()
    assert lines[0] == "mlp on mnist: batch 64, 128, 256; 5 epochs; 2 runs of each"
    assert [line.split()[:2] for line in lines[3:9]] == [
        ["batch", "precision"],
        ["64", "float32"],
        ["64", "mixed_bfloat16"],
        ["128", "float32"],
        ["128", "mixed_bfloat16"],
        ["256", "float32"],
    ]
    assert lines[8].split() == ["256", "float32", "failed", "-", "-", "-"]
    assert "note: mlp, float32, batch 256: does not fit in memory" in lines
    assert any(line.startswith("batch 64, mixed_bfloat16 to float32: faster: ") for line in lines)


def test_several_models_are_told_apart():
    runs = [
        run(arm, 0, seconds, 10**9, 0.97, model=model)
        for model in ("wide_mlp", "wide_cnn")
        for arm, seconds in (("float32", 2), ("mixed_bfloat16", 1))
    ]
    lines = table.text(bench(runs)).splitlines()
    assert lines[0].startswith("wide_mlp and wide_cnn on mnist: ")
    assert lines[4].startswith("wide_mlp  float32 ")
    verdict = "mixed_bfloat16 to float32: faster: 2.00x (one pair: no interval)"
    assert [line for line in lines if "faster" in line] == [
        f"wide_mlp, {verdict}",
        f"wide_cnn, {verdict}",
    ]


def test_what_is_missing_is_noted_once():
    found = on_cpu(complete=False, notes=["the gate", BFLOAT16_NOTE])
    assert table.notes(found) == [
        "incomplete: the same command with this --out goes on",
        BFLOAT16_NOTE,
        "the gate",
    ]
    assert table.notes(tutorials_table()) == []


@pytest.mark.parametrize(
    "found", [on_cpu(), tutorials_table(), sweep()], ids=["cpu", "gpu", "sweep"]
)
def test_the_page_needs_no_network_and_says_what_the_terminal_says(found, tmp_path):
    bench_page.write(tmp_path, found)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bench.html", "bench.png"]
    html = (tmp_path / "bench.html").read_text(encoding="utf-8")
    assert_needs_no_network(html)
    shown = Page(html)
    text = " ".join(shown.text.split())
    for line in [*table.verdicts(found), *table.notes(found)]:
        assert line in text
    for each in (table.measured(found), table.compared(found), table.runs(found)):
        assert each.caption in text
        for row in each.rows:
            assert all(cell in text for cell in row)
    assert found["command"] in shown.text
    assert "AMD EPYC, 2 cores" in text
    assert "tensorflow 2.9.1" in text
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_every_picture_has_words_and_both_colour_schemes(tmp_path):
    bench_page.write(tmp_path, on_cpu())
    html = (tmp_path / "bench.html").read_text(encoding="utf-8")
    words = [image["alt"] for image in Page(html).all("img")]
    assert words == [
        "mlp: images per second, mean of the runs: float32 55000, mixed_bfloat16 68750",
        "mlp: peak memory, GB, mean of the runs: float32 0.74, mixed_bfloat16 0.70",
        "mlp: accuracy, %, mean of the runs: float32 97.85, mixed_bfloat16 97.75",
        "Speed-up with its 95 % interval: mixed_bfloat16 to float32: 1.25x (1.25-1.25)",
    ]
    sources = Page(html).all("source")
    assert [source["media"] for source in sources] == [
        "print",
        "(prefers-color-scheme: dark)",
    ] * len(words)
    assert len(pictures(html)) == 3 * len(words)


def test_every_run_is_a_dot(tmp_path):
    bench_page.write(tmp_path, on_cpu())
    speed = pictures((tmp_path / "bench.html").read_text(encoding="utf-8"))[0]
    dots = [
        element
        for element in speed.iter("{http://www.w3.org/2000/svg}use")
        # Those of the ticks are black.
        if "#0072b2" in element.get("style", "") or "#e69f00" in element.get("style", "")
    ]
    assert len(dots) == 4


def test_names_are_shown_and_never_run(tmp_path):
    name = 'x.py:<script>alert("1")</script>$a$ 模型'
    runs = [run("float32", 0, 1.0, 10**9, 0.9, model=name)]
    bench_page.write(tmp_path, bench(runs, command=f"bench --model='{name}'"))
    html = (tmp_path / "bench.html").read_text(encoding="utf-8")
    assert_needs_no_network(html)
    assert f"bench --model='{name}'" in Page(html).text


def test_a_bench_without_a_finished_run_has_a_page_and_no_chart(tmp_path):
    failed = Run("mlp", "float32", 128, 0, failed="not_finite")
    empty = bench([failed], hardware={}, versions={}, complete=False)
    bench_page.write(tmp_path, empty)
    assert [file.name for file in tmp_path.iterdir()] == ["bench.html"]
    html = (tmp_path / "bench.html").read_text(encoding="utf-8")
    assert_needs_no_network(html)
    assert "mlp, float32, batch 128: not_finite" in Page(html).text
    assert "hardware: not known, since no run has finished" in table.text(empty)


def test_the_same_figures_give_the_same_files(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        bench_page.write(tmp_path / name, on_cpu())
    for file in ("bench.html", "bench.png"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_page_lacks_no_value_in_silence():
    with pytest.raises(Exception, match="'headline' is undefined"):
        page.render("bench.html")


def test_a_file_name_that_is_no_text_can_stand_in_a_page(tmp_path):
    name = os.fsdecode(b"caf\xe9.py")
    bench_page.write(tmp_path, on_cpu(command=f"bench --model={name}"))
    assert "bench --model=caf\\udce9.py" in (tmp_path / "bench.html").read_text(encoding="utf-8")


def test_figures_are_drawn_quietly_where_home_cannot_be_written(tmp_path):
    code = (
        "from workbench import figures;"
        "print(figures.png(lambda figure: figure.add_subplot().set_title('模型 $x'), 3, 2)[:4])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT), "HOME": "/dev/null/home", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (result.stdout, result.stderr) == ("b'\\x89PNG'\n", "")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_differs_between_light_and_dark():
    both = figures.picture(lambda figure: figure.add_subplot().plot([0, 1]), 3, 2)
    assert both.light.startswith("data:image/svg+xml;base64,")
    assert both.light != both.dark
    small = figures.picture(lambda figure: figure.add_subplot().plot([0, 1]), 3, 2, form="png")
    assert small.dark.startswith("data:image/png;base64,")
