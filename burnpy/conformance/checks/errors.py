"""Refusals: what has no meaning raises, as documented at level strict, and leaves the backend as it was."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnpy.conformance.cases import Case, Cell
from burnpy.conformance.check import ALONG_BOTH, check
from burnpy.conformance.subject import Failed, Subject
from burnpy.errors import DTypeError, ShapeError

__all__: list[str] = []


def _base(cell: Cell, notes: tuple[str, ...]) -> Iterator[Case]:
    for note in notes:
        yield Case(cell, (1, 2, 3, 4), (5, 2), note=note)


def _is_backward(cell: Cell) -> bool:
    return cell.backward


_SHAPES: dict[str, tuple[int, ...]] = {
    "x has 3 axes": (2, 3, 4),
    "x has 5 axes": (1, 1, 2, 3, 4),
    "x has 2 axes": (3, 4),
    "x is a scalar": (),
    "x has height 0": (1, 2, 0, 4),
    "x has width 0": (1, 2, 3, 0),
}
_SIZES: dict[str, Any] = {
    "a negative height": (-5, 2),
    "a negative width": (5, -1),
    "one size": (5,),
    "three sizes": (5, 2, 2),
    "a height of 0": (0, 2),
    "a width of 0": (5, 0),
    "a size that is no whole number": (5.5, 2),
    "a size that is text": ("5", 2),
    "no sizes": (),
}
_GRADS: dict[str, tuple[int, ...]] = {
    "grad has the shape of x": (1, 2, 3, 4),
    "grad is one column short": (1, 2, 5, 1),
    "grad is one row long": (1, 2, 6, 2),
    "grad is transposed": (1, 2, 2, 5),
    "grad has another batch size": (2, 2, 5, 2),
    "grad has another number of channels": (1, 1, 5, 2),
    "grad has 3 axes": (2, 5, 2),
}
_CORE_SHAPES = ("x has 3 axes", "x has 5 axes", "x has 2 axes")
_CORE_SIZES = ("a negative height", "a negative width", "three sizes")


def _bad_shapes(cell: Cell) -> Iterator[Case]:
    yield from _base(cell, _CORE_SHAPES)


def _bad_sizes(cell: Cell) -> Iterator[Case]:
    yield from _base(cell, _CORE_SIZES)


def _bad_grads(cell: Cell) -> Iterator[Case]:
    yield from _base(cell, tuple(_GRADS))


@dataclass
class Request:
    """A call that must be refused: the arrays, sizes and options as they are passed."""

    case: Case
    x: Any
    grad: Any
    size: Any
    options: Any = None

    def __call__(self, subject: Subject) -> Any:
        """Make the call."""
        return subject.raw(self.case, self.x, self.grad, self.size, self.options)


def _request(
    subject: Subject, case: Case, shape: tuple[int, ...] = (), grad: tuple[int, ...] = (), size: Any = None
) -> Request:
    def filled(wanted: tuple[int, ...]) -> Any:
        return subject.native(np.full(wanted, 0.5, case.dtype))

    usual = (*shape[:-2], *case.output_size) if len(shape) > 1 else case.output_shape
    return Request(case, filled(shape), filled(grad or usual), case.output_size if size is None else size)


def _shape_request(subject: Subject, case: Case) -> Request:
    return _request(subject, case, shape=_SHAPES[case.note])


def _size_request(subject: Subject, case: Case) -> Request:
    return _request(subject, case, shape=case.shape, size=_SIZES[case.note])


def _grad_request(subject: Subject, case: Case) -> Request:
    return _request(subject, case, shape=case.shape, grad=_GRADS[case.note])


def _refused(subject: Subject, case: Case, make: Callable[[Subject, Case], Request], kinds: Any = Exception) -> None:
    request = make(subject, case)
    subject.judge_refused(lambda: request(subject), case.note, kinds)


@check("core", _bad_shapes)
def check_refuses_bad_shapes(subject: Subject, case: Case) -> None:
    """An x without four axes raises an exception, of whatever kind: an answer would be a guess."""
    _refused(subject, case, _shape_request)


@check("core", _bad_sizes)
def check_refuses_bad_sizes(subject: Subject, case: Case) -> None:
    """Output sizes that are negative, or not two, raise an exception, of whatever kind."""
    _refused(subject, case, _size_request)


@check("core", _bad_grads, applies=_is_backward)
def check_refuses_a_mismatched_grad(subject: Subject, case: Case) -> None:
    """A grad that has not the shape of the output raises an exception: reading it as if it had would run past its end."""
    _refused(subject, case, _grad_request)


def _unknown(cell: Cell) -> Iterator[Case]:
    yield from _base(cell, ("options are a string", "options are None"))


@check("core", _unknown)
def check_refuses_unknown_options(subject: Subject, case: Case) -> None:
    """What is no InterpolateOptions raises an exception, and is not taken for some default mode."""
    request = _request(subject, case, shape=case.shape)
    request.options = {"None": None, "string": "no_such_mode"}[case.note.split()[-1]]
    call = _with_options(subject, request)
    subject.judge_refused(call, case.note, Exception)


def _with_options(subject: Subject, request: Request) -> Callable[[], Any]:
    """Call the backend itself, since None would stand for the options of the case."""
    backend, case = subject.backend, request.case

    def call() -> Any:
        subject.calls += 1
        if case.backward:
            return backend.interpolate_backward(request.x, request.grad, request.size, request.options)
        return backend.interpolate(request.x, request.size, request.options)

    return call


def _all_errors(cell: Cell) -> Iterator[Case]:
    grads = tuple(_GRADS) if cell.backward else ()
    yield from _base(cell, (_CORE_SHAPES[0], _CORE_SIZES[0], *grads[:1]))


@check("core", _all_errors, needs=("shape_and_dtype", *ALONG_BOTH))
def check_works_after_an_error(subject: Subject, case: Case) -> None:
    """After a refused call the next good one gives the right values: an error leaves nothing behind."""
    make = next(make for table, make in _TABLES if case.note in table)
    with contextlib.suppress(Exception):  # whether it is refused is the matter of other checks
        make(subject, case)(subject)
    subject.judge_values(case, case.source())


_TABLES: tuple[tuple[dict[str, Any], Callable[[Subject, Case], Request]], ...] = (
    (_SHAPES, _shape_request),
    (_SIZES, _size_request),
    (_GRADS, _grad_request),
)


def _documented_shapes(cell: Cell) -> Iterator[Case]:
    grads = tuple(_GRADS) if cell.backward else ()
    yield from _base(cell, (*_SHAPES, *_SIZES, *grads))


@check("strict", _documented_shapes)
def check_raises_shape_error(subject: Subject, case: Case) -> None:
    """Whatever is wrong with shapes and sizes, 0 included, raises ShapeError, so that one except clause will do."""
    make = next(make for table, make in _TABLES if case.note in table)
    _refused(subject, case, make, ShapeError)


def _wrong_types(cell: Cell) -> Iterator[Case]:
    notes = ("x holds integers", "x holds booleans", "x holds complex numbers", "x is a list", "x is None")
    yield from _base(cell, (*notes, "grad has another dtype", "grad is a list") if cell.backward else notes)


@check("strict", _wrong_types)
def check_raises_dtype_error(subject: Subject, case: Case) -> None:
    """What is not an array of the backend, or has an element type that it does not compute in, raises DTypeError."""
    x, grad = (np.full(shape, 0.5, case.dtype) for shape in (case.shape, case.output_shape))
    other = "float32" if case.dtype != "float32" else "float16"
    if not _has_dtype(subject, case, other):
        other = "int32"
    changed: dict[str, Callable[[], Any]] = {
        "integers": lambda: subject.native(x.astype(np.int32)),
        "booleans": lambda: subject.native(x > 0),
        "numbers": lambda: subject.native(x.astype(np.complex64)),
        "list": x.tolist,
        "None": lambda: None,
        "dtype": lambda: subject.native(grad.astype(other)),
    }
    bad = changed[case.note.split()[-1]]()
    request = Request(case, subject.native(x), subject.native(grad), case.output_size)
    if case.note.startswith("grad"):
        request.grad = grad.tolist() if case.note.endswith("list") else bad
    else:
        request.x = bad
    subject.judge_refused(lambda: request(subject), case.note, DTypeError)


def _has_dtype(subject: Subject, case: Case, dtype: str) -> bool:
    return subject.declares(case.options, case.backward, dtype) is not False


def _empty(cell: Cell) -> Iterator[Case]:
    for lead in ((0, 2), (2, 0), (0, 0)):
        yield Case(cell, (*lead, 3, 4), (5, 2))


@check("strict", _empty, dtypes="every")
def check_empty_batches_are_fine(subject: Subject, case: Case) -> None:
    """A batch without images, or images without channels, gives an empty result of the right shape and dtype: the last
    batch of a filtered stream is one.
    """
    got = subject.apply(case, np.zeros(case.source_shape, case.dtype))
    subject.judge(got.shape == case.result_shape, f"expected shape {case.result_shape}, got {got.shape}")
    subject.judge(got.dtype.name == case.dtype, f"expected dtype {case.dtype}, got {got.dtype.name}")


def _numpy_sizes(cell: Cell) -> Iterator[Case]:
    yield Case(cell, (1, 1, 2, 3), (3, 2), note="output_size of numpy.int64")


@check("strict", _numpy_sizes)
def check_numpy_integers_are_sizes(subject: Subject, case: Case) -> None:
    """Sizes given as NumPy integers are as good as ints: that is what arithmetic on shapes gives."""
    source = case.source()
    arguments = subject.arguments(case, source)
    size = tuple(np.int64(size) for size in case.output_size)
    got = subject.guarded(lambda: subject.adapter.to_numpy(subject.raw(case, arguments[0], arguments[-1], size)))
    if got.shape != case.result_shape:
        raise Failed(f"expected shape {case.result_shape}, got {got.shape}")
    subject.judge_values(case, source, got)
