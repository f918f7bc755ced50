"""The backend ``"ndarray"``: NumPy arrays, every mode in both directions, by the compiled kernels.

Forward applies taps, backward the transposed taps. An array of any memory order is resized as it stands, with its axes
taken in the order of their strides, and the result has the same order.
"""

import functools
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from burnpy.backends._kernels import MAX_AXES, Operator, Plan
from burnpy.backends._plan import make_plan
from burnpy.errors import DTypeError
from burnpy.options import InterpolateOptions
from burnpy.protocol import check_grad_shape, check_image_shape, checked_sizes
from burnpy.taps import build_taps

__all__ = ["NdarrayBackend", "resample", "resample_backward"]

FloatT = TypeVar("FloatT", bound=np.floating[Any])

COMPUTE_TYPES: dict[type[np.generic], type[np.float32] | type[np.float64]] = {
    np.float16: np.float32,
    np.float32: np.float32,
    np.float64: np.float64,
}


class NdarrayBackend:
    """Resize NumPy arrays of float16, float32 or float64 (half precision computes in single and rounds once).

    See `burnpy.Backend` for the contract. Any strides, byte order and alignment will do.

    Examples
    --------
    >>> x = np.array([[[[0.0, 1.0]]]])
    >>> half_pixel = InterpolateOptions("bilinear", align_corners=False)
    >>> NdarrayBackend().interpolate(x, (1, 4), half_pixel)
    array([[[[0.  , 0.25, 0.75, 1.  ]]]])
    >>> NdarrayBackend().interpolate_backward(x, np.array([[[[0.0, 1.0, 0.0, 0.0]]]]), (1, 4), half_pixel)
    array([[[[0.75, 0.25]]]])
    """

    name = "ndarray"

    def interpolate(self, x: NDArray[FloatT], output_size: tuple[int, int], options: InterpolateOptions) -> NDArray[FloatT]:
        """Resize the last two axes of ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate`."""
        return resample(x, output_size, options, 2)

    def interpolate_backward(
        self, x: NDArray[FloatT], grad: NDArray[FloatT], output_size: tuple[int, int], options: InterpolateOptions
    ) -> NDArray[FloatT]:
        """Gradient with respect to ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate_backward`."""
        _require_array("x", x)
        _require_array("grad", grad)
        if grad.dtype.type is not x.dtype.type:
            raise DTypeError(f"grad must have the dtype of x, {x.dtype}; got {grad.dtype}")
        return resample_backward(x.shape, grad, output_size, options, 2)


def resample(
    x: NDArray[FloatT], output_size: Sequence[int], options: InterpolateOptions, spatial_axes: int
) -> NDArray[FloatT]:
    """Resize the last ``spatial_axes`` axes of ``x``, ``(N, C, *spatial)``, to ``output_size``."""
    _require_array("x", x)
    sizes = checked_sizes(output_size, spatial_axes)
    return _apply(x, check_image_shape(x.shape, sizes, spatial_axes), options, backward=False)


def resample_backward(
    shape: Sequence[int],
    grad: NDArray[FloatT],
    output_size: Sequence[int],
    options: InterpolateOptions,
    spatial_axes: int,
) -> NDArray[FloatT]:
    """Apply the adjoint of `resample` for ``x`` of ``shape`` to ``grad``."""
    _require_array("grad", grad)
    sizes = checked_sizes(output_size, spatial_axes)
    check_image_shape(shape, sizes, spatial_axes)
    check_grad_shape(shape, grad.shape, sizes)
    return _apply(grad, tuple(shape), options, backward=True)


def _require_array(name: str, array: object) -> None:
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise DTypeError(
            f"{name} must be a numpy.ndarray; got {type(array).__name__}: convert it with numpy.asarray, or use the "
            "backend of its library"
        )
    if array.dtype.type not in COMPUTE_TYPES:
        allowed = ", ".join(dtype.__name__ for dtype in COMPUTE_TYPES)
        raise DTypeError(f"{name} must have one of the dtypes {allowed}; got {array.dtype}: convert it with astype")


def _apply(x: NDArray[FloatT], shape: tuple[int, ...], options: InterpolateOptions, backward: bool) -> NDArray[FloatT]:
    """Apply the operators that turn the shape of ``x`` into ``shape``, or their transposes."""
    dtype = x.dtype.newbyteorder("=")
    if x.shape == shape:
        return np.array(x, dtype=dtype, order="K", subok=False)
    if 0 in shape:
        return np.empty(shape, dtype)
    compute = COMPUTE_TYPES[dtype.type]
    source: NDArray[np.floating[Any]] = np.asarray(x)
    if not _is_readable(source, compute):
        source = source.astype(compute)
    order = _memory_order(source)
    result = np.empty([shape[axis] for axis in order], compute)
    plan = _plan(x.shape, shape, order, options, backward, result.itemsize)
    lead = (None,) * (MAX_AXES - x.ndim)
    plan.run(source.transpose(order)[lead], result[lead], 0, plan.boxes)
    return result.transpose(np.argsort(order)).astype(dtype, copy=False)


def _is_readable(x: NDArray[Any], compute: type[np.floating[Any]]) -> bool:
    """Tell whether the kernels can read ``x`` where it lies."""
    return x.dtype == compute and x.flags.aligned and all(stride % x.itemsize == 0 for stride in x.strides)


def _memory_order(x: NDArray[Any]) -> tuple[int, ...]:
    """Return the axes of ``x`` from the slowest to the fastest in memory; as they are where a broadcast leaves it open."""
    axes = tuple(range(x.ndim))
    if x.flags.c_contiguous or any(stride == 0 and size > 1 for stride, size in zip(x.strides, x.shape, strict=True)):
        return axes
    return tuple(sorted(axes, key=lambda axis: -abs(x.strides[axis]) if x.shape[axis] > 1 else -np.inf))


@functools.lru_cache(maxsize=128)
def _plan(
    n: tuple[int, ...],
    m: tuple[int, ...],
    memory_order: tuple[int, ...],
    options: InterpolateOptions,
    backward: bool,
    itemsize: int,
) -> Plan:
    operators = [
        None if before == after else _operator(before, after, options, backward, itemsize)
        for before, after in zip(n, m, strict=True)
    ]
    return make_plan(n, operators, memory_order)


def _operator(n: int, m: int, options: InterpolateOptions, backward: bool, itemsize: int) -> Operator:
    taps = build_taps(m, n, options).transpose() if backward else build_taps(n, m, options)
    weights = taps.weights.astype(np.float32) if itemsize == 4 else taps.weights
    return Operator(n, m, taps.first, taps.offset, weights)
