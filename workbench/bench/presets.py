"""What is measured: the cases of a preset, or the user's own model and data."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from workbench.bench.settings import HANDED_ON, Settings

MODELS = "workbench.bench.models"
# On two cores without AMX a run of either model stays below half a minute so.
CPU_SAMPLES = 8192


class Case(NamedTuple):
    """A model that is measured: its name in the results, and the flags of train that make it."""

    model: str
    flags: dict[str, Any]


def cases(given: Mapping[str, Any], gpu: bool) -> list[Case]:
    """Return what the flags ``given`` ask for; ``gpu`` tells whether a GPU will be used."""
    asked = {name: value for name, value in given.items() if name in HANDED_ON}
    if "model" in given or "data" in given:
        model = given.get("model", Settings.model)
        return [Case(model, {**_plain(model, given.get("data", Settings.data)), **asked})]
    if given.get("preset", Settings.preset) == "mnist":
        return [Case("mlp", {**_plain("mlp", "mnist"), **asked})]
    size = {"epochs": 5} if gpu else {"epochs": 3, "train_samples": CPU_SAMPLES}
    batches = {"wide_mlp": 2048 if gpu else 512, "wide_cnn": 512 if gpu else 128}
    return [
        Case(
            name,
            {**_plain(f"{MODELS}:{name}", "mnist"), **size, "batch_size": batch, **asked},
        )
        for name, batch in batches.items()
    ]


def preset(given: Mapping[str, Any]) -> str | None:
    """Return the preset that the flags ``given`` ask for, or None where they name their own."""
    own = "model" in given or "data" in given
    return None if own else given.get("preset", Settings.preset)


def batch_sizes(case: Case, given: Mapping[str, Any]) -> Sequence[int]:
    """Return the batch sizes that ``case`` is measured with, the smallest first."""
    sizes = given.get("batch_sizes", Settings.batch_sizes)
    return [case.flags["batch_size"]] if sizes == "off" else sizes


def understood(settings: dict[str, Any], cases: Sequence[Case]) -> dict[str, Any]:
    """Return ``settings`` with what ``cases`` have made of them; None where they differ."""
    known = dict(settings)
    for name in HANDED_ON:
        values = [case.flags.get(name, settings[name]) for case in cases]
        known[name] = values[0] if values.count(values[0]) == len(values) else None
    # It is beside them: none where model and data take its place.
    del known["preset"]
    return known


def _plain(model: str, data: str) -> dict[str, Any]:
    return {
        "model": model,
        "data": data,
        "epochs": Settings.epochs,
        "batch_size": Settings.batch_size,
    }
