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
import signal
import sys
import time
from typing import Any

import fire

from workbench import flags
from workbench.errors import report_mistake
from workbench.settings import (
    HELP_ENDING,
    HELP_HEADING,
    Settings,
    check_together,
    unused_flags_warning,
)
from workbench.terminal import make_output_safe
from workbench.verdicts import Failure, failures_named

# Until a run exists there is nothing to save: Ctrl-C ends the program without Python's traceback.
if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

FAILURE_STATUS = 1
STARTED = time.perf_counter()


def main() -> int:
    """Read the command line and train; return the exit status."""
    arguments = sys.argv[1:]
    try:
        make_output_safe()
        if flags.wants_help(arguments):
            print(flags.help_page(Settings, HELP_HEADING, HELP_ENDING))
            status = 0
        else:
            given = flags.parse(arguments, Settings)
            check_together(given)
            # Fire would print what the function returns, the exit status.
            command = flags.as_command(given)
            status = fire.Fire(train, command=command, serialize=lambda status: None)
        sys.stdout.flush()
        return status
    except Failure as failure:
        print(f"failed: {failure}", file=sys.stderr)
        return FAILURE_STATUS


def train(**given: Any) -> int:
    """Train with the flags ``given`` and defaults for the rest; return the exit status.

    Raises ``Mistake`` before anything is run or written, ``Failure`` when the training failed.
    """
    settings = Settings(**given)

    from workbench import data, run_folder
    from workbench.stop import StopRequest, exit_status

    # The output folder, the data, and the hardware as NVML and the CPU know it.
    stop = StopRequest()
    stop.listen()
    folder = run_folder.choose_folder(settings.out, settings.model)
    dataset = data.first_samples(data.load_mnist(), settings.train_samples)
    data.check_batch_size(dataset, settings.batch_size)

    from workbench import hardware, policy

    cpu = hardware.cpu()
    nvml = hardware.nvml_report()

    from workbench import devices  # isort: skip # first: it sets how TensorFlow is loaded
    from workbench import export, models, summary, training
    from workbench.loop import Loop, to_device
    from workbench.monitor import Monitor
    from workbench.step import TrainingStep

    # The policy, for the GPUs that TensorFlow can use.
    devices.quiet()
    gpus = devices.gpus_in_use()
    choice, warnings = policy.resolve(settings.policy, gpus, cpu, os.environ)
    warnings += devices.idle_gpus_warning(nvml.gpus, gpus, os.environ)
    warnings += unused_flags_warning(given, choice.policy)
    warnings += run_folder.lost_with_container_warning(folder)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    devices.set_policy(choice.policy)

    # The model, its optimizer, and the loop over data on the device.
    with failures_named("building the model"):
        devices.set_seed(settings.seed)
        model = models.MODELS[settings.model]()
        optimizer = models.build_optimizer(choice.policy, settings)
        models.check_precision(model, optimizer, choice.policy)
        loop = Loop(
            TrainingStep(model, optimizer, data.CLASSES),
            train=to_device(dataset.train_images, dataset.train_labels),
            val=to_device(dataset.val_images, dataset.val_labels),
            batch_size=settings.batch_size,
        )

    # From here on there is a run: it leaves a summary, also when it is stopped or fails.
    stop.save_first(loop.stop)
    folder = run_folder.claim_folder(folder, named=settings.out is not None)
    progress = training.Progress(STARTED)

    def write_summary(stopped_because: str) -> dict[str, Any]:
        content = summary.summary(choice.policy, progress, loop.step, stopped_because)
        run_folder.write_json(folder / "summary.json", content)
        return content

    try:
        print(f"policy: {choice.policy} ({choice.reason})")
        print(f"output: {folder}", flush=True)
        with failures_named("writing config.json"):
            flags_read = {**dataclasses.asdict(settings), "out": str(folder)}
            content = summary.config(flags_read, choice, nvml, cpu, gpus, loop.step)
            run_folder.write_json(folder / "config.json", content)
            monitor = Monitor(folder, settings.epochs, loop.steps_per_epoch)
        training.run_epochs(settings, loop, monitor, stop, progress)
        export.check_weights(model)
        with failures_named("saving the model"):
            monitor.close()
            export.save_model(model, folder / "model")
            # Whoever asked for a stop up to now is answered by it.
            stopped_by = stop.last_word()
            content = write_summary(stopped_by.name if stopped_by else "finished")
    except Failure as failure:
        # The disk may be what failed; the failure itself is what is to be told.
        with contextlib.suppress(OSError):
            write_summary(failure.verdict)
        raise
    print(summary.report(content, folder))
    return exit_status(stopped_by) if stopped_by else 0


if __name__ == "__main__":
    sys.exit(report_mistake(main))
