"""What to compute: the interpolation mode and its two switches.

`InterpolateOptions` mirrors burn's struct of that name and refuses every combination that has no meaning at construction,
so that nothing downstream has to ask again.
"""

import enum
from dataclasses import dataclass
from typing import Literal, TypeAlias

from burnpy.errors import OptionError

__all__ = ["InterpolateMode", "InterpolateOptions", "ModeLike", "ModeName"]

ModeName: TypeAlias = Literal["nearest", "nearest_exact"] | Literal["bilinear", "bicubic", "lanczos3"]
"""The names of the modes, as plain strings: those that pick a sample, and those that weigh several."""


class InterpolateMode(enum.StrEnum):
    """The interpolation modes of burn's ``InterpolateMode``.

    Members are strings, so that ``InterpolateMode.BICUBIC == "bicubic"``. "linear", "trilinear" and "cubic" are other
    libraries' names for BILINEAR and BICUBIC along one or three axes.
    """

    NEAREST = "nearest"
    """The sample at ``floor(o * n / m)``."""
    NEAREST_EXACT = "nearest_exact"
    """The sample under the centre of the output, ``floor((2*o + 1) * n / (2*m))``."""
    BILINEAR = "bilinear"
    """Straight line between the two neighbours."""
    BICUBIC = "bicubic"
    """Keys' cubic convolution over four samples, a = -0.75 (-0.5 with antialias, as in PyTorch and Pillow)."""
    LANCZOS3 = "lanczos3"
    """Sinc windowed by a sinc of three lobes, over six samples, normalised."""

    @property
    def is_nearest(self) -> bool:
        """Whether the mode picks one sample, so that `align_corners` has no effect and antialiasing no meaning."""
        return self in (InterpolateMode.NEAREST, InterpolateMode.NEAREST_EXACT)


ModeLike: TypeAlias = InterpolateMode | ModeName
"""What functions take as a mode: the enum or its string."""


@dataclass(frozen=True, slots=True, init=False)
class InterpolateOptions:
    """How to interpolate: mode, coordinate convention, antialiasing. Immutable and hashable.

    Parameters
    ----------
    mode : InterpolateMode or str
        One of "nearest", "nearest_exact", "bilinear", "bicubic", "lanczos3".
    align_corners : bool, default True
        True puts the first and last samples of input and output on top of each other (burn's default). False aligns
        the outer edges of the samples instead ("half-pixel"; PyTorch's default). The nearest modes ignore it.
    antialias : bool, default False
        Widen the filter by the scale when downsampling, as PyTorch and Pillow do. For "bilinear", "bicubic" and
        "lanczos3" with ``align_corners=False`` only.

    Raises
    ------
    OptionError
        For an unknown mode, a switch that is not a bool, antialias with a nearest mode or with align_corners.

    Examples
    --------
    >>> InterpolateOptions("bicubic")
    InterpolateOptions(mode=<InterpolateMode.BICUBIC: 'bicubic'>, align_corners=True, antialias=False)
    """

    mode: InterpolateMode
    align_corners: bool
    antialias: bool

    def __init__(self, mode: ModeLike, align_corners: bool = True, antialias: bool = False) -> None:
        parsed = _parse_mode(mode)
        _require_bool("align_corners", align_corners)
        _require_bool("antialias", antialias)
        if antialias and parsed.is_nearest:
            raise OptionError(
                f"antialias=True has no meaning for mode {parsed.value!r}, which picks single samples; use one of "
                "'bilinear', 'bicubic', 'lanczos3', or antialias=False"
            )
        if antialias and align_corners:
            raise OptionError(
                "antialias=True is defined for align_corners=False (half-pixel) only; got align_corners=True, which is "
                "the default: pass align_corners=False as well"
            )
        object.__setattr__(self, "mode", parsed)
        object.__setattr__(self, "align_corners", align_corners)
        object.__setattr__(self, "antialias", antialias)


def _parse_mode(mode: object) -> InterpolateMode:
    if isinstance(mode, str):
        try:
            return InterpolateMode(mode)
        except ValueError:
            pass
    allowed = ", ".join(repr(known.value) for known in InterpolateMode)
    raise OptionError(f"mode must be one of {allowed} (or the InterpolateMode of that name); got {mode!r}") from None


def _require_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{name} must be True or False; got {value!r} of type {type(value).__name__}")
