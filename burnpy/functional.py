"""Resize signals, images and volumes, and the gradient of it: the functions most callers want.

They turn sizes or scale factors into an output size and hand over to a backend.
"""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from burnpy.backends import get
from burnpy.backends.ndarray import NdarrayBackend, require_array, require_pair, resample, resample_backward
from burnpy.errors import DTypeError, OptionError, ShapeError, UnsupportedError
from burnpy.options import InterpolateOptions, ModeLike
from burnpy.protocol import ArrayT, Backend, checked_sizes

__all__ = ["Scale", "Size", "interpolate", "interpolate_backward", "output_size_of"]

FloatT = TypeVar("FloatT", bound=np.floating[Any])

Size: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""One size for every spatial axis, or one an axis; NumPy's integers, and arrays of them, are sizes too."""
Scale: TypeAlias = SupportsFloat | Sequence[SupportsFloat]
"""One factor for every spatial axis, or one an axis."""


@overload
def interpolate(
    x: NDArray[FloatT],
    size: Size | None = None,
    *,
    scale_factor: Scale | None = None,
    mode: ModeLike = "nearest",
    align_corners: bool = True,
    antialias: bool = False,
    backend: Literal["ndarray"] | NdarrayBackend | None = None,
) -> NDArray[FloatT]: ...
@overload
def interpolate(
    x: ArrayT,
    size: Size | None = None,
    *,
    scale_factor: Scale | None = None,
    mode: ModeLike = "nearest",
    align_corners: bool = True,
    antialias: bool = False,
    backend: str | Backend[ArrayT],
) -> ArrayT: ...
def interpolate(
    x: Any,
    size: Size | None = None,
    *,
    scale_factor: Scale | None = None,
    mode: ModeLike = "nearest",
    align_corners: bool = True,
    antialias: bool = False,
    backend: str | Backend[Any] | None = None,
) -> Any:
    """Resize the spatial axes of ``x``.

    Parameters
    ----------
    x : array, shape (N, C, L), (N, C, H, W) or (N, C, D, H, W)
        Floating-point; an array of the backend's type.
    size : int or sequence of int, optional
        Samples of the output along every spatial axis; one int stands for all axes. Give this or `scale_factor`.
    scale_factor : float or sequence of float, optional
        The output has ``floor(n * scale_factor)`` samples where the input has ``n``, computed in float64. The resampling
        follows the sizes, not the factor.
    mode : InterpolateMode or str, default "nearest"
        "nearest", "nearest_exact", "bilinear", "bicubic" or "lanczos3", along as many axes as ``x`` has.
    align_corners : bool, default True
        See `InterpolateOptions`. The default is burn's; PyTorch's is False.
    antialias : bool, default False
        Widen the filter when downsampling; needs ``align_corners=False``.
    backend : str or Backend, optional
        Name of a backend, or a backend; by default the one in use (`burnpy.backends.use`, `burnpy.backends.default`), which
        is "ndarray" unless it was changed. Others do two spatial axes only.

    Returns
    -------
    array, shape (N, C, *size)
        Of the dtype of ``x``.

    Raises
    ------
    OptionError
        For options without meaning, or if both or neither of `size` and `scale_factor` are given.
    ShapeError
        For shapes and sizes out of range.
    DTypeError
        If ``x`` is not an array of a supported type.
    UnsupportedError
        If the backend lacks what is asked for.

    Examples
    --------
    >>> x = np.array([[[0.0, 1.0, 4.0]]])
    >>> interpolate(x, 5, mode="bilinear")
    array([[[0. , 0.5, 1. , 2.5, 4. ]]])
    """
    options = InterpolateOptions(mode, align_corners, antialias)
    chosen = _backend(backend)
    shape = _shape_of(x)
    sizes = output_size_of(shape[2:], size, scale_factor)
    if isinstance(chosen, NdarrayBackend):
        return resample(x, sizes, options, len(sizes))
    return chosen.interpolate(x, _two(sizes, chosen), options)


