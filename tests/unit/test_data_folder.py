"""A folder of class folders with images."""

from __future__ import annotations

import os
import shutil
import zlib

import numpy as np
import pytest
from PIL import Image

from conftest import classes_without_tensorflow
from workbench.data import Arrays, Files, load
from workbench.data.folder import read_folder
from workbench.data.images import read_header, read_image
from workbench.errors import Mistake
from workbench.memory import available_memory
from workbench.settings import Settings

RNG = np.random.default_rng(0)


def write(file, size=(8, 6), mode="RGB", **options):
    """Write an image of ``size`` (height, width)."""
    file.parent.mkdir(parents=True, exist_ok=True)
    pixels = RNG.integers(0, 256, (*size, 3), np.uint8)
    Image.fromarray(pixels).convert(mode).save(file, **options)
    return pixels


def make_classes(root, count=3, names=("bee", "ant"), **options):
    for name in names:
        for number in range(count):
            write(root / name / f"{number}.{('png', 'jpg')[number % 2]}", **options)


def load_folder(root, **flags):
    return load(Settings(data=str(root), **{"batch_size": 1, **flags}), flags)


def test_train_and_val(tmp_path):
    make_classes(tmp_path / "train")
    make_classes(tmp_path / "val", 1)
    pixels = write(tmp_path / "train" / "ant" / "0.png")
    dataset = load_folder(tmp_path)
    assert isinstance(dataset.train, Arrays)
    assert (dataset.train.images.shape, len(dataset.val)) == ((6, 8, 6, 3), 2)
    assert dataset.train.images.dtype == np.uint8
    np.testing.assert_array_equal(dataset.train.images[0], pixels)
    assert dataset.train.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert (dataset.classes, dataset.class_names) == (2, ("ant", "bee"))
    assert dataset.notes == ()


def test_one_folder_is_split_and_a_copy_of_it_is_the_same(tmp_path):
    make_classes(tmp_path / "a", 5)
    dataset = load_folder(tmp_path / "a")
    assert (len(dataset.train), len(dataset.val)) == (9, 1)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert load_folder(tmp_path / "b").digest == dataset.digest
    write(tmp_path / "b" / "ant" / "0.png")
    assert load_folder(tmp_path / "b").digest != dataset.digest


def test_beyond_the_budget_files_are_kept(tmp_path):
    make_classes(tmp_path / "train")
    make_classes(tmp_path / "validation", 1)
    settings = Settings(data=str(tmp_path), image_size=(4, 5))
    in_memory = read_folder(settings)
    streamed = read_folder(settings, memory_budget=8 * 4 * 5 * 3 - 1)
    assert isinstance(streamed.train, Files)
    assert streamed.train.shape == (4, 5, 3)
    assert len(streamed.train) == 6
    np.testing.assert_array_equal(streamed.train.labels, in_memory.train.labels)
    for path, image in zip(streamed.val.paths, in_memory.val.images):
        np.testing.assert_array_equal(read_image(path, (4, 5), 3), image)


def test_files_are_split_and_hashed(tmp_path, monkeypatch):
    make_classes(tmp_path / "a", 5)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    monkeypatch.setattr("workbench.data.folder.available_memory", lambda: 0)
    dataset = load_folder(tmp_path / "a", train_samples=8)
    assert isinstance(dataset.train, Files)
    assert (len(dataset.train), len(dataset.train.paths), len(dataset.val)) == (8, 8, 1)
    assert load_folder(tmp_path / "b", train_samples=8).digest == dataset.digest
    with (tmp_path / "b" / "ant" / "0.png").open("ab") as file:
        file.write(b"more")
    assert load_folder(tmp_path / "b", train_samples=8).digest != dataset.digest


def test_different_sizes(tmp_path):
    make_classes(tmp_path, 3, size=(300, 20))
    write(tmp_path / "ant" / "0.png", (10, 10))
    dataset = load_folder(tmp_path)
    assert dataset.train.shape == (224, 20, 3)
    assert "6 of 6 images are brought to 224x20 pixels" in dataset.notes
    assert load_folder(tmp_path, image_size=(7, 9)).train.shape == (7, 9, 3)


