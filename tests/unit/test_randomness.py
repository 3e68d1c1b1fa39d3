"""Random layers that draw by key: the same numbers for the same step, whatever came before."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from workbench.randomness import KeyedRandomness, stateful_random_ops


@pytest.fixture(autouse=True)
def float32_afterwards():
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


def dropouts():
    inner = tf.keras.Sequential([tf.keras.layers.Dropout(0.5)])
    return tf.keras.Sequential([tf.keras.Input((64,)), tf.keras.layers.Dropout(0.5), inner])


def caller(model, seed=0, **options):
    keyed = KeyedRandomness(model, seed)

    @tf.function(**options)
    def call(inputs, step):
        with keyed.step(step):
            return model(inputs, training=True)

    return call


def drawn(call, step, shape=(4, 64)):
    return call(tf.ones(shape), tf.constant(step, tf.int64)).numpy()


def test_a_draw_depends_on_seed_and_step_and_nothing_else():
    call = caller(dropouts())
    first = drawn(call, 7)
    np.testing.assert_array_equal(drawn(call, 7), first)
    np.testing.assert_array_equal(drawn(caller(dropouts()), 7), first)
    assert np.any(drawn(call, 8) != first)
    assert np.any(drawn(caller(dropouts(), seed=1), 7) != first)
    # Two layers of one half each, independent of each other.
    assert set(np.unique(first)) == {0.0, 4.0}
    assert 0.15 < np.mean(first == 4.0) < 0.35
    assert np.any(first[0] != first[1])


def test_draws_are_pinned():
    # A resumed run must draw what the run before it drew.
    model = tf.keras.Sequential([tf.keras.Input((16,)), tf.keras.layers.Dropout(0.5)])
    kept = drawn(caller(model, seed=3), 5, shape=(1, 16))[0] > 0
    assert "".join(str(int(each)) for each in kept) == "0100001111001111"


def test_a_layer_that_is_called_twice_draws_twice():
    dropout = tf.keras.layers.Dropout(0.5)
    inputs = tf.keras.Input((64,))
    model = tf.keras.Model(inputs, dropout(inputs) - dropout(inputs))
    assert np.any(drawn(caller(model), 0) != 0)


def test_the_same_draws_in_a_loop_in_the_graph_and_by_hand():
    model = dropouts()
    keyed = KeyedRandomness(model, 0)

    @tf.function
    def loop(inputs):
        return tf.map_fn(
            lambda step: keyed_call(inputs, step), tf.range(3), fn_output_signature=tf.float32
        )

    def keyed_call(inputs, step):
        with keyed.step(step):
            return model(inputs, training=True)

    looped = loop(tf.ones((4, 64))).numpy()
    for step in range(3):
        np.testing.assert_array_equal(looped[step], keyed_call(tf.ones((4, 64)), step).numpy())


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("jit", [False, True])
def test_every_policy_with_and_without_xla(policy, jit):
    tf.keras.mixed_precision.set_global_policy(policy)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((64,)),
            tf.keras.layers.Dropout(0.5),
            tf.keras.layers.GaussianNoise(0.1),
            tf.keras.layers.GaussianDropout(0.1),
            tf.keras.layers.AlphaDropout(0.1, dtype="float32"),
        ]
    )
    call = caller(model, jit_compile=jit)
    first = drawn(call, 1)
    np.testing.assert_array_equal(drawn(call, 1), first)
    assert np.any(drawn(call, 2) != first)
    function = call.get_concrete_function(tf.ones((4, 64)), tf.constant(0, tf.int64))
    assert stateful_random_ops(function) == []


def augmentation():
    return tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 3)),
            tf.keras.layers.RandomFlip("horizontal"),
            tf.keras.layers.RandomContrast(0.5),
            tf.keras.layers.RandomRotation(0.1),
            tf.keras.layers.RandomCrop(6, 6),
        ]
    )


def test_augmentation_differs_from_image_to_image():
    call = caller(augmentation())
    image = np.random.default_rng(0).random((1, 8, 8, 3), np.float32)
    images = tf.constant(np.repeat(image, 16, axis=0))
    first = call(images, tf.constant(0)).numpy()
    assert len(np.unique(first.reshape(16, -1), axis=0)) == 16
    np.testing.assert_array_equal(call(images, tf.constant(0)).numpy(), first)
    assert np.any(call(images, tf.constant(1)).numpy() != first)


def test_a_flip_alone_flips_about_half_of_the_images():
    model = tf.keras.Sequential(
        [tf.keras.Input((1, 2, 1)), tf.keras.layers.RandomFlip("horizontal")]
    )
    images = tf.tile(tf.constant([[[[0.0], [1.0]]]]), [200, 1, 1, 1])
    flipped = caller(model)(images, tf.constant(0)).numpy()[:, 0, 0, 0]
    assert 70 < np.sum(flipped) < 130


@pytest.mark.parametrize("layer", [tf.keras.layers.LSTM, tf.keras.layers.GRU])
def test_recurrent_dropout(layer):
    model = tf.keras.Sequential(
        [
            tf.keras.Input((5, 3)),
            tf.keras.layers.Bidirectional(layer(4, dropout=0.3, recurrent_dropout=0.3)),
        ]
    )
    call = caller(model)
    first = drawn(call, 0, (2, 5, 3))
    np.testing.assert_array_equal(drawn(call, 0, (2, 5, 3)), first)
    assert np.any(drawn(call, 1, (2, 5, 3)) != first)
    function = call.get_concrete_function(tf.ones((2, 5, 3)), tf.constant(0, tf.int64))
    assert stateful_random_ops(function) == []


@pytest.mark.parametrize("make", [dropouts, augmentation])
def test_the_model_can_be_saved_and_loaded(make, tmp_path):
    model = make()
    inputs = tf.random.stateless_uniform((2, *model.input_shape[1:]), seed=(0, 0))
    drawn(caller(model), 0, inputs.shape)
    model.save(tmp_path / "model")
    loaded = tf.keras.models.load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded(inputs).numpy(), model(inputs).numpy())
    # Loaded, and outside of a step, layers draw as Keras has it: anew in each call.
    for each in (loaded, model):
        assert np.any(each(inputs, training=True).numpy() != each(inputs, training=True).numpy())


def test_nothing_of_it_is_in_a_checkpoint(tmp_path):
    plain, keyed = augmentation(), augmentation()
    drawn(caller(keyed), 0, (2, 8, 8, 3))
    names = [
        [name for name, _ in tf.train.list_variables(tf.train.Checkpoint(m=model).save(folder))]
        for model, folder in ((plain, str(tmp_path / "a")), (keyed, str(tmp_path / "b")))
    ]
    assert names[0] == names[1]
    assert keyed.weights == []


def test_draws_that_have_a_state_are_named():
    hidden = tf.keras.layers.Dropout(0.5)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            tf.keras.layers.Lambda(lambda x: hidden(x, training=True)),
            tf.keras.layers.Lambda(lambda x: x + tf.random.normal(tf.shape(x))),
        ]
    )
    call = caller(model)

    @tf.function
    def loop(inputs):
        for step in tf.range(2):
            inputs = call(inputs, tf.cast(step, tf.int64))
        return inputs

    found = stateful_random_ops(loop.get_concrete_function(tf.ones((2, 4))))
    kinds = {each.rsplit("(")[-1] for each in found}
    assert kinds == {"RandomUniform)", "RandomStandardNormal)"}


@pytest.mark.parametrize("layer", [tf.keras.layers.LSTM, tf.keras.layers.GRU])
def test_recurrent_layers_without_dropout_draw_nothing(layer):
    model = tf.keras.Sequential([tf.keras.Input((5, 3)), layer(4)])
    function = caller(model).get_concrete_function(tf.ones((2, 5, 3)), tf.constant(0, tf.int64))
    nodes = [
        node for each in function.graph.as_graph_def().library.function for node in each.node_def
    ]
    # The form for a GPU is in the graph too, with a seed it makes no use of.
    assert any("seed2" in node.attr for node in nodes)
    assert stateful_random_ops(function) == []
