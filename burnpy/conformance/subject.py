"""The backend under test, as checks see it: NumPy arrays in and out, every call counted, every fault told apart.

An `Adapter` converts to the backend's arrays and back and says which memory layouts they know. What a backend raises
becomes `BackendRaised`, so that no exception of a backend is taken for one of the harness.
"""

# The annotations of PyTorch and JAX leave parts of their functions open, and pyright would report every use:
# pyright: reportUnknownMemberType=false

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from burnpy.conformance.cases import Case
from burnpy.conformance.oracle import Expectation, Tolerance, expected
from burnpy.errors import DTypeError, UnsupportedError
from burnpy.options import InterpolateOptions

__all__ = ["LAYOUTS", "Adapter", "BackendRaised", "Failed", "NotApplicable", "Subject", "adapter_for", "lay_out"]

Array: TypeAlias = NDArray[Any]

LAYOUTS: Final = (
    "fortran",
    "channels_last",
    "sliced",
    "reversed",
    "broadcast",
    "readonly",
    "byteswapped",
    "unaligned",
)
"""Ways for an array to lie in memory, other than "plain": rows after rows, its own, writable."""


class Failed(Exception):  # noqa: N818 - it is a verdict, not an error
    """The statement of a check does not hold.

    Attributes
    ----------
    message : str
    off : float
        How many tolerances the worst element is off, where that makes sense; else NaN.
    source : ndarray or None
        What the operator was applied to, if one call shows the fault.
    """

    def __init__(self, message: str, *, off: float = float("nan"), source: Array | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.off = off
        self.source = source


class BackendRaised(Failed):
    """The backend raised where it should have answered."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"raised {type(error).__name__}: {_one_line(error)}")
        self.error = error


class NotApplicable(Exception):  # noqa: N818
    """The statement has no meaning for this backend's arrays; the reason is shown in the report."""


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:197] + "..."


@dataclass(frozen=True)
class Adapter:
    """How to get into a library's arrays and out of them.

    Attributes
    ----------
    from_numpy, to_numpy : callable
    layouts : tuple of str
        Those of `LAYOUTS` that survive ``from_numpy``.
    shares : bool
        Whether ``to_numpy`` gives a view of the array's own memory, so that aliases and changes can be seen.
    native : bool
        Whether the arrays are NumPy's.
    """

    from_numpy: Callable[[Array], Any]
    to_numpy: Callable[[Any], Array]
    layouts: tuple[str, ...] = ()
    shares: bool = False
    native: bool = False


def adapter_for(
    backend: Any, from_numpy: Callable[[Array], Any] | None = None, to_numpy: Callable[[Any], Array] | None = None
) -> Adapter:
    """Return the conversions the caller gave, or the backend offers, or that are known for its library; else NumPy's."""
    into = from_numpy or getattr(backend, "from_numpy", None)
    out = to_numpy or getattr(backend, "to_numpy", None)
    if into is not None or out is not None:
        return Adapter(into or (lambda array: array), out or np.asarray)
    known = {"torch": _torch, "jax": _jax}.get(str(getattr(backend, "name", "")))
    return known() if known else Adapter(lambda array: array, lambda array: array, LAYOUTS, True, True)


def _torch() -> Adapter:
    import torch

    def into(array: Array) -> Any:
        if 0 in array.strides and not array.flags.writeable:
            return torch.from_numpy(array[..., :1].copy()).expand(array.shape)
        return torch.from_numpy(array if array.flags.writeable else array.copy())

    return Adapter(
        into, lambda tensor: tensor.detach().cpu().numpy(), ("fortran", "channels_last", "sliced", "broadcast"), True
    )


def _jax() -> Adapter:
    import jax.numpy as jnp

    def into(array: Array) -> Any:
        result = jnp.asarray(array)
        if result.dtype != array.dtype:  # without jax_enable_x64, JAX turns float64 into float32 and says nothing
            raise UnsupportedError(f"jax has no {array.dtype} unless jax_enable_x64 is set")
        return result

    return Adapter(into, np.asarray)


