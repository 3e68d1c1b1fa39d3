"""The models: our own, those of keras.applications, and the user's function."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from keras.utils import data_utils

from conftest import ROOT, SMALL_TEST, read_json
from workbench.catalogue import APPLICATIONS, MODELS
from workbench.errors import Mistake
from workbench.models import OWN_MODELS, build_model, user
from workbench.models.shapes import fit_shape
from workbench.models.user import ignored_compile_warning
from workbench.settings import Settings

USER = ROOT / "tests" / "unit" / "user_models.py"
# The first weights of the mlp with seed 7.
PINNED_KERNEL = [0.045513398945331573, -0.03628420829772949, 0.0516640841960907]


@pytest.fixture(autouse=True)
def float32_afterwards():
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


def build(name, shape=(28, 28), classes=10, **flags):
    return build_model(dataclasses.replace(Settings(), model=name, **flags), shape, classes)


def build_user(monkeypatch, function, shape=(20,), classes=3):
    monkeypatch.setattr(user, "load_function", lambda flag, text: function)
    return build("mine.py:make", shape, classes)


def dense(units=3, shape=(20,), **details):
    return tf.keras.Sequential(
        [
            tf.keras.Input(shape, **details),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(units, activation="softmax", dtype="float32", name="last"),
        ]
    )


def test_every_name_of_the_catalogue_is_a_model():
    functions = {
        name
        for name in dir(tf.keras.applications)
        if name[0].isupper() and callable(getattr(tf.keras.applications, name))
    }
    assert set(APPLICATIONS) == functions
    assert list(APPLICATIONS) == sorted(APPLICATIONS)
    assert set(MODELS) == set(OWN_MODELS)


def test_mlp_is_the_tutorials_model():
    tf.keras.utils.set_random_seed(7)
    model = build("mlp")
    assert model.input_shape == (None, 784)
    assert model.count_params() == 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10
    assert [layer.name for layer in model.layers] == ["hidden_1", "hidden_2", "probabilities"]
    # The weights of seed 7 are pinned: results of earlier versions stay comparable.
    assert model.get_weights()[0][0, :3].tolist() == pytest.approx(PINNED_KERNEL, rel=1e-6)
    assert fit_shape(model, (28, 28)) == (784,)


@pytest.mark.parametrize(("shape", "inputs"), [((20,), 20), ((4, 4, 3), 48), ((), 1)])
def test_mlp_takes_any_shape(shape, inputs):
    model = build("mlp", shape, 4)
    assert (model.input_shape, model.output_shape) == ((None, inputs), (None, 4))


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_cnn(policy):
    tf.keras.mixed_precision.set_global_policy(policy)
    for shape in ((8, 8), (8, 9, 1), (10, 8, 3)):
        model = build("cnn", shape, 4)
        assert model.output_shape == (None, 4)
        assert model.outputs[0].dtype == tf.float32
        assert fit_shape(model, shape) == (*shape, 1)[:3]
    kinds = [type(layer).__name__ for layer in model.layers]
    assert kinds == [
        *("Conv2D", "Conv2D", "MaxPooling2D", "Dropout"),
        *("Flatten", "Dense", "Dropout", "Dense"),
    ]


@pytest.mark.parametrize(
    ("name", "shape", "contained"),
    [
        ("cnn", (20,), r"--model=cnn takes images.*\(20,\)"),
        ("cnn", (7, 30), "7x30 pixels: it needs 8x8"),
        ("MobileNetV2", (20,), r"--model=MobileNetV2 takes images"),
        ("MobileNetV2", (32, 32, 4), "1 or 3 channels.* have 4"),
        ("VGG16", (28, 28), "--model=VGG16 cannot be built.*at least 32x32"),
    ],
)
def test_data_that_a_model_cannot_take(name, shape, contained):
    with pytest.raises(Mistake, match=contained):
        build(name, shape)


def test_unknown_number_of_classes():
    with pytest.raises(Mistake, match=r"--model=mlp.*--classes"):
        build("mlp", classes=None)


@pytest.mark.parametrize("shape", [(32, 40), (32, 40, 1), (32, 40, 3)])
def test_application(shape):
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    model = build("MobileNet", shape, 5)
    assert model.input_shape[1:] == (*shape, 1)[:3]
    assert model.output_shape == (None, 5)
    assert model.outputs[0].dtype == tf.float32
    assert not any(isinstance(layer, tf.keras.Model) for layer in model.layers)
    assert model.get_layer("conv1").compute_dtype == "bfloat16"


@pytest.mark.parametrize(("name", "first"), [("MobileNet", "conv1"), ("ResNet50", "conv1_pad")])
def test_an_application_sees_the_pixels_it_was_made_for(name, first):
    model = build(name, (32, 32), 2)
    seen = tf.keras.Model(model.input, model.get_layer(first).input)
    images = np.random.default_rng(0).random((2, 32, 32, 1), np.float32)
    pixels = np.repeat(images * 255, 3, axis=-1)
    if name == "MobileNet":
        expected = tf.keras.applications.mobilenet.preprocess_input(pixels.copy())
    else:
        expected = tf.keras.applications.resnet.preprocess_input(pixels.copy())
    np.testing.assert_allclose(seen(images), expected, atol=1e-4)


def test_regnet_keeps_its_preprocessing():
    model = build("RegNetX002", (32, 32), 3)
    assert model.output_shape == (None, 3)
    assert [layer.name for layer in model.layers[:3]] == ["inputs", "gray_to_rgb", "pixels"]


def test_weights_are_not_downloaded_unless_asked(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(Mistake, match=r"--weights=imagenet: .*no_top.h5 is not there.*--download"):
        build("MobileNet", (32, 32, 3), weights="imagenet")
    assert list(tmp_path.iterdir()) == []


def test_weights_at_hand_are_used_and_checked(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".keras" / "models"
    folder.mkdir(parents=True)
    source = tf.keras.applications.VGG16(
        include_top=False, weights=None, input_shape=(32, 32, 3), pooling="avg"
    )
    file = folder / "vgg16_weights_tf_dim_ordering_tf_kernels_notop.h5"
    source.save_weights(file)
    with pytest.raises(Mistake, match=r"--weights=imagenet: .*vgg16.* is damaged"):
        build("VGG16", (32, 32, 3), weights="imagenet")
    monkeypatch.setattr(data_utils, "validate_file", lambda *arguments: True)
    model = build("VGG16", (32, 32, 3), weights="imagenet")
    for old, new in zip(source.get_weights(), model.get_weights()):
        np.testing.assert_array_equal(old, new)


def test_a_failed_download_is_told(monkeypatch):
    def fail(name, origin, **details):
        raise Exception(f"URL fetch failure on {origin}: None -- unreachable")

    monkeypatch.setattr(data_utils, "get_file", fail)
    with pytest.raises(Mistake, match=r"--model=MobileNet: weights cannot.*unreachable"):
        build("MobileNet", (32, 32, 3), weights="imagenet", download=True)
    assert data_utils.get_file is fail


def test_a_users_function_gets_what_it_takes(monkeypatch):
    calls = []

    def both(classes, input_shape):
        calls.append((input_shape, classes))
        return dense(classes, input_shape)

    def all_by_name(**given):
        calls.append(given)
        return dense()

    build_user(monkeypatch, both)
    build_user(monkeypatch, lambda: dense(), classes=None)
    build_user(monkeypatch, all_by_name)
    assert calls == [((20,), 3), {"input_shape": (20,), "classes": 3}]


USER_FILE = """
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.last = tf.keras.layers.Dense(classes)

    def call(self, inputs):
        return self.last(inputs)

