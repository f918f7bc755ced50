"""Backends, and the registry that finds them by name."""

from burnpy.backends.ndarray import NdarrayBackend
from burnpy.backends.reference import ReferenceBackend
from burnpy.backends.registry import get, names, register

__all__ = ["NdarrayBackend", "ReferenceBackend", "get", "names", "register"]
