"""What an audit found: as JSON takes it, and as lines for a terminal."""

from __future__ import annotations

import collections
from typing import Any, NamedTuple, Sequence

from workbench.audit.ranges import Ranges
from workbench.audit.results import LEVELS, Advice, Finding, LayerRow, RangeRow
from workbench.errors import one_line

# Of a deep model's layers and ranges the page shows all, the terminal the most telling.
SHOWN_ROWS = 12


class Audit(NamedTuple):
    """An audit: what was looked at, and what was found. ``ranges`` and ``advice`` need data."""

    model: str
    data: str | None
    shape: tuple[int, ...]
    layers: list[LayerRow]
    findings: list[Finding]
    ranges: Ranges | None
    advice: Advice | None

    @property
    def failed(self) -> bool:
        """Whether there is a finding of level error."""
        return any(finding.level == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the content of audit.json."""
        return {
            "model": self.model,
            "data": self.data,
            "input_shape": list(self.shape),
            "verdict": verdict(self),
            "findings": [finding._asdict() for finding in self.findings],
            "layers": [row._asdict() for row in self.layers],
            "ranges": [row._asdict() for row in self.ranges.rows] if self.ranges else None,
            "examples": self.ranges.examples if self.ranges else None,
            "loss": self.ranges.loss if self.ranges else None,
            "judged_scale": self.ranges.scale if self.ranges else None,
            "advice": self.advice._asdict() if self.advice else None,
        }


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings``, errors first."""
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))


def verdict(audit: Audit) -> str:
    """Return the outcome in a line."""
    counts = collections.Counter(finding.level for finding in audit.findings)
    parts = [
        f"{counts[level]} {level}{'s' if counts[level] > 1 and level != 'info' else ''}"
        for level in LEVELS
        if counts[level]
    ]
    outcome = "would fail or mislead in" if audit.failed else "is fit for"
    return f"{audit.model} {outcome} mixed_float16: {', '.join(parts) or 'nothing found'}"


def lines(audit: Audit) -> list[str]:
    """Return the report for a terminal."""
    text = []
    if audit.layers:
        text += _table(("layer", "class", "computes", "keeps", "gives"), _layer_cells(audit.layers))
    if audit.ranges:
        text += [
            "",
            f"seen in float32: {audit.ranges.examples} examples, loss {audit.ranges.loss:.4g}",
            *_table(RANGE_COLUMNS, [range_cells(row) for row in _telling(audit.ranges.rows)]),
        ]
    for finding in audit.findings:
        where = f" at {finding.layer}" if finding.layer else ""
        text += [
            "",
            one_line(f"{finding.level}: {finding.id}{where}"),
            *(f"  {name + ':':<10}{one_line(value)}" for name, value in words(finding)),
        ]
    if audit.advice:
        keep = ", ".join(audit.advice.float32_layers) or "none beyond those that are"
        text += [
            "",
            one_line(f"keep in float32: {keep}"),
            f"initial loss scale: {audit.advice.initial_scale:g} ({audit.advice.reason})",
        ]
    return [*text, "", one_line(verdict(audit))]


def words(finding: Finding) -> list[tuple[str, str]]:
    """Return the texts of ``finding`` with their names."""
    return [("seen", finding.evidence), ("why", finding.why), ("remedy", finding.remedy)]


RANGE_COLUMNS = ("tensor", "kind", "smallest", "largest", "overflow", "vanish", "vanish scaled")


def range_cells(row: RangeRow) -> tuple[str, ...]:
    """Return ``row`` as texts, for :data:`RANGE_COLUMNS`."""
    scaled = "-" if row.vanish_scaled is None else _share(row.vanish_scaled)
    ends = (f"{row.smallest:.2g}", f"{row.largest:.3g}")
    return (row.name, row.kind, *ends, _share(row.overflow), _share(row.vanish), scaled)


def layer_cells(row: LayerRow) -> tuple[str, ...]:
    """Return ``row`` as texts: name, class, and the types that it computes, keeps and gives in."""
    types = (row.compute_dtype or "-", row.variable_dtype or "-", row.output_dtype or "-")
    return (row.name, row.class_name, *types)


def _share(share: float) -> str:
    return f"{share:.1%}" if share else "0"


def _layer_cells(rows: Sequence[LayerRow]) -> list[tuple[str, ...]]:
    cells = [layer_cells(row) for row in rows]
    if len(cells) <= SHOWN_ROWS:
        return cells
    half = SHOWN_ROWS // 2
    left_out = (f"… {len(cells) - 2 * half} more", "", "", "", "")
    return [*cells[:half], left_out, *cells[-half:]]


def _telling(rows: Sequence[RangeRow]) -> list[RangeRow]:
    """Return the rows that reach furthest, of each kind, in their own order."""
    chosen = set()
    for kind in ("activation", "signal", "gradient"):
        of_kind = [row for row in rows if row.kind == kind]
        chosen |= set(sorted(of_kind, key=lambda row: -row.largest)[: SHOWN_ROWS // 3])
    return [row for row in rows if row in chosen]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    # A name may hold whatever the user likes.
    cells = [tuple(columns), *(tuple(one_line(cell) for cell in row) for row in rows)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells
    ]