def test_gray_images_have_one_channel(tmp_path):
    make_classes(tmp_path, mode="L")
    write(tmp_path / "ant" / "3.png", mode="1")
    write(tmp_path / "ant" / "4.png", mode="LA")
    assert load_folder(tmp_path).train.shape == (8, 6, 1)
    write(tmp_path / "ant" / "5.png", mode="P")
    assert load_folder(tmp_path).train.shape == (8, 6, 3)


@pytest.mark.parametrize(
    ("mode", "name"),
    [("P", "x.gif"), ("RGBA", "x.png"), ("CMYK", "x.jpg"), ("RGB", "x.webp"), ("RGBA", "x.tif")],
)
def test_modes_become_rgb(mode, name, tmp_path):
    Image.new("RGB", (3, 2), (200, 100, 50)).convert(mode).save(tmp_path / name)
    image = read_image(str(tmp_path / name), (2, 3), 3)
    np.testing.assert_allclose(image, np.full((2, 3, 3), (200, 100, 50)), atol=12)


def test_sixteen_bits_become_eight(tmp_path):
    values = np.array([[0, 257, 32896, 65535]], np.uint16)
    for name in ("x.png", "x.tif"):
        Image.fromarray(values).save(tmp_path / name)
        assert read_image(str(tmp_path / name), (1, 4), 1).ravel().tolist() == [0, 1, 128, 255]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["x.png", "x.tif", "x.webp"])
def test_orientation(orientation, name, tmp_path):
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = str(tmp_path / name)
    options = {"lossless": True} if name == "x.webp" else {}
    Image.fromarray(pixels).save(file, exif=exif, **options)
    upright = {
        1: pixels,
        2: pixels[:, ::-1],
        3: pixels[::-1, ::-1],
        4: pixels[::-1],
        5: pixels.transpose(1, 0, 2),
        6: np.rot90(pixels, -1),
        7: np.rot90(pixels, 2).transpose(1, 0, 2),
        8: np.rot90(pixels),
    }[orientation]
    assert read_header(file)[:2] == upright.shape[:2]
    np.testing.assert_array_equal(read_image(file, upright.shape[:2], 3), upright)


def cut(file):
    write(file, (64, 64))
    file.write_bytes(file.read_bytes()[:-700])


