"""The page of a benchmark and its chart: bench.html, which needs no network, and bench.png."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench import figures, page, run_folder
from workbench.bench import chart, table
from workbench.bench.compare import FASTER, SLOWER

CHART, PAGE = "bench.png", "bench.html"


def write(folder: Path, bench: dict[str, Any]) -> None:
    """Write the chart and the page of ``bench``, the content of bench.json, into ``folder``.

    The chart is left out where no run has finished yet.
    """
    panels = chart.panels(bench)
    if panels:
        draw, width, height = chart.draw_all(panels)
        run_folder.write_whole(folder / CHART, figures.png(draw, width, height))
    pictures = [
        (figures.picture(panel.draw, chart.PANEL_WIDTH, panel.height), panel.words)
        for panel in panels
    ]
    page.write(
        folder / PAGE,
        "bench.html",
        headline=table.headline(bench),
        setup=table.setup(bench),
        hardware=table.hardware(bench),
        verdicts=[
            (line, _tone(comparison["verdict"]))
            for line, comparison in zip(table.verdicts(bench), bench["comparisons"])
        ],
        tables=[each for each in (table.measured(bench), table.compared(bench)) if each.rows],
        pictures=pictures,
        notes=table.notes(bench),
        command=bench["command"],
        machine=_machine(bench),
        runs=table.runs(bench),
    )


def _tone(verdict: str) -> str:
    """Return how the page colours ``verdict``: a gain, a loss, or neither."""
    return {FASTER: "good", SLOWER: "bad"}.get(verdict.partition(":")[0], "fair")


def _machine(bench: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the hardware and versions of ``bench`` as (name, value) pairs."""
    parts = bench["hardware"]
    if not parts:
        return []
    in_use = ", ".join(gpu["name"] for gpu in bench["gpus_in_use"])
    facts = [
        ("GPU in use", in_use or "none"),
        ("GPUs in the machine", ", ".join(gpu["name"] for gpu in parts["gpus"]) or "none"),
        ("Driver", parts["driver"] or "none"),
        ("CPU", f"{parts['cpu']['name']}, {parts['cpu']['cores']} cores"),
        ("CPU features", ", ".join(parts["cpu"]["features"]) or "none of those that matter"),
        ("Memory", table.memory_text(parts["memory_bytes"])),
    ]
    versions = ", ".join(f"{name} {value}" for name, value in bench["versions"].items() if value)
    return [*facts, ("Versions", versions)]
