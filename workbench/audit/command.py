"""``audit``: what mixed precision would break in a model."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from workbench import command, log, run_folder
from workbench.audit.manual import HELP_ENDING, HELP_HEADING
from workbench.audit.names import check_name
from workbench.audit.settings import OF_DATA, Settings, check_together
from workbench.errors import Mistake, report_mistake
from workbench.settings import Settings as Train
from workbench.verdicts import disk_failure

RECORD, LOCK = "audit.json", ".lock"


def main() -> int:
    """Read the command line and audit; return the exit status."""
    command.end_quietly_on_interrupt()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return report_mistake(
        lambda: command.run(audit, Settings, HELP_HEADING, HELP_ENDING, check_together)
    )


def audit(**given: Any) -> int:
    """Audit with the flags ``given`` and defaults for the rest; return the exit status.

    Raises ``Mistake`` before anything is written; ``Failure`` where files cannot be written.
    """
    settings = Settings(**given)
    check_name(settings.model)
    folder = _choose(settings.out)
    dataset = None
    if settings.data:
        from workbench import data

        dataset = data.load(_train_settings(settings, given), given)
    # It loads TensorFlow, which takes a second.
    from workbench import devices
    from workbench.audit import inspection, page, report

    devices.quiet()
    result = inspection.inspect(settings, dataset)
    taken, claim = run_folder.claim_folder(
        folder, named=settings.out is not None, lock=LOCK, record=RECORD
    )
    try:
        run_folder.write_json(taken / RECORD, result.as_json())
        page.write(taken, result, _command_line())
    except OSError as error:
        raise disk_failure("the output folder", error) from error
    finally:
        (taken / LOCK).unlink(missing_ok=True)
        claim.close()
    print("\n".join([*report.lines(result), "", f"files: {taken}"]))
    for warning in run_folder.lost_with_container_warning(taken):
        log.warn(warning)
    return command.FAILURE_STATUS if result.failed else 0


def _choose(out: str | None) -> Path:
    """Return the output folder. Raises ``Mistake`` where it cannot be one, or holds what is ours
    not to replace.
    """
    folder = run_folder.folder_path(out, "audit")
    run_folder.check_can_be_made(folder)
    if folder.is_dir():
        names = run_folder.names_in(folder)
        if names and RECORD not in names:
            raise Mistake(f"--out={folder} holds files that are no audit: name a new folder")
    return folder


def _train_settings(settings: Settings, given: dict[str, Any]) -> Train:
    """Return the settings of train that say how the data is read."""
    shared = {"data", "classes", *OF_DATA} & set(Train.__dataclass_fields__)
    flags = {name: getattr(settings, name) for name in shared & set(given)}
    return Train(**{"batch_size": settings.batch_size, **flags})


def _command_line() -> str:
    return " ".join(map(shlex.quote, ["audit", *sys.argv[1:]]))
