"""The backend ``"ndarray"``: NumPy arrays, every mode in both directions, by the compiled kernels.

Forward applies taps, backward the transposed taps. An array of any memory order is resized as it stands, with its axes
taken in the order of their strides, and the result has the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from burnpy._cached import cached
from burnpy.backends._dispatch import MAX_AXES, Plan
from burnpy.backends._operators import is_short, make_operator
from burnpy.backends._plan import make_plan
from burnpy.backends._threads import get_num_threads
from burnpy.errors import DTypeError
from burnpy.options import InterpolateMode, InterpolateOptions
from burnpy.protocol import check_grad_shape, check_image_shape, checked_sizes

__all__ = ["NdarrayBackend", "require_pair", "resample", "resample_backward"]

FloatT = TypeVar("FloatT", bound=np.floating[Any])

DTYPES: tuple[type[np.floating[Any]], ...] = (np.float16, np.float32, np.float64)

WORK_FOR_THREADS = 700_000
"""Multiply-adds below which help costs more than it saves: about 15 microseconds."""


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

    def supports(
        self, mode: InterpolateMode, /, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
    ) -> bool:
        """Tell whether the combination is supported: all are, in three dtypes."""
        return dtype in {known.__name__ for known in DTYPES}

    def interpolate(self, x: NDArray[FloatT], output_size: tuple[int, int], options: InterpolateOptions) -> NDArray[FloatT]:
        """Resize the last two axes of ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate`."""
        return resample(x, output_size, options, 2)

    def interpolate_backward(
        self, x: NDArray[FloatT], grad: NDArray[FloatT], output_size: tuple[int, int], options: InterpolateOptions
    ) -> NDArray[FloatT]:
        """Gradient with respect to ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate_backward`."""
        require_pair(x, grad)
        return resample_backward(x.shape, grad, output_size, options, 2)


def resample(
    x: NDArray[FloatT], output_size: Sequence[int], options: InterpolateOptions, spatial_axes: int
) -> NDArray[FloatT]:
    """Resize the last ``spatial_axes`` axes of ``x``, ``(N, C, *spatial)``, to ``output_size``."""
    _require_array("x", x)
    return _apply(x, _job(x.shape, options, False, spatial_axes, *_unpacked(output_size, spatial_axes)))


def resample_backward(
    shape: Sequence[int],
    grad: NDArray[FloatT],
    output_size: Sequence[int],
    options: InterpolateOptions,
    spatial_axes: int,
) -> NDArray[FloatT]:
    """Apply the adjoint of `resample` for ``x`` of ``shape`` to ``grad``."""
    _require_array("grad", grad)
    job = _job(tuple(shape), options, True, spatial_axes, *_unpacked(output_size, spatial_axes))
    if grad.shape != job.source:
        check_grad_shape(shape, grad.shape, job.source[2:])
    return _apply(grad, job)


def require_pair(x: NDArray[Any], grad: NDArray[Any]) -> None:
    """Refuse what are not two arrays of one supported element type; their byte orders may differ."""
    _require_array("x", x)
    _require_array("grad", grad)
    if grad.dtype.type is not x.dtype.type:
        raise DTypeError(f"grad must have the dtype of x, {x.dtype}; got {grad.dtype}")


def _require_array(name: str, array: NDArray[Any] | None) -> None:
    if type(array) is np.ndarray and array.dtype.type in DTYPES:
        return
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise DTypeError(
            f"{name} must be a numpy.ndarray; got {type(array).__name__}: convert it with numpy.asarray, or use the "
            "backend of its library"
        )
    if array.dtype.type not in DTYPES:
        allowed = ", ".join(dtype.__name__ for dtype in DTYPES)
        raise DTypeError(f"{name} must have one of the dtypes {allowed}; got {array.dtype}: convert it with astype")


def _unpacked(output_size: Sequence[int], spatial_axes: int) -> tuple[int, ...]:
    """Return the sizes as they are if they can be looked up, else checked: a look-up tells 2 from 2.0 and True."""
    if isinstance(output_size, tuple) and all(type(size) is int for size in output_size):
        return output_size
    return checked_sizes(output_size, spatial_axes)


@dataclass(frozen=True, slots=True)
class _Job:
    """What is the same for all arrays of one shape: the shapes on both sides and the options, checked."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    options: InterpolateOptions
    backward: bool
    short: bool  # its operators are small enough to keep its plans


@cached(512)
def _job(shape: tuple[int, ...], options: InterpolateOptions, backward: bool, spatial_axes: int, *output_size: int) -> _Job:
    sizes = checked_sizes(output_size, spatial_axes)
    result = check_image_shape(shape, sizes, spatial_axes)
    source, target = (result, shape) if backward else (shape, result)
    short = all(is_short(n, m, options, backward) for n, m in zip(source[2:], target[2:], strict=True))
    return _Job(source, target, options, backward, short)


def _apply(x: NDArray[FloatT], job: _Job) -> NDArray[FloatT]:
    """Apply the operators that turn the source shape of the job into its target, or their transposes."""
    dtype = x.dtype
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    if job.source == job.target:
        return np.array(x, dtype=dtype, order="K", subok=False)
    if x.dtype == dtype and x.flags.c_contiguous and x.flags.aligned:
        result = np.empty(job.target, dtype)
        if result.size:
            _run(_plan(job, None, dtype.itemsize), x, result)
        return result
    return _apply_strided(x, job, dtype)


def _apply_strided(x: NDArray[Any], job: _Job, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Apply the operators to an array of any layout, in the order of its memory; copy what cannot be read in place."""
    source = np.asarray(x)
    if source.dtype != dtype or not source.flags.aligned or any(stride % source.itemsize for stride in source.strides):
        source = source.astype(dtype)
    order = _memory_order(source)
    result = np.empty([job.target[axis] for axis in order], dtype)
    if result.size:
        _run(_plan(job, order, dtype.itemsize), source.transpose(order), result)
    return result.transpose(np.argsort(order))


def _run(plan: Plan, x: NDArray[Any], result: NDArray[Any]) -> None:
    """Fill ``result``, on several threads if there is enough to do."""
    if plan.half:
        x, result = x.view(np.uint16), result.view(np.uint16)
    lead = (None,) * (MAX_AXES - x.ndim)
    source, target = x[lead], result[lead]
    threads = 1 if plan.work < WORK_FOR_THREADS else min(get_num_threads(), plan.boxes)
    plan.run(source, target, 0, plan.boxes, threads)


def _memory_order(x: NDArray[Any]) -> tuple[int, ...]:
    """Return the axes of ``x`` from the slowest to the fastest in memory; as they are where a broadcast leaves it open."""
    axes = tuple(range(x.ndim))
    if x.flags.c_contiguous or any(stride == 0 and size > 1 for stride, size in zip(x.strides, x.shape, strict=True)):
        return axes
    return tuple(sorted(axes, key=lambda axis: -abs(x.strides[axis]) if x.shape[axis] > 1 else -np.inf))


def _plan(job: _Job, memory_order: tuple[int, ...] | None, itemsize: int) -> Plan:
    return (_keep_plan if job.short else _make_plan)(job, memory_order, itemsize)


def _make_plan(job: _Job, memory_order: tuple[int, ...] | None, itemsize: int) -> Plan:
    operators = [
        None if before == after else make_operator(before, after, job.options, job.backward, max(itemsize, 4))
        for before, after in zip(job.source, job.target, strict=True)
    ]
    return make_plan(job.source, operators, memory_order or range(len(operators)), half=itemsize == 2)


_keep_plan = cached(128)(_make_plan)
