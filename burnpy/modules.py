"""burn's interpolation modules: the options of a resize, kept in an object that is called with the array."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from burnpy.errors import OptionError, ShapeError
from burnpy.functional import Scale, Size, interpolate, output_size_of
from burnpy.options import InterpolateOptions, ModeLike

__all__ = ["Interpolate1d", "Interpolate2d"]

FloatT = TypeVar("FloatT", bound=np.floating[Any])


@dataclass(frozen=True)
class _Interpolate:
    output_size: Size | None = None
    scale_factor: Scale | None = None
    mode: ModeLike = "nearest"
    align_corners: bool = True
    antialias: bool = field(default=False, kw_only=True)

    _axes: ClassVar[int]
    _layout: ClassVar[str]

    def __post_init__(self) -> None:
        InterpolateOptions(self.mode, self.align_corners, self.antialias)
        if (self.output_size is None) == (self.scale_factor is None):
            raise OptionError(
                f"give either output_size or scale_factor; got output_size={self.output_size!r} and "
                f"scale_factor={self.scale_factor!r}"
            )
        output_size_of((2**20,) * self._axes, self.output_size, self.scale_factor)

    def forward(self, x: NDArray[FloatT]) -> NDArray[FloatT]:
        """Resize ``x``.

        Raises
        ------
        ShapeError
            If ``x`` has another number of axes, or is empty along a spatial axis.
        DTypeError
            If ``x`` is not a floating-point NumPy array.
        """
        if np.ndim(x) != 2 + self._axes:
            raise ShapeError(f"{type(self).__name__} takes x of shape {self._layout}; got {np.shape(x)}")
        return interpolate(
            x,
            self.output_size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
            antialias=self.antialias,
        )

    __call__ = forward


@dataclass(frozen=True)
class Interpolate1d(_Interpolate):
    """Resize signals, ``(N, C, L)``.

    Parameters
    ----------
    output_size : int, optional
        Samples of the output. Give this or `scale_factor`.
    scale_factor : float, optional
        The output has ``floor(L * scale_factor)`` samples.
    mode, align_corners, antialias
        As in `interpolate`.

    Raises
    ------
    OptionError
        For options without meaning, or if both or neither of `output_size` and `scale_factor` are given.
    ShapeError
        If `output_size` is not one size of at least 1.

    Examples
    --------
    >>> Interpolate1d(scale_factor=1.5, mode="nearest")(np.array([[[1.0, 2.0]]]))
    array([[[1., 1., 2.]]])
    """

    _axes = 1
    _layout = "(N, C, L)"


@dataclass(frozen=True)
class Interpolate2d(_Interpolate):
    """Resize images, ``(N, C, H, W)``.

    Parameters
    ----------
    output_size : int or (int, int), optional
        ``(H', W')``. Give this or `scale_factor`.
    scale_factor : float or (float, float), optional
        The output has ``floor(n * scale_factor)`` samples along an axis of ``n``.
    mode, align_corners, antialias
        As in `interpolate`.

    Raises
    ------
    OptionError
        For options without meaning, or if both or neither of `output_size` and `scale_factor` are given.
    ShapeError
        If `output_size` is not two sizes of at least 1.

    Examples
    --------
    >>> Interpolate2d((1, 3), mode="bilinear")(np.array([[[[0.0, 1.0]]]]))
    array([[[[0. , 0.5, 1. ]]]])
    """

    _axes = 2
    _layout = "(N, C, H, W)"
