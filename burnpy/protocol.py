"""The contract of a backend, mirroring the two interpolation operations of burn's ``Backend`` trait.

A class satisfies `Backend` by having its members; it need not inherit from anything of burnpy. Below it stand the parts of
the contract that are about shapes alone, for whatever array type, so that every backend refuses the same things in the same
words.
"""

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeVar, runtime_checkable

from burnpy.errors import ShapeError, UnsupportedError
from burnpy.options import InterpolateMode, InterpolateOptions

__all__ = [
    "ArrayT",
    "Backend",
    "SupportsQuery",
    "check_grad_shape",
    "check_image_shape",
    "check_supported",
    "checked_sizes",
    "supports",
]

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


@runtime_checkable
class SupportsQuery(Protocol):
    """What a backend may add to say what it can; one that does not is taken to do everything."""

    def supports(
        self, mode: InterpolateMode, /, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
    ) -> bool:
        """Tell whether the combination is supported; if not, asking for it raises `~burnpy.UnsupportedError`.

        Parameters
        ----------
        mode : InterpolateMode
        align_corners, antialias : bool
        backward : bool
            Whether `Backend.interpolate_backward` is meant rather than `Backend.interpolate`.
        dtype : str
            Name of an element type, such as "float32".
        """
        ...


def supports(
    backend: object, mode: InterpolateMode, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
) -> bool:
    """Ask a backend what it supports; see `SupportsQuery`. One that cannot be asked supports everything."""
    if not isinstance(backend, SupportsQuery):
        return True
    return backend.supports(mode, align_corners=align_corners, antialias=antialias, backward=backward, dtype=dtype)


def check_supported(backend: Backend[Any], options: InterpolateOptions, *, backward: bool, dtype: str, why: str) -> None:
    """Refuse what the backend's own ``supports`` denies, in words that say what is missing and who has it.

    Raises
    ------
    UnsupportedError
        Saying mode, direction, options and dtype, then ``why``.
    """
    switches = {"align_corners": options.align_corners, "antialias": options.antialias}
    if not supports(backend, options.mode, **switches, backward=backward, dtype=dtype):
        direction = "backward" if backward else "forward"
        asked = ", ".join(f"{name}={value}" for name, value in switches.items())
        raise UnsupportedError(
            f"backend {backend.name!r} does not do mode {options.mode.value!r} {direction} with {asked} in {dtype}: {why}; "
            "the backend 'ndarray' does every mode in both directions"
        )


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