def broken(input_shape):
    return tf.keras.layers.Reshape((3, 7))(tf.keras.Input(input_shape))
"""


def test_a_file_of_the_users(tmp_path):
    file = tmp_path / "nets.py"
    file.write_text(USER_FILE)
    model = build(f"{file}:Net", (20,), 3)
    assert [weight.shape for weight in model.weights] == [(20, 3), (3,)]
    with pytest.raises(Mistake, match=rf"(?s)--model={file}:broken: .*ValueError: .*{file}:13"):
        build(f"{file}:broken", (20,), 3)


class Subclassed(tf.keras.Model):
    def __init__(self, outputs=lambda x: x):
        super().__init__()
        self.last = tf.keras.layers.Dense(3, name="last")
        self.give = outputs

    def call(self, inputs):
        return self.give(self.last(inputs))


def test_a_model_without_input_is_built(monkeypatch):
    sequential = build_user(
        monkeypatch, lambda: tf.keras.Sequential([tf.keras.layers.Dense(3)]), (20,)
    )
    assert sequential.input_shape == (None, 20)
    subclassed = build_user(monkeypatch, Subclassed)
    assert [weight.shape for weight in subclassed.weights] == [(20, 3), (3,)]
    assert fit_shape(subclassed, (20,)) == (20,)


def raises():
    raise KeyError("no such\nlayer")


def two_inputs():
    inputs = [tf.keras.Input((4,), name="left"), tf.keras.Input((4,), name="right")]
    return tf.keras.Model(inputs, tf.keras.layers.Concatenate()(inputs))


def two_outputs():
    inputs = tf.keras.Input((4,))
    return tf.keras.Model(inputs, [tf.keras.layers.Dense(2)(inputs), inputs])


def frozen():
    model = dense()
    model.trainable = False
    return model


@pytest.mark.parametrize(
    ("function", "contained"),
    [
        (raises, r"KeyError: .*test_models.py:\d+\)"),
        (lambda: None, "returned a NoneType: it must return a tf.keras.Model"),
        (lambda: tf.keras.layers.Dense(2), "returned a Dense"),
        (two_inputs, r"has 2 inputs \(left, right\)"),
        (two_outputs, "has 2 outputs"),
        (frozen, "no trainable weights"),
        (lambda: tf.keras.Sequential([tf.keras.Input((4,))]), "no trainable weights"),
        (lambda: Subclassed(lambda x: [x, x]), "gives a list"),
        (lambda: Subclassed(lambda x: x / "a"), r"(?s)zeros of \(1, 20\): .*test_models.py:\d+\)"),
        (lambda width: dense(), "missing a required argument: 'width'"),
    ],
)
def test_what_a_users_function_may_not_do(monkeypatch, function, contained):
    with pytest.raises(Mistake, match=r"--model=mine.py:make") as mistake:
        build_user(monkeypatch, function)
    mistake.match(contained)


def test_a_function_that_needs_an_unknown_number_of_classes(monkeypatch):
    with pytest.raises(Mistake, match=r"takes classes.*--classes=N"):
        build_user(monkeypatch, lambda classes: dense(classes), classes=None)


def test_a_compiled_model_is_warned_about(monkeypatch):
    def compiled():
        model = dense()
        model.compile("sgd", "mse")
        return model

    (warning,) = ignored_compile_warning(build_user(monkeypatch, compiled))
    assert "compiled with SGD" in warning
    assert ignored_compile_warning(dense()) == []


@pytest.mark.parametrize(
    ("name", "warning"),
    [
        ("own_step", "the train_step of OwnStep is not used: the trainer has its own"),
        (
            "compiled",
            "the model {model} was compiled with SGD: that is not used, the flags decide on "
            "optimizer and loss",
        ),
    ],
)
def test_what_of_the_users_is_not_used_is_told(trainer, name, warning):
    flags = ("--policy=float32", "--train_samples=128", "--epochs=1")
    assert trainer(f"--model={USER}:{name}", *flags) == 0
    made = read_json(trainer.out / "config.json")["model"]["name"]
    assert trainer.stderr == f"warning: {warning.format(model=made)}\n"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fails_in_training", "a training step fails: ValueError: only in training"),
        ("fails_in_a_layer", "it failed: ValueError: planted in a layer"),
    ],
)
@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_a_model_that_fails_is_a_mistake(trainer, name, told, loop):
    flags = ("--policy=float32", "--train_samples=128", "--epochs=1", f"--loop={loop}")
    assert trainer(f"--model={USER}:{name}", *flags) == 2
    code = USER.read_text().splitlines()
    (line,) = (n for n, text in enumerate(code, 1) if f'"{told.rpartition(": ")[2]}"' in text)
    assert trainer.stderr == f"error: --model={USER}:{name}: {told} ({USER}:{line})\n"
    assert trainer.stdout == ""
    assert not trainer.out.exists()


@pytest.mark.parametrize("name", ["activity_penalty", "added_loss"])
@pytest.mark.parametrize("flags", [(), ("--loop=fit",), ("--accumulate_steps=2",)])
def test_a_model_with_losses_of_its_own(trainer, mnist, name, flags):
    flags = ("--policy=float32", "--train_samples=256", "--epochs=2", "--batch_size=32", *flags)
    assert trainer(f"--model={USER}:{name}", *flags) == 0
    assert (trainer.stderr, trainer.summary["epochs"]) == ("", 2)
    # Validated in one batch, and with all of the loss.
    model = tf.keras.models.load_model(trainer.out / "model", compile=False)
    images = mnist["x_test"][:SMALL_TEST].reshape(-1, 784).astype(np.float32) / 255
    squares = model.layers[0](images).numpy() ** 2
    own = np.mean(squares) if name == "added_loss" else 0.1 * np.sum(squares) / SMALL_TEST
    right = model(images).numpy()[range(SMALL_TEST), mnist["y_test"][:SMALL_TEST]]
    assert own > 0.01
    assert trainer.summary["val_loss"] == pytest.approx(own - np.mean(np.log(right)), rel=1e-4)


@pytest.mark.parametrize(
    ("wanted", "shape", "fitted"),
    [
        ((28, 28), (28, 28), (28, 28)),
        ((784,), (28, 28), (784,)),
        ((28, 28, 1), (28, 28), (28, 28, 1)),
        ((28, 28), (28, 28, 1), (28, 28)),
        ((None, None, 3), (8, 9, 3), (8, 9, 3)),
        ((None, None, 1), (8, 9), (8, 9, 1)),
        ((None,), (12,), (12,)),
    ],
)
def test_fitting_shapes(wanted, shape, fitted):
    model = tf.keras.Sequential([tf.keras.Input(wanted), tf.keras.layers.Activation("relu")])
    assert fit_shape(model, shape) == fitted


@pytest.mark.parametrize(
    ("wanted", "shape", "shown"),
    [
        ((100,), (20,), r"\(100,\).*\(20,\)"),
        ((None, None, 3), (28, 28), r"\(any, any, 3\).*\(28, 28\)"),
        ((28, 28, 3), (28, 28, 1), r"\(28, 28, 3\).*\(28, 28, 1\)"),
    ],
)
def test_shapes_that_do_not_fit(wanted, shape, shown):
    model = tf.keras.Sequential([tf.keras.Input(wanted), tf.keras.layers.Activation("relu")])
    with pytest.raises(Mistake, match=shown):
        fit_shape(model, shape)


def test_a_fixed_batch_is_refused():
    with pytest.raises(Mistake, match="batches of exactly 32"):
        fit_shape(dense(batch_size=32), (20,))


def test_token_ids(monkeypatch):
    def embedding(input_shape, classes):
        return tf.keras.Sequential(
            [
                tf.keras.Input(input_shape, dtype="int32"),
                tf.keras.layers.Embedding(50, 4),
                tf.keras.layers.GlobalAveragePooling1D(),
                tf.keras.layers.Dense(classes),
            ]
        )

    model = build_user(monkeypatch, embedding)
    assert fit_shape(model, (20,)) == (20,)
    assert model.inputs[0].dtype == tf.int32
