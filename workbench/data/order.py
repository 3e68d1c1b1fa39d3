"""The order of the examples in an epoch."""

from __future__ import annotations

import numpy as np


def epoch_order(seed: int, epoch: int, samples: int) -> np.ndarray:
    """Return the order of the training images in ``epoch`` (from 0): (samples,) int64.

    A permutation from Philox keyed by (seed, epoch): any epoch's order can be made anew
    without the ones before it, so a resumed run needs no state for it.
    """
    key = np.array([seed, epoch], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key)).permutation(samples)
