"""Why a training failed: each cause with its remedy, reported as one paragraph."""

from __future__ import annotations

import contextlib
import errno
from typing import Iterator, NamedTuple


class Verdict(NamedTuple):
    """A cause of failure in words, and what to do about it."""

    cause: str
    remedy: str


VERDICTS = {
    "data_not_finite": Verdict(
        "the data is not finite",
        "Mend that example, or leave it out.",
    ),
    "labels_do_not_fit": Verdict(
        "a label does not fit the model's output",
        "Labels count from 0; --classes or the model must give one output to each.",
    ),
    "data_failed": Verdict(
        "the data could not be read",
        "Look at the function or the files that it comes from.",
    ),
    "layer_not_finite": Verdict(
        "a layer gives values that are not finite, from weights and data that are finite",
        "Look for a division by 0, a logarithm or a root in it; an epsilon below 6e-8 is 0 in "
        "float16. The step was not applied.",
    ),
    "float16_overflow": Verdict(
        "a layer leaves the range of float16 (65504), which no loss scale can mend",
        "Give this layer dtype='float32', scale the data down, lower --learning_rate, or train "
        "with --policy=float32.",
    ),
    "not_finite": Verdict(
        "the loss or its gradient is not finite",
        "Lower --learning_rate, or set --clip_norm=1, and look for roots and divisions in the "
        "model. The step was not applied.",
    ),
    "fixed_scale_overflow": Verdict(
        "the gradients overflow float16 under the fixed loss scale",
        "Use --loss_scale=dynamic, or a smaller number.",
    ),
    "scale_at_floor": Verdict(
        "every step overflows float16 though dynamic loss scaling is at its floor",
        "The gradients themselves leave float16's range (65504): lower --learning_rate, make the "
        "layers near the output float32, or train with --policy=float32.",
    ),
    "weights_not_finite": Verdict(
        "a weight is not finite",
        "A layer that assigns its own variables is to blame, or --learning_rate: lower it.",
    ),
    "diverged": Verdict(
        "the training diverged",
        "Lower --learning_rate (0.001 is a good start for Adam), or set --warmup_steps or "
        "--clip_norm=1.",
    ),
    "loss_does_not_move": Verdict(
        "the loss does not move: the model does no better than guessing",
        "Try another --learning_rate (ten times higher or lower). See whether the labels belong "
        "to the examples, whether the data is scaled to about 1, and whether the layers are "
        "trainable.",
    ),
    "out_of_memory": Verdict(
        "out of memory",
        "Use a smaller --batch_size, with --accumulate_steps for the same step, or end other "
        "programs on the device (nvidia-smi lists them).",
    ),
    "disk_full": Verdict(
        "the disk is full",
        "Make room, or choose another disk with --out.",
    ),
    "cannot_write": Verdict(
        "the output folder cannot be written",
        "Look at the folder's permissions and at the disk, or choose another folder with --out.",
    ),
    "nothing_applied": Verdict(
        "not one step was applied, because every one overflowed float16",
        "Lower --initial_scale, or train longer: dynamic loss scaling halves the scale at each "
        "overflow.",
    ),
    "model_failed": Verdict(
        "an operation of the model, or code of yours in it, failed",
        "See whether the data fits it: an index beyond an embedding, a shape, an assertion.",
    ),
    "xla_failed": Verdict(
        "XLA cannot compile the model",
        "Leave out --jit_compile.",
    ),
    "not_deterministic": Verdict(
        "an operation has no deterministic form on this device",
        "Leave out --deterministic, or use another layer.",
    ),
    "device_failed": Verdict(
        "TensorFlow could not go on",
        "Look at the device (nvidia-smi); TF_CPP_MIN_LOG_LEVEL=0 shows TensorFlow's own log.",
    ),
}

# The remedies that need other flags than the run had.
NEED_OTHER_FLAGS = frozenset(VERDICTS) - {
    "data_not_finite",
    "data_failed",
    "layer_not_finite",
    "model_failed",
    "disk_full",
    "cannot_write",
    "device_failed",
}


class Failure(Exception):
    """A training that failed: the name of its verdict, and the evidence in words."""

    def __init__(self, verdict: str, evidence: str) -> None:
        cause, remedy = VERDICTS[verdict]
        self.verdict = verdict
        self.evidence = evidence
        again = " Other flags need a new --out." if verdict in NEED_OTHER_FLAGS else ""
        super().__init__(" ".join(f"{cause} ({evidence}). {remedy}{again}".split()))


@contextlib.contextmanager
def failures_named(where: str) -> Iterator[None]:
    """Turn errors of the disk and of TensorFlow inside the block into a ``Failure``."""
    # Not at the top: this module must not load TensorFlow for a mistake in a flag.
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        evidence = f"{where}: {gist(error.message or str(error))}"
        raise Failure(_verdict(error), evidence) from error
    except MemoryError as error:
        raise Failure("out_of_memory", f"{where}: main memory") from error
    except OSError as error:
        raise disk_failure(where, error) from error


def disk_failure(where: str, error: OSError) -> Failure:
    """Return the failure of a file that could not be written, for lack of room or otherwise."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return Failure("disk_full" if full else "cannot_write", f"{where}: {error}")


def _verdict(error: Exception) -> str:
    """Return the verdict on an ``OpError`` of TensorFlow; its class alone tells little."""
    text = str(error)
    signs = (
        # A full disk and full memory are of one class.
        ("disk_full", ("No space left on device", "Disk quota exceeded")),
        ("out_of_memory", ("OUT_OF_MEMORY", "OOM when allocating", "failed to allocate memory")),
        ("xla_failed", ("trying to compile graph", "not compilable", "tf2xla")),
        ("not_deterministic", ("determinism", "deterministic")),
        # The operation that fetches from tf.data: a user's function, or a file, has failed.
        ("data_failed", ("IteratorGetNext",)),
        # "File too large": a limit of the shell or of the file system.
        ("cannot_write", ("File too large", "is not a directory")),
    )
    for verdict, words in signs:
        if any(word in text for word in words):
            return verdict
    # Not at the top: this module must not load TensorFlow for a mistake in a flag.
    from tensorflow import errors

    kinds = (
        ("out_of_memory", errors.ResourceExhaustedError),
        ("cannot_write", (errors.PermissionDeniedError, errors.NotFoundError)),
        ("model_failed", (errors.InvalidArgumentError, errors.UnknownError)),
        ("model_failed", errors.UnimplementedError),
    )
    return next((name for name, kind in kinds if isinstance(error, kind)), "device_failed")


def gist(message: str) -> str:
    """Return the line of an error of TensorFlow that says what happened.

    In front of it may stand a traceback of Python, ended by the name of a node; behind it the
    names of operations in [[ ]].
    """
    message = message.partition("[[")[0].partition("\nThe op is created at")[0]
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    for number, line in enumerate(lines[:-1]):
        if line.startswith("Node: "):
            return lines[number + 1][:300]
    return lines[-1][:300] if lines else message[:300]
