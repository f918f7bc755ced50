"""Resize arrays, and the exact gradient of it.

`interpolate` and `interpolate_backward` do so for NumPy arrays in every mode; `Backend` is the contract behind them, which
anyone's array library can implement, and `burnpy.backends` finds implementations by name.
"""

from burnpy import backends
from burnpy.backends._threads import get_num_threads, set_num_threads
from burnpy.errors import (
    BackendLoadError,
    BackendNotFoundError,
    BurnpyError,
    DTypeError,
    DuplicateBackendError,
    InvalidBackendError,
    OptionError,
    ShapeError,
    UnsupportedError,
)
from burnpy.functional import interpolate, interpolate_backward
from burnpy.modules import Interpolate1d, Interpolate2d
from burnpy.options import InterpolateMode, InterpolateOptions
from burnpy.protocol import Backend

__version__ = "0.1.0"

__all__ = [
    "Backend",
    "BackendLoadError",
    "BackendNotFoundError",
    "BurnpyError",
    "DTypeError",
    "DuplicateBackendError",
    "Interpolate1d",
    "Interpolate2d",
    "InterpolateMode",
    "InterpolateOptions",
    "InvalidBackendError",
    "OptionError",
    "ShapeError",
    "UnsupportedError",
    "__version__",
    "backends",
    "get_num_threads",
    "interpolate",
    "interpolate_backward",
    "set_num_threads",
]
