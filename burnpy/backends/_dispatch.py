"""The build of the kernels that this processor runs best: the same source, the same bits.

The environment variable ``BURNPY_KERNELS`` forces one, "baseline" or "avx2".
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
    asked = os.environ.get("BURNPY_KERNELS")
    if asked not in (None, "", "baseline", "avx2"):
        raise OptionError(f"BURNPY_KERNELS must be 'baseline' or 'avx2'; got {asked!r}")
    if asked == "baseline" or not _kernels.CPU_HAS_AVX2:
        if asked == "avx2":
            raise OptionError("BURNPY_KERNELS is 'avx2', which this processor lacks; unset it or set it to 'baseline'")
        return "baseline"
    try:
        importlib.import_module("burnpy.backends._kernels_avx2")
    except ImportError:  # the compiler had no such option when burnpy was built
        return "baseline"
    return "avx2"


BUILD = _chosen()
"""Which build runs."""
if BUILD == "avx2":
    from burnpy.backends._kernels_avx2 import MAX_AXES, Operator, Plan
else:
    from burnpy.backends._kernels import MAX_AXES, Operator, Plan
