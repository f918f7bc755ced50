"""The contract of a backend, mirroring the two interpolation operations of burn's ``Backend`` trait.

A class satisfies `Backend` by having its members; it need not inherit from anything of burnpy. Below it stand the parts of
the contract that are about shapes alone, for whatever array type, so that every backend refuses the same things in the same
words.
"""

import math
import operator
import sys
from collections.abc import Sequence
from typing import Protocol, SupportsIndex, TypeVar, runtime_checkable

from burnpy.errors import ShapeError
from burnpy.options import InterpolateOptions

__all__ = ["ArrayT", "Backend", "check_grad_shape", "check_image_shape", "checked_sizes"]

ArrayT = TypeVar("ArrayT")
"""The array type that a backend takes and returns."""


@runtime_checkable
class Backend(Protocol[ArrayT]):
    """Two operations on arrays of shape ``(N, C, H, W)``: resize, and the gradient of resize.

    Along each spatial axis, interpolation is a linear operator ``A`` with ``n`` columns and ``m`` rows that depends on the
    sizes and the options alone, never on the values. `interpolate` applies it along H and W; `interpolate_backward` applies
    the transposes. For all x and g the two are adjoint: ``sum(interpolate(x) * g) == sum(x * interpolate_backward(x, g))``
    up to rounding.

    Arguments are passed by position. Inputs are never modified, and a result never shares memory with them. The result is
    independent of the memory layout of the inputs. A backend may be called from several threads at once.

    Bad arguments raise before any work is done: `~burnpy.ShapeError` for shapes and sizes, `~burnpy.DTypeError` for what is
    not an array or has an element type that is not computed in, `~burnpy.UnsupportedError` for what the backend lacks.
    """

    @property
    def name(self) -> str:
        """The short name that the backend is registered and reported under; an attribute will do."""
        ...

    def interpolate(self, x: ArrayT, output_size: tuple[int, int], options: InterpolateOptions, /) -> ArrayT:
        """Resize the last two axes of ``x``.

        Parameters
        ----------
        x : array, shape (N, C, H, W)
            Floating-point. N and C may be 0 (the result is then empty); H and W may not.
        output_size : tuple of two int
            ``(H', W')`` in samples, both at least 1.
        options : InterpolateOptions

        Returns
        -------
        array, shape (N, C, H', W')
            Of the dtype of ``x``.

        Raises
        ------
        ShapeError
            If ``x`` has not four dimensions, H or W is 0, or ``output_size`` is not two positive integers.
        DTypeError
            If ``x`` is not an array of the backend's type, or its element type is not supported.
        UnsupportedError
            If the backend lacks the mode or option.
        """
        ...

    def interpolate_backward(
        self, x: ArrayT, grad: ArrayT, output_size: tuple[int, int], options: InterpolateOptions, /
    ) -> ArrayT:
        """Gradient of a scalar with respect to ``x``, given its gradient with respect to ``interpolate(x)``.

        Parameters
        ----------
        x : array, shape (N, C, H, W)
            The input of the forward operation. Only its shape and dtype matter.
        grad : array, shape (N, C, H', W')
            Gradient with respect to the output, of the dtype of ``x``.
        output_size : tuple of two int
            ``(H', W')``, as it was given to `interpolate`.
        options : InterpolateOptions
            As given to `interpolate`.

        Returns
        -------
        array, shape (N, C, H, W)
            Of the dtype of ``x``.

        Raises
        ------
        ShapeError
            As `interpolate`, or if ``grad`` has not the shape of its output.
        DTypeError
            As `interpolate`, or if ``grad`` has not the dtype of ``x``.
        UnsupportedError
            If the backend lacks the mode or option in this direction.
        """
        ...


def checked_sizes(output_size: Sequence[SupportsIndex], axes: int = 2) -> tuple[int, ...]:
    """Return ``output_size`` as ``axes`` plain ints, each at least 1.

    Raises
    ------
    ShapeError
        If it is not a sequence of that many integers (NumPy's are fine, floats are not), or one is below 1.
    """
    wanted = "(H', W')" if axes == 2 else f"{axes} sizes"
    try:
        sizes = tuple(operator.index(size) for size in output_size)
    except TypeError:
        sizes = ()
    if len(sizes) != axes or min(sizes) < 1 or any(isinstance(size, bool) for size in output_size):
        raise ShapeError(f"output_size must be {wanted}, {axes} integers of at least 1; got {output_size!r}")
    return sizes


def check_image_shape(shape: Sequence[int], output_size: Sequence[int], spatial_axes: int = 2) -> tuple[int, ...]:
    """Return the shape of ``interpolate(x)`` for ``x`` of ``shape`` ``(N, C, *spatial)``.

    Raises
    ------
    ShapeError
        If ``shape`` has another number of axes, a spatial axis is empty, or the result has more elements than an address
        space holds.
    """
    axes = "(N, C, H, W)" if spatial_axes == 2 else f"(N, C) and {spatial_axes} spatial axes"
    if len(shape) != 2 + spatial_axes:
        raise ShapeError(f"x must have shape {axes}; got {tuple(shape)}, which has {len(shape)} axes")
    if min(shape[2:]) < 1:
        raise ShapeError(f"x must have at least one sample along every spatial axis; got shape {tuple(shape)}")
    result = (*shape[:2], *output_size)
    if math.prod(max(size, 1) for size in result) > sys.maxsize // 16:
        raise ShapeError(f"the result would have shape {result}, more elements than this machine can address")
    return result


def check_grad_shape(shape: Sequence[int], grad_shape: Sequence[int], output_size: Sequence[int]) -> None:
    """Check that ``grad_shape`` is the shape of the output of `interpolate`.

    Raises
    ------
    ShapeError
        If it is not.
    """
    expected = (*shape[:2], *output_size)
    if tuple(grad_shape) != expected:
        raise ShapeError(
            f"grad must have shape {expected}, the output of interpolate for x {tuple(shape)} and output_size "
            f"{tuple(output_size)}; got {tuple(grad_shape)}"
        )
