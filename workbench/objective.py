"""Loss, accuracy and probabilities, for what a model puts out."""

from __future__ import annotations

import tensorflow as tf

from workbench.errors import Mistake
from workbench.graph import plain
from workbench.output import Output

# How far the sum of a row of float32 probabilities may be from 1.
SUM_TOLERANCE = 1e-3

PROBABILITIES = "probabilities"
LOGITS = "logits"
BINARY_PROBABILITY = "binary probability"
BINARY_LOGIT = "binary logit"

SINGLE_UNIT = {"sigmoid": BINARY_PROBABILITY, "linear": BINARY_LOGIT, "other": BINARY_LOGIT}
SEVERAL_UNITS = {"softmax": PROBABILITIES, "linear": LOGITS, "other": LOGITS}


class Objective:
    """The cross-entropy and the accuracy of outputs of one kind.

    ``kind`` is "probabilities" or "logits" of (B, classes), "binary probability" or "binary
    logit" of (B, 1), where the one unit stands for class 1 of two.
    """

    def __init__(self, kind: str, classes: int, label_smoothing: float = 0.0) -> None:
        self.kind = kind
        self.classes = classes
        self.label_smoothing = label_smoothing

    @classmethod
    def of(
        cls,
        model: tf.keras.Model,
        images: tf.Tensor,
        classes: int | None,
        label_smoothing: float = 0.0,
    ) -> Objective:
        """Return the objective for what ``model`` puts out, for labels of ``classes`` classes.

        The activation of the output tells the kind; where there is none to be seen, the values
        for ``images``, a small batch, do. Raises ``Mistake`` when the output is not one
        distribution an example, or not over ``classes`` (None: not known, the output decides).
        """
        output = Output.of(model)
        rank, width = output.shape.rank, output.shape[-1] if output.shape.rank else None
        values = None
        if output.activation is None or rank is None or width is None:
            values = model(images, training=False)
            rank, width = values.shape.rank, values.shape[-1] if values.shape.rank else None
        if rank != 2:
            shape = tuple(output.shape if values is None else values.shape)
            raise Mistake(
                f"the model {model.name} puts out {shape}: expected (batch, classes), one "
                f"prediction an example; dense prediction is not supported"
            )
        kind = _kind(output, width, values)
        have = 2 if width == 1 else width
        if classes not in (None, have):
            unit = "unit, for 2 classes" if width == 1 else "units"
            raise Mistake(
                f"the labels do not fit the output: there are {classes} classes, but the output "
                f"layer {output.layer_name} has {width} {unit}: give it {classes}"
            )
        return cls(kind, have, label_smoothing)

    @plain
    def losses(self, labels: tf.Tensor, outputs: tf.Tensor, smoothing: bool = False) -> tf.Tensor:
        """Return the cross-entropy of each example: (B,) float32.

        ``labels`` are (B,) integers or (B, classes) float32; with ``smoothing`` a share of
        ``label_smoothing`` is spread over all classes. An integer that is no class gives NaN.
        """
        targets = self._targets(labels)
        if smoothing and self.label_smoothing:
            spread = self.label_smoothing / self.classes
            targets = targets * (1.0 - self.label_smoothing) + spread
        losses = self._cross_entropy(targets, outputs)
        if labels.dtype.is_integer:
            # Such a label has no one in its row, and would have a loss of 0.
            known = (labels >= 0) & (labels < self.classes)
            losses = tf.where(known, losses, float("nan"))
        return losses

    @plain
    def fits(self, labels: tf.Tensor) -> tf.Tensor:
        """Tell whether all ``labels`` are those of a class, or finite: bool."""
        if labels.dtype.is_integer:
            return tf.reduce_all((labels >= 0) & (labels < self.classes))
        return tf.reduce_all(tf.math.is_finite(labels))

    @plain
    def correct(self, labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """Return 1 for each example whose most probable class is its label, else 0: float32."""
        if self.kind in (PROBABILITIES, LOGITS):
            predicted = tf.argmax(outputs, axis=-1)
        else:
            border = 0.5 if self.kind == BINARY_PROBABILITY else 0.0
            predicted = tf.cast(outputs[:, 0] > border, tf.int64)
        if labels.dtype.is_integer:
            wanted = tf.cast(labels, tf.int64)
        else:
            wanted = tf.argmax(labels, axis=-1)
        return tf.cast(tf.equal(predicted, wanted), tf.float32)

    def probabilities(self, outputs: tf.Tensor) -> tf.Tensor:
        """Return the probability of each class: (B, classes) float32."""
        if self.kind == PROBABILITIES:
            return outputs
        if self.kind == LOGITS:
            return tf.nn.softmax(outputs)
        of_class_1 = outputs if self.kind == BINARY_PROBABILITY else tf.sigmoid(outputs)
        return tf.concat([1.0 - of_class_1, of_class_1], axis=-1)

    def _targets(self, labels: tf.Tensor) -> tf.Tensor:
        if labels.dtype.is_integer:
            return tf.one_hot(labels, self.classes)
        return tf.cast(labels, tf.float32)

    def _cross_entropy(self, targets: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        # Keras takes the logits behind a softmax or sigmoid where it can, so that neither the
        # loss nor its gradient vanishes for a probability that is 0 in float32.
        if self.kind in (PROBABILITIES, LOGITS):
            return tf.keras.losses.categorical_crossentropy(
                targets, outputs, from_logits=self.kind == LOGITS
            )
        return tf.keras.losses.binary_crossentropy(
            targets[:, 1:], outputs, from_logits=self.kind == BINARY_LOGIT
        )


def _kind(output: Output, width: int, values: tf.Tensor | None) -> str:
    """Return the kind of an output (B, width), by its activation or else its ``values``."""
    activation = output.activation or _activation_by_values(values)
    kind = (SINGLE_UNIT if width == 1 else SEVERAL_UNITS).get(activation)
    if kind:
        return kind
    if width == 1:
        raise Mistake(
            f"the output layer {output.layer_name} is a softmax over one unit, which is always 1: "
            f"give it a unit for each class, or a sigmoid"
        )
    raise Mistake(
        f"the output layer {output.layer_name} gives {width} values in [0, 1] that do not sum to 1 "
        f"(a sigmoid?): several labels an example are not supported; use softmax"
    )


def _activation_by_values(values: tf.Tensor) -> str:
    low, high = float(tf.reduce_min(values)), float(tf.reduce_max(values))
    if not (low >= 0 and high <= 1 + SUM_TOLERANCE):
        return "linear"
    sums = tf.reduce_sum(values, axis=-1)
    if values.shape[-1] > 1 and bool(tf.reduce_all(tf.abs(sums - 1.0) <= SUM_TOLERANCE)):
        return "softmax"
    return "sigmoid"
