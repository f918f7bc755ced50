"""A backend of its own: nearest and bilinear, forward and backward, in plain NumPy.

An axis of n inputs and m outputs is two indices and two weights an output. Forward gathers by them, backward scatters.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnpy import DTypeError, InterpolateMode, InterpolateOptions, UnsupportedError
from burnpy.protocol import check_grad_shape, check_image_shape, checked_sizes

DTYPES = ("float32", "float64")
MODES = (InterpolateMode.NEAREST, InterpolateMode.BILINEAR)


class ExampleBackend:
    """What `burnpy.backends.get("example")` returns; see `burnpy.Backend` for what is promised."""

    name = "example"

    def supports(
        self, mode: InterpolateMode, /, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
    ) -> bool:
        """Tell what is there: two modes without antialias, in two dtypes."""
        return mode in MODES and not antialias and dtype in DTYPES

    def interpolate(self, x: NDArray[Any], output_size: tuple[int, int], options: InterpolateOptions, /) -> NDArray[Any]:
        """Resize the last two axes of ``x``."""
        sizes = _checked(x, output_size, options)
        high, wide = (_lines(n, m, options) for n, m in zip(x.shape[2:], sizes, strict=True))
        rows = functools.reduce(np.add, [w[:, None].astype(x.dtype) * x[:, :, i] for i, w in high])
        return functools.reduce(np.add, [w.astype(x.dtype) * rows[..., i] for i, w in wide])

    def interpolate_backward(
        self, x: NDArray[Any], grad: NDArray[Any], output_size: tuple[int, int], options: InterpolateOptions, /
    ) -> NDArray[Any]:
        """Gradient with respect to ``x``: every output hands its gradient to the inputs that it was made of."""
        sizes = _checked(x, output_size, options)
        if not isinstance(grad, np.ndarray) or grad.dtype.name != x.dtype.name:
            raise DTypeError(f"grad must be an array of the dtype of x, {x.dtype}; got {type(grad).__name__}")
        check_grad_shape(x.shape, grad.shape, sizes)
        high, wide = (_lines(n, m, options) for n, m in zip(x.shape[2:], sizes, strict=True))
        columns = np.zeros((x.shape[3], *grad.shape[:3]), x.dtype)
        for i, w in wide:
            np.add.at(columns, i, np.moveaxis(w.astype(x.dtype) * grad, 3, 0))
        result = np.zeros((x.shape[2], *grad.shape[:2], x.shape[3]), x.dtype)
        for i, w in high:
            np.add.at(result, i, np.moveaxis(w[:, None].astype(x.dtype) * np.moveaxis(columns, 0, 3), 2, 0))
        return np.ascontiguousarray(np.moveaxis(result, 0, 2))


def _checked(x: NDArray[Any], output_size: tuple[int, int], options: InterpolateOptions) -> tuple[int, ...]:
    """Refuse before any work; burnpy's own checks word it as every backend does."""
    if not isinstance(x, np.ndarray) or x.dtype.name not in DTYPES:
        raise DTypeError(f"x must be a NumPy array of {' or '.join(DTYPES)}; got {getattr(x, 'dtype', type(x).__name__)}")
    if options.mode not in MODES or options.antialias:
        raise UnsupportedError(f"backend 'example' has {' and '.join(MODES)} without antialias; got {options}")
    sizes = checked_sizes(output_size)
    check_image_shape(x.shape, sizes)
    return sizes


def _lines(n: int, m: int, options: InterpolateOptions) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Return the inputs of every output along an axis, with their weights; floors are taken of whole numbers."""
    o = np.arange(m)
    if n == m or options.mode is InterpolateMode.NEAREST:
        return [(o * n // m, np.ones(m))]
    if options.align_corners:
        over, under = o * (n - 1), max(m - 1, 1)
    else:
        over, under = np.clip((2 * o + 1) * n - m, 0, 2 * m * (n - 1)), 2 * m
    left, t = over // under, over % under / under
    return [(left, 1 - t), (np.minimum(left + 1, n - 1), t)]
