"""NaN and infinities stay where they are weighed, zeros keep their sign, and neither end of the range is lost."""

from collections.abc import Iterator

import numpy as np

from burnpy.conformance.cases import Case, Cell, images
from burnpy.conformance.check import check
from burnpy.conformance.oracle import matrix, windows
from burnpy.conformance.subject import Array, Failed, Subject

__all__: list[str] = []


def _poisoned(cell: Cell) -> Iterator[Case]:
    for content in ("nan", "infinity"):
        sizes = [((2, 3), (3, 5)), ((6, 5), (9, 4)), ((9, 14), (21, 6)), ((12, 12), (12, 12)), ((20, 3), (7, 3))]
        yield from images(cell, sizes, lead=(2, 3), values=content)


def _reached(case: Case, source: Array, weighed_high: Array, weighed_wide: Array) -> Array:
    """Return which results a sample that is not finite reaches, given which samples each result weighs along each axis."""
    bad = (~np.isfinite(source)).astype(np.float64)
    return np.asarray(weighed_high.astype(np.float64) @ bad @ weighed_wide.astype(np.float64).T > 0)


@check("core", _poisoned)
def check_non_finite_values_stay_in_their_window(subject: Subject, case: Case) -> None:
    """A NaN or an infinity shows in every result that clearly weighs it, and in no result out of reach of the filter:
    never in another image. (A product with the whole matrix, zeros included, fills its image and is accepted here.)
    """
    source = case.source()
    got = subject.apply(case, source)
    high, wide = (matrix(case.cell, n, m) for n, m in zip(case.shape[2:], case.output_size, strict=True))
    must = _reached(case, source, np.abs(high.weights) > 1e-2, np.abs(wide.weights) > 1e-2)
    margin = case.cell.radius + 1 if case.cell.radius else 0
    forward = [matrix_.weights.T if case.backward else matrix_.weights for matrix_ in (high, wide)]
    nearby = [windows(weights, margin) for weights in forward]
    may = _reached(case, source, *(window.T if case.backward else window for window in nearby))
    image = (~np.isfinite(source)).any(axis=(2, 3), keepdims=True)
    bad = ~np.isfinite(got)
    filled = image & bad.all(axis=(2, 3), keepdims=True)
    _judge_spread(subject, case, source, bad, must, may | filled)


def _judge_spread(subject: Subject, case: Case, source: Array, bad: Array, must: Array, may: Array) -> None:
    subject.judged += 1
    for wrong, message in (
        (must & ~bad, "is finite, but weighs a sample that is not"),
        (bad & ~may, "is not finite, but weighs none"),
    ):
        if wrong.any():
            at = [int(i) for i in np.argwhere(wrong)[0]]
            raise Failed(f"element {at} {message}; {int(wrong.sum())} such elements of {wrong.size}", source=source)


@check("strict", _poisoned, dtypes="every", needs=("shape_and_dtype", "non_finite_values_stay_in_their_window"))
def check_non_finite_values_reach_just_their_outputs(subject: Subject, case: Case) -> None:
    """A NaN or an infinity reaches exactly the results that weigh it: a weight of zero takes no part."""
    source = case.source()
    bad = ~np.isfinite(subject.apply(case, source))
    high, wide = (matrix(case.cell, n, m) for n, m in zip(case.shape[2:], case.output_size, strict=True))
    exact = _reached(case, source, high.weights != 0, wide.weights != 0)
    must = _reached(case, source, np.abs(high.weights) > 1e-3, np.abs(wide.weights) > 1e-3)
    _judge_spread(subject, case, source, bad, must, exact)


def _negative_zeros(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((2, 2), (2, 2)), ((2, 3), (4, 3)), ((3, 3), (2, 5)), ((4, 7), (9, 3))], values="minus_zero")


@check("strict", _negative_zeros, dtypes="every")
def check_minus_zero_survives(subject: Subject, case: Case) -> None:
    """Sums start with their first product and not with +0, so that -0 weighed by positive weights alone is -0."""
    source = case.source()
    got = subject.apply(case, source)
    high, wide = (matrix(case.cell, n, m) for n, m in zip(case.shape[2:], case.output_size, strict=True))
    positive = [np.asarray((axis.weights >= 0).all(axis=1) & (axis.weights > 0).any(axis=1)) for axis in (high, wide)]
    want = (positive[0][:, None] & positive[1]) & np.ones(case.result_shape, bool)
    wrong = want & ~(np.signbit(got) & (got == 0))
    at = [int(i) for i in np.argwhere(wrong)[0]] if wrong.any() else []
    subject.judge(not wrong.any(), f"element {at} is not -0, though it weighs only -0 by positive weights", source)


def _extreme(content: str, cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((2, 2), (2, 2)), ((2, 3), (5, 4)), ((7, 6), (3, 9))], values=content)


def _huge(cell: Cell) -> Iterator[Case]:
    """Backward, a sample's gradient is a sum of many: only sizes that grow by little keep it finite."""
    sizes = (
        [((2, 2), (2, 2)), ((7, 6), (3, 4)), ((9, 5), (8, 5))] if cell.backward else [((2, 3), (5, 4)), ((7, 6), (3, 9))]
    )
    yield from images(cell, sizes, values="huge")


def _scaled_right(subject: Subject, case: Case, source: Array) -> tuple[Array, Array, float]:
    """Return the right result and bound for ``source`` scaled by a power of two into the middle of the range, and the
    power.
    """
    scale = 2.0 ** (np.finfo(case.dtype).maxexp - 4)
    small = source.astype(np.float64) / scale
    right = subject.right(case, small)
    return right.values, right.bound, scale


@check("core", _huge, dtypes="every", needs=("shape_and_dtype", "every_dtype"))
def check_huge_values_do_not_overflow(subject: Subject, case: Case) -> None:
    """Samples of a quarter of the greatest finite value give finite results: nothing in between is larger than what goes in
    and what comes out.
    """
    source = case.source()
    want, bound, scale = _scaled_right(subject, case, source)
    subject.judge_close(subject.apply(case, source).astype(np.float64) / scale, want, bound, what=f"divided by {scale:g}: ")


def _brim(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((2, 2), (3, 3)), ((3, 4), (7, 9)), ((5, 4), (4, 3))], values="brim")


def _keeps_its_range(cell: Cell) -> bool:
    return not cell.backward and cell.mode in ("nearest", "nearest_exact", "bilinear")


@check("strict", _brim, dtypes="every", applies=_keeps_its_range)
def check_averages_stay_in_range(subject: Subject, case: Case) -> None:
    """Where the weights are positive and add up to one, samples of nine tenths of the greatest finite value and both
    signs give finite results: a difference of two of them would overflow.
    """
    source = case.source()
    want, bound, scale = _scaled_right(subject, case, source)
    subject.judge_close(subject.apply(case, source).astype(np.float64) / scale, want, bound, what=f"divided by {scale:g}: ")


def _tiny(cell: Cell) -> Iterator[Case]:
    yield from _extreme("tiny", cell)


@check("strict", _tiny, dtypes="every")
def check_denormals_are_kept(subject: Subject, case: Case) -> None:
    """Samples below the smallest normal number are resampled to the last bit they have, and not flushed to zero."""
    source = case.source()
    right = subject.right(case, source)
    last = 8 * float(np.finfo(case.dtype).smallest_subnormal)
    subject.judge_close(subject.apply(case, source), right.values, right.bound + last * _terms(case), source=source)


def _terms(case: Case) -> float:
    return float(sum(matrix(case.cell, n, m).terms.max() for n, m in zip(case.shape[2:], case.output_size, strict=True)))
