"""Decoded images, kept as long as memory lasts: decoding is what a stream of files waits for."""

from __future__ import annotations

import threading

import numpy as np

from workbench.data.images import read_image
from workbench.data.types import Files


class ImageCache:
    """Reads the images of ``files`` by index, and keeps up to ``budget`` bytes of them."""

    def __init__(self, files: Files, budget: int) -> None:
        self._files = files
        self.shape = files.shape
        self._left = budget
        self._kept: dict[int, np.ndarray] = {}
        self._lock = threading.Lock()

    def read(self, index: int) -> np.ndarray:
        """Return an image (H, W, C) uint8; several threads may read at once."""
        image = self._kept.get(index)
        if image is None:
            height, width, channels = self.shape
            image = read_image(self._files.paths[index], (height, width), channels)
            with self._lock:
                if index not in self._kept and image.nbytes <= self._left:
                    self._kept[index] = image
                    self._left -= image.nbytes
        return image
