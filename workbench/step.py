"""The one training step, written once: forward, scaled loss, unscaled gradients, apply or skip."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from workbench.graph import plain
from workbench.objective import Objective
from workbench.randomness import KeyedRandomness
from workbench.settings import Settings

# Steps that may be skipped one after another before training is given up, where lowering the
# loss scale is no remedy: without scaling none, since weights and data will be the same again
# or worse; with scaling a few, since another batch may not overflow.
SKIPS_ALLOWED_UNSCALED = 0
SKIPS_ALLOWED_SCALED = 9
# The floor below which LossScaleOptimizer does not lower a dynamic scale.
LOSS_SCALE_FLOOR = 1.0


class StepResult(NamedTuple):
    """What a step saw: scalars on the device."""

    loss: tf.Tensor  # float32, mean over the examples plus the model's own losses, not scaled
    correct: tf.Tensor  # float32, number of examples classified correctly
    grad_norm: tf.Tensor  # float32, global norm of the gradients, unscaled, before clipping
    applied: tf.Tensor  # bool, False when the step was skipped


class BadStep(NamedTuple):
    """The last skipped step, for the diagnosis: variables that are written only then."""

    number: tf.Variable  # int64, from 0
    images: tf.Variable  # float32 or int64, all batches of the step
    labels: tf.Variable


class TrainingStep(tf.Module):
    """The training step of a model under any policy, and the counts of what it did.

    A step whose loss or gradient norm is not finite is never applied, and takes back what its
    forward pass wrote (statistics of batch normalisation), so no NaN reaches a weight. Dynamic
    loss scaling recovers from an overflow by halving the scale; where that is no remedy,
    :meth:`hopeless` becomes true, after the first such step when the loss is not scaled.
    """

    def __init__(
        self,
        model: tf.keras.Model,
        optimizer: tf.keras.optimizers.Optimizer,
        objective: Objective,
        randomness: KeyedRandomness,
        settings: Settings,
        shape: tuple[int, ...],
        input_dtype: tf.DType = tf.float32,
        label_dtype: tf.DType = tf.int64,
    ) -> None:
        super().__init__()
        self.model = model
        self.optimizer = optimizer
        self.objective = objective
        self.randomness = randomness
        self.batch_size = settings.batch_size
        self.batches = settings.accumulate_steps
        self._example_shape = shape
        self.clip_norm = settings.clip_norm
        self.scaled = isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer)
        self.dynamic = self.scaled and optimizer.dynamic
        self._written_forward = [v for v in model.non_trainable_variables if v.dtype.is_floating]
        self._batch_gradients = (
            tf.function(self._gradients, jit_compile=True)
            if settings.jit_compile
            else self._gradients
        )
        # On the CPU: the loop's condition reads them there, also when a GPU has failed.
        with tf.device("CPU:0"):
            self.applied_steps = tf.Variable(0, dtype=tf.int64, trainable=False)
            self.skipped_steps = tf.Variable(0, dtype=tf.int64, trainable=False)
            self.skips_without_remedy = tf.Variable(0, dtype=tf.int64, trainable=False)
            self.bad = BadStep(
                tf.Variable(-1, dtype=tf.int64, trainable=False),
                _any_shape(input_dtype),
                _any_shape(label_dtype),
            )

    def __call__(self, images: tf.Tensor, labels: tf.Tensor) -> StepResult:
        """Train on up to ``batch_size * accumulate_steps`` examples; see ``Objective.losses``."""
        variables = self.model.trainable_variables
        number = self.applied_steps + self.skipped_steps
        before = [variable.read_value() for variable in self._written_forward]
        loss, correct, gradients = self._accumulated(images, labels, number)
        if self.scaled:
            gradients = self.optimizer.get_unscaled_gradients(gradients)
        grad_norm = tf.linalg.global_norm(gradients)
        finite = tf.math.is_finite(grad_norm) & tf.math.is_finite(loss)
        self._count(finite, tf.math.is_finite(loss))
        if self.clip_norm != "off":
            gradients, _ = tf.clip_by_global_norm(gradients, self.clip_norm, use_norm=grad_norm)
        self._apply(gradients, variables, finite)
        if not finite:
            self._take_back(before, number, images, labels)
            self._give_up_on_wrong_data(images, labels)
        return StepResult(loss, correct, grad_norm, finite)

    def gradients(
        self, images: tf.Tensor, labels: tf.Tensor, number: tf.Tensor, scale: float = 1.0
    ) -> list[tf.Tensor]:
        """Return the gradients of a batch for the random numbers of ``number``, times ``scale``.

        For a look at them outside of the training; nothing is applied.
        """
        return self._gradients(images, labels, number, 1.0, scale)[2]

    def example_batch(self, size: int) -> tuple[tf.Tensor, tf.Tensor]:
        """Return a batch of zeros in the shape of the batches that the model takes."""
        images = tf.zeros([size, *self._example_shape], self.bad.images.dtype)
        label_shape = [] if self.bad.labels.dtype == tf.int64 else [self.objective.classes]
        return images, tf.zeros([size, *label_shape], self.bad.labels.dtype)

    @plain
    def loss_scale(self) -> tf.Tensor:
        """Return the present loss scale, 1 when the loss is not scaled: float32."""
        return self.optimizer.loss_scale if self.scaled else tf.constant(1.0)

    @plain
    def hopeless(self) -> tf.Tensor:
        """Tell whether steps are skipped and nothing can change that: bool."""
        allowed = SKIPS_ALLOWED_SCALED if self.scaled else SKIPS_ALLOWED_UNSCALED
        return self.skips_without_remedy > allowed

    def _accumulated(
        self, images: tf.Tensor, labels: tf.Tensor, number: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """Return loss, correct and gradients (scaled) over the batches of a step.

        Each batch counts by its share of the examples, so the sum is the gradient of the mean
        over all of them, also where the last batch is smaller.
        """
        if self.batches == 1:
            return self._batch_gradients(images, labels, number, 1.0)
        examples = tf.shape(labels)[0]
        start = tf.constant(0)
        loss = correct = tf.constant(0.0)
        gradients = [tf.zeros_like(variable) for variable in self.model.trainable_variables]
        while start < examples:
            end = tf.minimum(start + self.batch_size, examples)
            share = tf.cast(end - start, tf.float32) / tf.cast(examples, tf.float32)
            # Other random numbers in every batch of the step.
            key = number * self.batches + tf.cast(start // self.batch_size, tf.int64)
            of_batch = self._batch_gradients(images[start:end], labels[start:end], key, share)
            loss += of_batch[0]
            correct += of_batch[1]
            gradients = [total + part for total, part in zip(gradients, of_batch[2])]
            start = end
        return loss, correct, gradients

    def _gradients(
        self,
        images: tf.Tensor,
        labels: tf.Tensor,
        key: tf.Tensor,
        share: tf.Tensor | float,
        scale: float | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """Return loss, correct and gradients; scaled by the optimizer unless by ``scale``."""
        with tf.GradientTape() as tape:
            with self.randomness.step(key):
                outputs = self.model(images, training=True)
            losses = self.objective.losses(labels, outputs, smoothing=True)
            loss = tf.reduce_mean(losses) + penalty(self.model)
            if self.batches > 1:
                loss *= share
            if scale is not None:
                scaled_loss = loss * scale
            else:
                scaled_loss = self.optimizer.get_scaled_loss(loss) if self.scaled else loss
        gradients = tape.gradient(
            scaled_loss,
            self.model.trainable_variables,
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        correct = tf.reduce_sum(self.objective.correct(labels, outputs))
        # Embeddings give sparse gradients: as dense ones they can be added and measured.
        return loss, correct, [tf.convert_to_tensor(gradient) for gradient in gradients]

    @plain
    def _count(self, finite: tf.Tensor, finite_loss: tf.Tensor) -> None:
        # Beside the counts: only the booleans need to come from a GPU.
        with tf.device("CPU:0"):
            self._count_on_cpu(finite, finite_loss)

    def _count_on_cpu(self, finite: tf.Tensor, finite_loss: tf.Tensor) -> None:
        self.applied_steps.assign_add(tf.cast(finite, tf.int64))
        self.skipped_steps.assign_add(tf.cast(~finite, tf.int64))
        # A smaller scale mends gradients that overflow. It does not mend the loss itself.
        can_halve = self.loss_scale() > LOSS_SCALE_FLOOR if self.dynamic else False
        skips = self.skips_without_remedy + tf.cast(~(finite | (can_halve & finite_loss)), tf.int64)
        self.skips_without_remedy.assign(tf.where(finite, tf.zeros_like(skips), skips))

    def _apply(
        self, gradients: list[tf.Tensor], variables: list[tf.Variable], finite: tf.Tensor
    ) -> None:
        if self.dynamic:
            # LossScaleOptimizer skips the step and halves its scale when it finds a gradient
            # that is not finite. One NaN makes it agree with `finite` also where every gradient
            # is finite and only their norm, or the loss, is not.
            marked = gradients[0] + tf.where(finite, 0.0, float("nan"))
            self.optimizer.apply_gradients(zip([marked, *gradients[1:]], variables))
        else:
            # A LossScaleOptimizer with a fixed scale would apply whatever it is given. Under a
            # distribution strategy the condition must stand outside of the replicas.
            context = tf.distribute.get_replica_context()
            context.merge_call(self._apply_where, args=(gradients, finite))

    def _apply_where(
        self, strategy: tf.distribute.Strategy, gradients: list[tf.Tensor], finite: tf.Tensor
    ) -> None:
        def apply_in_replica(gradients: list[tf.Tensor]) -> None:
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

        if strategy.experimental_local_results(finite)[0]:
            strategy.extended.call_for_each_replica(apply_in_replica, args=(gradients,))

    def _take_back(
        self, before: list[tf.Tensor], number: tf.Tensor, images: tf.Tensor, labels: tf.Tensor
    ) -> None:
        for variable, value in zip(self._written_forward, before):
            variable.assign(value)
        self.bad.number.assign(number)
        self.bad.images.assign(images)
        self.bad.labels.assign(labels)

    def _give_up_on_wrong_data(self, images: tf.Tensor, labels: tf.Tensor) -> None:
        """Make the step hopeless where the data is at fault: that is no overflow."""
        if not (self.objective.fits(labels) & all_finite(images)):
            self.skips_without_remedy.assign(SKIPS_ALLOWED_SCALED + 1)


@plain
def penalty(model: tf.keras.Model) -> tf.Tensor | float:
    """Return the sum of the model's own losses, such as L2 on weights: float32, 0 without any."""
    return tf.add_n([tf.cast(loss, tf.float32) for loss in model.losses]) if model.losses else 0.0


@plain
def all_finite(images: tf.Tensor) -> tf.Tensor:
    """Tell whether all values are finite: bool; of integers they are."""
    if not images.dtype.is_floating:
        return tf.constant(True)
    return tf.reduce_all(tf.math.is_finite(images))


def _any_shape(dtype: tf.DType) -> tf.Variable:
    return tf.Variable(tf.zeros([0], dtype), shape=tf.TensorShape(None), trainable=False)
