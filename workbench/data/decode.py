"""All images of a folder, decoded once: checked, and kept where they fit into memory."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import numpy as np

from workbench.data.images import Header, for_each, read_header, read_image
from workbench.errors import Mistake
from workbench.settings import Settings

LARGEST_AUTO_SIDE = 224
NAMED_BROKEN = 3


class Decoded(NamedTuple):
    """What decoding gave. ``kept`` are the indices of the images that can be read.

    ``images`` (N, *shape) uint8 holds all, broken ones included; None where they do not fit.
    """

    images: np.ndarray | None
    shape: tuple[int, int, int]
    kept: np.ndarray
    notes: tuple[str, ...]


def decode(where: str, paths: Sequence[str], settings: Settings, budget: int) -> Decoded:
    """Decode all of ``paths``, in memory if they take at most ``budget`` bytes.

    Raises ``Mistake`` when one is broken and --skip_broken is not given, or when all are.
    """
    headers: list[Header | None] = [None] * len(paths)

    def note_header(index: int, path: str) -> None:
        headers[index] = read_header(path)

    broken = for_each(paths, note_header)
    shape, images = None, None
    # Again only where an image whose header could be read had part in the size.
    while shape != _shape(where, headers, broken, settings):
        shape = _shape(where, headers, broken, settings)
        fits = len(paths) * int(np.prod(shape)) <= budget
        images = np.zeros((len(paths), *shape), np.uint8) if fits else None
        broken.update(_decode_into(images, paths, shape, broken))
        if broken and not settings.skip_broken:
            raise Mistake(_broken_words(where, paths, broken))
    kept = np.array([index for index in range(len(paths)) if index not in broken])
    notes = _size_note(headers, kept, shape) + _skipped_note(paths, broken)
    return Decoded(images, shape, kept, notes)


def _decode_into(
    images: np.ndarray | None, paths: Sequence[str], shape: tuple[int, int, int], known: dict
) -> dict[int, str]:
    def one(index: int, path: str) -> None:
        if index in known:
            return
        image = read_image(path, shape[:2], shape[2])
        if images is not None:
            images[index] = image

    return for_each(paths, one)


def _shape(
    where: str, headers: Sequence[Header | None], broken: dict[int, str], settings: Settings
) -> tuple[int, int, int]:
    """Return (height, width, channels) for the images that are not broken."""
    good = [header for index, header in enumerate(headers) if header and index not in broken]
    if not good:
        raise Mistake(f"{where}: none of its {len(headers)} images can be read: {broken[0]}")
    channels = 1 if all(header.gray for header in good) else 3
    if settings.image_size != "auto":
        return (*settings.image_size, channels)
    sizes = np.array([header[:2] for header in good])
    if (sizes == sizes[0]).all():
        return (*sizes[0].tolist(), channels)
    height, width = np.minimum(np.median(sizes, axis=0), LARGEST_AUTO_SIDE).astype(int).tolist()
    return (height, width, channels)


def _broken_words(where: str, paths: Sequence[str], broken: dict[int, str]) -> str:
    first = min(broken)
    those = "it is the only one" if len(broken) == 1 else f"{len(broken)} images are broken"
    return (
        f"{where}: {paths[first]} cannot be read ({broken[first]}); {those} of {len(paths)}: "
        f"repair or remove, or leave out by --skip_broken"
    )


def _skipped_note(paths: Sequence[str], broken: dict[int, str]) -> tuple[str, ...]:
    if not broken:
        return ()
    named = [f"{paths[index]} ({broken[index]})" for index in sorted(broken)[:NAMED_BROKEN]]
    more = f" and {len(broken) - len(named)} more" if len(broken) > len(named) else ""
    return (f"left out as broken (--skip_broken): {', '.join(named)}{more}",)


def _size_note(
    headers: Sequence[Header | None], kept: np.ndarray, shape: tuple[int, int, int]
) -> tuple[str, ...]:
    stretched = sum(headers[index][:2] != shape[:2] for index in kept)
    if not stretched:
        return ()
    return (f"{stretched} of {len(kept)} images are brought to {shape[0]}x{shape[1]} pixels",)
