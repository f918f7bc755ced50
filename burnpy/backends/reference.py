"""The backend ``"reference"``: dense matrices from the formulas, slow and plain.

It is the oracle that everything else is compared with, so it shares nothing with what it judges: neither the taps nor the
kernels. Coordinates are `fractions.Fraction`, weights float64, and every output is a sum written out.
"""

import functools
import math
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from burnpy._cached import cached
from burnpy.errors import DTypeError, ShapeError
from burnpy.options import InterpolateMode, InterpolateOptions
from burnpy.protocol import check_grad_shape, check_image_shape, checked_sizes

__all__ = ["ReferenceBackend", "axis_matrix"]

FloatT = TypeVar("FloatT", bound=np.floating[Any])

DTYPES: tuple[type[np.floating[Any]], ...] = (np.float16, np.float32, np.float64)


class ReferenceBackend:
    """Resize NumPy arrays of float16, float32 or float64 in float64, rounded once at the end.

    See `burnpy.Backend` for the contract.

    Examples
    --------
    >>> x = np.array([[[[0.0, 1.0]]]])
    >>> ReferenceBackend().interpolate(x, (1, 3), InterpolateOptions("bilinear"))
    array([[[[0. , 0.5, 1. ]]]])
    """

    name = "reference"

    def supports(
        self, mode: InterpolateMode, /, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
    ) -> bool:
        """Tell whether the combination is supported: all are, in three dtypes."""
        return dtype in {known.__name__ for known in DTYPES}

    def interpolate(self, x: NDArray[FloatT], output_size: tuple[int, int], options: InterpolateOptions) -> NDArray[FloatT]:
        """Resize the last two axes of ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate`."""
        _require_array("x", x)
        sizes = checked_sizes(output_size)
        result = np.empty(check_image_shape(x.shape, sizes), x.dtype.newbyteorder("="))
        if result.size:
            result[...] = _applied(x, [axis_matrix(n, m, options) for n, m in zip(x.shape[2:], sizes, strict=True)])
        return result

    def interpolate_backward(
        self, x: NDArray[FloatT], grad: NDArray[FloatT], output_size: tuple[int, int], options: InterpolateOptions
    ) -> NDArray[FloatT]:
        """Gradient with respect to ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate_backward`."""
        _require_array("x", x)
        _require_array("grad", grad)
        if grad.dtype.type is not x.dtype.type:
            raise DTypeError(f"grad must have the dtype of x, {x.dtype}; got {grad.dtype}")
        sizes = checked_sizes(output_size)
        check_image_shape(x.shape, sizes)
        check_grad_shape(x.shape, grad.shape, sizes)
        result = np.empty(x.shape, x.dtype.newbyteorder("="))
        if result.size:
            result[...] = _applied(grad, [axis_matrix(n, m, options).T for n, m in zip(x.shape[2:], sizes, strict=True)])
        return result


