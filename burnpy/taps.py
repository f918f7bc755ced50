"""An axis operator as data: which inputs each output weighs, and with what weights.

Interpolation along one axis is ``y[o] = sum_i A[o, i] * x[i]`` with a banded ``A``. `build_taps` makes the bands of every
mode: coordinates, floors and whole-number tests in exact integers, weights in float64 from exact numerators. The transpose,
which the gradient applies, is again `Taps`. No kernels here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from burnpy.errors import ShapeError
from burnpy.options import InterpolateMode, InterpolateOptions

__all__ = ["Taps", "build_taps"]

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Filter: TypeAlias = Callable[[Ints, int], Floats]
_Runs: TypeAlias = tuple[NDArray[np.intp], Ints, Floats]

AT_ONCE = 8192
"""Weights made at a time, since several arrays of as many stand side by side meanwhile."""

PI_BEYOND_FLOAT64 = 1.2246467991473532e-16
"""What the float64 nearest to pi falls short of it."""


@dataclass(frozen=True, eq=False, slots=True)
class Taps:
    """A banded ``(m, n)`` matrix: for every row, the run of contiguous columns that it weighs.

    Row ``o`` weighs inputs ``first[o] ... first[o] + offset[o+1] - offset[o] - 1`` with
    ``weights[offset[o]:offset[o+1]]``. Neither the starts nor the ends of the runs ever decrease. A run may be empty, and
    may hold a weight that is exactly zero: it takes no part.

    Attributes
    ----------
    n, m : int
        Number of inputs (columns) and of outputs (rows).
    first : ndarray of intp, shape (m,)
        First input of every run.
    offset : ndarray of intp, shape (m + 1,)
        Where every run starts in `weights`; the last entry is the length of `weights`.
    weights : ndarray of float64, shape (offset[m],)
        The weights of all runs, one after another.

    Examples
    --------
    >>> taps = build_taps(2, 4, InterpolateOptions("bilinear", align_corners=False))
    >>> taps.to_dense()
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75],
           [0.  , 1.  ]])
    >>> taps.transpose().to_dense().shape
    (2, 4)
    """

    n: int
    m: int
    first: NDArray[np.intp]
    offset: NDArray[np.intp]
    weights: Floats

    def __post_init__(self) -> None:
        for array in (self.first, self.offset, self.weights):
            array.setflags(write=False)

    def transpose(self) -> "Taps":
        """Return the taps of the transposed matrix, ``(n, m)``: the adjoint operator.

        The outputs whose runs hold one input are contiguous, since starts and ends never decrease.
        """
        stop = self.first + np.diff(self.offset)
        first = np.searchsorted(stop, np.arange(self.n), side="right").astype(np.intp)
        offset = _offsets(np.searchsorted(self.first, np.arange(self.n), side="right") - first)
        weights = np.empty_like(self.weights)
        at_once = AT_ONCE * self.m // max(len(weights), 1) + 1
        for o in range(0, self.m, at_once):
            rows, columns = _entries(self.first[o : o + at_once], (stop - self.first)[o : o + at_once])
            weights[offset[columns] + o + rows - first[columns]] = self.weights[self.offset[o] :][: len(rows)]
        return Taps(self.m, self.n, first, offset, weights)

    def trimmed(self) -> "Taps":
        """Return the taps of the same matrix, runs without weights of zero at their ends if starts and ends allow it."""
        used = np.flatnonzero(self.weights)
        if len(used) == len(self.weights):
            return self
        low, high = np.searchsorted(used, self.offset[:-1]), np.searchsorted(used, self.offset[1:])
        first, stop = np.full(self.m, self.n), np.zeros(self.m, np.intp)
        rows = np.flatnonzero(high > low)
        first[rows] = self.first[rows] + used[low[rows]] - self.offset[rows]
        stop[rows] = self.first[rows] + used[high[rows] - 1] - self.offset[rows] + 1
        stop = np.maximum.accumulate(stop)
        first = np.minimum(np.minimum.accumulate(first[::-1])[::-1], stop[-1])
        taps = np.maximum(stop - first, 0)
        rows, columns = _entries(first, taps)
        weights = self.weights[self.offset[rows] + columns - self.first[rows]]
        return Taps(self.n, self.m, first, _offsets(taps), weights)

    def to_dense(self) -> Floats:
        """Return the matrix itself, float64 of shape ``(m, n)``."""
        dense = np.zeros((self.m, self.n))
        dense[_entries(self.first, np.diff(self.offset))] = self.weights
        return dense


def build_taps(n: int, m: int, options: InterpolateOptions) -> Taps:
    """Build the operator that resamples ``n`` inputs to ``m`` outputs.

    With ``c`` the source coordinate of an output, ``r`` the radius of the filter and ``s`` its stretch, the run is
    ``floor(c - r*s) + 1 ... floor(c + r*s)`` and the weight of input ``i`` is ``f(|i - c| / s)``, divided by the sum of the
    run. ``s`` is 1, or ``max(n/m, 1)`` with antialias. All of ``c``, ``s`` and the distances are rationals, kept as integer
    numerators over one denominator.

    Parameters
    ----------
    n, m : int
        Number of inputs and outputs, at least 1; their product below 2**60, so that all numerators fit 64 bits.
    options : InterpolateOptions

    Returns
    -------
    Taps

    Raises
    ------
    ShapeError
        If a size is out of range.
    """
    if n < 1 or m < 1 or n * m >= 2**60:
        raise ShapeError(f"an axis operator needs sizes of at least 1 with a product below 2**60; got n={n}, m={m}")
    if options.mode.is_nearest:
        return _nearest(n, m, exact=options.mode is InterpolateMode.NEAREST_EXACT)
    radius, weigh = _filter(options)
    c, q = _source_coordinates(n, m, options.align_corners)
    stretched = q
    if options.antialias:
        stretched = q * max(n, m) // m
    elif options.mode is InterpolateMode.BILINEAR:
        c = np.clip(c, 0, (n - 1) * q)

    def runs(c: Ints) -> _Runs:
        start = (c - radius * stretched) // q + 1
        rows, samples = _entries(start, (c + radius * stretched) // q + 1 - start)
        numerators = weigh(np.abs(samples * q - c[rows]), stretched)
        if options.mode is InterpolateMode.BICUBIC and not options.antialias:
            samples = np.clip(samples, 0, n - 1)
        else:
            inside = (samples >= 0) & (samples < n)
            rows, samples, numerators = rows[inside], samples[inside], numerators[inside]
        return _gathered(rows, samples, numerators)

    at_once = AT_ONCE // (2 * radius * stretched // q) + 1
    first, count, weights = zip(*(runs(c[o : o + at_once]) for o in range(0, m, at_once)), strict=True)
    return Taps(n, m, np.concatenate(first), _offsets(np.concatenate(count)), np.concatenate(weights))


def _nearest(n: int, m: int, exact: bool) -> Taps:
    o = np.arange(m, dtype=np.int64)
    index = (2 * o + 1) * n // (2 * m) if exact else o * n // m
    return Taps(n, m, index.astype(np.intp), np.arange(m + 1, dtype=np.intp), np.ones(m))


def _source_coordinates(n: int, m: int, align_corners: bool) -> tuple[Ints, int]:
    """Return numerators and the common denominator, in lowest terms, of the coordinate of every output."""
    o = np.arange(m, dtype=np.int64)
    if align_corners:  # o * (n - 1) / (m - 1)
        common = math.gcd(n - 1, m - 1) or 1
        return o * ((n - 1) // common if m > 1 else 0), max((m - 1) // common, 1)
    common = math.gcd(n, m)  # (2*o + 1) * n / (2*m) - 1/2
    n, m = n // common, m // common
    c, q = (2 * o + 1) * n - m, 2 * m
    return (c // 2, m) if n % 2 and m % 2 else (c, q)


def _filter(options: InterpolateOptions) -> tuple[int, Filter]:
    """Return radius and weight function of a mode; the function takes a distance ``d = distance / unit``."""
    if options.mode is InterpolateMode.BILINEAR:
        return 1, _triangle
    if options.mode is InterpolateMode.BICUBIC:
        return 2, _keys_half if options.antialias else _keys_three_quarters
    return 3, _lanczos3


def _triangle(distance: Ints, unit: int) -> Floats:
    """``1 - d``, in units of ``1/unit``."""
    return (unit - distance).astype(np.float64)


def _keys_half(distance: Ints, unit: int) -> Floats:
    return _keys(distance, unit, -0.5)


def _keys_three_quarters(distance: Ints, unit: int) -> Floats:
    return _keys(distance, unit, -0.75)


def _keys(distance: Ints, unit: int, a: float) -> Floats:
    """``(a+2)d^3 - (a+3)d^2 + 1`` up to 1, ``a(d^3 - 5d^2 + 8d - 4)`` up to 2, in units of ``1/unit^3``.

    Keys, "Cubic convolution interpolation for digital image processing" (1981), eq. 4 and its general form. Written as
    products, so that no digit is lost where a weight is small; exact while ``unit^3 < 2^51``.
    """
    d, one = distance.astype(np.float64), float(unit)
    near = (one - d) * (one * one + one * d - (a + 2) * d * d)
    far = a * (d - one) * (2 * one - d) * (2 * one - d)
    return np.asarray(np.where(d <= one, near, far))


def _lanczos3(distance: Ints, unit: int) -> Floats:
    """``sinc(d) sinc(d/3)``, times ``(pi / unit)^2 / 3``: Duchon, "Lanczos filtering in one and two dimensions" (1979)."""
    product = _sin_pi(distance, unit) * _sin_pi(distance, 3 * unit)
    weights = np.full_like(product, (np.pi / unit) ** 2 / 3)
    np.divide(product, np.square(distance.astype(np.float64)), out=weights, where=distance != 0)
    return weights


def _sin_pi(numerator: Ints, denominator: int) -> Floats:
    """``sin(pi * numerator / denominator)`` within an eps: reduced exactly, and the angle's rounding errors added back."""
    half_turns, rest = np.divmod(numerator, denominator)
    acute = np.minimum(rest, denominator - rest).astype(np.float64)
    part = acute / denominator
    angle = np.pi * part
    missing = (acute - part * denominator - _product_error(part, denominator)) / denominator * np.pi
    missing += _product_error(part, np.pi) + PI_BEYOND_FLOAT64 * part
    sines: Floats = np.sin(angle) + np.cos(angle) * missing
    return np.copysign(sines, 0.5 - half_turns % 2)


