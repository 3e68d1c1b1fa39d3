"""The flags of ``doctor``."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.errors import Mistake
from workbench.flags import flag, switch, text


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of ``doctor``, understood and checked one by one."""

    run: str | None = flag(
        text("DIR", "the output folder of a training"),
        None,
        group="What is looked at",
        help="A training's output folder: finished, failed, stopped or running. Nothing in it is "
        "changed.",
        shown_default="this machine",
    )
    log: str | None = flag(
        text("FILE|-", "a file, or - for standard input"),
        None,
        group="What is looked at",
        help="A log or traceback in a file, or - for standard input.",
        shown_default="this machine",
    )
    deep: bool = flag(
        switch(),
        False,
        group="What is looked at",
        help="Beside the facts of the machine, have TensorFlow multiply and convolve on each GPU, "
        "or on the CPU where there is none, cold and warm. Takes seconds; on a GPU newer than "
        "TensorFlow's machine code minutes at the first time.",
        shown_default="off",
    )
    json: bool = flag(
        switch(),
        False,
        group="Output",
        help="Print one JSON document in place of text.",
        shown_default="off",
    )


def check_together(given: dict[str, Any]) -> None:
    """Raise ``Mistake`` where flags of ``given`` exclude each other."""
    looked_at = [name for name in ("run", "log", "deep") if given.get(name)]
    if len(looked_at) > 1:
        first, second = looked_at[:2]
        raise Mistake(
            f"--{first} and --{second} exclude each other: doctor looks at one thing at a time; "
            f"leave out one of the two"
        )
