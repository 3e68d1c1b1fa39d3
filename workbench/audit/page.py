"""The page of an audit, with a picture of the ranges against the limits of the types."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Sequence

from matplotlib.figure import Figure

from workbench import figures, page
from workbench.audit import report
from workbench.audit.report import Audit
from workbench.audit.results import RangeRow
from workbench.float16 import LARGEST, SMALLEST, SMALLEST_NORMAL

PAGE = "audit.html"
WIDTH, ROW_HEIGHT, FRAME_HEIGHT = 9.0, 0.24, 1.3
# More rows than this are no picture: those that reach furthest to either side are drawn.
DRAWN_ROWS = 60
# Those of bfloat16, as of float32, lie far outside of float16's.
BFLOAT16_NORMAL = 2.0**-126
BFLOAT16_LARGEST = 3e38

KINDS = {
    "activation": "What the layers give",
    "signal": "Gradients by what the layers give",
    "gradient": "Gradients of the variables",
}


def write(folder: Path, audit: Audit, command: str) -> None:
    """Write audit.html into ``folder``. Raises ``OSError``."""
    page.write(
        folder / PAGE,
        "audit.html",
        headline=report.verdict(audit),
        setup=_setup(audit),
        findings=[
            (finding, report.words(finding), _tone(finding.level)) for finding in audit.findings
        ],
        advice=audit.advice,
        pictures=_pictures(audit.ranges.rows if audit.ranges else []),
        layers=_table(
            "Layers under mixed_float16",
            ("layer", "class", "computes in", "keeps variables in", "gives"),
            [report.layer_cells(row) for row in audit.layers],
        ),
        ranges=_table(
            "Magnitudes seen in float32; shares of what is not 0 that float16 loses",
            report.RANGE_COLUMNS,
            [report.range_cells(row) for row in audit.ranges.rows] if audit.ranges else [],
        ),
        command=command,
    )


def _setup(audit: Audit) -> str:
    shape = "x".join(map(str, audit.shape)) or "no"
    if not audit.ranges:
        return f"Graph alone, for examples of {shape}; no data was given."
    return (
        f"On {audit.ranges.examples} examples of {audit.data} ({shape}), in float32; "
        f"gradients judged with the loss scale {audit.ranges.scale:g}."
    )


def _tone(level: str) -> str:
    return {"error": "bad", "warning": "fair"}.get(level, "good")


def _table(caption: str, columns: Sequence[str], rows: Sequence[Any]) -> dict[str, Any]:
    return {"caption": caption, "columns": [(name, False) for name in columns], "rows": rows}


def _pictures(rows: Sequence[RangeRow]) -> list[tuple[figures.Picture, str]]:
    pictures = []
    for kind, title in KINDS.items():
        of_kind = [row for row in rows if row.kind == kind and row.largest > 0]
        if not of_kind:
            continue
        drawn = _most_telling(of_kind)
        height = FRAME_HEIGHT + ROW_HEIGHT * len(drawn)
        picture = figures.picture(_drawing(title, drawn), WIDTH, height)
        lost = [row.name for row in drawn if row.overflow or row.largest > LARGEST]
        overflow = f" Beyond float16: {', '.join(lost)}." if lost else ""
        pictures.append((picture, f"{title}: smallest to largest magnitude, by layer.{overflow}"))
    return pictures


def _most_telling(rows: Sequence[RangeRow]) -> list[RangeRow]:
    if len(rows) <= DRAWN_ROWS:
        return list(rows)
    half = DRAWN_ROWS // 2
    high = sorted(rows, key=lambda row: -row.largest)[:half]
    low = sorted(rows, key=lambda row: row.smallest)[:half]
    return [row for row in rows if row in high or row in low]


def _drawing(title: str, rows: Sequence[RangeRow]) -> Callable[[Figure], None]:
    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.set_title(title)
        axes.set_xscale("log", base=2)
        # What float16 holds in full, and with ever fewer bits.
        axes.axvspan(SMALLEST_NORMAL, LARGEST, color=figures.GREEN, alpha=0.12, lw=0)
        axes.axvspan(SMALLEST, SMALLEST_NORMAL, color=figures.ORANGE, alpha=0.15, lw=0)
        for limit, name in ((SMALLEST, "2⁻²⁴"), (SMALLEST_NORMAL, "2⁻¹⁴"), (LARGEST, "65504")):
            axes.axvline(limit, color=figures.GREY, lw=1)
            axes.annotate(name, (limit, 1), xycoords=("data", "axes fraction"), ha="center",
                          va="bottom", fontsize=8)  # fmt: skip
        for number, row in enumerate(rows):
            largest = min(row.largest, BFLOAT16_LARGEST)
            smallest = max(row.smallest, BFLOAT16_NORMAL)
            outside = row.largest > LARGEST
            colour = figures.RED if outside else figures.BLUE
            axes.plot([smallest, largest], [number, number], color=colour, lw=5,
                      solid_capstyle="butt")  # fmt: skip
        axes.set_yticks(range(len(rows)))
        axes.set_yticklabels([row.name for row in rows], fontsize=8)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        lowest = min(SMALLEST / 4, *(max(row.smallest, 2.0**-60) for row in rows))
        highest = max(LARGEST * 4, *(min(row.largest, 2.0**60) for row in rows))
        axes.set_xlim(lowest, highest)
        axes.set_xlabel(
            "magnitude (green: float16 in full; yellow: with fewer bits; bfloat16 and float32 "
            "reach from 2⁻¹²⁶ to 3·10³⁸)"
        )

    return draw
