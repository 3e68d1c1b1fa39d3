"""The optimizer, how it scales the loss, and its learning rate over the steps."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from workbench.errors import Mistake
from workbench.settings import Settings

# Keras's default, said here because code of the user's may change Keras's. Its variables are
# float32 under every policy; in float16 it would be 0.
ADAM_EPSILON = 1e-7


class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that rises in a line, then stays or falls as a cosine to 0.

    With steps counted from 0, and W of warm-up: ``peak`` (step + 1) / (W + 1) for step < W, so
    that no step is spent at 0 and step W is the first at the peak. Then ``peak``, or with
    ``cosine`` half of ``peak`` (1 + cos(pi (step - W) / (total_steps - W))), 0 at
    ``total_steps`` and after (Loshchilov and Hutter 2017, without restarts).
    """

    def __init__(self, peak: float, warmup_steps: int, total_steps: int, cosine: bool) -> None:
        super().__init__()
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        self.cosine = cosine

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Return the rate for ``step``, the number of steps before it: float32."""
        # float32 would lose whole steps from 2^24 on.
        step = tf.cast(step, tf.float64)
        risen = (step + 1.0) / (self.warmup_steps + 1.0)
        factor = tf.minimum(tf.ones_like(risen), risen)
        if self.cosine:
            done = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
            done = tf.clip_by_value(done, 0.0, 1.0)
            factor *= 0.5 * (1.0 + tf.cos(math.pi * done))
        return tf.cast(self.peak * factor, tf.float32)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make the same schedule."""
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "cosine": self.cosine,
        }


def build_optimizer(
    policy: str, settings: Settings, total_steps: int
) -> tf.keras.optimizers.Optimizer:
    """Return Adam; under mixed_float16 in a LossScaleOptimizer, dynamic or of a fixed scale.

    ``total_steps`` are the optimizer's steps in the whole training, skipped ones too.
    Raises ``Mistake`` when the warm-up would last to its end.
    """
    adam = tf.keras.optimizers.Adam(_schedule(settings, total_steps), epsilon=ADAM_EPSILON)
    if policy != "mixed_float16":
        return adam
    if settings.loss_scale == "dynamic":
        return tf.keras.mixed_precision.LossScaleOptimizer(
            adam,
            initial_scale=settings.initial_scale,
            dynamic_growth_steps=settings.growth_steps,
        )
    return tf.keras.mixed_precision.LossScaleOptimizer(
        adam, dynamic=False, initial_scale=settings.loss_scale
    )


def learning_rate(optimizer: tf.keras.optimizers.Optimizer) -> float:
    """Return the rate of the optimizer's next step."""
    rate = optimizer.learning_rate
    if isinstance(rate, tf.keras.optimizers.schedules.LearningRateSchedule):
        rate = rate(optimizer.iterations)
    return float(rate)


def _schedule(settings: Settings, total_steps: int) -> float | WarmUp:
    if settings.warmup_steps >= total_steps:
        raise Mistake(
            f"--warmup_steps={settings.warmup_steps}: the whole training has {total_steps} steps: "
            f"give fewer"
        )
    cosine = settings.schedule == "cosine"
    if not cosine and not settings.warmup_steps:
        return settings.learning_rate
    return WarmUp(settings.learning_rate, settings.warmup_steps, total_steps, cosine)
