"""Going on with a run: only with the same settings, and never silently with others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Collection, Mapping, Sequence

from workbench import log, run_folder
from workbench.errors import Mistake
from workbench.settings import Settings

if TYPE_CHECKING:  # They load TensorFlow.
    from workbench.assembly import Parts
    from workbench.checkpoints import Checkpoints

# What may be other than before: how long, how often things are reported and saved, and where
# examples wait. The scale goes on from the checkpoint; see initial_scale_note().
MAY_CHANGE = frozenset(
    {
        "epochs",
        "log_steps",
        "checkpoint_steps",
        "checkpoint_minutes",
        "steps_per_execution",
        "input",
        "download",
        "resume",
        "out",
        "initial_scale",
    }
)


def check_flags(folder: Path, former: Mapping[str, Any], flags: Mapping[str, Any]) -> None:
    """Raise ``Mistake`` where ``flags`` differ from those of the run in ``folder``.

    ``former`` is its config.json.
    """
    # The curve of a cosine ends with the last epoch.
    fixed = MAY_CHANGE - {"epochs"} if flags["schedule"] == "cosine" else MAY_CHANGE
    # A flag that the run did not know yet had its default.
    before = {**{name: getattr(Settings, name) for name in flags}, **former["flags"]}
    refuse(folder, flag_differences(before, flags, fixed))


def flag_differences(
    before: Mapping[str, Any], flags: Mapping[str, Any], may_change: Collection[str]
) -> list[str]:
    """Return in words where ``flags`` differ from those ``before``, read from JSON."""
    return [
        f"--{name} was {before.get(name)} and is {_plain(value)}"
        for name, value in flags.items()
        if name not in may_change and _plain(value) != _plain(before.get(name))
    ]


def check_world(
    folder: Path, former: Mapping[str, Any], policy: str, digest: str, bits: Mapping[str, Any]
) -> None:
    """Raise ``Mistake`` where the resolved policy or the data is another than before.

    Under --deterministic that holds for ``bits`` too: what the last bits of a result depend on.
    """
    differences = []
    if former["flags"].get("deterministic"):
        differences += [
            f"{name} was {former['bits'].get(name)} and is {value} (--deterministic)"
            for name, value in _plain(bits).items()
            if former["bits"].get(name) != value
        ]
    if former["policy"] != policy:
        differences.append(f"the policy was {former['policy']} and is {policy}")
    if former["data"]["digest"] != digest:
        differences.append("the data was another")
    refuse(folder, differences)


def go_on(
    chosen: run_folder.Choice, checkpoints: Checkpoints, parts: Parts, given: Mapping[str, Any]
) -> int | None:
    """Bring ``parts`` to the last checkpoint of the run in ``chosen``; return its step.

    None for a new run, and for one that was ended before its first checkpoint.
    """
    if chosen.former is None:
        return None
    if not checkpoints.restore():
        log.warn(f"{chosen.path} holds a run without a checkpoint: starting it from its beginning")
        run_folder.forget_after(chosen.path, 0)
        # Its curves would lie over the new ones.
        shutil.rmtree(chosen.path / "tensorboard", ignore_errors=True)
        return None
    step = (parts.step.applied_steps + parts.step.skipped_steps).numpy().item()
    run_folder.forget_after(chosen.path, step)
    for warning in initial_scale_note(given, float(parts.step.loss_scale())):
        log.warn(warning)
    epochs = parts.progress.epoch
    if epochs >= given.get("epochs", Settings.epochs):
        log.info(f"this run has finished: more than --epochs={epochs} goes on with it")
    else:
        log.info(f"resuming after step {step}, in epoch {epochs + 1}")
    return step


def initial_scale_note(given: Mapping[str, Any], scale: float) -> list[str]:
    """Return a warning that says which loss scale holds, where --initial_scale was given."""
    if "initial_scale" not in given:
        return []
    return [
        f"--initial_scale={given['initial_scale']:g} is not used: the loss scale goes on from the "
        f"checkpoint with {scale:g}"
    ]


def refuse(folder: Path, differences: Sequence[str]) -> None:
    """Raise ``Mistake`` where there are ``differences`` from what ``folder`` holds."""
    if differences:
        raise Mistake(
            f"--out={folder} holds a run with other settings: {'; '.join(differences)}: give the "
            f"same ones, or a new --out"
        )


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON gives it back."""
    return json.loads(json.dumps(value))
