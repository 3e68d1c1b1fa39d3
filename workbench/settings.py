"""The settings of a training run: every flag of ``train`` with its default and its words."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.catalogue import APPLICATIONS, MODELS
from workbench.errors import Mistake
from workbench.flags import Kind, choice, flag, nearest, real, switch, text, whole, word_or

# Numbers that must be normal in float32, the type of the weights and of the loss.
FLOAT32_TINY, FLOAT32_MAX = 1.2e-38, 3.4e38
# The scaled loss, and the inverse of the scale, must both be finite float32.
LOSS_SCALE_MAX = 1e37

SCALING_FLAGS = ("loss_scale", "initial_scale", "growth_steps")


def _model() -> Kind:
    """Return the kind of a model's name: built in, of keras.applications, or a function."""

    def read(name: str) -> str:
        if name in MODELS or name in APPLICATIONS or ":" in name:
            return name
        raise Mistake(
            f"--model={name}: give {', '.join(MODELS)}, a name of keras.applications"
            f"{nearest(name, APPLICATIONS)}, or your own function as module:function or "
            f"path.py:function"
        )

    return Kind("NAME|FUNCTION", "the name of a model or module:function", read)


def _image_size() -> Kind:
    """Return the kind of image sizes, N or HEIGHTxWIDTH in pixels, as a pair."""
    side = whole(1, 10_000)

    def read(size: str) -> tuple[int, int]:
        height, times, width = size.partition("x")
        return (side.read(height), side.read(width if times else height))

    def write(size: tuple[int, int]) -> str:
        return "{}x{}".format(*size)

    expects = "a number of pixels N, or HEIGHTxWIDTH, from 1 to 10000"
    return Kind("N|HxW", expects, read, write=write)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of ``train``, understood and checked one by one."""

    data: str = flag(
        text("NAME|FILE|FOLDER|FUNCTION", "the name of a data set, a file or a folder"),
        "mnist",
        group="Data",
        help="The data set. mnist is in the image; fashion_mnist and cifar10 need --download "
        "once. A .npz file with x_train, y_train and perhaps x_test, y_test. A folder "
        "with train/ and val/, or one folder, of class folders with images. "
        "module:function or path.py:function, which returns arrays or tf.data datasets. "
        "uint8 is scaled to [0, 1]; labels are integers from 0, or one-hot.",
    )
    download: bool = flag(
        switch(),
        False,
        group="Data",
        help="Allow downloads: of fashion_mnist, of cifar10, and of weights. They are kept "
        "in ~/.keras.",
        shown_default="off",
    )
    validation_split: float = flag(
        real(1e-6, 0.999999),
        0.1,
        group="Data",
        help="The share of the examples that is kept for validation, where the data brings "
        "no validation set. The same examples for every --seed.",
    )
    train_samples: str | int = flag(
        word_or("all", whole(1, 10**9)),
        "all",
        group="Data",
        help="Train on the first N training examples only. Validation always uses its whole set.",
    )
    classes: str | int = flag(
        word_or("auto", whole(2, 10**6)),
        "auto",
        group="Data",
        help="The number of classes. auto: what the labels or the class folders show.",
    )
    image_size: str | tuple[int, int] = flag(
        word_or("auto", _image_size()),
        "auto",
        group="Data",
        help="For a folder: the size, in pixels, that images are brought to. auto: the size "
        "that all of them have, or else their median height and width, at most 224.",
    )
    skip_broken: bool = flag(
        switch(),
        False,
        group="Data",
        help="For a folder: leave out images that cannot be read, and name them.",
        shown_default="off",
    )
    input: str = flag(
        choice("auto", "device", "stream"),
        "auto",
        group="Data",
        help="device: all examples are kept on the device as they came, ordered and cast "
        "there. stream: they come by tf.data, decoded in parallel and fetched ahead. "
        "auto: device where they fit. --loop=fit always streams.",
    )
    model: str = flag(
        _model(),
        "mlp",
        group="Model",
        help="mlp: dense layers 512-256-classes, ReLU, softmax in float32. cnn: two "
        "convolutions, pooling, dropout. A name of keras.applications, such as "
        "ResNet50, with a new top. module:function or path.py:function, which returns a "
        "Keras model and may take input_shape and classes.",
    )
    weights: str = flag(
        choice("random", "imagenet"),
        "random",
        group="Model",
        help="What a model of keras.applications starts from. imagenet needs --download once.",
    )
    policy: str = flag(
        choice("auto", "float32", "mixed_float16", "mixed_bfloat16"),
        "auto",
        group="Precision",
        help="The Keras precision policy. auto: mixed_float16 on a GPU with float16 Tensor "
        "Cores, mixed_bfloat16 on a CPU with AMX and oneDNN on, float32 elsewhere; the "
        "choice is printed with its reason.",
    )
    tf32: str = flag(
        choice("on", "off"),
        "on",
        group="Precision",
        help="TF32 for float32 multiplications and convolutions on a GPU of compute capability "
        "8.0 or later: faster, with 10 bits of mantissa in place of 23. Elsewhere there is none.",
    )
    loss_scale: str | float = flag(
        word_or("dynamic", real(FLOAT32_TINY, LOSS_SCALE_MAX)),
        "dynamic",
        group="Precision",
        help="How the loss is scaled under mixed_float16. dynamic: halved after a step that "
        "overflows, doubled after --growth_steps good ones. A number: fixed.",
    )
    initial_scale: float = flag(
        real(1, LOSS_SCALE_MAX),
        32768.0,
        group="Precision",
        help="The scale that dynamic loss scaling starts from.",
        shown_default="32768",
    )
    growth_steps: int = flag(
        whole(1, 10**9),
        2000,
        group="Precision",
        help="Steps without overflow after which dynamic loss scaling doubles the scale.",
    )
    loop: str = flag(
        choice("custom", "fit"),
        "custom",
        group="Training",
        help="custom: our own loop, many steps in one graph call. fit: Keras's model.fit "
        "over tf.data. The step, the order of the data and the result are the same.",
    )
    epochs: int = flag(
        whole(1, 10**6),
        5,
        group="Training",
        help="Passes over the training examples; each ends with a validation.",
    )
    steps_per_epoch: str | int = flag(
        word_or("all", whole(1, 10**9)),
        "all",
        group="Training",
        help="Steps in an epoch, for fewer than the data has. An endless data set needs it.",
    )
    batch_size: int = flag(
        whole(1, 10**6),
        128,
        group="Training",
        help="Examples in a batch. The last batch of an epoch may be smaller; it is trained too.",
    )
    accumulate_steps: int = flag(
        whole(1, 10**6),
        1,
        group="Training",
        help="Batches whose gradients are added up for one step: a step sees batch_size x "
        "accumulate_steps examples, in the memory of one batch.",
    )
    learning_rate: float = flag(
        real(FLOAT32_TINY, FLOAT32_MAX),
        0.001,
        group="Training",
        help="The learning rate of Adam; with a schedule its highest.",
    )
    schedule: str = flag(
        choice("constant", "cosine"),
        "constant",
        group="Training",
        help="The learning rate over the steps. cosine: down to 0 at the end of the last epoch.",
    )
    warmup_steps: int = flag(
        whole(0, 10**9),
        0,
        group="Training",
        help="Steps in which the learning rate rises from 0 before the schedule begins.",
    )
    clip_norm: str | float = flag(
        word_or("off", real(FLOAT32_TINY, FLOAT32_MAX)),
        "off",
        group="Training",
        help="The greatest global norm of the gradients, after unscaling: longer ones are "
        "shortened.",
    )
    label_smoothing: float = flag(
        real(0, 0.999999),
        0.0,
        group="Training",
        help="The share of a label that is spread over all classes in training; validation "
        "takes the labels as they are.",
        shown_default="0",
    )
    early_stopping: str | int = flag(
        word_or("off", whole(1, 10**6)),
        "off",
        group="Training",
        help="Stop after N epochs without a lower validation loss, and keep the best weights.",
    )
    seed: int = flag(
        whole(0, 2**32 - 1),
        0,
        group="Training",
        help="Decides the initial weights, the order of the examples, and dropout.",
    )
    deterministic: bool = flag(
        switch(),
        False,
        group="Training",
        help="Only operations that give the same bits each time: a run that was killed and "
        "resumed ends as one that was not. May be slower on a GPU.",
        shown_default="off",
    )
    jit_compile: bool = flag(
        switch(),
        False,
        group="Training",
        help="Compile the forward and backward pass with XLA.",
        shown_default="off",
    )
    steps_per_execution: str | int = flag(
        word_or("auto", whole(1, 10**6)),
        "auto",
        group="Training",
        help="The most steps in one graph call. auto: up to the end of the log window, where a "
        "checkpoint is due, or about 10 seconds; with --loop=fit as many in every call.",
    )
    checkpoint_steps: str | int = flag(
        word_or("epoch", whole(1, 10**9)),
        "epoch",
        group="Checkpoints",
        help="Save a checkpoint every N applied steps, besides the end of each epoch and "
        "SIGTERM, SIGINT or SIGHUP. epoch: then only. The last three are kept. With "
        "--loop=fit it waits for the end of a graph call.",
    )
    checkpoint_minutes: str | float = flag(
        word_or("off", real(0.01, 10**6)),
        10.0,
        group="Checkpoints",
        help="Save a checkpoint also when the last one is this old, in minutes.",
        shown_default="10",
    )
    resume: str = flag(
        choice("auto", "never"),
        "auto",
        group="Checkpoints",
        help="auto: where --out holds a run with the same settings, go on with it from its "
        "last checkpoint; another run is a mistake. never: --out must be new or empty.",
    )
    log_steps: int = flag(
        whole(1, 10**9),
        100,
        group="Output",
        help="Steps in a log window: one line of metrics.jsonl. A window ends with its epoch.",
    )
    out: str | None = flag(
        text("FOLDER", "the name of a folder"),
        None,
        group="Output",
        help="The folder for what the run leaves: new, empty, or that of a run to resume.",
        shown_default="/workspace/runs/<time>-<model>",
    )


def check_together(given: dict[str, Any]) -> None:
    """Raise ``Mistake`` where flags of ``given`` exclude each other."""
    scaling = [name for name in SCALING_FLAGS if name in given]
    policy = given.get("policy", Settings.policy)
    if scaling and policy in ("float32", "mixed_bfloat16"):
        raise Mistake(
            f"--{scaling[0]} has no effect with --policy={policy}: only mixed_float16 scales "
            f"the loss; leave out one of the two"
        )
    loss_scale = given.get("loss_scale", Settings.loss_scale)
    for name in ("initial_scale", "growth_steps"):
        if name in given and loss_scale != "dynamic":
            raise Mistake(
                f"--{name} has no effect with --loss_scale={loss_scale:g}: a fixed scale never "
                f"changes; leave out one of the two"
            )
    if given.get("loop") == "fit" and given.get("input") == "device":
        raise Mistake("--input=device has no effect with --loop=fit, which streams its input")
    if given.get("weights") == "imagenet" and given.get("model") not in APPLICATIONS:
        raise Mistake(
            f"--weights=imagenet has no effect with --model={given.get('model', Settings.model)}: "
            f"name a model of keras.applications"
        )


def unused_flags_warning(given: dict[str, Any], policy: str) -> list[str]:
    """Return a warning for each flag of ``given`` that the policy chosen by auto leaves unused."""
    if policy == "mixed_float16":
        return []
    return [
        f"--{name} has no effect: --policy=auto chose {policy}, which does not scale the loss"
        for name in SCALING_FLAGS
        if name in given
    ]
