"""What a benchmark found in words and figures: for the terminal, and for the page."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

from workbench.bench.compare import interval_text
from workbench.bench.results import Comparison, Result, Run

GIGABYTE, MEGABYTE = 10**9, 10**6
UNKNOWN = "-"


class Table(NamedTuple):
    """A table: its caption, the columns as (heading, whether they are numbers), the cells."""

    caption: str
    columns: list[tuple[str, bool]]
    rows: list[list[str]]


def text(bench: dict[str, Any]) -> str:
    """Return the whole report for the terminal; ``bench`` is the content of bench.json."""
    tables = [table for table in (measured(bench), compared(bench)) if table.rows]
    parts = [
        f"{headline(bench)}: {setup(bench)}\n{hardware(bench)}",
        *(_plain(table) for table in tables),
    ]
    if bench["comparisons"]:
        parts.append("\n".join(verdicts(bench)))
    found = notes(bench)
    if found:
        parts.append("\n".join(f"note: {note}" for note in found))
    return "\n\n".join(parts)


def headline(bench: dict[str, Any]) -> str:
    """Return what was compared: ``mlp on mnist``."""
    return f"{' and '.join(unique(bench['runs'], 'model'))} on {bench['settings']['data']}"


def setup(bench: dict[str, Any]) -> str:
    """Return how it was run: ``batch 128; 5 epochs; 5 runs of each``."""
    settings = bench["settings"]
    batches = ", ".join(map(str, unique(bench["runs"], "batch_size")))
    epochs, repeats = _counted(settings["epochs"], "epoch"), _counted(settings["repeats"], "run")
    return f"batch {batches}; {epochs}; {repeats} of each"


def hardware(bench: dict[str, Any]) -> str:
    """Return what it ran on: the GPU in use or the CPU, and TensorFlow's version."""
    parts = bench["hardware"]
    if not parts:
        return "hardware: not known, since no run has finished"
    cpu = parts["cpu"]
    names = [f"GPU: {gpu['name']}" for gpu in bench["gpus_in_use"][:1]]
    names.append(f"CPU: {cpu['name']}, {cpu['cores']} cores")
    return f"{'; '.join(names)}; TensorFlow {bench['versions']['tensorflow']}"


def measured(bench: dict[str, Any]) -> Table:
    """Return the figures of each arm: time, speed, memory, accuracy."""
    results = [Result(**each) for each in bench["results"]]
    places = _place_columns(results)
    columns = [
        *((name, name == "batch") for name in places),
        ("precision", False),
        ("time per epoch", True),
        ("images/s", True),
        ("memory", True),
        ("accuracy (seeds)", True),
    ]
    rows = []
    for result in results:
        if result.runs:
            figures = [
                _or_unknown(result.seconds_per_epoch, _seconds),
                _or_unknown(result.images_per_second, "{:.0f}".format),
                _or_unknown(result.peak_memory_bytes, memory_text),
                _accuracy(result),
            ]
        else:
            # The notes have the reason.
            figures = ["failed" if result.failed else UNKNOWN, *[UNKNOWN] * 3]
        rows.append([*_place(result, places), result.arm, *figures])
    memory = "the allocator's peak on the GPU" if bench["gpus_in_use"] else "resident memory"
    return Table(f"Medians over the runs; accuracy: mean; memory: {memory}", columns, rows)


def compared(bench: dict[str, Any]) -> Table:
    """Return what each arm gains over its baseline, with the 95 % intervals."""
    comparisons = [Comparison(**each) for each in bench["comparisons"]]
    places = _place_columns(comparisons)
    columns = [
        *((name, name == "batch") for name in places),
        ("compared", False),
        ("speed-up", True),
        ("memory saved", True),
        ("accuracy", True),
    ]
    rows = [
        [
            *_place(each, places),
            f"{each.arm} to {each.baseline}",
            UNKNOWN if each.speedup is None else interval_text(each.speedup, each.low, each.high),
            _memory_saved(each),
            _or_unknown(each.accuracy_difference, lambda value: f"{100 * value:+.2f} points"),
        ]
        for each in comparisons
    ]
    return Table("Ratios of runs with equal seeds, with their 95 % intervals", columns, rows)


