"""The backend ``"scipy"``: one sparse matrix an axis, multiplied by SciPy; a second, independent route to every mode.

The matrices are burnpy's taps in compressed rows. Slower than the kernels, and it copies, but short enough to be read.
"""

# SciPy has no types of its own; who checks burnpy with typings/ beside it sees those there:
# mypy: disable-error-code="import-untyped"

from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from burnpy._cached import cached
from burnpy.errors import DTypeError
from burnpy.options import InterpolateMode, InterpolateOptions
from burnpy.protocol import check_grad_shape, check_image_shape, checked_sizes
from burnpy.taps import build_taps

__all__ = ["ScipyBackend"]

FloatT = TypeVar("FloatT", bound=np.floating[Any])

COMPUTE_TYPES = {"float16": "float32", "float32": "float32", "float64": "float64"}


class ScipyBackend:
    """Resize NumPy arrays of float16, float32 or float64 by products with `scipy.sparse.csr_array`.

    See `burnpy.Backend` for the contract. A sum starts from +0.0, so that a result of -0.0 comes out as +0.0.

    Examples
    --------
    >>> x = np.array([[[[0.0, 1.0]]]])
    >>> ScipyBackend().interpolate(x, (1, 3), InterpolateOptions("bilinear"))
    array([[[[0. , 0.5, 1. ]]]])
    """

    name = "scipy"

    def supports(
        self, mode: InterpolateMode, /, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
    ) -> bool:
        """Tell whether the combination is supported: all are, in three dtypes."""
        return dtype in COMPUTE_TYPES

    def interpolate(
        self, x: NDArray[FloatT], output_size: tuple[int, int], options: InterpolateOptions, /
    ) -> NDArray[FloatT]:
        """Resize the last two axes of ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate`."""
        _require_array("x", x)
        sizes = checked_sizes(output_size)
        check_image_shape(x.shape, sizes)
        return _multiplied(x, sizes, options, backward=False)

    def interpolate_backward(
        self, x: NDArray[FloatT], grad: NDArray[FloatT], output_size: tuple[int, int], options: InterpolateOptions, /
    ) -> NDArray[FloatT]:
        """Gradient with respect to ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate_backward`."""
        _require_array("x", x)
        _require_array("grad", grad)
        if grad.dtype.type is not x.dtype.type:
            raise DTypeError(f"grad must have the dtype of x, {x.dtype}; got {grad.dtype}")
        sizes = checked_sizes(output_size)
        check_image_shape(x.shape, sizes)
        check_grad_shape(x.shape, grad.shape, sizes)
        return _multiplied(grad, x.shape[2:], options, backward=True)


def _multiplied(
    x: NDArray[FloatT], sizes: tuple[int, ...], options: InterpolateOptions, *, backward: bool
) -> NDArray[FloatT]:
    """Multiply along H and W by the operators, or their transposes, that lead to ``sizes``."""
    dtype = x.dtype.newbyteorder("=")
    y: NDArray[Any] = x.astype(COMPUTE_TYPES[dtype.name])
    for axis, m in zip((2, 3), sizes, strict=True):
        n = y.shape[axis]
        if n != m:
            columns = np.moveaxis(y, axis, 0)
            product = _matrix(n, m, options, backward, y.dtype.name) @ columns.reshape(n, -1)
            y = np.moveaxis(product.reshape(m, *columns.shape[1:]), 0, axis)
    return np.ascontiguousarray(y, dtype)


@cached(64)
def _matrix(n: int, m: int, options: InterpolateOptions, backward: bool, dtype: str) -> scipy.sparse.csr_array:
    """Return the operator from ``n`` to ``m`` samples, shape ``(m, n)``, without its zeros: they take no part."""
    taps = build_taps(m, n, options).transpose() if backward else build_taps(n, m, options)
    rows = np.repeat(np.arange(m), np.diff(taps.offset))
    columns = taps.first[rows] + np.arange(len(rows)) - taps.offset[rows]
    takes_part = taps.weights != 0
    entries = (rows[takes_part], columns[takes_part])
    return scipy.sparse.csr_array((taps.weights[takes_part].astype(dtype), entries), shape=(m, n))


def _require_array(name: str, array: NDArray[Any] | None) -> None:
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise DTypeError(f"{name} must be a numpy.ndarray; got {type(array).__name__}: convert it with numpy.asarray")
    if array.dtype.name not in COMPUTE_TYPES:
        raise DTypeError(f"{name} must have one of the dtypes {', '.join(COMPUTE_TYPES)}; got {array.dtype}: use astype")
