"""Student's t: how far the mean of a few runs may lie from the true one."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

# The 97.5 % quantiles of Student's t with 1 to 30 degrees of freedom, for a 95 % interval
# (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2).
QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
# That of the normal distribution.
NORMAL_QUANTILE = 1.959964


class Interval(NamedTuple):
    """A mean with the ends of its 95 % interval; both None where one value is all there is."""

    mean: float
    low: float | None
    high: float | None


def quantile(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t with ``degrees`` (1 or more) of freedom."""
    if degrees <= len(QUANTILES):
        return QUANTILES[degrees - 1]
    # The first terms of the expansion in 1/degrees (Abramowitz and Stegun, 26.7.5).
    z = NORMAL_QUANTILE
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def ratio_interval(ratios: Sequence[float]) -> Interval:
    """Return the geometric mean of ``ratios`` (one or more, above 0) with its 95 % interval.

    By Student's t on their logarithms: 2x and 0.5x are equally far from 1x.
    """
    logarithms = [math.log(ratio) for ratio in ratios]
    count = len(logarithms)
    mean = math.fsum(logarithms) / count
    if count == 1:
        return Interval(math.exp(mean), None, None)
    variance = math.fsum((value - mean) ** 2 for value in logarithms) / (count - 1)
    reach = quantile(count - 1) * math.sqrt(variance / count)
    return Interval(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))
