"""The exceptions that burnpy raises.

Every one derives from `BurnpyError`, and also from the built-in exception that a caller who knows nothing of burnpy would
catch. They are raised before any work is done, so an output is never half written.
"""

__all__ = [
    "BackendLoadError",
    "BackendNotFoundError",
    "BurnpyError",
    "DTypeError",
    "DuplicateBackendError",
    "InvalidBackendError",
    "OptionError",
    "ShapeError",
    "UnsupportedError",
]


class BurnpyError(Exception):
    """Base of all exceptions that burnpy raises on purpose."""


class ShapeError(BurnpyError, ValueError):
    """An array, or a size asked for, has a shape that the operation is not defined for."""


class DTypeError(BurnpyError, TypeError):
    """An argument is not an array, or its element type is not one that the operation computes in."""


class OptionError(BurnpyError, ValueError):
    """An option, or a combination of options, has no meaning."""


class UnsupportedError(BurnpyError, NotImplementedError):
    """The request has a meaning, but this backend does not implement it."""


class BackendNotFoundError(BurnpyError, LookupError):
    """No backend has the name that was asked for."""


class BackendLoadError(BurnpyError, ImportError):
    """A backend of that name is known, but it cannot be loaded; the cause is chained."""


class DuplicateBackendError(BurnpyError, ValueError):
    """The name of a backend is taken by another."""


class InvalidBackendError(BurnpyError, TypeError):
    """An object that should be a backend lacks something of the protocol."""
