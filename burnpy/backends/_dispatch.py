"""The build of the kernels that this processor runs best: the same source, the same bits.

The environment variable ``BURNPY_KERNELS`` forces one: "baseline", "avx2" or "avx512".
"""

import importlib
import os
from pathlib import Path

from burnpy.errors import BackendLoadError, OptionError

try:
    from burnpy.backends import _kernels
except ImportError as _error:
    raise BackendLoadError(
        f"burnpy is imported from {Path(__file__).parents[2]}, where its kernels are not compiled; start Python in another "
        "folder to import the installed package, or compile them there with 'pip install -e .'"
    ) from _error

__all__ = ["BUILD", "MAX_AXES", "Operator", "Plan"]


def _chosen() -> str:
    asked = os.environ.get("BURNPY_KERNELS") or _kernels.CPU_BUILDS[-1]
    if asked not in _kernels.BUILDS:
        raise OptionError(f"BURNPY_KERNELS must be one of {', '.join(_kernels.BUILDS)}; got {asked!r}")
    if asked not in _kernels.CPU_BUILDS:
        allowed = ", ".join(_kernels.CPU_BUILDS)
        raise OptionError(
            f"BURNPY_KERNELS is {asked!r}, which this processor lacks; unset it, or set it to one of {allowed}"
        )
    return next(build for build in _kernels.BUILDS[_kernels.BUILDS.index(asked) :: -1] if _is_compiled(build))


def _is_compiled(build: str) -> bool:
    if build == "baseline":
        return True
    try:
        importlib.import_module(f"burnpy.backends._kernels_{build}")
    except ImportError:  # the compiler had no such option when burnpy was built
        return False
    return True


BUILD = _chosen()
"""Which build runs."""
if BUILD == "avx512":
    from burnpy.backends._kernels_avx512 import MAX_AXES, Operator, Plan
elif BUILD == "avx2":
    from burnpy.backends._kernels_avx2 import MAX_AXES, Operator, Plan
else:
    from burnpy.backends._kernels import MAX_AXES, Operator, Plan
