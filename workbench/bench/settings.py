"""The settings of a benchmark: the flags of ``bench``, most of them those of ``train``."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.errors import Mistake
from workbench.flags import Kind, choice, flag, like, real, several, whole, word_or
from workbench.settings import Settings as Train
from workbench.settings import check_together as check_train

# The flags that are handed on to every run of train.
HANDED_ON = (
    *("data", "download", "validation_split", "train_samples", "classes", "image_size"),
    *("skip_broken", "input", "model", "weights", "loop", "epochs", "steps_per_epoch"),
    *("batch_size", "accumulate_steps", "learning_rate", "schedule", "warmup_steps", "clip_norm"),
    *("label_smoothing", "seed", "deterministic", "jit_compile", "steps_per_execution"),
)
BATCH_SIZE = whole(1, 10**6)
LAST_SEED = 2**32 - 1


def _batch_sizes() -> Kind:
    """Return the kind of batch sizes that grow, separated by commas, as a tuple."""
    expects = "batch sizes from 1 to 1000000, each larger than the one before, as 64,128,256"
    sizes = several(BATCH_SIZE, expects)

    def read(text: str) -> tuple[int, ...]:
        numbers = sizes.read(text)
        if list(numbers) != sorted(set(numbers)):
            raise ValueError(text)
        return numbers

    return dataclasses.replace(sizes, read=read)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of ``bench``, understood and checked one by one."""

    preset: str = flag(
        choice("mnist", "compute"),
        "mnist",
        group="What is measured",
        help="mnist: the tutorial's table, mlp on mnist with batch 128 for 5 epochs. compute: "
        "a wide mlp and a cnn, large enough to show what the hardware can do. Other flags "
        "change it, but for --model and --data, which take its place.",
    )
    model: str = like(Train, "model", group="What is measured")
    data: str = like(Train, "data", group="What is measured")
    batch_sizes: str | tuple[int, ...] = flag(
        word_or("off", _batch_sizes()),
        "off",
        group="What is measured",
        help="Measure with each of these in place of --batch_size, up to the first that does not "
        "fit in memory.",
    )
    repeats: int = flag(
        whole(1, 1000),
        5,
        group="What is measured",
        help="Runs of each arm. The arms take turns; repeat number N has the seed --seed + N - 1 "
        "in every arm. With one there is no interval.",
    )
    min_speedup: str | float = flag(
        word_or("off", real(0.01, 1000)),
        "off",
        group="What is measured",
        help="A gate: exit status 1 where mixed precision is not X times as fast as float32.",
    )
    download: bool = like(Train, "download")
    validation_split: float = like(Train, "validation_split")
    train_samples: str | int = like(
        Train, "train_samples", shown_default="all; on a CPU --preset=compute has its own"
    )
    classes: str | int = like(Train, "classes")
    image_size: str | tuple[int, int] = like(Train, "image_size")
    skip_broken: bool = like(Train, "skip_broken")
    input: str = like(Train, "input")
    weights: str = like(Train, "weights", group="Training")
    loss_scale: str | float = like(Train, "loss_scale", group="Training")
    initial_scale: float = like(Train, "initial_scale", group="Training")
    growth_steps: int = like(Train, "growth_steps", group="Training")
    loop: str = like(Train, "loop")
    epochs: int = like(
        Train,
        "epochs",
        help="Passes over the training examples. The first is left out of the figures of speed.",
        shown_default="5; --preset=compute has its own",
    )
    steps_per_epoch: str | int = like(Train, "steps_per_epoch")
    batch_size: int = like(Train, "batch_size", shown_default="128; --preset=compute has its own")
    accumulate_steps: int = like(Train, "accumulate_steps")
    learning_rate: float = like(Train, "learning_rate")
    schedule: str = like(Train, "schedule")
    warmup_steps: int = like(Train, "warmup_steps")
    clip_norm: str | float = like(Train, "clip_norm")
    label_smoothing: float = like(Train, "label_smoothing")
    seed: int = like(Train, "seed")
    deterministic: bool = like(Train, "deterministic")
    jit_compile: bool = like(Train, "jit_compile")
    steps_per_execution: str | int = like(Train, "steps_per_execution")
    out: str | None = like(
        Train,
        "out",
        help="The folder for what the benchmark leaves: new, empty, or that of one to go on with.",
        shown_default="/workspace/runs/<time>-bench",
    )


def check_together(given: dict[str, Any]) -> None:
    """Raise ``Mistake`` where flags of ``given`` exclude each other."""
    own = next((name for name in ("model", "data") if name in given), None)
    if "preset" in given and own:
        raise Mistake(
            f"--preset={given['preset']} and --{own}={given[own]} exclude each other: a preset has "
            f"its own model and data; leave out one of the two"
        )
    if given.get("batch_sizes", "off") != "off" and "batch_size" in given:
        raise Mistake(
            "--batch_size has no effect with --batch_sizes, which lists all of them: leave out "
            "one of the two"
        )
    seed, repeats = (given.get(name, getattr(Settings, name)) for name in ("seed", "repeats"))
    if seed + repeats - 1 > LAST_SEED:
        raise Mistake(
            f"--seed={seed}: each of {repeats} repeats has the next seed, and {LAST_SEED} is the "
            f"last there is: give at most {LAST_SEED - repeats + 1}"
        )
    if given.get("weights") == "imagenet" and not own:
        raise Mistake(
            f"--weights=imagenet has no effect with --preset={given.get('preset', Settings.preset)}"
            f", which has its own models: name one of keras.applications by --model"
        )
    check_train(given)
