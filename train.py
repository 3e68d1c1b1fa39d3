#!/usr/bin/env python3
"""Train a Keras model in TensorFlow 2.9, in the precision that fits the hardware.

The program of the mixed-precision guide, in its order: policy, data, model, a custom loop with
a scaled loss, validation, the saved model. ``train --help`` is its manual.
"""

# TensorFlow takes seconds to load, so what needs it is imported inside functions, after all
# that can be checked without it: `--help` and a mistake answer at once, and nothing is written.
from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import time
from typing import Any

from workbench import command, environment, log
from workbench.errors import report_mistake
from workbench.manual import HELP_ENDING, HELP_HEADING
from workbench.settings import Settings, check_together, unused_flags_warning
from workbench.verdicts import Failure, failures_named

# Until a run exists there is nothing to save.
command.end_quietly_on_interrupt()
environment.set_defaults()

STARTED = time.perf_counter()


def main() -> int:
    """Read the command line and train; return the exit status."""
    return command.run(train, Settings, HELP_HEADING, HELP_ENDING, check_together)


def train(**given: Any) -> int:
    """Train with the flags ``given`` and defaults for the rest; return the exit status.

    Raises ``Mistake`` before anything is run or written, ``Failure`` when the training failed.
    """
    settings = Settings(**given)

    from workbench import resume, run_folder
    from workbench.stop import StopRequest, exit_status

    # The output folder and the run in it, the data, and the hardware as NVML and the CPU know it.
    stop = StopRequest()
    stop.listen()
    chosen = run_folder.choose_folder(settings.out, settings.model, settings.resume)
    flags_read = {**dataclasses.asdict(settings), "out": str(chosen.path)}
    if chosen.former:
        resume.check_flags(chosen.path, chosen.former, flags_read)

    from workbench import data

    dataset = data.load(settings, given)

    from workbench import hardware, policy

    cpu = hardware.cpu()
    nvml = hardware.nvml_report()

    # The policy, for the GPUs that TensorFlow can use.
    from workbench import devices

    devices.quiet()
    gpus = devices.gpus_in_use()
    choice, warnings = policy.resolve(settings.policy, gpus, cpu, os.environ)
    bits = devices.bits(cpu, gpus, os.environ)
    if chosen.former:
        resume.check_world(chosen.path, chosen.former, choice.policy, dataset.digest, bits)
    warnings += devices.idle_gpus_warning(nvml.gpus, gpus, os.environ)
    warnings += devices.unused_gpus_warning(gpus)
    warnings += unused_flags_warning(given, choice.policy)
    warnings += run_folder.lost_with_container_warning(chosen.path)
    if not gpus:
        devices.set_threads(choice.policy, settings.model, cpu.cores, os.environ)
    devices.set_policy(choice.policy)
    devices.set_tf32(settings.tf32)
    devices.set_seed(settings.seed, settings.deterministic)

    # The model, its optimizer, and the loop over the data.
    from workbench import export, summary
    from workbench.assembly import assemble
    from workbench.checkpoints import Checkpoints
    from workbench.monitor import Monitor
    from workbench.training import Training

    with failures_named("building the model"):
        parts = assemble(settings, dataset, choice.policy, nvml.gpus if gpus else [])

    warnings += parts.warnings
    notes = dataset.notes
    # Its examples are with the feeds now: they need not be in memory twice.
    del dataset

    # From here on there is a run: it leaves a summary, also when it is stopped or fails.
    folder, claim = run_folder.claim_folder(chosen.path, named=settings.out is not None)
    flags_read["out"] = str(folder)
    # Only now: a mistake is told by one line alone.
    for warning in warnings:
        log.warn(warning)
    print(f"policy: {choice.policy} ({choice.reason})")
    print(f"output: {folder}", flush=True)
    for note in notes:
        log.info(note)
    resumed = monitor = None

    def write_summary(stopped_because: str) -> dict[str, Any]:
        content = summary.summary(choice.policy, parts, resumed, stopped_because)
        run_folder.write_json(folder / "summary.json", content)
        return content

    try:
        with failures_named("the output folder"):
            checkpoints = Checkpoints(folder / "checkpoints", parts)
            resumed = resume.go_on(chosen, checkpoints, parts, given)
            content = summary.config(flags_read, choice, nvml, cpu, gpus, bits, parts)
            stop.save_first(parts.ask_to_stop)
            run_folder.write_json(folder / run_folder.CONFIG, content)
            monitor = Monitor(folder, claim, settings.epochs, parts.feed.steps)
        ended = Training(settings, parts, checkpoints, monitor, stop, STARTED).run()
        with failures_named("saving the model"):
            monitor.close()
            # A stop has its checkpoint: the summary comes first, the model where it is quick.
            content = write_summary(ended)
            saved = export.save(parts, folder / "model", quickly=bool(stop.signal))
            # Whoever asked for a stop up to now is answered by it.
            stopped_by = stop.last_word()
            if stopped_by:
                content = write_summary(stopped_by.name)
    except Failure as failure:
        # The disk may be what failed; the failure itself is what is to be told.
        with contextlib.suppress(OSError):
            write_summary(failure.verdict)
        with contextlib.suppress(Failure), failures_named("the log"):
            if monitor:
                monitor.close()
        # What it could not write it would try once more at the program's end.
        with contextlib.suppress(OSError):
            claim.close()
        raise
    print(summary.report(content, folder))
    if not saved:
        log.warn("there was no time to save the model: its checkpoint is saved")
        sys.stdout.flush()
        # The thread that still saves would hold the program up.
        os._exit(exit_status(stopped_by))
    return exit_status(stopped_by) if stopped_by else 0


if __name__ == "__main__":
    sys.exit(report_mistake(main))
