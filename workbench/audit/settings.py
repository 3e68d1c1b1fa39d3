"""The flags of ``audit``."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.errors import Mistake
from workbench.flags import flag, like, several, text, whole, word_or
from workbench.settings import Settings as Train
from workbench.settings import check_together as check_train

# Flags of train that have a meaning with data only.
OF_DATA = (
    *("download", "train_samples", "image_size", "skip_broken", "validation_split"),
    *("weights", "batches", "batch_size", "steps_per_epoch", "initial_scale", "seed"),
)


SHAPE = several(whole(1, 10**6), "the sizes of an example without the batch, as 32,32,3")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of ``audit``, understood and checked one by one."""

    model: str | None = flag(
        text("NAME|FUNCTION|FOLDER|FILE.h5", "the name of a model, a function or a saved model"),
        None,
        group="What is looked at",
        help="The model: what train's --model takes, or the folder of a SavedModel, or an .h5 "
        "file. A function is called under the policy mixed_float16.",
        shown_default="none; it must be given",
    )
    data: str | None = like(
        Train,
        "data",
        default=None,
        group="What is looked at",
        help="Measure on this data, in float32, what float16 would do to each layer and each "
        "gradient. What train's --data takes.",
        shown_default="none: the graph alone is looked at",
    )
    input_shape: str | tuple[int, ...] = flag(
        word_or("auto", SHAPE),
        "auto",
        group="What is looked at",
        help="The shape of an example where there is no data. auto: what the model itself "
        "declares; 28,28 for mlp, 28,28,1 for cnn, 224,224,3 for keras.applications.",
    )
    classes: str | int = like(
        Train,
        "classes",
        group="What is looked at",
        help="The number of classes. auto: what the data shows; without data 10.",
    )
    download: bool = like(Train, "download", group="With data")
    validation_split: float = like(Train, "validation_split", group="With data")
    train_samples: str | int = like(Train, "train_samples", group="With data")
    image_size: str | tuple[int, int] = like(Train, "image_size", group="With data")
    skip_broken: bool = like(Train, "skip_broken", group="With data")
    weights: str = like(Train, "weights", group="With data")
    batch_size: int = like(Train, "batch_size", group="With data", default=32)
    batches: int = flag(
        whole(1, 10**6),
        8,
        group="With data",
        help="How many batches are measured, or all where there are fewer.",
    )
    steps_per_epoch: str | int = like(Train, "steps_per_epoch", group="With data")
    initial_scale: float = like(
        Train,
        "initial_scale",
        group="With data",
        help="The loss scale with which gradients are judged.",
    )
    seed: int = like(Train, "seed", group="With data")
    out: str | None = like(
        Train,
        "out",
        help="The folder for audit.json and audit.html: new, empty, or that of an audit, whose "
        "files are replaced.",
        shown_default="/workspace/runs/<time>-audit",
    )


def check_together(given: dict[str, Any]) -> None:
    """Raise ``Mistake`` where a flag is missing, or has no effect beside the others."""
    if "model" not in given:
        raise Mistake(
            "--model is missing: name a model of train, module:function or path.py:function, the "
            "folder of a SavedModel or an .h5 file"
        )
    if "data" in given:
        if "input_shape" in given:
            raise Mistake("--input_shape has no effect with --data, which tells it: leave it out")
        check_train(given)
        return
    unused = [name for name in given if name in OF_DATA]
    if unused:
        raise Mistake(f"--{unused[0]} has no effect without --data: add --data, or leave it out")