def runs(bench: dict[str, Any]) -> Table:
    """Return the figures of every run."""
    columns = [
        ("run", False),
        ("batch", True),
        ("seed", True),
        ("time per epoch", True),
        ("images/s", True),
        ("step", True),
        ("memory", True),
        ("accuracy", True),
        ("input wait", True),
        ("failed", False),
    ]
    rows = []
    for run in (Run(**each) for each in bench["runs"]):
        figures = [
            _or_unknown(run.seconds_per_epoch, _seconds),
            _or_unknown(run.images_per_second, "{:.0f}".format),
            _or_unknown(run.step_ms, "{:.3g} ms".format),
            _or_unknown(run.peak_memory_bytes, memory_text),
            _or_unknown(run.accuracy, lambda value: f"{100 * value:.2f} %"),
            _or_unknown(run.input_wait_share, lambda value: f"{100 * value:.0f} %"),
        ]
        name = f"{run.model} {run.arm}"
        rows.append([name, str(run.batch_size), str(run.seed), *figures, run.failed or ""])
    return Table("In the order in which they ran", columns, rows)


def verdicts(bench: dict[str, Any]) -> list[str]:
    """Return one line for each comparison: what came of it and, without a gain, why."""
    comparisons = [Comparison(**each) for each in bench["comparisons"]]
    places = _place_columns(comparisons)
    lines = []
    for each in comparisons:
        where = [f"{name} {value}" for name, value in zip(places, _place(each, places))]
        prefix = f"{', '.join(where)}, ".replace("model ", "", 1) if where else ""
        lines.append(f"{prefix}{each.arm} to {each.baseline}: {each.verdict}")
    return lines


def notes(bench: dict[str, Any]) -> list[str]:
    """Return what a reader must know beside the figures: what is missing, and what was not run."""
    found = []
    if not bench["complete"]:
        found.append("incomplete: the same command with this --out goes on")
    if bench["settings"]["epochs"] == 1:
        found.append("with one epoch the speed holds the building of the graph: give --epochs=2")
    results = [Result(**each) for each in bench["results"]]
    found += [
        f"{each.model}, {each.arm}, batch {each.batch_size}: {each.failed}"
        for each in results
        if each.failed
    ]
    if any(each.arm == "mixed_bfloat16" for each in results):
        found.append(
            "on a CPU the mixed arm is mixed_bfloat16: mixed_float16 would take hours there"
        )
    return [*found, *(note for note in bench["notes"] if note not in found)]


def memory_text(size: float) -> str:
    """Return ``size`` in bytes in words: ``5.20 GB``, ``730 MB``."""
    if size >= GIGABYTE:
        return f"{size / GIGABYTE:.2f} GB"
    return f"{size / MEGABYTE:.0f} MB"


def unique(rows: Sequence[dict[str, Any]], name: str) -> list[Any]:
    """Return the different values of ``name`` in ``rows``, in the order they came."""
    return list(dict.fromkeys(row[name] for row in rows))


def _plain(table: Table) -> str:
    headings = [heading for heading, _ in table.columns]
    lines = [headings, *table.rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(headings))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, (_, is_number) in zip(line, widths, table.columns)
        ).rstrip()
        for line in lines
    )


def _place_columns(rows: Sequence[Any]) -> list[str]:
    """Return which of model and batch must be told, since they differ among ``rows``."""
    return [
        name
        for name, attribute in (("model", "model"), ("batch", "batch_size"))
        if len({getattr(row, attribute) for row in rows}) > 1
    ]


def _place(row: Any, places: Sequence[str]) -> list[str]:
    values = {"model": row.model, "batch": str(row.batch_size)}
    return [values[name] for name in places]


def _or_unknown(value: Any, words: Callable[[Any], str]) -> str:
    return UNKNOWN if value is None else words(value)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def _accuracy(result: Result) -> str:
    if result.accuracy is None:
        return UNKNOWN
    spread = f" ({100 * result.accuracy_low:.1f}-{100 * result.accuracy_high:.1f})"
    return f"{100 * result.accuracy:.2f} %{spread if result.runs > 1 else ''}"


def _memory_saved(each: Comparison) -> str:
    if each.memory_saved is None:
        return UNKNOWN
    saved = f"{round(100 * each.memory_saved)} %"
    if each.memory_low is None or each.memory_high is None:
        return saved
    return f"{saved} ({round(100 * each.memory_low)} to {round(100 * each.memory_high)})"
