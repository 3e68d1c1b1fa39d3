"""The two ways of the examples to the step: the same bits, in the same order."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from conftest import ROOT, examples
from workbench.data.order import epoch_order
from workbench.data.types import Arrays, Dataset, Stream
from workbench.device_feed import DeviceFeed, pack, unpack
from workbench.errors import Mistake
from workbench.feed import make_feeds, stays_on_device
from workbench.hardware import Gpu
from workbench.settings import Settings
from workbench.stream_feed import StreamFeed


def test_order_is_keyed_by_seed_and_epoch():
    order = epoch_order(0, 0, 1000)
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    np.testing.assert_array_equal(order, epoch_order(0, 0, 1000))
    for other in (epoch_order(0, 1, 1000), epoch_order(1, 0, 1000)):
        assert np.mean(other == order) < 0.02
    # Pinned: a resumed run must see the order that the run before it saw.
    assert epoch_order(2, 3, 10).tolist() == [4, 9, 2, 0, 3, 6, 8, 1, 7, 5]


def test_pixels_survive_the_packing(mnist):
    images = mnist["x_train"][:5]
    words = pack(images)
    assert (words.shape, words.dtype) == ((5, 98), np.int64)
    expected = images.reshape(5, 784).astype(np.float32) / 255
    np.testing.assert_array_equal(unpack(tf.constant(words), (784,)).numpy(), expected)


@pytest.mark.parametrize("shape", [(1,), (3,), (8,), (5, 3, 3)])
def test_pixels_that_do_not_fill_their_words(shape):
    images = np.random.default_rng(0).integers(0, 256, (4, *shape), np.uint8)
    unpacked = unpack(tf.constant(pack(images)), shape).numpy()
    np.testing.assert_array_equal(unpacked, images.astype(np.float32) / 255)


def batches(feed, epoch=1, first=0):
    """All batches of an epoch from ``first`` on."""
    cursor = feed.start(epoch, first)
    found = [feed.next(cursor, tf.constant(step)) for step in range(first, feed.steps)]
    return [(images.numpy(), labels.numpy()) for images, labels, _ in found]


def arrays_of(kind, count=50):
    random = np.random.default_rng(0)
    labels = random.integers(0, 10, count)
    if kind == "uint8":
        return Arrays(random.integers(0, 256, (count, 5, 2), np.uint8), labels)
    if kind == "int64":
        return Arrays(random.integers(-9, 2**40, (count, 5, 2)), labels)
    return Arrays(
        random.normal(size=(count, 5, 2)).astype(np.float32), np.eye(10, dtype=np.float32)[labels]
    )


@pytest.mark.parametrize("kind", ["uint8", "int64", "float32"])
@pytest.mark.parametrize("steps", ["all", 4])
def test_both_ways_give_the_same(kind, steps):
    arrays = arrays_of(kind)
    device = DeviceFeed(arrays, (10,), 8, 3, steps)
    stream = StreamFeed(arrays, (10,), 8, 3, steps)
    assert device.steps == stream.steps == (7 if steps == "all" else 4)
    assert (device.input_dtype, device.label_dtype) == (stream.input_dtype, stream.label_dtype)
    for first in (0, 3):
        one, other = batches(device, first=first), batches(stream, first=first)
        assert len(one) == len(other) == device.steps - first
        for (images, labels), (images_2, labels_2) in zip(one, other):
            np.testing.assert_array_equal(images, images_2)
            np.testing.assert_array_equal(labels, labels_2)
            assert images.dtype == images_2.dtype == device.input_dtype
    images, labels = batches(device)[1]
    index = epoch_order(3, 1, 50)[8:16]
    expected = arrays.images[index].reshape(8, 10)
    expected = expected.astype(np.float32) / 255 if kind == "uint8" else expected
    np.testing.assert_array_equal(images, expected)
    np.testing.assert_array_equal(labels, arrays.labels[index])


def test_without_a_seed_the_order_is_that_of_the_arrays():
    arrays = arrays_of("uint8")
    for feed in (
        DeviceFeed(arrays, (10,), 16, None, "all"),
        StreamFeed(arrays, (10,), 16, None, 4),
    ):
        labels = np.concatenate([labels for _, labels in batches(feed)])
        np.testing.assert_array_equal(labels, arrays.labels)


def stream_of(count, known=True):
    dataset = tf.data.Dataset.range(count).map(
        lambda n: (tf.fill([3], tf.cast(n, tf.float32)), n % 10)
    )
    return Stream(dataset, count if known else None, (3,))


def first_numbers(feed, epoch, first=0):
    return [images[0, 0] for images, _ in batches(feed, epoch, first)]


def test_a_users_stream_keeps_its_order_and_skips_to_a_step():
    feed = StreamFeed(stream_of(20), (3,), 8, 0, "all")
    assert feed.steps == 3
    assert first_numbers(feed, 0) == first_numbers(feed, 1) == [0, 8, 16]
    assert first_numbers(feed, 1, first=1) == [8, 16]


def test_a_stream_without_an_end_goes_on_where_it_was():
    endless = stream_of(20, known=False)
    feed = StreamFeed(endless, (3,), 8, 0, 2)
    # 16 examples an epoch of a stream that begins anew after 20.
    assert [first_numbers(feed, epoch) for epoch in range(3)] == [[0, 8], [16, 4], [12, 0]]
    # A resumed run skips to where it was.
    assert first_numbers(StreamFeed(endless, (3,), 8, 0, 2), 1, first=1) == [4]
    assert first_numbers(StreamFeed(endless, (3,), 8, 0, 2), 2) == [12, 0]


def test_a_validation_stream_of_unknown_length_is_counted():
    assert StreamFeed(stream_of(20, known=False), (3,), 8, None, "all").steps == 3


def test_which_way(mnist):
    arrays = examples(mnist, 50)
    dataset = Dataset(arrays, arrays, 10, None, "")
    streamed = dataset._replace(train=stream_of(20))
    small = Gpu("small", (7, 5), 4 * 50 * 792)
    assert stays_on_device(dataset, "auto", [])
    assert not stays_on_device(dataset, "stream", [])
    assert not stays_on_device(streamed, "auto", [])
    assert not stays_on_device(dataset, "auto", [small])
    assert stays_on_device(dataset, "device", [small])
    with pytest.raises(Mistake, match="--input=device: the examples need 79200 bytes"):
        stays_on_device(dataset, "device", [small._replace(memory_bytes=79199)])
    with pytest.raises(Mistake, match="--input=device: this data streams"):
        stays_on_device(streamed, "device", [])


def test_feeds_follow_the_flags(mnist):
    arrays = examples(mnist, 50)
    dataset = Dataset(arrays, arrays, 10, None, "")

    def feeds(**flags):
        return make_feeds(dataset, (784,), Settings(batch_size=8, accumulate_steps=2, **flags), [])

    train, val = feeds(steps_per_epoch=3)
    assert (type(train), train.steps, train.examples_per_step) == (DeviceFeed, 3, 16)
    assert (type(val), val.steps) == (DeviceFeed, 1)
    for flags in ({"loop": "fit"}, {"input": "stream"}):
        train, val = feeds(**flags)
        assert {type(train), type(val)} == {StreamFeed}
        assert train.steps == 4


def test_a_stream_that_changes_its_order(mnist):
    def keeps_its_order(dataset):
        return StreamFeed(Stream(dataset, 20, (3,)), (3,), 8, 0, "all").keeps_its_order()

    tf.random.set_seed(0)
    plain = stream_of(20).dataset
    assert keeps_its_order(plain)
    assert keeps_its_order(plain.shuffle(20, reshuffle_each_iteration=False))
    assert not keeps_its_order(plain.shuffle(20))
    assert not keeps_its_order(plain.shuffle(2))
    assert keeps_its_order(plain.map(lambda image, label: (image * float("nan"), label)))
    assert StreamFeed(examples(mnist, 20), (784,), 8, 0, "all").keeps_its_order()


@pytest.mark.parametrize(
    ("data", "warned"),
    [("good_stream", False), ("shuffled_once_stream", False), ("shuffled_stream", True)],
)
def test_another_order_at_each_pass_is_told(trainer, data, warned):
    user = ROOT / "tests" / "unit" / "user_models.py"
    flags = (f"--data={user}:{data}", "--classes=10", f"--model={user}:tiny", "--policy=float32")
    assert trainer(*flags, "--epochs=1") == 0
    warning = (
        "warning: the data comes in another order at each pass: a resumed run will not see the "
        "examples that an uninterrupted one would\n"
    )
    assert trainer.stderr == (warning if warned else "")
