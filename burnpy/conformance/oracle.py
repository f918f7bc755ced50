"""What is right: dense float64 matrices from the formulas, and how far from them an honest backend may be.

The bound follows the arithmetic. With ``A`` the operator of an axis, a result may be off by ``k * eps * sum|w * x|`` for
the products and sums, and at level core also by what it costs to compute a source coordinate in the array's own
precision: ``eps * n`` samples, over which a filter's weights move by as much.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from burnpy._cached import cached
from burnpy.backends.reference import axis_matrix
from burnpy.conformance.cases import Case, Cell, Level
from burnpy.options import InterpolateOptions

__all__ = ["STRICT_K", "Expectation", "Tolerance", "expected", "matrix", "windows"]

Floats: TypeAlias = NDArray[np.float64]

CORE_K: Final = 8.0
"""Core: roundings besides one for every term of the sum, which are counted from the matrix."""
STRICT_K: Final = 8.0
"""Strict: the whole bound, whatever the number of terms: weights in double, one rounding a product and a sum."""
SLOPE: Final = 4.0
"""Core: how far a weight moves when a coordinate moves by one sample, twice over."""


@dataclass(frozen=True)
class Tolerance:
    """The rule by which results are judged: ``k * eps * sum|w * x|``, and the allowances of level core.

    Attributes
    ----------
    level : "core" or "strict"
    k : dict of str to float
        The author's own k by dtype; others have that of the level.
    """

    level: Level = "core"
    k: tuple[tuple[str, float], ...] = ()

    def factor(self, dtype: str) -> float:
        """Return k for a dtype."""
        return dict(self.k).get(dtype, CORE_K if self.level == "core" else STRICT_K)

    def describe(self, dtype: str) -> str:
        """Say the rule in one line."""
        terms = " + terms" if self.level == "core" else ""
        slack = ", coordinates in the array's precision allowed" if self.level == "core" else ""
        return f"|error| <= ({self.factor(dtype):g}{terms}) * eps({dtype}) * sum|w*x|{slack}"


@dataclass(frozen=True)
class Expectation:
    """The right result in float64, and the bound on the error of every element."""

    values: Floats
    bound: Floats


def expected(case: Case, source: NDArray[Any], tolerance: Tolerance) -> Expectation:
    """Return what the operator of a case makes of ``source``, whose shape may differ from the case's in N and C.

    Parameters
    ----------
    case : Case
    source : array, shape (N, C, H, W) forward, (N, C, H', W') backward
    tolerance : Tolerance
    """
    x = np.asarray(source, np.float64)
    high, wide = (matrix(case.cell, n, m) for n, m in zip(case.shape[2:], case.output_size, strict=True))
    sums = high.size_of @ np.abs(x) @ wide.size_of.T
    terms = (high.terms[:, None] + wide.terms) if tolerance.level == "core" else 0
    info = np.finfo(case.dtype)
    bound = (tolerance.factor(case.dtype) + terms) * float(info.eps) * sums
    if tolerance.level == "core":
        bound = bound + _coordinate_slack(high, wide, np.abs(x), float(info.eps))
    return Expectation(high.weights @ x @ wide.weights.T, bound + 2 * float(info.smallest_subnormal))


def _coordinate_slack(high: "AxisMatrix", wide: "AxisMatrix", x: Floats, eps: float) -> Floats:
    """Bound what coordinates of relative precision ``eps`` change; nothing for the nearest modes."""
    moved_high, moved_wide = SLOPE * eps * high.reach, SLOPE * eps * wide.reach
    return np.asarray(moved_high @ x @ (wide.size_of + moved_wide).T + high.size_of @ x @ moved_wide.T)


@dataclass(frozen=True, eq=False)
class AxisMatrix:
    """The operator of one axis, transposed for the gradient, with what bounds need.

    Attributes
    ----------
    weights, size_of : ndarray, shape (results, sources)
        The matrix, and its absolute values.
    terms : ndarray, shape (results,)
        How many weights are not zero.
    reach : ndarray, shape (results, sources)
        Number of samples along the axis where a slightly wrong coordinate may weigh something, else 0.
    """

    weights: Floats
    size_of: Floats
    terms: Floats
    reach: Floats

    def transpose(self) -> "AxisMatrix":
        """Return the operator of the gradient."""
        terms = np.count_nonzero(self.weights, axis=0).astype(np.float64)
        return AxisMatrix(self.weights.T, self.size_of.T, terms, self.reach.T)


def _matrix(options: InterpolateOptions, radius: int, backward: bool, n: int, m: int) -> AxisMatrix:
    weights = axis_matrix(n, m, options)
    reach = windows(weights, radius + 1) * float(n) if radius else np.zeros_like(weights)
    terms = np.count_nonzero(weights, axis=1).astype(np.float64)
    forward = AxisMatrix(weights, np.abs(weights), terms, reach)
    return forward.transpose() if backward else forward


_small = cached(16384)(_matrix)
_large = cached(32)(_matrix)
SMALL: Final = 1024
"""Matrices of up to so many elements are all kept; of the others, which take megabytes, the latest."""


def matrix(cell: Cell, n: int, m: int) -> AxisMatrix:
    """Return the operator that turns ``n`` samples into ``m`` forward, and its transpose backward."""
    options = InterpolateOptions(cell.options.mode) if cell.options.mode.is_nearest else cell.options
    return (_small if n * m <= SMALL else _large)(options, cell.radius, cell.backward, n, m)


def windows(weights: Floats, margin: int) -> Floats:
    """Mark in every row the columns from ``margin`` before its first weight to ``margin`` after its last."""
    width: int = weights.shape[1]
    columns = np.arange(width)
    first = np.argmax(weights != 0, axis=1) - margin
    last = width - 1 - np.argmax(weights[:, ::-1] != 0, axis=1) + margin
    marks: Floats = ((columns >= first[:, None]) & (columns <= last[:, None])).astype(np.float64)
    return marks
