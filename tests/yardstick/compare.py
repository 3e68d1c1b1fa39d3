#!/usr/bin/env python3
"""Read what scripts/benchmark measured, and print medians and the ratios of the pairs.

A folder holds one JSON file for each arm and seed, ``<arm>.<seed>.json``. Two runs with the same
seed are a pair: a ratio is taken within it, so what slows the machine down in the meantime
counts as little as it can. Runs on any Python from 3.8 on, with the standard library alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path
from statistics import mean, median
from typing import Any, Dict, List

Runs = Dict[str, List[Dict[str, Any]]]  # by arm; in the order of the seeds

# What the figures depend on, of a CPU's features.
NOTED_FEATURES = ("avx2", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16")


def read_runs(folder: Path) -> Runs:
    """Return the runs of each arm; every arm has the same seeds.

    Raises ``ValueError`` where a run of a pair is missing, or there is none.
    """
    by_arm: dict[str, dict[int, dict[str, Any]]] = {}
    for file in folder.glob("*.*.json"):
        arm, seed, _ = file.name.rsplit(".", 2)
        by_arm.setdefault(arm, {})[int(seed)] = json.loads(file.read_text())
    seeds = {seed for runs in by_arm.values() for seed in runs}
    if not seeds:
        raise ValueError(f"no results in {folder}")
    for arm, runs in by_arm.items():
        missing = seeds - set(runs)
        if missing:
            raise ValueError(f"{folder}: {arm} has no result for seed {min(missing)}")
    return {arm: [runs[seed] for seed in sorted(seeds)] for arm, runs in by_arm.items()}


def ratios(values: list[float], baseline: list[float]) -> dict[str, float]:
    """Return the median, the lowest and the highest of the ratios of the pairs."""
    pairs = [value / base for value, base in zip(values, baseline)]
    return {"ratio": median(pairs), "low": min(pairs), "high": max(pairs)}


def column(runs: list[dict[str, Any]], name: str) -> list[float]:
    """Return one value of every run."""
    return [run[name] for run in runs]


def compare_speed(runs: Runs) -> list[dict[str, Any]]:
    """Return for each arm its images per second, memory and accuracy against the listing's."""
    listing = runs["listing"]
    rows = []
    for arm in sorted(runs):
        speed, accuracy = (
            column(runs[arm], name) for name in ("images_per_second", "val_accuracy")
        )
        memory = column(runs[arm], "peak_memory_bytes")
        rows.append(
            {
                "arm": arm,
                "policy": runs[arm][0]["policy"],
                "images_per_second": median(speed),
                **ratios(speed, column(listing, "images_per_second")),
                "memory_ratio": ratios(memory, column(listing, "peak_memory_bytes"))["ratio"],
                "accuracy": mean(accuracy),
                "accuracy_points": 100 * (mean(accuracy) - mean(column(listing, "val_accuracy"))),
            }
        )
    return rows


def steps_per_second(run: dict[str, Any]) -> float:
    """Return the steps of an epoch over the median wall time of the epochs but the first.

    A median: a cost of a few percent drowns in one epoch that the machine disturbed.
    """
    steps = run["applied_steps"] + run["skipped_steps"]
    return steps / run["epochs"] / median(run["seconds_per_epoch"][1:] or run["seconds_per_epoch"])


def compare_monitoring(runs: Runs) -> list[dict[str, Any]]:
    """Return for the usual log and the least one the steps per second, validation included."""
    speeds = {arm: [steps_per_second(run) for run in runs[arm]] for arm in runs}
    return [
        {
            "arm": arm,
            "policy": runs[arm][0]["policy"],
            "steps_per_second": median(speeds[arm]),
            **ratios(speeds[arm], speeds["train-least-log"]),
        }
        for arm in sorted(speeds)
    ]


def compare_first_step(runs: Runs) -> list[dict[str, Any]]:
    """Return the seconds from the start, of the container if there is one, to the first step."""
    seconds = [run["first_step"] - run["started"] for run in runs["first-step"]]
    figures = {"seconds": median(seconds), "low": min(seconds), "high": max(seconds)}
    return [{"arm": "first-step", **figures}]


COMPARISONS = {
    "speed": compare_speed,
    "monitoring": compare_monitoring,
    "first-step": compare_first_step,
}


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table, numbers to four digits."""

    def cell(value: Any) -> str:
        if not isinstance(value, float):
            return str(value)
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"

    lines = [list(rows[0]), ["---"] * len(rows[0]), *(map(cell, row.values()) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> dict[str, Any]:
    """Return the CPU's name and features, the cores this program may use, and the day (UTC)."""
    about = Path("/proc/cpuinfo").read_text()
    name = re.search(r"^model name\s*:\s*(.+)$", about, re.MULTILINE)
    features = re.search(r"^flags\s*:\s*(.+)$", about, re.MULTILINE)
    have = features[1].split() if features else []
    return {
        "cpu": name[1] if name else "unknown",
        "features": [feature for feature in NOTED_FEATURES if feature in have],
        "cores": len(os.sched_getaffinity(0)),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def main() -> int:
    """Print the comparison; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=COMPARISONS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, help="also write a JSON file")
    arguments = parser.parse_args()
    try:
        runs = read_runs(arguments.folder)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows = COMPARISONS[arguments.mode](runs)
    here = machine()
    pairs = len(next(iter(runs.values())))
    print(f"{here['date']}, {here['cpu']}, {here['cores']} cores ({', '.join(here['features'])})")
    print(f"runs of each: {pairs}\n\n{markdown(rows)}")
    if arguments.out:
        content = {"mode": arguments.mode, "runs": pairs, "machine": here, "results": rows}
        arguments.out.write_text(json.dumps(content, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