@cached(64)
def axis_matrix(n: int, m: int, options: InterpolateOptions) -> NDArray[np.float64]:
    """Return the matrix that resamples ``n`` inputs to ``m`` outputs along one axis.

    Parameters
    ----------
    n, m : int
        Number of inputs and outputs, at least 1.
    options : InterpolateOptions

    Returns
    -------
    ndarray of float64, shape (m, n)
        Read-only. The gradient applies its transpose.

    Raises
    ------
    ShapeError
        If a size is below 1.

    Examples
    --------
    >>> axis_matrix(2, 3, InterpolateOptions("bilinear"))
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    if n < 1 or m < 1:
        raise ShapeError(f"an axis operator needs sizes of at least 1; got n={n}, m={m}")
    matrix = np.zeros((m, n))
    for o in range(m):
        for i, weight in _row(o, n, m, options):
            matrix[o, i] += weight
    matrix.setflags(write=False)
    return matrix


def _row(o: int, n: int, m: int, options: InterpolateOptions) -> list[tuple[int, float]]:
    """Return the inputs of output ``o`` and their weights."""
    mode = options.mode
    if mode is InterpolateMode.NEAREST:
        return [(o * n // m, 1.0)]
    if mode is InterpolateMode.NEAREST_EXACT:
        return [((2 * o + 1) * n // (2 * m), 1.0)]
    if options.antialias:
        return _antialiased(o, n, m, mode)
    if options.align_corners:
        c = Fraction(o * (n - 1), m - 1) if m > 1 else Fraction(0)
    else:
        c = Fraction((2 * o + 1) * n, 2 * m) - Fraction(1, 2)
    if mode is InterpolateMode.BILINEAR:
        c = min(max(c, Fraction(0)), Fraction(n - 1))
        i = math.floor(c)
        t = c - i
        return [(i, float(1 - t)), (min(i + 1, n - 1), float(t))]
    i = math.floor(c)
    if mode is InterpolateMode.BICUBIC:
        near: dict[int, Fraction] = {}
        for j in range(i - 1, i + 3):
            border = min(max(j, 0), n - 1)
            near[border] = near.get(border, Fraction(0)) + _keys(c - j, Fraction(-3, 4))
        return [(j, float(weight)) for j, weight in near.items()]
    inside = [j for j in range(i - 2, i + 4) if 0 <= j < n]
    return _divided_by_sum(inside, [_lanczos(c - j) for j in inside])


def _antialiased(o: int, n: int, m: int, mode: InterpolateMode) -> list[tuple[int, float]]:
    radius = {InterpolateMode.BILINEAR: 1, InterpolateMode.BICUBIC: 2, InterpolateMode.LANCZOS3: 3}[mode]
    half = Fraction(1, 2)
    s = max(Fraction(n, m), Fraction(1))
    z = (o + half) * Fraction(n, m)
    inside = range(max(math.floor(z - radius * s + half), 0), min(math.floor(z + radius * s + half), n))
    distances = [(i - z + half) / s for i in inside]
    if mode is InterpolateMode.LANCZOS3:
        return _divided_by_sum(list(inside), [_lanczos(d) for d in distances])
    if mode is InterpolateMode.BICUBIC:
        weights = [_keys(d, Fraction(-1, 2)) for d in distances]
    else:
        weights = [max(1 - abs(d), Fraction(0)) for d in distances]
    total = sum(weights)
    return [(i, float(weight / total)) for i, weight in zip(inside, weights, strict=True)]


def _divided_by_sum(inside: list[int], weights: list[float]) -> list[tuple[int, float]]:
    total = math.fsum(weights)
    return [(i, weight / total) for i, weight in zip(inside, weights, strict=True)]


def _keys(distance: Fraction, a: Fraction) -> Fraction:
    d = abs(distance)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    if d < 2:
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return Fraction(0)


def _lanczos(distance: Fraction) -> float:
    if abs(distance) >= 3:
        return 0.0
    return _sinc(distance) * _sinc(distance / 3)


def _sinc(d: Fraction) -> float:
    """``sin(pi d) / (pi d)``, 1 at 0 and exactly 0 at every other whole number.

    The sine is taken of the distance to the nearest whole number, an exact difference, so that it keeps its digits there.
    """
    if d == 0:
        return 1.0
    whole = round(d)
    sine = math.sin(math.pi * float(d - whole))
    return (-sine if whole % 2 else sine) / (math.pi * float(d))


def _applied(x: NDArray[FloatT], matrices: list[NDArray[np.float64]]) -> NDArray[Any]:
    """Apply one matrix along each of the last two axes, in float64; a matrix that is square is the identity."""
    y: NDArray[Any] = x
    for axis, matrix in zip((2, 3), matrices, strict=True):
        if matrix.shape[0] != matrix.shape[1]:
            rows = np.moveaxis(y, axis, 0).astype(np.float64)
            y = np.moveaxis(np.stack([_weighed(rows, weights) for weights in matrix]), 0, axis)
    return y


def _weighed(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted sum of ``rows``. A weight of zero takes no part, and a sum starts with its first product."""
    terms = [weights[i] * rows[i] for i in np.flatnonzero(weights)]
    return functools.reduce(np.add, terms) if terms else np.zeros(rows.shape[1:])


def _require_array(name: str, array: NDArray[Any] | None) -> None:
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise DTypeError(f"{name} must be a numpy.ndarray; got {type(array).__name__}: convert it with numpy.asarray")
    if array.dtype.type not in DTYPES:
        allowed = ", ".join(dtype.__name__ for dtype in DTYPES)
        raise DTypeError(f"{name} must have one of the dtypes {allowed}; got {array.dtype}: convert it with astype")
