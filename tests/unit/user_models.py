"""Models and data of a user, for --model=…/user_models.py:function and --data likewise."""

import numpy as np
import tensorflow as tf

SAMPLES = 320


def model(*middle, units=16):
    return tf.keras.Sequential(
        [
            tf.keras.Input((784,), dtype="float32"),
            tf.keras.layers.Dense(units, activation="relu"),
            *middle,
            tf.keras.layers.Dense(10, activation="softmax", dtype="float32"),
        ]
    )


def tiny():
    return model()


def model_of_17():
    return model(units=17)


def resumable():
    return model(tf.keras.layers.Dropout(0.3), tf.keras.layers.BatchNormalization())


class FailsAt(tf.keras.layers.Layer):
    """Hands its input on, and in training puts NaN into it from the call ``first`` to ``last``."""

    def __init__(self, first, last=10**6):
        super().__init__(name="planted")
        self.first, self.last = first, last

    def build(self, shape):
        self.calls = self.add_weight("calls", (), tf.int64, "zeros", trainable=False)

    def call(self, inputs, training=None):
        if not training:
            return inputs
        self.calls.assign_add(1)
        fails = (self.calls >= self.first) & (self.calls <= self.last)
        return tf.where(fails, tf.cast(float("nan"), inputs.dtype), inputs)


def nan_at_step_100():
    return model(FailsAt(100))


def nan_at_step_5():
    return model(FailsAt(5))


def nan_at_step_1_alone():
    return model(FailsAt(1, last=1))


class BadStatistic(tf.keras.layers.Layer):
    """Assigns infinity to a weight of its own that nothing depends on."""

    def build(self, shape):
        self.statistic = self.add_weight("statistic", (), initializer="zeros", trainable=False)

    def call(self, inputs, training=None):
        if training:
            self.statistic.assign(float("inf"))
        return inputs


def bad_statistic():
    return model(BadStatistic(name="bad"))


class Steep(tf.keras.layers.Layer):
    """Its gradient leaves float16; its output does not."""

    def __init__(self):
        super().__init__(dtype="float32")

    def call(self, inputs):
        @tf.custom_gradient
        def steep(values):
            return values, lambda gradient: gradient * 1e9

        return steep(inputs)


def steep():
    return model(tf.keras.layers.Dense(16), Steep())


def infinite_slope():
    """A model with the root of 0, whose slope is infinite."""
    root = tf.keras.layers.Lambda(lambda values: values + tf.sqrt(tf.abs(values * 0)))
    return model(tf.keras.layers.Dense(16), root)


def logarithm():
    """A model whose epsilon is 0 in float16, behind a ReLU that gives 0."""
    log = tf.keras.layers.Lambda(lambda values: tf.math.log(values + 1e-8), name="log")
    return model(tf.keras.layers.Dense(16, activation="relu"), log)


def large_activations():
    return model(tf.keras.layers.Lambda(lambda values: values * 1000 * 1000, name="large"))


def only_bias():
    """A model that can learn nothing but the shares of the classes."""
    inputs = tf.keras.Input((784,), dtype="float32")
    nothing = tf.keras.layers.Lambda(lambda images: images[:, :1] * 0)(inputs)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(10, activation="softmax")(nothing))


def activity_penalty():
    """A model with the squares of its 16 activations, times 0.1, in its loss."""
    return model(tf.keras.layers.ActivityRegularization(l2=0.1, dtype="float32"))


class AddsLoss(tf.keras.layers.Layer):
    """Adds the mean of the squares of its input to the loss."""

    def call(self, inputs):
        self.add_loss(tf.reduce_mean(tf.square(inputs)))
        return inputs


def added_loss():
    return model(AddsLoss(dtype="float32"))


class FailsInTraining(tf.keras.layers.Layer):
    """Hands its input on, but not in training."""

    def call(self, inputs, training=None):
        if training:
            raise ValueError("only in training")
        return inputs


def fails_in_training():
    return model(FailsInTraining())


class Broken(tf.keras.layers.Layer):
    """Fails whenever it is called."""

    def call(self, inputs):
        raise ValueError("planted in a layer")


def fails_in_a_layer():
    return model(Broken(name="broken"))


class OwnStep(tf.keras.Model):
    """A model with a train_step of its own."""

    def train_step(self, data):
        raise NotImplementedError


def own_step():
    inner = model()
    return OwnStep(inner.inputs, inner.outputs)


def compiled():
    made = model()
    made.compile("sgd", "mse")
    return made


def of_token_ids():
    """A model of four token ids from 0 to 19 in three classes."""
    return tf.keras.Sequential(
        [
            tf.keras.Input((4,), dtype="int64"),
            tf.keras.layers.Embedding(20, 4),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(3, activation="softmax", dtype="float32"),
        ]
    )


class Hungry(tf.keras.layers.Layer):
    """Has memory for 32 examples."""

    def call(self, inputs):
        def take(values):
            if len(values) > 32:
                raise MemoryError("no more")
            return values

        taken = tf.numpy_function(take, [tf.stop_gradient(inputs)], inputs.dtype)
        return inputs + 0 * tf.ensure_shape(taken, inputs.shape)


def hungry():
    return model(Hungry(name="hungry"))


def _stream(image=lambda n, pixels: pixels, label=lambda n: n % 10):
    def element(n):
        pixels = tf.random.stateless_uniform([784], tf.stack([n, n]))
        return image(n, pixels), label(n)

    dataset = tf.data.Dataset.range(SAMPLES).map(element)
    return dataset, dataset.take(20)


def good_stream():
    return _stream()


def shuffled_stream():
    train, val = _stream()
    return train.shuffle(SAMPLES), val


def shuffled_once_stream():
    train, val = _stream()
    return train.shuffle(SAMPLES, seed=3, reshuffle_each_iteration=False), val


def _validated_by_the_last(dataset):
    return dataset.take(300), dataset.skip(300)


def nan_in_validation():
    train, _ = _stream(image=lambda n, pixels: tf.where(n == 307, float("nan"), pixels))
    return _validated_by_the_last(train)


def wrong_label_in_validation():
    train, _ = _stream(label=lambda n: tf.where(n == 307, tf.constant(12, tf.int64), n % 10))
    return _validated_by_the_last(train)


def nan_in_a_stream():
    return _stream(image=lambda n, pixels: tf.where(n == 70, float("nan"), pixels))


def wrong_label_in_a_stream():
    return _stream(label=lambda n: tf.where(n == 70, tf.constant(12, tf.int64), n % 10))


def stream_that_raises():
    def fail(n):
        if n == 70:
            raise ValueError("this file is broken")
        return n

    return _stream(label=lambda n: tf.ensure_shape(tf.numpy_function(fail, [n], tf.int64), []) % 10)


def a_token_too_high():
    """Token ids, of which that of example 40 at 2 is one more than ``of_token_ids`` knows."""
    tokens, labels = np.arange(256).reshape(64, 4) % 20, np.arange(64) % 3
    tokens[40, 2] = 20
    return (tokens, labels), (tokens[:10], labels[:10])


def random_labels():
    """Labels that nothing can be learnt from."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (SAMPLES, 784), np.uint8)
    labels = random.integers(0, 10, SAMPLES)
    return (images, labels), (images[:50], labels[:50])
