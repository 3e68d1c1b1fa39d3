"""The settings of a training run: every flag of ``train`` with its default and its words."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.errors import Mistake
from workbench.flags import choice, flag, path, real, whole, word_or

# Numbers that must be normal in float32, the type of the weights and of the loss.
FLOAT32_TINY, FLOAT32_MAX = 1.2e-38, 3.4e38
# The scaled loss, and the inverse of the scale, must both be finite float32.
LOSS_SCALE_MAX = 1e37

SCALING_FLAGS = ("loss_scale", "initial_scale", "growth_steps")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of ``train``, understood and checked one by one."""

    data: str = flag(
        choice("mnist"),
        "mnist",
        group="Data",
        help="The data set. mnist: 60000 training and 10000 validation images of 28 x 28 "
        "pixels, ten classes; it is in the image.",
    )
    train_samples: str | int = flag(
        word_or("all", whole(1, 10**9)),
        "all",
        group="Data",
        help="Train on the first N training images only. Validation always uses its whole set.",
    )
    model: str = flag(
        choice("mlp"),
        "mlp",
        group="Model",
        help="The model. mlp: dense layers 784-512-256-10, ReLU, softmax output in float32.",
    )
    policy: str = flag(
        choice("auto", "float32", "mixed_float16", "mixed_bfloat16"),
        "auto",
        group="Precision",
        help="The Keras precision policy. auto: mixed_float16 on a GPU with float16 Tensor "
        "Cores, mixed_bfloat16 on a CPU with AMX and oneDNN on, float32 elsewhere; the choice "
        "is printed with its reason.",
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
    epochs: int = flag(
        whole(1, 10**6),
        5,
        group="Training",
        help="Passes over the training images; each ends with a validation.",
    )
    batch_size: int = flag(
        whole(1, 10**6),
        128,
        group="Training",
        help="Images in a step. The last batch of an epoch may be smaller; it is trained too.",
    )
    learning_rate: float = flag(
        real(FLOAT32_TINY, FLOAT32_MAX),
        0.001,
        group="Training",
        help="The learning rate of Adam.",
    )
    seed: int = flag(
        whole(0, 2**32 - 1),
        0,
        group="Training",
        help="Decides the initial weights and the order of the images.",
    )
    log_steps: int = flag(
        whole(1, 10**9),
        100,
        group="Output",
        help="Steps in a log window: one line of metrics.jsonl. A window ends with its epoch.",
    )
    out: str | None = flag(
        path(),
        None,
        group="Output",
        help="The folder for what the run leaves. It must be new or empty.",
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


def unused_flags_warning(given: dict[str, Any], policy: str) -> list[str]:
    """Return a warning for each flag of ``given`` that the policy chosen by auto leaves unused."""
    if policy == "mixed_float16":
        return []
    return [
        f"--{name} has no effect: --policy=auto chose {policy}, which does not scale the loss"
        for name in SCALING_FLAGS
        if name in given
    ]


HELP_HEADING = """\
NAME
    train - train a Keras model in TensorFlow 2.9, in the precision that fits the hardware

SYNOPSIS
    train [--flag=value | --flag value]...

DESCRIPTION
    Trains the model with Adam on categorical cross-entropy, validates it after each epoch,
    and saves it. On a GPU with Tensor Cores it trains in mixed_float16 with dynamic loss
    scaling. Many steps run in one graph call; the data stays on the device.
    SIGTERM, SIGINT (Ctrl-C) or a lost terminal (SIGHUP) stops it within a second; it saves
    the model first.
"""

HELP_ENDING = """\
FILES (in the output folder)
    config.json     every flag as understood, the policy and its reason, versions, hardware
    metrics.jsonl   a line for each log window
    summary.json    the result: accuracies, losses, steps, speed (images/s), memory (bytes)
    tensorboard/    event files: tensorboard --logdir FOLDER/tensorboard
    model/          the SavedModel; serving_default takes float32 `inputs` of shape (N, 784),
                    pixels / 255, and gives float32 `probabilities` of shape (N, 10)

ENVIRONMENT
    WORKBENCH_DATASETS    the folder that holds mnist.npz
    CUDA_VISIBLE_DEVICES  the GPUs to use; -1 for none
    TF_CPP_MIN_LOG_LEVEL  0 shows all that TensorFlow has to say; 3, our default, little
    TF_ENABLE_ONEDNN_OPTS 0 switches oneDNN off

LOADING THE MODEL
    serve = tf.saved_model.load(FOLDER + "/model").signatures["serving_default"]
    probabilities = serve(inputs=tf.constant(pixels / 255, tf.float32))["probabilities"]

EXAMPLES
    train
    train --epochs=10 --batch_size=256 --learning_rate=0.002
    train --policy=float32 --seed=1 --out=/workspace/runs/float32-1
    train --policy=mixed_float16 --initial_scale=1024

EXIT STATUS
    0    the training ended, the model is saved
    1    the training failed; stderr names the cause and the remedy
    2    a mistake in the command line or in what it names; nothing was run or written
    129  stopped by SIGHUP, the model is saved
    130  stopped by SIGINT, the model is saved
    143  stopped by SIGTERM, the model is saved
"""
