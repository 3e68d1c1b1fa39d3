"""The pictures of a benchmark: every run is a dot, beside the bars and lines of the arms."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from workbench.bench.compare import interval_text
from workbench.bench.results import Comparison
from workbench.bench.table import GIGABYTE, unique
from workbench.figures import BLUE, GREEN, ORANGE, Draw

COLOURS = {"float32": BLUE, "tf32": GREEN, "mixed_float16": ORANGE, "mixed_bfloat16": ORANGE}
# The speed-ups shown lie within this factor of the smallest and the largest; with two pairs an
# interval may span a hundredfold, and would leave no room for anything else.
REACH = 2.5
SPEEDUP_TICKS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10)
PANEL_WIDTH = 4.6
# A figure of so many columns goes into bench.png.
COLUMNS = 3


class Measure(NamedTuple):
    """A figure of a run: its name there, its axis, unit and format, whether zero is shown."""

    name: str
    title: str
    unit: float
    form: str
    from_zero: bool


MEASURES = (
    Measure("images_per_second", "images per second", 1, ".0f", True),
    Measure("peak_memory_bytes", "peak memory, GB", GIGABYTE, ".2f", True),
    Measure("accuracy", "accuracy, %", 0.01, ".2f", False),
)


class Panel(NamedTuple):
    """One picture: what it shows in words, how to draw it, its height in inches."""

    words: str
    draw: Draw
    height: float


def panels(bench: dict[str, Any]) -> list[Panel]:
    """Return the pictures of ``bench``, the content of bench.json: those that have data."""
    found = []
    for model in unique(bench["runs"], "model"):
        good = [run for run in bench["runs"] if run["model"] == model and not run["failed"]]
        found += [
            _measure_panel(model, measure, known)
            for measure in MEASURES
            for known in [[run for run in good if run[measure.name] is not None]]
            if known
        ]
    comparisons = [Comparison(**each) for each in bench["comparisons"]]
    known = [each for each in comparisons if each.speedup is not None]
    if known:
        found.append(_speedup_panel(known))
    return found


def draw_all(panels: Sequence[Panel]) -> tuple[Draw, float, float]:
    """Return one drawing of all ``panels``, with its width and height in inches."""
    columns = min(COLUMNS, len(panels))
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(panel.height for panel in row) for row in rows]

    def draw(figure: Any) -> None:
        bands = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)
        for row, (band,) in zip(rows, bands):
            # A row that is not full is as wide as the others.
            (places,) = band.subfigures(1, len(row), squeeze=False)
            for panel, place in zip(row, places):
                panel.draw(place)

    return draw, columns * PANEL_WIDTH, sum(heights)


def _measure_panel(model: str, measure: Measure, runs: list[dict[str, Any]]) -> Panel:
    sweep = len(unique(runs, "batch_size")) > 1
    draw, height = (_draw_sweep, 3.0) if sweep else (_draw_bars, 1.2 + 0.45 * _arms_in(runs))
    title = f"{model}: {measure.title}"

    def drawing(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.set_title(title)
        draw(axes, measure, runs)

    means = [f"{arm} {_mean(runs, measure, arm):{measure.form}}" for arm in unique(runs, "arm")]
    over = " over the batch size" if sweep else ""
    return Panel(f"{title}{over}, mean of the runs: {', '.join(means)}", drawing, height)


def _draw_bars(axes: Any, measure: Measure, runs: list[dict[str, Any]]) -> None:
    arms = unique(runs, "arm")
    for place, arm in enumerate(arms):
        values = _values(runs, measure, arm)
        if measure.from_zero:
            axes.barh(place, sum(values) / len(values), height=0.6, color=COLOURS[arm], alpha=0.55)
        else:
            axes.plot([sum(values) / len(values)] * 2, [place - 0.3, place + 0.3], COLOURS[arm])
        _dots(axes, values, [place] * len(values), arm)
    axes.set_yticks(range(len(arms)), arms)
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.locator_params(axis="x", nbins=5)
    axes.margins(x=0.08)


def _draw_sweep(axes: Any, measure: Measure, runs: list[dict[str, Any]]) -> None:
    sizes = sorted(unique(runs, "batch_size"))
    for arm in unique(runs, "arm"):
        mine = [run for run in runs if run["arm"] == arm]
        known = [size for size in sizes if any(run["batch_size"] == size for run in mine)]
        means = []
        for size in known:
            values = _values([run for run in mine if run["batch_size"] == size], measure, arm)
            means.append(sum(values) / len(values))
            _dots(axes, [size] * len(values), values, arm)
        axes.plot(known, means, color=COLOURS[arm], label=arm)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("batch size")
    if measure.from_zero:
        axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.legend()


def _speedup_panel(comparisons: Sequence[Comparison]) -> Panel:
    labels = [
        f"{_name(each, comparisons)}: {interval_text(each.speedup, each.low, each.high)}"
        for each in comparisons
    ]
    speedups = [each.speedup for each in comparisons] + [1]
    left, right = min(speedups) / REACH, max(speedups) * REACH
    ticks = [tick for tick in SPEEDUP_TICKS if left <= tick <= right]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.set_title("speed-up, 95 % interval")
        axes.axvline(1, color=axes.title.get_color(), lw=1, ls="--")
        for place, (each, label) in enumerate(zip(comparisons, labels)):
            colour = COLOURS[each.arm]
            if each.low is not None:
                axes.plot([each.low, each.high], [place] * 2, color=colour, lw=3)
            axes.plot(each.speedup, place, "o", color=colour, ms=8)
            # Above its line: beside it there would be no room on a phone.
            box = {"facecolor": axes.get_facecolor(), "linewidth": 0, "pad": 1}
            axes.text(left, place - 0.35, f" {label}", va="center", size=9, bbox=box)
        axes.set_xscale("log")
        axes.set_xlim(left, right)
        axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
        axes.minorticks_off()
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_ylim(len(comparisons) - 0.6, -0.8)
        axes.grid(axis="x")

    words = f"Speed-up with its 95 % interval: {'; '.join(labels)}"
    return Panel(words, draw, 1.0 + 0.55 * len(labels))


def _name(each: Comparison, among: Sequence[Comparison]) -> str:
    name = f"{each.arm} to {each.baseline}"
    if len({other.model for other in among}) > 1:
        name = f"{each.model}, {name}"
    if len({other.batch_size for other in among}) > 1:
        name = f"{name}, batch {each.batch_size}"
    return name


def _dots(axes: Any, x: Sequence[float], y: Sequence[float], arm: str) -> None:
    axes.plot(x, y, "o", color=COLOURS[arm], mec=axes.get_facecolor(), mew=0.8, ms=6)


def _values(runs: Sequence[dict[str, Any]], measure: Measure, arm: str) -> list[float]:
    return [run[measure.name] / measure.unit for run in runs if run["arm"] == arm]


def _mean(runs: Sequence[dict[str, Any]], measure: Measure, arm: str) -> float:
    values = _values(runs, measure, arm)
    return sum(values) / len(values)


def _arms_in(runs: Sequence[dict[str, Any]]) -> int:
    return len(unique(runs, "arm"))
