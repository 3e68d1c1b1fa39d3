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
    "not_finite": Verdict(
        "the loss or its gradient is not finite",
        "Lower --learning_rate, and look for extreme values in the data. The last step was not "
        "applied, but the run was diverging: no model is saved.",
    ),
    "fixed_scale_overflow": Verdict(
        "every step overflows float16 under the fixed loss scale",
        "Use --loss_scale=dynamic, or a smaller number.",
    ),
    "scale_at_floor": Verdict(
        "every step overflows float16 though dynamic loss scaling is at its floor",
        "The model's own values leave float16's range (65504): lower --learning_rate, make the "
        "layer that overflows float32, or train with --policy=float32.",
    ),
    "weights_not_finite": Verdict(
        "a weight is not finite",
        "Lower --learning_rate. No model is saved.",
    ),
    "out_of_memory": Verdict(
        "out of memory",
        "Use a smaller --batch_size, or end other programs on the device (nvidia-smi lists them).",
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
        "overflow. No model is saved.",
    ),
    "device_failed": Verdict(
        "TensorFlow could not go on",
        "Look at the device (nvidia-smi); TF_CPP_MIN_LOG_LEVEL=0 shows TensorFlow's own log.",
    ),
}


class Failure(Exception):
    """A training that failed: the name of its verdict, and the evidence in words."""

    def __init__(self, verdict: str, evidence: str) -> None:
        cause, remedy = VERDICTS[verdict]
        self.verdict = verdict
        super().__init__(" ".join(f"{cause} ({evidence}). {remedy}".split()))


@contextlib.contextmanager
def failures_named(where: str) -> Iterator[None]:
    """Turn errors of the disk and of TensorFlow inside the block into a ``Failure``."""
    # Not at the top: this module must not load TensorFlow for a mistake in a flag.
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        evidence = f"{where}: {(error.message or str(error)).splitlines()[0][:300]}"
        # TensorFlow reports a full disk and full memory by the same class.
        if "No space left on device" in str(error) or "Disk quota exceeded" in str(error):
            raise Failure("disk_full", evidence) from error
        if isinstance(error, tf.errors.ResourceExhaustedError) or "OUT_OF_MEMORY" in str(error):
            raise Failure("out_of_memory", evidence) from error
        # "File too large": a limit of the shell or of the file system.
        refused = (tf.errors.PermissionDeniedError, tf.errors.NotFoundError)
        if isinstance(error, refused) or "File too large" in str(error):
            raise Failure("cannot_write", evidence) from error
        raise Failure("device_failed", evidence) from error
    except MemoryError as error:
        raise Failure("out_of_memory", f"{where}: main memory") from error
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Failure("disk_full" if full else "cannot_write", f"{where}: {error}") from error