def _product_error(a: Floats, b: float) -> Floats:
    """Return exactly what ``a * b`` in float64 falls short of the product: Dekker, "A floating-point technique" (1971)."""
    a_high, b_high = (a * 134217729.0) - (a * 134217729.0 - a), (b * 134217729.0) - (b * 134217729.0 - b)
    a_low, b_low = a - a_high, b - b_high
    return a_low * b_low - (((a * b - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _gathered(rows: Ints, samples: Ints, numerators: Floats) -> _Runs:
    """Add up what fell on the same sample, and divide every run by its sum; return starts, lengths and weights."""
    new_row = np.flatnonzero(np.diff(rows, prepend=-1))
    first = samples[new_row]
    count = np.append(samples[new_row[1:] - 1], samples[-1]) - first + 1
    offset = _offsets(count)
    sums: Floats = np.bincount(offset[rows] + samples - first[rows], numerators, int(offset[-1])).astype(np.float64)
    totals = np.add.reduceat(sums, offset[:-1], dtype=np.longdouble).astype(np.float64)
    return first.astype(np.intp), count, sums / np.repeat(totals, count)


def _entries(start: NDArray[np.integer], count: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Return row and column of every entry of the runs, row by row."""
    rows = np.repeat(np.arange(len(count), dtype=np.int64), count)
    within = np.arange(len(rows), dtype=np.int64) - _offsets(count)[rows]
    return rows, start[rows] + within


def _offsets(count: NDArray[np.integer]) -> NDArray[np.intp]:
    return np.concatenate(([0], np.cumsum(count))).astype(np.intp)
