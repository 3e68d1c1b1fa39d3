"""Random layers keyed by (seed, step, layer, call): nothing random has state to be saved.

Dropout and its kin draw from a generator inside each Keras layer, whose state is in no
checkpoint: a resumed run would draw anew. Here, inside a step, they draw from stateless
operations whose seed is made of the run's seed, the number of the step, the position of the
layer in the model and the count of the layer's draws in the step.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Callable, Iterator

import numpy as np
import tensorflow as tf

from workbench.layers import all_layers

RandomLayer = tf.keras.__internal__.layers.BaseRandomLayer
ImageLayer = tf.keras.__internal__.layers.BaseImageAugmentationLayer
# What Keras's RandomGenerator draws with.
DRAWING_METHODS = (
    "make_seed_for_stateless_op",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "dropout",
)


class KeyedRandomness:
    """Makes the random layers of a built model draw by key inside :meth:`step`.

    Outside of a step (export, a call by hand) they draw as Keras has it.
    """

    def __init__(self, model: tf.keras.Model, seed: int) -> None:
        # For each thread: a distribution strategy traces every replica in its own.
        self._active = threading.local()
        layers = [layer for layer in all_layers(model) if isinstance(layer, RandomLayer)]
        for position, layer in enumerate(layers):
            self._key_layer(layer, _LayerDraws(self, (seed, position)))

    @contextlib.contextmanager
    def step(self, number: tf.Tensor) -> Iterator[None]:
        """Key what is drawn inside the block, traced or run, by ``number``, an integer scalar."""
        outer = self.draws
        self._active.draws = _StepDraws(tf.cast(number, tf.int64))
        try:
            yield
        finally:
            self._active.draws = outer

    @property
    def draws(self) -> _StepDraws | None:
        """The draws of the step that this thread is in; None outside of a step."""
        return getattr(self._active, "draws", None)

    def _key_layer(self, layer: tf.keras.layers.Layer, draws: _LayerDraws) -> None:
        for name in DRAWING_METHODS:
            self._replace(layer._random_generator, name, getattr(draws, name))
        if isinstance(layer, ImageLayer):
            self._replace(layer, "_batch_augment", functools.partial(draws.augment_batch, layer))

    def _replace(self, owner: Any, name: str, keyed: Callable[..., Any]) -> None:
        """Put ``keyed`` in the place of a method of ``owner``, for as long as a step lasts."""
        as_keras_has_it = getattr(owner, name)

        def draw(*positional: Any, **named: Any) -> Any:
            method = as_keras_has_it if self.draws is None else keyed
            return method(*positional, **named)

        # Past Keras's tracking of attributes: what is saved with the model stays as it is.
        object.__setattr__(owner, name, draw)


class _StepDraws:
    """The draws of one step: its number, and how often each layer has drawn in it."""

    def __init__(self, step: tf.Tensor) -> None:
        self.step = step
        self.counts: dict[tuple[int, ...], int] = {}
        # The position in the batch of the example that is augmented alone: an int64 scalar.
        self.example: tf.Tensor | None = None

    def seed(self, key: tuple[int, ...]) -> tf.Tensor:
        """Return a new seed for the layer of ``key``: (2,) int64."""
        count = self.counts.get(key, 0)
        self.counts[key] = count + 1
        # A hash of the key, to keep the other half of the seed for the step; 63 bits are int64.
        (word,) = np.random.SeedSequence([*key, count]).generate_state(1, np.uint64)
        seed = tf.stack([tf.constant(int(word >> np.uint64(1)), tf.int64), self.step])
        if self.example is not None:
            seed = tf.random.experimental.stateless_fold_in(seed, self.example)
        return seed


class _LayerDraws:
    """The methods of a Keras layer's random generator, by key; valid inside a step.

    Dropout and normal numbers are drawn in float32 and cast: the draws are the same under every
    policy, a rate is exact, and XLA has no float16 draws.
    """

    def __init__(self, randomness: KeyedRandomness, key: tuple[int, ...]) -> None:
        self._randomness = randomness
        self._key = key

    def make_seed_for_stateless_op(self) -> tf.Tensor:
        """Return a seed for a stateless operation: (2,) int64."""
        return self._randomness.draws.seed(self._key)

    def random_normal(
        self, shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None
    ) -> tf.Tensor:
        """Draw from a normal distribution."""
        seed = self.make_seed_for_stateless_op()
        values = tf.random.stateless_normal(shape, seed, mean, stddev)
        return tf.cast(values, dtype or tf.keras.backend.floatx())

    def truncated_normal(
        self, shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None
    ) -> tf.Tensor:
        """Draw from a normal distribution, never farther than two deviations from its mean."""
        seed = self.make_seed_for_stateless_op()
        values = tf.random.stateless_truncated_normal(shape, seed, mean, stddev)
        return tf.cast(values, dtype or tf.keras.backend.floatx())

    def random_uniform(
        self, shape: Any, minval: Any = 0.0, maxval: Any = None, dtype: Any = None
    ) -> tf.Tensor:
        """Draw from [minval, maxval); not cast, which could round up to maxval."""
        seed = self.make_seed_for_stateless_op()
        dtype = dtype or tf.keras.backend.floatx()
        return tf.random.stateless_uniform(shape, seed, minval, maxval, dtype)

    def dropout(self, inputs: tf.Tensor, rate: Any, noise_shape: Any = None) -> tf.Tensor:
        """Set a share ``rate`` of ``inputs`` to 0, and scale the others up for it."""
        shape = tf.shape(inputs) if noise_shape is None else noise_shape
        kept = tf.random.stateless_uniform(shape, self.make_seed_for_stateless_op()) >= rate
        scale = tf.cast(1.0 / (1.0 - rate), inputs.dtype)
        outputs = inputs * scale * tf.cast(kept, inputs.dtype)
        # The static shape gets lost where the noise has one that only running the graph tells.
        outputs.set_shape(inputs.shape)
        return outputs

    def augment_batch(self, layer: tf.keras.layers.Layer, inputs: dict[str, Any]) -> Any:
        """Augment example by example, as ``layer`` does, each with a seed of its own."""
        draws = self._randomness.draws

        # Traced once for all examples: only their position can tell them apart.
        def augment(element: tuple[dict[str, Any], tf.Tensor]) -> tuple[Any, tf.Tensor]:
            example, draws.example = element
            try:
                return layer._augment(example), element[1]
            finally:
                draws.example = None

        positions = tf.range(tf.shape(inputs["images"], tf.int64)[0])
        return layer._map_fn(augment, (inputs, positions))[0]


def stateful_random_ops(function: Any) -> list[str]:
    """Return the operations of a concrete function that draw by a state outside of checkpoints.

    As "name (type)", those of the functions it calls too. They have a seed and a second seed as
    attributes; the stateless operations and those of ``tf.random.Generator`` do not.
    """
    graph = function.graph.as_graph_def()
    nodes = [*graph.node, *(node for each in graph.library.function for node in each.node_def)]
    return [
        f"{node.name} ({node.op})"
        for node in nodes
        # Recurrent layers have the attributes, and draw nothing without dropout.
        if "seed2" in node.attr and not ("dropout" in node.attr and not node.attr["dropout"].f)
    ]
