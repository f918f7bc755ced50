"""Element types and memory: every dtype, any layout, inputs left alone, results in memory of their own."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from burnpy.conformance.cases import Case, Cell, images
from burnpy.conformance.check import ALONG_BOTH, bits, check
from burnpy.conformance.oracle import Tolerance, expected
from burnpy.conformance.subject import LAYOUTS, Array, NotApplicable, Subject, lay_out

__all__: list[str] = []


def _some(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((2, 3), (3, 2)), ((7, 5), (4, 9)), ((12, 17), (16, 5)), ((3, 41), (2, 90))], lead=(2, 1))


@check("core", _some, dtypes="every", needs=("shape_and_dtype", *ALONG_BOTH, "values_of_images"))
def check_every_dtype(subject: Subject, case: Case) -> None:
    """Every element type that the backend has gives the oracle's values, to its own precision."""
    subject.judge_values(case, case.source())


@check("strict", _some, dtypes="half", needs=("shape_and_dtype", "every_dtype"))
def check_rounds_once(subject: Subject, case: Case) -> None:
    """Half precision is computed in single and rounded once, at the end: the error is half a unit in the last place, and
    what single precision loses.
    """
    source = case.source()
    got = subject.apply(case, source)
    right = expected(case.with_dtype("float32"), source, Tolerance("strict"))
    info = np.finfo(case.dtype)
    once = np.maximum(np.abs(right.values) * float(info.eps), float(info.smallest_subnormal)) / 2
    subject.judge_close(got, right.values, right.bound + once, source=source)


def _laid_out(cell: Cell) -> Iterator[Case]:
    for layout in LAYOUTS:
        yield from images(cell, [((3, 4), (5, 2)), ((4, 3), (4, 7)), ((6, 5), (6, 5))], lead=(2, 3), layout=layout)


def _placed(subject: Subject, case: Case) -> tuple[Array, Array]:
    """Return the source in the layout of the case, and the same numbers laid out plainly."""
    if case.layout not in subject.adapter.layouts:
        raise NotApplicable(f"the backend's arrays know no layout {case.layout!r}")
    placed = lay_out(case.source(), case.layout)
    return placed, np.ascontiguousarray(placed).astype(case.dtype)


@check("core", _laid_out, needs=("shape_and_dtype", *ALONG_BOTH, "values_of_images"))
def check_any_layout(subject: Subject, case: Case) -> None:
    """Arrays are resampled as they are indexed, not as they lie: Fortran order, channels last, slices, negative and zero
    strides, read-only, foreign byte order, odd addresses.
    """
    placed, plain = _placed(subject, case)
    got = subject.apply(case, placed)
    right = subject.right(case, plain)
    subject.judge_close(got.astype(case.dtype), right.values, right.bound, what=f"layout {case.layout}: ", source=plain)


@check("strict", _laid_out, dtypes="every", needs=("shape_and_dtype", "any_layout"))
def check_layout_changes_no_bit(subject: Subject, case: Case) -> None:
    """The bits of a result do not depend on how the input lies in memory: a copy before the call changes nothing."""
    placed, plain = _placed(subject, case)
    got, straight = subject.apply(case, placed), subject.apply(case, plain)
    same = bits(got.astype(case.dtype)) == bits(straight)
    subject.judge(same, f"layout {case.layout} gives other bits than the same numbers laid out plainly", plain)


def _owned(cell: Cell) -> Iterator[Case]:
    sizes = [
        ((1, 1), (1, 1)),
        ((2, 2), (3, 3)),
        ((3, 3), (3, 3)),
        ((1, 4), (1, 2)),
        ((4, 6), (2, 3)),
        ((6, 5), (6, 9)),
        ((3, 1), (3, 4)),
    ]
    for layout in ("plain", "fortran"):
        yield from images(cell, sizes, lead=(1, 2), layout=layout)


def _called(subject: Subject, case: Case) -> tuple[list[Array], list[bytes], Array]:
    """Call with arrays that can be watched; return them, their bits before, and the result."""
    if not subject.adapter.shares or (case.layout != "plain" and case.layout not in subject.adapter.layouts):
        raise NotApplicable("the backend's arrays cannot be watched from NumPy in this layout")
    arguments = subject.arguments(case, lay_out(case.source(), case.layout))
    seen = [subject.adapter.to_numpy(argument) for argument in arguments]
    before = [bits(array) for array in seen]
    result = subject.guarded(lambda: subject.adapter.to_numpy(subject.raw(case, *arguments)))
    return seen, before, result


@check("core", _owned)
def check_inputs_are_left_alone(subject: Subject, case: Case) -> None:
    """x and grad have the same bits after a call as before: a caller goes on using them."""
    seen, before, _ = _called(subject, case)
    for name, array, was in zip(("x", "grad"), seen, before, strict=False):
        subject.judge(bits(array) == was, f"{name if case.backward else 'x'} was modified by the call", case.source())


@check("core", _owned)
def check_result_is_fresh_memory(subject: Subject, case: Case) -> None:
    """A result shares no memory with the inputs or with an earlier result, so that writing to one changes no other, at
    equal sizes too.
    """
    seen, _, result = _called(subject, case)
    for name, array in zip(("x", "grad"), seen, strict=False):
        subject.judge(not np.shares_memory(result, array), f"the result shares memory with {name}", case.source())
    again = _called(subject, replace(case))[2]
    subject.judge(not np.shares_memory(result, again), "the results of two calls share memory", case.source())
    overlapping = (
        result.size > 1
        and result.strides
        and 0 in [stride for stride, size in zip(result.strides, result.shape, strict=True) if size > 1]
    )
    subject.judge(not overlapping, "elements of the result share memory with each other", case.source())
