"""The one training step, written once: forward, scaled loss, unscaled gradients, apply or skip."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

# Steps that may be skipped one after another before training is given up: when the loss is not
# scaled, or cannot be scaled down further, the same overflow will come again.
SKIPS_ALLOWED_UNSCALED = 0
SKIPS_ALLOWED_SCALED = 9
# The floor below which LossScaleOptimizer does not lower a dynamic scale.
LOSS_SCALE_FLOOR = 1.0


class StepResult(NamedTuple):
    """What a step saw: scalars on the device."""

    loss: tf.Tensor  # float32, mean over the batch, not scaled
    correct: tf.Tensor  # float32, number of images classified correctly
    grad_norm: tf.Tensor  # float32, global norm of the gradients after unscaling
    applied: tf.Tensor  # bool, False when the step was skipped


class TrainingStep(tf.Module):
    """The training step of a model under any policy, and the counts of what it did.

    A step whose loss or gradient norm is not finite is never applied, so no NaN reaches a
    weight. Dynamic loss scaling recovers from it by halving the scale; otherwise
    :meth:`hopeless` becomes true, after the first such step when the loss is not scaled.
    """

    def __init__(
        self, model: tf.keras.Model, optimizer: tf.keras.optimizers.Optimizer, classes: int
    ) -> None:
        super().__init__()
        self.model = model
        self.optimizer = optimizer
        self.classes = classes
        self.scaled = isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer)
        self.dynamic = self.scaled and optimizer.dynamic
        # On the CPU: the loop's condition reads them there, also when a GPU has failed.
        with tf.device("CPU:0"):
            self.applied_steps = tf.Variable(0, dtype=tf.int64, trainable=False)
            self.skipped_steps = tf.Variable(0, dtype=tf.int64, trainable=False)
            self.skips_without_remedy = tf.Variable(0, dtype=tf.int64, trainable=False)

    def __call__(self, images: tf.Tensor, labels: tf.Tensor) -> StepResult:
        """Train on images (B, 784) float32 in [0, 1] and integer labels (B,)."""
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            probabilities = self.model(images, training=True)
            loss = tf.reduce_mean(self.losses(labels, probabilities))
            scaled_loss = self.optimizer.get_scaled_loss(loss) if self.scaled else loss
        gradients = tape.gradient(scaled_loss, variables)
        if self.scaled:
            gradients = self.optimizer.get_unscaled_gradients(gradients)
        grad_norm = tf.linalg.global_norm(gradients)
        finite = tf.math.is_finite(grad_norm) & tf.math.is_finite(loss)
        self._count(finite)
        self._apply(gradients, variables, finite)
        return StepResult(loss, self.correct(labels, probabilities), grad_norm, finite)

    def losses(self, labels: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
        """Return the categorical cross-entropy of each image: (B,) float32."""
        one_hot = tf.one_hot(labels, self.classes)
        return tf.keras.losses.categorical_crossentropy(one_hot, probabilities)

    def correct(self, labels: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
        """Return how many images have their label as the most probable class: float32."""
        hits = tf.equal(tf.argmax(probabilities, axis=-1, output_type=labels.dtype), labels)
        return tf.reduce_sum(tf.cast(hits, tf.float32))

    def loss_scale(self) -> tf.Tensor:
        """Return the present loss scale, 1 when the loss is not scaled: float32."""
        return self.optimizer.loss_scale if self.scaled else tf.constant(1.0)

    def hopeless(self) -> tf.Tensor:
        """Tell whether steps are skipped and nothing can change that: bool."""
        allowed = SKIPS_ALLOWED_SCALED if self.scaled else SKIPS_ALLOWED_UNSCALED
        return self.skips_without_remedy > allowed

    def _count(self, finite: tf.Tensor) -> None:
        self.applied_steps.assign_add(tf.cast(finite, tf.int64))
        self.skipped_steps.assign_add(tf.cast(~finite, tf.int64))
        can_halve = self.loss_scale() > LOSS_SCALE_FLOOR if self.dynamic else False
        skips = self.skips_without_remedy + tf.cast(~(finite | can_halve), tf.int64)
        self.skips_without_remedy.assign(tf.where(finite, tf.zeros_like(skips), skips))

    def _apply(
        self, gradients: list[tf.Tensor], variables: list[tf.Variable], finite: tf.Tensor
    ) -> None:
        if self.dynamic:
            # LossScaleOptimizer skips the step and halves its scale when it finds a gradient
            # that is not finite. One NaN makes it agree with `finite` also where every gradient
            # is finite and only their norm, or the loss, is not.
            gradients[-1] += tf.where(finite, 0.0, float("nan"))
            self.optimizer.apply_gradients(zip(gradients, variables))
        elif finite:
            # A LossScaleOptimizer with a fixed scale would apply whatever it is given.
            self.optimizer.apply_gradients(zip(gradients, variables))