@overload
def interpolate_backward(
    x: NDArray[FloatT] | Sequence[int],
    grad: NDArray[FloatT],
    size: Size | None = None,
    *,
    scale_factor: Scale | None = None,
    mode: ModeLike = "nearest",
    align_corners: bool = True,
    antialias: bool = False,
    backend: Literal["ndarray"] | NdarrayBackend | None = None,
) -> NDArray[FloatT]: ...
@overload
def interpolate_backward(
    x: ArrayT,
    grad: ArrayT,
    size: Size | None = None,
    *,
    scale_factor: Scale | None = None,
    mode: ModeLike = "nearest",
    align_corners: bool = True,
    antialias: bool = False,
    backend: str | Backend[ArrayT],
) -> ArrayT: ...
def interpolate_backward(
    x: Any,
    grad: Any,
    size: Size | None = None,
    *,
    scale_factor: Scale | None = None,
    mode: ModeLike = "nearest",
    align_corners: bool = True,
    antialias: bool = False,
    backend: str | Backend[Any] | None = None,
) -> Any:
    """Gradient with respect to ``x`` of a scalar whose gradient with respect to ``interpolate(x, ...)`` is ``grad``.

    The exact adjoint of `interpolate` with the same arguments: ``sum(interpolate(x) * g) == sum(x * interpolate_backward(x,
    g))`` for all ``x`` and ``g``, up to rounding.

    Parameters
    ----------
    x : array, or sequence of int
        The input of `interpolate`, of which only the shape and the dtype matter, or (with the backend "ndarray") its shape.
    grad : array, shape (N, C, *size)
        Of the dtype of ``x``.
    size, scale_factor, mode, align_corners, antialias, backend
        As given to `interpolate`.

    Returns
    -------
    array, of the shape of ``x`` and the dtype of ``grad``

    Raises
    ------
    OptionError, ShapeError, DTypeError, UnsupportedError
        As `interpolate`; also if ``grad`` does not have the shape of its output, or the dtype of ``x``.

    Examples
    --------
    >>> interpolate_backward((1, 1, 3), np.ones((1, 1, 5)), 5, mode="bilinear")
    array([[[1.5, 2. , 1.5]]])
    """
    options = InterpolateOptions(mode, align_corners, antialias)
    chosen = _backend(backend)
    by_shape = _is_shape(x)
    shape = _checked_shape(x) if by_shape else _shape_of(x)
    sizes = output_size_of(shape[2:], size, scale_factor)
    if isinstance(chosen, NdarrayBackend):
        if by_shape:
            require_array("grad", grad)
        else:
            require_pair(x, grad)
        return resample_backward(shape, grad, sizes, options, len(sizes))
    if by_shape:
        raise DTypeError(f"backend {chosen.name!r} needs x itself, an array of its own type; got the shape {tuple(x)}")
    return chosen.interpolate_backward(x, grad, _two(sizes, chosen), options)


def output_size_of(spatial: Sequence[int], size: Size | None, scale_factor: Scale | None) -> tuple[int, ...]:
    """Return the output size for input axes of sizes ``spatial``, from either of the two ways to give it.

    Raises
    ------
    OptionError
        If both or neither are given, or a scale factor is not a positive finite number.
    ShapeError
        If a size is below 1, or there are not as many as axes.
    """
    if (size is None) == (scale_factor is None):
        raise OptionError(f"give either size or scale_factor; got size={size!r} and scale_factor={scale_factor!r}")
    if scale_factor is None:
        given: Any = size
        return checked_sizes([given] * len(spatial) if np.ndim(given) == 0 else given, len(spatial))
    factors = _checked_factors(scale_factor, len(spatial))
    return checked_sizes([math.floor(n * factor) for n, factor in zip(spatial, factors, strict=True)], len(spatial))


def _checked_factors(scale_factor: Scale, axes: int) -> list[float]:
    one: Any = scale_factor
    given: list[Any] = list(one) if isinstance(scale_factor, Sequence | np.ndarray) else [one] * axes
    if len(given) != axes:
        raise OptionError(f"scale_factor must be one number, or {axes}; got {scale_factor!r}")
    factors: list[float] = []
    for factor in given:
        if isinstance(factor, bool) or not isinstance(factor, Real) or not 0 < float(factor) < math.inf:
            raise OptionError(f"scale_factor must be positive and finite; got {scale_factor!r}")
        factors.append(float(factor))
    return factors


def _backend(backend: str | Backend[Any] | None) -> Backend[Any]:
    return get(backend) if backend is None or isinstance(backend, str) else backend


def _is_shape(x: object) -> bool:
    return isinstance(x, Sequence)


def _shape_of(x: Any) -> tuple[int, ...]:
    if not hasattr(x, "shape"):
        raise DTypeError(f"x must be an array; got {type(x).__name__}: convert it, for example with numpy.asarray")
    return _checked_shape(x.shape)


def _checked_shape(shape: Sequence[int]) -> tuple[int, ...]:
    if not 3 <= len(shape) <= 5:
        raise ShapeError(f"x must have shape (N, C, L), (N, C, H, W) or (N, C, D, H, W); got {tuple(shape)}")
    return tuple(shape)


def _two(sizes: tuple[int, ...], backend: Backend[Any]) -> tuple[int, int]:
    if len(sizes) != 2:
        raise UnsupportedError(
            f"backend {backend.name!r} interpolates images, (N, C, H, W), and x has {len(sizes)} spatial axes; the "
            "backend 'ndarray' does one to three"
        )
    return sizes[0], sizes[1]
