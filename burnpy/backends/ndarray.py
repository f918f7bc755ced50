"""The backend ``"ndarray"``: NumPy arrays, every mode in both directions, by the compiled kernels.

Forward applies taps, backward the transposed taps. An array of any memory order is resized as it stands, with its axes
taken in the order of their strides, and the result has the same order.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from burnpy._cached import cached
from burnpy.backends._dispatch import Plan
from burnpy.backends._operators import is_short, make_operator
from burnpy.backends._plan import make_plan
from burnpy.backends._threads import get_num_threads
from burnpy.errors import DTypeError
from burnpy.options import InterpolateMode, InterpolateOptions
from burnpy.protocol import check_grad_shape, check_image_shape, checked_sizes

__all__ = ["NdarrayBackend", "require_array", "require_pair", "resample", "resample_backward"]

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
    require_array("x", x)
    return _apply(x, _job_for(x, x.shape, output_size, options, False, spatial_axes))


def resample_backward(
    shape: Sequence[int],
    grad: NDArray[FloatT],
    output_size: Sequence[int],
    options: InterpolateOptions,
    spatial_axes: int,
) -> NDArray[FloatT]:
    """Apply the adjoint of `resample` for ``x`` of ``shape``, plain integers, to ``grad``, which the caller has checked."""
    job = _job_for(grad, tuple(shape), output_size, options, True, spatial_axes)
    if grad.shape != job.source:
        check_grad_shape(shape, grad.shape, job.source[2:])
    return _apply(grad, job)


def require_pair(x: NDArray[Any], grad: NDArray[Any]) -> None:
    """Refuse what are not two arrays of one supported element type; their byte orders may differ."""
    require_array("x", x)
    require_array("grad", grad)
    if grad.dtype.type is not x.dtype.type:
        raise DTypeError(f"grad must have the dtype of x, {x.dtype}; got {grad.dtype}")


def require_array(name: str, array: NDArray[Any] | None) -> None:
    """Refuse what is not an array of a supported element type."""
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


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """What is the same for all arrays of one shape, memory order and type."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    order: tuple[int, ...]  # the axes from the slowest to the fastest in memory
    contiguous: bool  # as they are, without gaps
    back: tuple[int, ...]  # the transposition that puts them in place again
    packed: tuple[int, ...]  # the target in the order of memory
    make_plan: Callable[[], Plan]
    plan: Plan | None  # None where there is nothing to compute, or its operators are too large to keep


def _job_for(
    x: NDArray[Any],
    shape: tuple[int, ...],
    output_size: Sequence[int],
    options: InterpolateOptions,
    backward: bool,
    spatial_axes: int,
) -> _Job:
    """Return the job that resizes ``x``, which has ``shape`` or, ``backward``, the shape of its output."""
    sizes = output_size if isinstance(output_size, tuple) else checked_sizes(output_size, spatial_axes)
    order = None if x.flags.c_contiguous else _memory_order(x.shape, x.strides)
    try:
        return _job(shape, options, backward, spatial_axes, x.dtype.itemsize, order, *sizes)
    except TypeError:
        checked_sizes(sizes, spatial_axes)  # a size that has no hash is none
        raise


@cached(128, typed=True)  # by type too, so that 2 is told from 2.0 and True
def _job(
    shape: tuple[int, ...],
    options: InterpolateOptions,
    backward: bool,
    spatial_axes: int,
    itemsize: int,
    order: tuple[int, ...] | None,
    *output_size: int,
) -> _Job:
    sizes = checked_sizes(output_size, spatial_axes)
    result = check_image_shape(shape, sizes, spatial_axes)
    source, target = (result, shape) if backward else (shape, result)

    def make() -> Plan:
        operators = [
            None if before == after else make_operator(before, after, options, backward, max(itemsize, 4))
            for before, after in zip(source, target, strict=True)
        ]
        return make_plan(source, operators, axes, half=itemsize == 2)

    axes = tuple(range(len(source))) if order is None else order
    back = tuple(axes.index(axis) for axis in range(len(axes)))
    packed = tuple(target[axis] for axis in axes)
    short = all(is_short(n, m, options, backward) for n, m in zip(source[2:], target[2:], strict=True))
    plan = make() if short and source != target and 0 not in target else None
    return _Job(source, target, axes, order is None, back, packed, make, plan)


def _apply(x: NDArray[FloatT], job: _Job) -> NDArray[FloatT]:
    """Apply the operators that turn the source shape of the job into its target, or their transposes."""
    dtype = x.dtype if x.dtype.isnative else x.dtype.newbyteorder("=")
    if job.source == job.target:
        return np.array(x, dtype=dtype, order="K", subok=False)
    if job.contiguous and x.dtype is dtype and x.flags.aligned:
        result = np.empty(job.target, dtype)
        if result.size:
            _run(job, x, result)
        return result
    return _apply_strided(x, job, dtype)


def _apply_strided(x: NDArray[Any], job: _Job, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Apply the operators to an array of any layout, in the order of its memory; copy what cannot be read in place."""
    source = np.asarray(x)
    if source.dtype is not dtype or not source.flags.aligned or not _has_whole_steps(source):
        source = source.astype(dtype)
    result = np.empty(job.packed, dtype)
    if result.size:
        _run(job, source.transpose(job.order), result)
    return result.transpose(job.back)


def _has_whole_steps(x: NDArray[Any]) -> bool:
    """Tell whether strides are whole elements, as they are in aligned arrays where types are aligned to their size."""
    return x.dtype.alignment == x.itemsize or not any(stride % x.itemsize for stride in x.strides)


def _run(job: _Job, x: NDArray[Any], result: NDArray[Any]) -> None:
    """Fill ``result``, on several threads if there is enough to do."""
    plan = job.plan or job.make_plan()
    if plan.half:
        x, result = x.view(np.uint16), result.view(np.uint16)
    threads = 1 if plan.work < WORK_FOR_THREADS else min(get_num_threads(), plan.boxes)
    plan.run(x, result, 0, plan.boxes, threads)


@cached(128)
def _memory_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes from the slowest to the fastest in memory; as they are where a broadcast leaves it open."""
    axes = range(len(shape))
    if any(stride == 0 and size > 1 for stride, size in zip(strides, shape, strict=True)):
        return tuple(axes)
    return tuple(sorted(axes, key=lambda axis: -abs(strides[axis]) if shape[axis] > 1 else -math.inf))
