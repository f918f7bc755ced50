"""Names of backends. A backend is made when it is first asked for."""

from collections.abc import Callable
from typing import Any

from burnpy.errors import BackendNotFoundError
from burnpy.protocol import Backend

__all__ = ["get", "names", "register"]

_factories: dict[str, Callable[[], Backend[Any]]] = {}
_made: dict[str, Backend[Any]] = {}


def register(name: str, factory: Callable[[], Backend[Any]]) -> None:
    """Make a backend known under ``name``; ``factory()`` makes it when it is first asked for."""
    _factories[name] = factory
    _made.pop(name, None)


def names() -> tuple[str, ...]:
    """Return the names of all backends, sorted."""
    return tuple(sorted(_factories))


def get(name: str = "ndarray") -> Backend[Any]:
    """Return the backend of that name.

    Raises
    ------
    BackendNotFoundError
        If there is none.
    """
    if name not in _factories:
        raise BackendNotFoundError(f"no backend is named {name!r}; there are {', '.join(names())}")
    if name not in _made:
        _made[name] = _factories[name]()
    return _made[name]


def _ndarray() -> Backend[Any]:
    from burnpy.backends.ndarray import NdarrayBackend

    return NdarrayBackend()


def _reference() -> Backend[Any]:
    from burnpy.backends.reference import ReferenceBackend

    return ReferenceBackend()


register("ndarray", _ndarray)
register("reference", _reference)
