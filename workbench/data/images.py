"""Image files, decoded by Pillow to uint8 of one size."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np
from PIL import Image

EXTENSIONS = frozenset(
    (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
)
# Named, for Pillow would start other programs for some formats.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
GRAY_MODES = frozenset(("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N"))
EXIF_ORIENTATION = 0x0112
# What undoes each orientation of the EXIF standard (2 to 8; 1 is upright).
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SIDEWAYS = (5, 6, 7, 8)


class BrokenImageError(Exception):
    """An image cannot be read; the text says why."""


class Header(NamedTuple):
    """What a file says of its image before it is decoded; the size is in pixels, upright."""

    height: int
    width: int
    gray: bool


def read_header(path: str) -> Header:
    """Return the header of an image file; raises ``BrokenImageError``."""

    def header(image: Image.Image) -> Header:
        width, height = image.size
        if _orientation(image) in SIDEWAYS:
            width, height = height, width
        return Header(height, width, image.mode in GRAY_MODES)

    return _opened(path, header)


def read_image(path: str, size: tuple[int, int], channels: int) -> np.ndarray:
    """Return the first image of a file as (height, width, channels) uint8; 1 or 3 channels.

    Upright as EXIF says, 16 bits a channel brought to 8, transparency left out, and stretched
    to ``size`` (height, width) without regard to its proportions. Raises ``BrokenImageError``.
    """

    def decoded(image: Image.Image) -> np.ndarray:
        # Only now: Pillow turns TIFF images upright itself when it loads them.
        image.load()
        orientation = _orientation(image)
        image = _eight_bits(image).convert("L" if channels == 1 else "RGB")
        if orientation in UPRIGHT:
            image = image.transpose(UPRIGHT[orientation])
        height, width = size
        if image.size != (width, height):
            image = image.resize((width, height), Image.Resampling.BILINEAR)
        return np.asarray(image).reshape(height, width, channels)

    return _opened(path, decoded)


def for_each(paths: Sequence[str], read: Callable[[int, str], None]) -> dict[int, str]:
    """Call ``read(index, path)`` for all ``paths`` in threads; return why which are broken."""

    def attempt(index: int) -> str | None:
        try:
            read(index, paths[index])
        except BrokenImageError as error:
            return str(error)
        return None

    with warnings.catch_warnings(), ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        # The filters hold for all threads. Pillow only warns of an image that may be a bomb.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        reasons = pool.map(attempt, range(len(paths)))
        return {index: reason for index, reason in enumerate(reasons) if reason is not None}


def _opened(path: str, use: Callable[[Image.Image], Any]) -> Any:
    try:
        if not os.path.getsize(path):
            raise BrokenImageError("0 bytes")
        with Image.open(path, formats=FORMATS) as image:
            return use(image)
    except BrokenImageError:
        raise
    except Image.UnidentifiedImageError as error:
        raise BrokenImageError("not an image") from error
    # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error and more.
    except Exception as error:
        raise BrokenImageError(str(error) or type(error).__name__) from error


def _orientation(image: Image.Image) -> int:
    # Not image.getexif(): for PNG that decodes the whole image.
    return Image.Image.getexif(image).get(EXIF_ORIENTATION, 1)


def _eight_bits(image: Image.Image) -> Image.Image:
    """Return ``image`` with 8 bits a channel; Pillow's own conversion cuts off at 255."""
    if image.mode == "F":
        raise BrokenImageError("its values are floats; 8 or 16 bits are read")
    if not image.mode.startswith("I"):
        return image
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() > 65535:
        raise BrokenImageError("its values have 32 bits; 8 or 16 bits are read")
    return Image.fromarray(((values + 128) // 257).astype(np.uint8))