def bomb(file):
    write(file, (1, 1))
    content = bytearray(file.read_bytes())
    # Width and height in a PNG's header, which has a checksum.
    content[16:24] = (20_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    file.write_bytes(content)


BROKEN = [
    (cut, "b.png", "truncated"),
    (cut, "b.jpg", "truncated"),
    (lambda file: file.write_bytes(b""), "b.png", "0 bytes"),
    (lambda file: file.write_text("<html>"), "b.jpg", "not an image"),
    (bomb, "b.png", "decompression bomb"),
    (lambda file: file.symlink_to("nowhere"), "b.png", "No such file"),
    (lambda file: Image.new("F", (6, 8)).save(file), "b.tif", "floats"),
]


@pytest.mark.parametrize(("make", "name", "reason"), BROKEN)
def test_a_broken_image(make, name, reason, tmp_path):
    make_classes(tmp_path, size=(64, 64))
    file = tmp_path / "ant" / name
    make(file)
    with pytest.raises(Mistake) as mistake:
        load_folder(tmp_path)
    message = str(mistake.value)
    assert f"--data={tmp_path}: {file} cannot be read (" in message
    assert reason in message
    assert "it is the only one of 7: repair or remove, or leave out by --skip_broken" in message
    dataset = load_folder(tmp_path, skip_broken=True)
    assert dataset.train.shape == (64, 64, 3)
    assert len(dataset.train) + len(dataset.val) == 6
    assert f"left out as broken (--skip_broken): {file} (" in dataset.notes[0]


def test_many_broken_images_and_one_that_lies_about_its_size(tmp_path):
    make_classes(tmp_path)
    for number in range(3, 7):
        (tmp_path / "bee" / f"{number}.png").write_bytes(b"x")
    cut(tmp_path / "ant" / "3.png")
    with pytest.raises(Mistake, match=r"ant/3.png cannot be read .*; 5 images are broken of 11"):
        load_folder(tmp_path)
    dataset = load_folder(tmp_path, skip_broken=True)
    assert dataset.train.shape == (8, 6, 3)
    assert dataset.train.images.any(axis=(1, 2, 3)).all()
    assert "ant/3.png" in dataset.notes[0]
    assert "and 2 more" in dataset.notes[0]


def only_broken(root):
    make_classes(root)
    for file in (root / "bee").iterdir():
        file.write_bytes(b"x")


def images_only(root):
    write(root / "0.png")


def one_class(root):
    make_classes(root, names=("ant",))


def no_images(root):
    make_classes(root)
    (root / "cat").mkdir()
    (root / "cat" / "text.txt").write_text("")


def other_classes(root):
    make_classes(root / "train")
    make_classes(root / "val", names=("ant", "cow"))


def empty_val(root):
    make_classes(root / "train")
    (root / "val" / "ant").mkdir(parents=True)


def no_train(root):
    make_classes(root / "val")


@pytest.mark.parametrize(
    ("make", "flags", "contained"),
    [
        (lambda root: None, {}, "has no class folder: give a folder for each class"),
        (images_only, {}, "has no class folder"),
        (one_class, {}, "has one class folder, ant"),
        (no_images, {}, "the class folder cat has no image for training"),
        (only_broken, {"skip_broken": True}, "the class folder bee has no readable image"),
        (other_classes, {}, "val/cow is of a class that train/ does not have"),
        (empty_val, {}, "val holds no image"),
        (no_train, {}, "has val/ but no train/"),
        (make_classes, {"classes": 2, "batch_size": 6}, "--batch_size=6 is larger than"),
        (
            lambda root: make_classes(root, names="abc"),
            {"classes": 2},
            "--classes=2: --data=",
        ),
    ],
)
def test_unusable_folder(make, flags, contained, tmp_path):
    make(tmp_path)
    with pytest.raises(Mistake) as mistake:
        load_folder(tmp_path, **flags)
    assert contained in str(mistake.value)
    assert f"{tmp_path}" in str(mistake.value) or "batch_size" in flags


def test_what_is_left_out_is_said(tmp_path):
    make_classes(tmp_path / "train")
    make_classes(tmp_path / "val", 1)
    make_classes(tmp_path / "test", 1)
    for name in ("readme.txt", "more.csv", ".hidden.png", ".DS_Store"):
        (tmp_path / "train" / "ant" / name).write_text("x")
    (tmp_path / "train" / ".cache").mkdir()
    dataset = load_folder(tmp_path)
    assert len(dataset.train) == 6
    first = tmp_path / "train" / "ant" / "more.csv"
    assert dataset.notes == (
        f"--data={tmp_path}: not used: test/",
        f"left out as no images: 2 files, the first is {first}",
    )


def test_a_class_may_be_called_train(tmp_path):
    make_classes(tmp_path, names=("bus", "train"))
    assert load_folder(tmp_path).class_names == ("bus", "train")


def test_neither_tensorflow_nor_nvml_is_needed(tmp_path, no_tensorflow):
    make_classes(tmp_path)
    assert classes_without_tensorflow(".", tmp_path, no_tensorflow) == "2\n"


MEMINFO = "MemTotal: 9000 kB\nMemAvailable: 8000 kB\nHugePages_Total: 0\n"


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {}, 8000 * 1024),
        (
            "0::/a/b\n",
            {
                "a/memory.max": "5000",
                "a/memory.current": "3000",
                "a/memory.stat": "anon 1\ninactive_file 500\n",
                "a/b/memory.max": "max\n",
                "a/b/memory.current": "1",
                "a/b/memory.stat": "",
            },
            2500,
        ),
        (
            # Inside a container, where the path is that of the host.
            "4:memory:/docker/1\n0::/\n",
            {
                "memory/memory.limit_in_bytes": "7000",
                "memory/memory.usage_in_bytes": "6000",
                "memory/memory.stat": "total_inactive_file 100\n",
            },
            1100,
        ),
    ],
)
def test_available_memory(groups, files, expected, tmp_path):
    contents = {"proc/meminfo": MEMINFO, "proc/self/cgroup": groups}
    contents.update({f"groups/{name}": text for name, text in files.items()})
    for name, text in contents.items():
        file = tmp_path / name
        os.makedirs(file.parent, exist_ok=True)
        file.write_text(text)
    assert available_memory(tmp_path / "proc", tmp_path / "groups") == expected
