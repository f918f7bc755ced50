"""Laws that every such operator obeys, whatever its weights: they need no oracle, and name the kind of fault."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from burnpy.conformance.cases import Case, Cell, images
from burnpy.conformance.check import bits, check
from burnpy.conformance.subject import Array, Subject

__all__: list[str] = []

_SOME = [((2, 3), (4, 3)), ((3, 2), (2, 5)), ((5, 6), (9, 4)), ((8, 7), (3, 12)), ((19, 12), (11, 24))]


def _some(cell: Cell) -> Iterator[Case]:
    yield from images(cell, _SOME, lead=(1, 2))


def _equal_sizes(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((n, k), (n, k)) for n, k in ((1, 1), (2, 3), (5, 4), (15, 18), (40, 3))], lead=(2, 2))


@check("core", _some)
def check_constants_are_preserved(subject: Subject, case: Case) -> None:
    """Weights add up to one: forward, a constant image stays that constant; backward, the gradient handed in is the
    gradient handed out, in total.
    """
    if not case.backward:
        source = np.full(case.source_shape, 5.0, case.dtype)
        right = subject.right(case, source)
        subject.judge_close(subject.apply(case, source), np.full(case.result_shape, 5.0), right.bound, source=source)
        return
    source = case.source()
    bound = subject.right(case, np.abs(source)).bound.sum(axis=(2, 3))
    got = subject.apply(case, source).astype(np.float64).sum(axis=(2, 3))
    subject.judge_close(got, source.astype(np.float64).sum(axis=(2, 3)), 2 * bound, what="sum over each image: ")


@check("core", _equal_sizes)
def check_equal_size_is_identity(subject: Subject, case: Case) -> None:
    """An image that keeps its size keeps its values, forward and backward."""
    source = case.source()
    bound = subject.right(case, source).bound
    subject.judge_close(subject.apply(case, source), source.astype(np.float64), bound, source=source)


@check("core", _some)
def check_linear(subject: Subject, case: Case) -> None:
    """The operator is linear whatever the values: f(500 x - 3 y) = 500 f(x) - 3 f(y). Nothing is clipped, rounded to pixels
    or looked up by value.
    """
    x, y = case.source(), replace(case, values="noise2").source()
    mixed = (500 * x.astype(np.float64) - 3 * y).astype(case.dtype)
    fx, fy = (subject.apply(case, array).astype(np.float64) for array in (x, y))
    bound = 4 * subject.right(case, 500 * np.abs(x.astype(np.float64)) + 3 * np.abs(y.astype(np.float64))).bound
    subject.judge_close(subject.apply(case, mixed), 500 * fx - 3 * fy, bound, what="f(500x - 3y) against 500f(x) - 3f(y): ")


def _is_symmetric(cell: Cell) -> bool:
    return not cell.options.mode.is_nearest


@check("core", _some, applies=_is_symmetric)
def check_flips_commute(subject: Subject, case: Case) -> None:
    """Turning the image round and resizing it is resizing it and turning it round: both coordinate conventions are
    symmetric. (The nearest modes round down, and are not.)
    """
    source = case.source()
    bound = 2 * subject.right(case, source).bound
    straight = subject.apply(case, source).astype(np.float64)
    for axis, name in ((2, "upside down: "), (3, "left to right: ")):
        got = subject.apply(case, np.ascontiguousarray(np.flip(source, axis)))
        subject.judge_close(np.flip(got, axis), straight, np.maximum(bound, np.flip(bound, axis)), what=name)


def _stacks(cell: Cell) -> Iterator[Case]:
    for lead in ((1, 2), (2, 1), (2, 3), (3, 5), (9, 1), (1, 17)):
        yield from images(cell, [((2, 3), (4, 5)), ((4, 3), (3, 2))], lead=lead)


@check("core", _stacks)
def check_images_are_independent(subject: Subject, case: Case) -> None:
    """Every image of a batch and every channel is resampled as if it were alone, whatever lies in the others, and however
    many there are.
    """
    source = case.source() * (1 + np.arange(case.shape[0] * case.shape[1]).reshape(*case.shape[:2], 1, 1)).astype(
        case.dtype
    )
    got = subject.apply(case, source)
    bound = 2 * subject.right(case, source).bound
    for image in np.ndindex(*case.shape[:2]):
        alone = subject.apply(case, np.ascontiguousarray(source[image][None, None]))[0, 0].astype(np.float64)
        subject.judge_close(got[image], alone, bound[image], what=f"image (n, c) = {image} against the same alone: ")


@check("core", _some)
def check_axes_are_alike(subject: Subject, case: Case) -> None:
    """Transposing the image and its sizes transposes the result: height and width are resampled by one rule."""
    source = case.source()
    turned = replace(
        case, shape=(*case.shape[:2], case.shape[3], case.shape[2]), output_size=(case.output_size[1], case.output_size[0])
    )
    got = subject.apply(turned, np.ascontiguousarray(_transposed(source)))
    straight = subject.apply(case, source).astype(np.float64)
    bound = 2 * subject.right(case, source).bound
    subject.judge_close(_transposed(got), straight, bound, what="transposed against straight: ")


def _transposed(array: Array) -> Array:
    return array.swapaxes(2, 3)


@check("strict", _equal_sizes, dtypes="every", needs=("shape_and_dtype", "equal_size_is_identity"))
def check_equal_size_gives_the_same_bits(subject: Subject, case: Case) -> None:
    """An image that keeps its size keeps every bit: the weights at whole coordinates are exactly one and zero."""
    source = case.source()
    source.reshape(-1)[::5] = -0.0
    source.reshape(-1)[1::7] = np.finfo(case.dtype).max
    got = subject.apply(case, source)
    subject.judge(bits(got) == bits(source), "the result differs from the input in some bits", source)