def lay_out(array: Array, layout: str) -> Array:
    """Return the numbers of ``array`` in another memory layout; "broadcast" repeats its first column."""
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "channels_last":
        return np.ascontiguousarray(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    if layout == "sliced":
        wide = np.zeros([2 * size + 1 for size in array.shape], array.dtype)
        view = wide[tuple(slice(1, None, 2) for _ in array.shape)]
        view[...] = array
        return view
    if layout == "reversed":
        return np.ascontiguousarray(array[:, :, ::-1, ::-1])[:, :, ::-1, ::-1]
    if layout == "broadcast":
        return np.broadcast_to(array[..., :1], array.shape)
    if layout == "byteswapped":
        return array.astype(array.dtype.newbyteorder())
    if layout == "unaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
        view = raw.view(array.dtype).reshape(array.shape)
        view[...] = array
        return view
    copy = array.copy()
    copy.setflags(write=layout != "readonly")
    return copy


class Subject:
    """A backend with its adapter and tolerance.

    Attributes
    ----------
    calls, judged : int
        Calls made to the backend, and statements judged: a case in which nothing was judged has not run.
    """

    def __init__(self, backend: Any, adapter: Adapter, tolerance: Tolerance) -> None:
        self.backend = backend
        self.adapter = adapter
        self.tolerance = tolerance
        self.calls: int = 0
        self.judged: int = 0

    def declares(self, options: InterpolateOptions, backward: bool, dtype: str) -> bool | None:
        """Return what the backend says it can, or None if it says nothing."""
        supports = getattr(self.backend, "supports", None)
        if supports is None:
            return None
        switches = {"align_corners": options.align_corners, "antialias": options.antialias}
        try:
            return bool(supports(options.mode, **switches, backward=backward, dtype=dtype))
        except Exception as error:
            raise Failed(f"supports() raised {type(error).__name__}: {_one_line(error)}") from error

    def answers(self, options: InterpolateOptions, backward: bool, dtype: str) -> bool:
        """Tell whether the backend says it can, or is worth asking since it says nothing."""
        return self.declares(options, backward, dtype) is not False

    def native(self, array: Array) -> Any:
        """Return an array of the backend's own type."""
        return self.adapter.from_numpy(array)

    def raw(self, case: Case, x: Any, grad: Any = None, output_size: Any = None, options: Any = None) -> Any:
        """Make one call with the backend's own arrays, and return what it returns; exceptions pass."""
        self.calls += 1
        size = case.output_size if output_size is None else output_size
        chosen = case.options if options is None else options
        if case.backward:
            return self.backend.interpolate_backward(x, grad, size, chosen)
        return self.backend.interpolate(x, size, chosen)

    def arguments(self, case: Case, source: Array) -> tuple[Any, ...]:
        """Return the backend's arrays for a call: x, and backward grad as well."""
        if not case.backward:
            return (self.native(source),)
        shape = (*source.shape[:2], *case.shape[2:])
        return (self.native(lay_out(np.full(shape, 0.25, source.dtype), case.layout)), self.native(source))

    def apply(self, case: Case, source: Array) -> Array:
        """Apply the operator of a case to ``source`` and return the result as a NumPy array."""
        given = source.copy() if case.layout == "plain" else source  # what a backend does to its input is asked elsewhere
        result: Array = self.guarded(lambda: self.adapter.to_numpy(self.raw(case, *self.arguments(case, given))))
        shape = (*source.shape[:2], *case.result_shape[2:])
        if tuple(result.shape) != shape:
            raise Failed(f"expected shape {shape}, got {tuple(result.shape)}", source=source)
        return result

    def guarded(self, call: Callable[[], Any]) -> Any:
        """Make a call of which an answer is expected."""
        try:
            return call()
        except UnsupportedError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise BackendRaised(error) from error

    def right(self, case: Case, source: Array) -> Expectation:
        """Return what the oracle says of ``source``."""
        return expected(case, source, self.tolerance)

    def judge_values(self, case: Case, source: Array, got: Array | None = None) -> Array:
        """Require that the result is the oracle's within the bound; return it."""
        got = self.apply(case, source) if got is None else got
        right = self.right(case, source)
        self.judge_close(got, right.values, right.bound, source=source)
        return got

    def judge_close(self, got: Array, want: Array, bound: Array, *, what: str = "", source: Array | None = None) -> None:
        """Require ``|got - want| <= bound``, element by element."""
        self.judged += 1
        if got.shape != want.shape:
            raise Failed(f"{what}the result has shape {got.shape}, expected {want.shape}", source=source)
        with np.errstate(all="ignore"):
            error = np.abs(got.astype(np.float64) - want)
        wrong = ~(error <= bound)
        if wrong.any():
            raise Failed(what + _where(got, want, error, bound, wrong), off=_worst(error, bound), source=source)

    def judge(self, holds: bool, message: str, source: Array | None = None) -> None:
        """Require that something holds."""
        self.judged += 1
        if not holds:
            raise Failed(message, source=source)

    def judge_refused(
        self, call: Callable[[], Any], what: str, kinds: type[Exception] | tuple[type[Exception], ...]
    ) -> None:
        """Require that a call raises one of ``kinds``."""
        self.judged += 1
        try:
            answer = call()
        except kinds:
            return
        except UnsupportedError:
            raise
        except Exception as error:
            names = kinds.__name__ if isinstance(kinds, type) else " or ".join(kind.__name__ for kind in kinds)
            raise Failed(f"{what}: expected {names}, raised {type(error).__name__}: {_one_line(error)}") from error
        shape = getattr(answer, "shape", None)
        raise Failed(
            f"{what}: expected an exception, got {type(answer).__name__}" + (f" of shape {tuple(shape)}" if shape else "")
        )


def _where(got: Array, want: Array, error: Array, bound: Array, wrong: Array) -> str:
    """Say where the first wrong element is, and by how much."""
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    limit = float(np.broadcast_to(bound, want.shape)[first])
    off = f"{error[first] / limit:.3g} tolerances" if limit else "more than the zero tolerance"
    return (
        f"first wrong element {list(first)}: expected {float(want[first])!r}, got {float(got[first])!r}, off by "
        f"{float(error[first]):.3g} = {off} of {limit:.3g}; {int(wrong.sum())} of {wrong.size} elements are wrong"
    )


def _worst(error: Array, bound: Array) -> float:
    with np.errstate(all="ignore"):
        ratio = np.where(np.isnan(error), np.inf, error / bound)
    return float(np.nanmax(ratio, initial=0.0))


def refusals() -> tuple[type[Exception], ...]:
    """Return what a backend may raise to say that it cannot: not the mode, or not the element type."""
    return (UnsupportedError, DTypeError)
