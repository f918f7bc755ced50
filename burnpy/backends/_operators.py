"""Operators for the kernels: taps in the type computed in, made once and kept.

Where sizes are as ``p`` to ``q`` in lowest terms, output ``o + q`` weighs what output ``o`` does, ``p`` inputs further on,
unless a border is near. Of a long axis therefore only a stretch is made, that of shorter sizes of the same ratio, and the
kernels repeat its middle; so what an operator takes does not grow with the axis.
"""

import math
from typing import NamedTuple

import numpy as np

from burnpy._cached import cached
from burnpy.backends._dispatch import Operator
from burnpy.options import InterpolateMode, InterpolateOptions
from burnpy.taps import build_taps

__all__ = ["make_operator"]

LONG = 1 << 15
"""Weights above which an operator is worth shortening."""
LONGEST_BOX = 4096
"""Outputs that a box may span along an axis that is shortened; what is kept is little longer."""


SHORT_BYTES = 1 << 20
"""What an operator may take to be kept among many; of others only the latest few are."""


def make_operator(n: int, m: int, options: InterpolateOptions, backward: bool, itemsize: int) -> Operator:
    """Return the operator from ``n`` to ``m`` samples, or, ``backward``, the transpose of the one from ``m`` to ``n``."""
    make = make_short if is_short(n, m, options, backward) else make_long
    return make(n, m, options, backward, itemsize)


def is_short(n: int, m: int, options: InterpolateOptions, backward: bool) -> bool:
    """Tell whether an operator is small, as all are but those of long axes whose sizes have little in common."""
    stretch = _stretch(n, m, options, backward)
    made = m - stretch.times * stretch.period
    return made * (4 * _per_output(n, m, options, backward) + 6 * np.intp(0).itemsize) <= SHORT_BYTES


def _make(n: int, m: int, options: InterpolateOptions, backward: bool, itemsize: int) -> Operator:
    stretch = _stretch(n, m, options, backward)
    n_made, m_made = n - stretch.times * stretch.advance, m - stretch.times * stretch.period
    taps = build_taps(m_made, n_made, options).transpose() if backward else build_taps(n_made, m_made, options)
    taps = taps.trimmed()
    weights = taps.weights.astype(np.float32) if itemsize == 4 else taps.weights
    return Operator(n, m, taps.first, taps.offset, weights, stretch if stretch.times else None)


make_short = cached(128)(_make)
make_long = cached(4)(_make)


class _Stretch(NamedTuple):
    """How an axis is shortened; see `Operator`."""

    at: int
    period: int
    times: int
    advance: int
    longest: int


def _stretch(n: int, m: int, options: InterpolateOptions, backward: bool) -> _Stretch:
    before, after = (m, n) if backward else (n, m)
    radius = _radius(before, after, options)
    per_output = _per_output(n, m, options, backward)
    longest = max(min(LONGEST_BOX, LONG // 2 // per_output), 1)
    # As far as a run reaches over a border; or, backward, as far as the runs reach that weigh less for it.
    border = 2 * math.ceil(radius) + 2 if backward else math.ceil((radius + 1) * after / before) + 1
    ends = options.align_corners and not options.mode.is_nearest  # the ratio is one of intervals, not of samples
    common = math.gcd(n - ends, m - ends)
    period, advance = (m - ends) // max(common, 1), (n - ends) // max(common, 1)
    at = border + period
    if m * per_output <= LONG or min(period, advance) == 0:
        return _Stretch(at, 1, 0, 0, m)
    return _Stretch(at, period, max((m - at - longest - border) // period, 0), advance, longest)


def _per_output(n: int, m: int, options: InterpolateOptions, backward: bool) -> int:
    """Return how many inputs an output weighs at most, or backward in the mean, rounded up."""
    if backward:
        return math.ceil(max(2 * _radius(m, n, options), 1) * (n / m))
    return math.ceil(max(2 * _radius(n, m, options), 1))


def _radius(before: int, after: int, options: InterpolateOptions) -> float:
    """Return over how many samples on either side of its coordinate an output reaches."""
    if options.mode.is_nearest:
        return 0.0
    radius = {InterpolateMode.BILINEAR: 1, InterpolateMode.BICUBIC: 2, InterpolateMode.LANCZOS3: 3}[options.mode]
    return radius * (max(before / after, 1.0) if options.antialias else 1.0)
