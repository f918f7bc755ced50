"""The backend ``"jax"``: `jax.Array` in and out, taps as explicit gathers; every mode, and it can be jitted and vmapped.

Taps come from burnpy, since ``jax.image`` has no align_corners, drops weights at the border where these modes repeat the
border, and knows one cubic only. Forward applies them, backward applies the transposed ones: gathers, no scatter.
"""

# JAX's own annotations leave parts of its functions open, so that pyright would report every use of one:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedFunctionDecorator=false

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from burnpy._cached import cached
from burnpy.errors import DTypeError
from burnpy.options import InterpolateMode, InterpolateOptions
from burnpy.protocol import check_grad_shape, check_image_shape, check_supported, checked_sizes
from burnpy.taps import build_taps

__all__ = ["JaxBackend"]

COMPUTE_TYPES = {"float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64"}
WITHOUT_FLOAT64 = "JAX has float64 only after jax.config.update('jax_enable_x64', True)"
UNROLLED = 16
"""Up to so many taps the sum is written out; beyond, it is a loop, for which XLA need not be told every term."""


class JaxBackend:
    """Resize `jax.Array` of float16, bfloat16, float32 or (with ``jax_enable_x64``) float64.

    See `burnpy.Backend` for the contract. Sizes and options must be static under `jax.jit`.

    Examples
    --------
    >>> x = jnp.array([[[[0.0, 1.0]]]])
    >>> JaxBackend().interpolate(x, (1, 3), InterpolateOptions("bilinear"))
    Array([[[[0. , 0.5, 1. ]]]], dtype=float32)
    """

    name = "jax"

    def supports(
        self, mode: InterpolateMode, /, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
    ) -> bool:
        """Tell whether the combination is supported: all are, in the dtypes that JAX has."""
        return dtype in COMPUTE_TYPES and (dtype != "float64" or jnp.asarray(0.0).dtype == np.float64)

    def interpolate(self, x: jax.Array, output_size: tuple[int, int], options: InterpolateOptions, /) -> jax.Array:
        """Resize the last two axes of ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate`."""
        sizes = self._checked(x, output_size, options, backward=False)
        return _applied(x, sizes, options, backward=False)

    def interpolate_backward(
        self, x: jax.Array, grad: jax.Array, output_size: tuple[int, int], options: InterpolateOptions, /
    ) -> jax.Array:
        """Gradient with respect to ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate_backward`."""
        sizes = self._checked(x, output_size, options, backward=True)
        _require_array("grad", grad)
        if grad.dtype != x.dtype:
            raise DTypeError(f"grad must have the dtype of x, {x.dtype}; got {grad.dtype}")
        check_grad_shape(x.shape, grad.shape, sizes)
        return _applied(grad, x.shape[2:], options, backward=True)

    def _checked(
        self, x: jax.Array, output_size: tuple[int, int], options: InterpolateOptions, *, backward: bool
    ) -> tuple[int, ...]:
        """Refuse everything that can be refused, and return the sizes as plain ints."""
        _require_array("x", x)
        sizes = checked_sizes(output_size)
        check_image_shape(x.shape, sizes)
        check_supported(self, options, backward=backward, dtype=x.dtype.name, why=WITHOUT_FLOAT64)
        return sizes


def _applied(x: jax.Array, sizes: tuple[int, ...], options: InterpolateOptions, *, backward: bool) -> jax.Array:
    """Apply the operators, or their transposes, that lead to ``sizes`` along H and W."""
    y = x.astype(COMPUTE_TYPES[x.dtype.name])
    for axis, m in zip((2, 3), sizes, strict=True):
        n = y.shape[axis]
        if n != m:
            y = _along(axis, y, *_padded_taps(n, m, options, backward))
    return jnp.array(y, x.dtype)


@functools.partial(jax.jit, static_argnums=0)
def _along(axis: int, x: jax.Array, index: jax.Array, weights: jax.Array, takes_part: jax.Array) -> jax.Array:
    """Add up the taps one after another, so that a tap that takes no part leaves even a NaN alone.

    The taps are arguments, not constants, so that one compilation serves all operators of one size.
    """
    taps, m = index.shape
    broad = [1] * x.ndim
    broad[axis] = m
    factors = weights.astype(x.dtype)

    def add(k: Any, total: jax.Array) -> jax.Array:
        term = jnp.take(x, index[k], axis, mode="clip") * factors[k].reshape(broad)
        return jnp.where(takes_part[k].reshape(broad), total + term, total)

    # -0.0 is the number that changes nothing it is added to; an output without taps is +0.0.
    start = jnp.where(takes_part.any(axis=0).reshape(broad), -0.0, 0.0).astype(x.dtype)
    total = jnp.broadcast_to(start, (*x.shape[:axis], m, *x.shape[axis + 1 :]))
    if taps > UNROLLED:
        result: jax.Array = jax.lax.fori_loop(0, taps, add, total)
        return result
    return functools.reduce(lambda so_far, k: add(k, so_far), range(taps), total)


@cached(64)
def _padded_taps(
    n: int, m: int, options: InterpolateOptions, backward: bool
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]:
    """Return taps of one length, shape ``(K, m)``: inputs, weights, and whether a tap takes part."""
    taps = build_taps(m, n, options).transpose() if backward else build_taps(n, m, options)
    count = np.diff(taps.offset)
    k = np.arange(int(count.max(initial=0)))[:, None]
    inside = k < count
    weights = taps.weights[np.where(inside, taps.offset[:-1] + k, 0)]
    index = np.where(inside, taps.first + k, 0).astype(np.int32)
    return index, weights, inside & (weights != 0)


def _require_array(name: str, array: object) -> None:
    if not isinstance(array, jax.Array):
        raise DTypeError(f"{name} must be a jax.Array; got {type(array).__name__}: convert it with jax.numpy.asarray")
    if array.dtype.name not in COMPUTE_TYPES:
        raise DTypeError(f"{name} must have one of the dtypes {', '.join(COMPUTE_TYPES)}; got {array.dtype}: use astype")
