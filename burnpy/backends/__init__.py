"""Backends, and the registry that finds them by name."""

from typing import TYPE_CHECKING, Any

from burnpy.backends.ndarray import NdarrayBackend
from burnpy.backends.registry import (
    BackendInfo,
    default,
    get,
    info,
    names,
    refresh,
    register,
    set_default,
    unregister,
    use,
)

if TYPE_CHECKING:
    from burnpy.backends.reference import ReferenceBackend

__all__ = [
    "BackendInfo",
    "NdarrayBackend",
    "ReferenceBackend",
    "default",
    "get",
    "info",
    "names",
    "refresh",
    "register",
    "set_default",
    "unregister",
    "use",
]


def __getattr__(name: str) -> Any:
    """Import `ReferenceBackend` when it is asked for: few need the oracle, all pay for imports."""
    if name == "ReferenceBackend":
        from burnpy.backends.reference import ReferenceBackend

        return ReferenceBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
