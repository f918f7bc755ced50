"""Indices of the nearest modes, exact at the sizes where float32 or float64 arithmetic picks the neighbour."""

from collections.abc import Iterator

import numpy as np

from burnpy.conformance.cases import SWEEP, Case, Cell, may_slip
from burnpy.conformance.check import check
from burnpy.conformance.subject import Array, Subject
from burnpy.options import InterpolateMode

__all__: list[str] = []

_SLIPS = [
    *(
        (14, 23),
        (14, 18),
        (26, 22),
        (30, 22),
        (26, 44),
        (30, 44),
        (45, 47),
        (2, 98),
        (28, 24),
        (49, 98),
        (98, 2),
        (61, 305),
    ),
    *((30, 11), (30, 13), (26, 23), (26, 11), (20, 6), (21, 27)),
    *((n, 2 * n) for n in (214, 218, 220, 227, 230, 235, 242, 245, 255)),
    *((997, 1000), (1000, 997), (1021, 2042), (2049, 2048), (4098, 4097)),
]
"""(n, m) where some formula in use slips, and neighbours of powers of two beyond which float16 skips integers. The pairs
up to 17 that level core leaves out are added."""


def _is_nearest(cell: Cell) -> bool:
    return cell.options.mode.is_nearest


def _slippery(cell: Cell) -> Iterator[Case]:
    small = (pair for pair in SWEEP if may_slip(cell, *pair))
    for n, m in sorted({*_SLIPS, *small}, key=lambda pair: (sum(pair), pair)):
        yield Case(cell, (1, 1, n, 1), (m, 1), values="ramp")
        yield Case(cell, (1, 1, 1, n), (1, m), values="ramp")


def nearest_index(case: Case, n: int, m: int) -> Array:
    """Return which of ``n`` samples each of ``m`` outputs takes, in integers."""
    o = np.arange(m, dtype=np.int64)
    exact = case.options.mode is InterpolateMode.NEAREST_EXACT
    return (2 * o + 1) * n // (2 * m) if exact else o * n // m


@check("strict", _slippery, applies=_is_nearest, dtypes="every")
def check_indices_are_exact(subject: Subject, case: Case) -> None:
    """The sample picked is floor(o n / m), or floor((2 o + 1) n / (2 m)), in integers: a scale in floating point is off
    by one at about two sizes in a hundred.
    """
    n, m = (int(np.prod(shape[2:])) for shape in (case.shape, case.output_shape))
    index = nearest_index(case, n, m)
    source = (np.arange(m if case.backward else n) % 61 + 1).astype(case.dtype)
    want = np.bincount(index, source, n) if case.backward else source[index].astype(np.float64)
    got = subject.apply(case, source.reshape(case.source_shape)).astype(np.float64).reshape(-1)
    rounding = np.abs(want) * (0 if not case.backward else 2 * np.finfo(case.dtype).eps)
    subject.judge_close(got, want, rounding, source=source.reshape(case.source_shape))
