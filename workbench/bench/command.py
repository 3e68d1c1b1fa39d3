"""``bench``: what mixed precision gains on this machine."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any

from workbench import command, log, run_folder
from workbench.bench import folder, presets, record
from workbench.bench.child import Stopped
from workbench.bench.gate import gate
from workbench.bench.manual import HELP_ENDING, HELP_HEADING
from workbench.bench.measure import Measurement
from workbench.bench.schedule import does_not_fit
from workbench.bench.settings import Settings, check_together
from workbench.errors import Mistake, report_mistake
from workbench.stop import StopRequest, exit_status
from workbench.verdicts import disk_failure

# Values of CUDA_VISIBLE_DEVICES that leave no GPU.
HIDDEN = ("", "-1")


def main() -> int:
    """Read the command line and measure; return the exit status."""
    command.end_quietly_on_interrupt()
    return report_mistake(
        lambda: command.run(bench, Settings, HELP_HEADING, HELP_ENDING, check_together)
    )


def bench(**given: Any) -> int:
    """Measure with the flags ``given`` and defaults for the rest; return the exit status.

    Raises ``Mistake`` before anything is run or written, or where train refuses the first run;
    ``Failure`` where files cannot be written.
    """
    stop = StopRequest()
    stop.listen()
    settings = Settings(**given)
    path = folder.choose(settings.out)

    from workbench import hardware

    nvml = hardware.nvml_report()
    # What TensorFlow can use the first run will tell; how large a preset is, is settled before.
    gpu = bool(nvml.gpus) and os.environ.get("CUDA_VISIBLE_DEVICES") not in HIDDEN
    cases = presets.cases(given, gpu)
    now = record.Record(
        command=record.command(os.environ, sys.argv[1:]),
        preset=presets.preset(given),
        settings=presets.understood(dataclasses.asdict(settings), cases),
        environment=record.environment(os.environ),
    )
    claim = folder.Claim(path, named=settings.out is not None)
    former = record.read(claim.folder)
    if former:
        folder.check_same(claim.folder, former, now, hardware.cpu(), nvml.gpus)
        now = dataclasses.replace(former, command=now.command, settings=now.settings)
    measurement = Measurement(now, cases, given, claim.folder, claim.runs)
    stop.save_first(measurement.trainer.end)
    try:
        complete = _measured(measurement)
        if now.runs:
            _report(now, claim.folder, complete)
    except Mistake:
        if not former:
            claim.undo()
        raise
    except OSError as error:
        if not (now.runs or former):
            claim.undo()
        raise disk_failure("the output folder", error) from error
    if not (now.runs or former):
        claim.undo()
    stopped_by = stop.last_word()
    if stopped_by:
        return exit_status(stopped_by)
    return command.FAILURE_STATUS if _found_wanting(now, settings) else 0


def _measured(measurement: Measurement) -> bool:
    """Run what is to be run; return whether that was all, or the benchmark was told to stop."""
    try:
        measurement.run()
        measurement.explain()
    except Stopped:
        return False
    # Where no run told what the hardware is, the other arms have not been tried.
    return bool(measurement.record.hardware)


def _report(now: record.Record, path: Path, complete: bool) -> None:
    """Write bench.json, the page and the chart; print the table."""
    # They load matplotlib.
    from workbench.bench import page, table

    content = now.content(complete)
    run_folder.write_json(path / record.RECORD, content)
    page.write(path, content)
    print(f"\n{table.text(content)}\n\nfiles: {path}")
    for warning in run_folder.lost_with_container_warning(path):
        log.warn(warning)


def _found_wanting(now: record.Record, settings: Settings) -> bool:
    """Tell, and print, whether a run failed or the gate is not met."""
    sweep = settings.batch_sizes != "off"
    failed = [
        run
        for run in now.runs
        # What ends a sweep is a result.
        if run.failed
        and not (sweep and does_not_fit(run) and run.batch_size > settings.batch_sizes[0])
    ]
    if failed:
        command.tell_failure(
            f"{len(failed)} of {len(now.runs)} runs failed, the first one: {failed[0].failed}"
        )
    if settings.min_speedup == "off":
        return bool(failed)
    result = gate(now.comparisons(), settings.min_speedup)
    if result.met:
        log.info(result.line)
    else:
        command.tell_failure(result.line)
    return bool(failed) or not result.met
