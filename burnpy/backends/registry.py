"""Names of backends: the built-in ones, those registered by a program, and those that installed distributions offer.

Nothing is imported before it is asked for by name, and nothing that a plug-in does harms anyone but who asks for it. Entry
points of the group ``burnpy.backends`` are read once, at the first name that is neither built in nor registered, or at the
first listing.
"""

import contextlib
import functools
import importlib
import importlib.util
import os
import threading
from collections.abc import Callable, Generator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from burnpy.errors import (
    BackendLoadError,
    BackendNotFoundError,
    DuplicateBackendError,
    InvalidBackendError,
    OptionError,
)
from burnpy.protocol import Backend

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from burnpy.backends.jax import JaxBackend
    from burnpy.backends.ndarray import NdarrayBackend
    from burnpy.backends.reference import ReferenceBackend
    from burnpy.backends.scipy import ScipyBackend
    from burnpy.backends.torch import TorchBackend

__all__ = [
    "BackendInfo",
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

GROUP = "burnpy.backends"
VARIABLE = "BURNPY_BACKEND"
FALLBACK = "ndarray"


@dataclass(frozen=True)
class BackendInfo:
    """What is known of a backend without loading it.

    Attributes
    ----------
    name : str
        What to ask `get` for; ``"distribution:name"`` where the bare name is taken by another.
    origin : str
        "built in", "registered by MODULE", or "entry point of DISTRIBUTION VERSION".
    state : str
        "loaded", "not loaded", "not installed" (a library that it needs is missing) or "broken".
    reason : str
        Why it cannot be loaded; empty if it can, as far as is known.
    """

    name: str
    origin: str
    state: Literal["loaded", "not loaded", "not installed", "broken"]
    reason: str = ""


class _Entry:
    """One backend that can be had: where it comes from, how to make it, and what came of that."""

    def __init__(
        self, name: str, origin: str, make: Callable[[], Backend[Any]], *, given: object = None, needs: str = ""
    ) -> None:
        self.name = name
        self.origin = origin
        self.given = given
        self._make = make
        self._needs = needs
        self._lock = threading.RLock()
        self._loading = False
        self._backend: Backend[Any] | None = None
        self._failure: BaseException | None = None

    def load(self) -> Backend[Any]:
        """Return the backend; make it once, whatever number of threads ask, and if that fails, fail alike for all."""
        if self._backend is not None:
            return self._backend
        with self._lock:
            if self._backend is None and self._failure is None:
                self._try()
            if self._backend is None:
                raise BackendLoadError(self._reason()) from self._failure
            return self._backend

    def forget_failure(self) -> None:
        """Let the next one who asks try again."""
        self._failure = None

    def info(self, name: str) -> BackendInfo:
        """Say what is known, under the name by which it can be had."""
        if self._backend is not None:
            return BackendInfo(name, self.origin, "loaded")
        if self._is_missing():
            return BackendInfo(name, self.origin, "not installed", self._missing())
        if self._failure is not None:
            return BackendInfo(name, self.origin, "broken", self._reason())
        return BackendInfo(name, self.origin, "not loaded")

    def _try(self) -> None:
        if self._loading:
            raise BackendLoadError(f"backend {self.name!r} ({self.origin}) asks for itself while it is being loaded")
        if self._is_missing():
            raise BackendLoadError(f"backend {self.name!r} cannot be loaded: {self._missing()}")
        self._loading = True
        try:
            self._backend = self._make()
        except KeyboardInterrupt:
            raise
        except BaseException as failure:  # a plug-in may do anything, even call sys.exit
            self._failure = failure
        finally:
            self._loading = False

    def _is_missing(self) -> bool:
        return bool(self._needs) and importlib.util.find_spec(self._needs) is None

    def _missing(self) -> str:
        return f'it needs {self._needs}, which is not installed: pip install "burnpy[{self.name}]"'

    def _reason(self) -> str:
        what = f"{type(self._failure).__name__}: {self._failure}".removesuffix(": ")
        return f"backend {self.name!r} ({self.origin}) cannot be loaded: {what}"


def _built_in(name: str, class_name: str, needs: str = "") -> _Entry:
    def make() -> Backend[Any]:
        return _made(getattr(importlib.import_module(f"burnpy.backends.{name}"), class_name))

    return _Entry(name, "built in", make, needs=needs)


_BUILT_IN = {
    "ndarray": _built_in("ndarray", "NdarrayBackend"),
    "reference": _built_in("reference", "ReferenceBackend"),
    "scipy": _built_in("scipy", "ScipyBackend", "scipy"),
    "torch": _built_in("torch", "TorchBackend", "torch"),
    "jax": _built_in("jax", "JaxBackend", "jax"),
}
_registered: dict[str, _Entry] = {}
_plugins: dict[str, _Entry] | None = None  # by "distribution:name"; None until they are looked for
_lock = threading.RLock()
_default: str | None = None
_in_use: ContextVar[str | Backend[Any] | None] = ContextVar("burnpy_backend", default=None)


def register(name: str, backend: object, *, override: bool = False) -> None:
    """Make a backend known by name in this process.

    Parameters
    ----------
    name : str
        Without a colon.
    backend : Backend, or a callable without arguments that returns one
        A callable, for example a class, is called when the name is first asked for. Registering the same object again is
        no error.
    override : bool, default False
        Take the name even if a built-in or another registered backend has it.

    Raises
    ------
    OptionError
        If the name is empty or has a colon.
    DuplicateBackendError
        If the name is taken by another backend.
    InvalidBackendError
        If it is not a backend; says what it lacks.
    """
    _check_new_name(name)
    if not _is_factory(backend):
        _check(backend)
    caller = _caller()
    with _lock:
        taken = _registered.get(name)
        if taken is not None and taken.given is backend:
            return
        taken = taken or _BUILT_IN.get(name)
        if taken is not None and not override:
            raise DuplicateBackendError(
                f"the name {name!r} is taken ({taken.origin}); choose another, or pass override=True to replace it"
            )
        _registered[name] = _Entry(name, f"registered by {caller}", lambda: _made(backend), given=backend)


def _caller() -> str:
    """Return the name of the module that calls the function which calls this one."""
    import inspect

    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame.f_back if frame else None
    return str(frame.f_globals.get("__name__", "unknown")) if frame else "unknown"


def _check_new_name(name: object) -> None:
    if not isinstance(name, str) or not name or ":" in name:
        raise OptionError(f"the name of a backend must be a string that is not empty and has no colon; got {name!r}")


def unregister(name: str) -> None:
    """Forget a backend that was registered; a built-in one that it replaced is back.

    Raises
    ------
    BackendNotFoundError
        If no backend of that name was registered.
    """
    with _lock:
        if name not in _registered:
            known = ", ".join(sorted(_registered)) or "none"
            raise BackendNotFoundError(f"no backend named {name!r} was registered in this process; registered are: {known}")
        del _registered[name]


def names() -> tuple[str, ...]:
    """Return all names that `get` takes, sorted, installed plug-ins included; none is loaded for it.

    Where several have one name, each of the others is listed as ``"distribution:name"``.
    """
    return tuple(sorted(_all()))


def info(name: str) -> BackendInfo:
    """Say where a backend comes from, and whether it is loaded or can be, without loading it.

    Raises
    ------
    BackendNotFoundError
        If no backend has that name, or several have.
    """
    return _find(name).info(name)


@overload
def get(name: Literal["ndarray"]) -> "NdarrayBackend": ...
@overload
def get(name: Literal["reference"]) -> "ReferenceBackend": ...
@overload
def get(name: Literal["scipy"]) -> "ScipyBackend": ...
@overload
def get(name: Literal["torch"]) -> "TorchBackend": ...
@overload
def get(name: Literal["jax"]) -> "JaxBackend": ...
@overload
def get(name: str | None = None) -> Backend[Any]: ...
def get(name: str | None = None) -> Backend[Any]:
    """Return a backend by name; load it if it is asked for the first time.

    Parameters
    ----------
    name : str, optional
        As listed by `names`. By default the one that `use` chose, else `default`.

    Raises
    ------
    BackendNotFoundError
        If no backend has that name, or several have.
    BackendLoadError
        If it cannot be loaded; the cause is chained.

    Examples
    --------
    >>> get("ndarray").name
    'ndarray'
    """
    if name is None:
        chosen = _in_use.get()
        if chosen is not None and not isinstance(chosen, str):
            return chosen
        name = chosen or default()
        if name == os.environ.get(VARIABLE):
            return _from_environment(name)
    return _find(name).load()


def _from_environment(name: str) -> Backend[Any]:
    try:
        return _find(name).load()
    except BackendNotFoundError as error:
        raise BackendNotFoundError(f"the environment variable {VARIABLE} asks for {name!r}: {error}") from None


def default() -> str:
    """Return the name that is used where none is given: `set_default`, else ``BURNPY_BACKEND``, else "ndarray"."""
    return _default or os.environ.get(VARIABLE) or FALLBACK


def set_default(name: str | None) -> None:
    """Set the backend that is used where none is given, in the whole process; None undoes it.

    Raises
    ------
    BackendNotFoundError
        If no backend has that name, or several have.
    """
    global _default
    if name is not None:
        _find(name)
    _default = name


@contextlib.contextmanager
def use(backend: str | Backend[Any]) -> Generator[Backend[Any]]:
    """Make a backend the default inside a ``with`` block, for this thread or asynchronous task alone.

    Parameters
    ----------
    backend : str or Backend

    Yields
    ------
    Backend

    Raises
    ------
    BackendNotFoundError, BackendLoadError, InvalidBackendError
        Before the block is entered.

    Examples
    --------
    >>> with use("reference") as backend:
    ...     get().name
    'reference'
    """
    if isinstance(backend, str):
        chosen = get(backend)
    else:
        _check(backend)
        chosen = backend
    token = _in_use.set(backend)
    try:
        yield chosen
    finally:
        _in_use.reset(token)


def refresh() -> None:
    """Forget which plug-ins there are and which backends failed to load, to see what was installed meanwhile.

    What is loaded stays loaded.
    """
    global _plugins
    importlib.invalidate_caches()
    with _lock:
        before, _plugins = _plugins or {}, None
        for name, entry in _scanned().items():
            if name in before and before[name].given == entry.given and before[name].info(name).state == "loaded":
                _scanned()[name] = before[name]
        for entry in [*_BUILT_IN.values(), *_registered.values()]:
            entry.forget_failure()


def _find(name: object) -> _Entry:
    if not isinstance(name, str):
        raise BackendNotFoundError(f"a backend is asked for by its name, a string; got {name!r}")
    entry = _registered.get(name) or _BUILT_IN.get(name) or _scanned().get(name)
    if entry is not None:
        return entry
    claims = [qualified for qualified in _scanned() if qualified.partition(":")[2] == name]
    if len(claims) == 1:
        return _scanned()[claims[0]]
    if claims:
        listed = " or ".join(repr(qualified) for qualified in claims)
        raise BackendNotFoundError(f"several installed distributions have a backend named {name!r}: ask for {listed}")
    raise BackendNotFoundError(_unknown(name))


def _unknown(name: str) -> str:
    import difflib

    known = names()
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return (
        f"no backend is named {name!r}; {hint}There are {', '.join(known)}. Another is made known by installing its "
        "distribution or by burnpy.backends.register"
    )


def _all() -> dict[str, _Entry]:
    """Return every backend by the name that `get` takes for it: the bare one, unless it is taken or claimed twice."""
    found = {**_BUILT_IN, **_registered}
    plugins = _scanned()
    claimed = [qualified.partition(":")[2] for qualified in plugins]
    for qualified, entry in plugins.items():
        bare = qualified.partition(":")[2]
        found[qualified if bare in found or claimed.count(bare) > 1 else bare] = entry
    return found


def _scanned() -> dict[str, _Entry]:
    """Return the plug-ins of all installed distributions by ``"distribution:name"``; look for them once."""
    global _plugins
    with _lock:
        if _plugins is None:
            _plugins = dict(sorted(_entry_points()))
        return _plugins


def _entry_points() -> Iterator[tuple[str, _Entry]]:
    from importlib import metadata

    seen: set[str] = set()
    for distribution in metadata.distributions():
        try:
            label, version = distribution.metadata["Name"], distribution.version
            points = [point for point in distribution.entry_points if point.group == GROUP]
        except Exception:  # what another distribution wrote about itself is no reason to fail
            continue
        if not label or label.lower() in seen:  # the first on the path is the one that is imported
            continue
        seen.add(label.lower())
        for point in points:
            origin = f"entry point of {label} {version}"
            load = functools.partial(_plugged_in, point)
            yield f"{label}:{point.name}", _Entry(point.name, origin, load, given=(origin, point.value))


def _is_factory(value: Any) -> bool:
    return isinstance(value, type) or (callable(value) and not hasattr(value, "interpolate"))


def _made(given: Any) -> Backend[Any]:
    """Return a backend from what an entry point or a program gave: itself, or the result of calling it."""
    backend: Backend[Any] = given() if _is_factory(given) else given
    _check(backend)
    return backend


def _plugged_in(point: "EntryPoint") -> Backend[Any]:
    """Import what an entry point names. It may not go by another's name, under which its reports would be read."""
    backend = _made(point.load())
    if backend.name != point.name:
        raise InvalidBackendError(f"its entry point is named {point.name!r}, but it calls itself {backend.name!r}")
    return backend


def _check(backend: object) -> None:
    """Check what `isinstance` does not see: that members are callable, and with the arguments they will get.

    Raises
    ------
    InvalidBackendError
        If something is missing or different; says what, and what is expected.
    """
    problems = [*_name_problems(backend)]
    for method, arguments, keywords in (
        ("interpolate", ("x", "output_size", "options"), ()),
        ("interpolate_backward", ("x", "grad", "output_size", "options"), ()),
        ("supports", ("mode",), ("align_corners", "antialias", "backward", "dtype")),
    ):
        if method != "supports" or getattr(backend, "supports", None) is not None:
            problems += _method_problems(backend, method, arguments, keywords)
    if problems:
        raise InvalidBackendError(f"{backend!r} is not a burnpy backend: {'; '.join(problems)}")


def _name_problems(backend: object) -> list[str]:
    name = getattr(backend, "name", None)
    return [] if isinstance(name, str) and name else [f"name must be a string that is not empty; got {name!r}"]


def _method_problems(backend: object, method: str, arguments: tuple[str, ...], keywords: tuple[str, ...]) -> list[str]:
    import inspect

    expected = f"{method}({', '.join([*arguments, *(['*', *keywords] if keywords else [])])})"
    function = getattr(backend, method, None)
    if function is None:
        return [f"{expected} is missing"]
    if not callable(function):
        return [f"{method} is not callable; expected {expected}"]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of an extension module may not tell
        return []
    try:
        signature.bind(*arguments, **dict.fromkeys(keywords))
    except TypeError:
        return [f"{method}{signature} cannot be called as {expected}"]
    return []
