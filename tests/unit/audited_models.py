"""Models with one planted fault each, and some without, for the tests of audit."""

import tensorflow as tf

layers = tf.keras.layers
WIDTH, CLASSES = 24, 10


class Norm(layers.Layer):
    def call(self, inputs):
        return inputs / (tf.norm(inputs, axis=-1, keepdims=True) + 1e-8)


class AddsFloat32(layers.Layer):
    def call(self, inputs):
        return inputs + tf.ones([16], tf.float32)


def _model(*middle, dtype="float32", activation="softmax"):
    output = layers.Dense(CLASSES, activation=activation, dtype=dtype, name="out")
    return tf.keras.Sequential([layers.InputLayer((WIDTH,)), *middle, output])


def clean():
    return _model(layers.Dense(16, name="first"))


def float32_norms():
    """Both compute in float32 under the policy, whatever epsilon says."""
    return _model(
        layers.Dense(16),
        layers.LayerNormalization(epsilon=1e-9),
        layers.BatchNormalization(epsilon=1e-9),
    )


def epsilon():
    return _model(layers.Dense(16), Norm(name="norm"))


def unit():
    return _model(layers.Dense(16), layers.UnitNormalization(name="unit"))


def log():
    return _model(layers.Dense(16, "relu"), layers.Lambda(lambda x: tf.math.log(x + 1e-9)))


def subnormal():
    return _model(layers.Dense(16), layers.Lambda(lambda x: x / (tf.abs(x) + 1e-6), name="part"))


def harmless_zeros():
    """A float16 constant of 0 where nothing divides by it."""
    return _model(layers.Dense(16), layers.Lambda(lambda x: tf.maximum(x + 0.0, 0.0)))


def softmax16():
    return _model(layers.Dense(16), dtype=None)


def logits16():
    return _model(layers.Dense(16), dtype=None, activation=None)


def inner_softmax():
    return _model(layers.Dense(16), layers.Softmax(name="inner"))


def hard16():
    return _model(layers.Dense(16, dtype="float16", name="hard"), layers.Dense(16))


def hard64():
    return _model(layers.Dense(16, dtype="float64", name="hard"), layers.Dense(16))


def heavy32():
    return _model(layers.Dense(16, dtype="float32", name="heavy"), layers.Dense(16))


def all32():
    return _model(layers.Dense(16, dtype="float32", name="first"))


def late_policy():
    first = layers.Dense(16, name="first")
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    return _model(first, layers.Dense(16))


def own_policy():
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    model = _model(layers.Dense(16, dtype=tf.keras.mixed_precision.Policy("mixed_float16")))
    return model


def odd_size():
    return _model(layers.Dense(17, name="odd"))


def custom_loss():
    class Loss(layers.Layer):
        def call(self, inputs):
            self.add_loss(tf.reduce_mean(inputs))
            return inputs

    return _model(layers.Dense(16), Loss())


def long_sum():
    return _model(
        layers.Dense(4096), layers.Lambda(lambda x: tf.reduce_sum(x, -1, keepdims=True), name="sum")
    )


def compiled():
    model = clean()
    model.compile("adam", "categorical_crossentropy")
    return model


def not_wrapped():
    policy = tf.keras.mixed_precision.Policy("mixed_float16")
    model = _model(layers.Dense(16, dtype=policy))
    model.compile("adam", "categorical_crossentropy")
    return model


def wrapped_twice():
    wrap = tf.keras.mixed_precision.LossScaleOptimizer
    model = clean()
    model.compile(wrap(wrap(tf.keras.optimizers.Adam())), "categorical_crossentropy")
    return model


def experimental():
    model = clean()
    model.compile(tf.keras.optimizers.experimental.Adam(), "categorical_crossentropy")
    return model


def mixes_types():
    return _model(layers.Dense(16), AddsFloat32())


def not_a_number():
    return _model(
        layers.Dense(16, "relu", name="first"),
        layers.Lambda(lambda x: tf.math.log(x - 100.0), name="root"),
        layers.ReLU(name="behind"),
    )


def huge(mended=None):
    first = layers.Dense(16, "relu", name="first", kernel_initializer="ones")
    return _model(
        first,
        layers.Rescaling(140000.0 / WIDTH, name="huge", dtype=mended),
        # Without it TensorFlow's optimizer makes one multiplication of the two.
        layers.ReLU(name="between", dtype=mended),
        layers.Rescaling(1e-4, name="small", dtype=mended),
    )


def huge_mended():
    return huge("float32")


class Subclassed(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = layers.Dense(16, name="first")
        self.out = layers.Dense(CLASSES, name="out", activation="softmax")

    def call(self, inputs):
        return self.out(self.first(inputs))


def fails_anyway():
    raise ValueError("not today")
