"""Results as exact fractions: the modes whose weights are rational, by the formulas once more, in rational arithmetic."""

import math
from fractions import Fraction

from burnpy.conformance.cases import Case, Cell

__all__ = ["exact_matrix", "exact_result"]

Row = dict[int, Fraction]
HALF = Fraction(1, 2)


def exact_result(case: Case) -> list[Fraction] | None:
    """Return the result of a case, row by row, or None for lanczos3, whose weights are not rational."""
    if case.cell.mode == "lanczos3":
        return None
    (n_high, n_wide), (m_high, m_wide) = case.shape[2:], case.output_size
    high, wide = exact_matrix(case.cell, n_high, m_high), exact_matrix(case.cell, n_wide, m_wide)
    if case.backward:
        high, wide = _transposed(high, n_high), _transposed(wide, n_wide)
    source = case.source()
    images = source.reshape(-1, *source.shape[2:]).tolist()
    return [value for image in images for value in _resampled(image, high, wide)]


def _resampled(image: list[list[float]], high: list[Row], wide: list[Row]) -> list[Fraction]:
    rows = [[sum((w * Fraction(row[i]) for i, w in taps.items()), Fraction(0)) for taps in wide] for row in image]
    return [
        sum((w * rows[i][column] for i, w in taps.items()), Fraction(0)) for taps in high for column in range(len(wide))
    ]


def exact_matrix(cell: Cell, n: int, m: int) -> list[Row]:
    """Return for every output the weights of its inputs."""
    return [_row(cell, o, n, m) for o in range(m)]


def _transposed(rows: list[Row], n: int) -> list[Row]:
    columns: list[Row] = [{} for _ in range(n)]
    for o, row in enumerate(rows):
        for i, weight in row.items():
            columns[i][o] = weight
    return columns


def _row(cell: Cell, o: int, n: int, m: int) -> Row:
    if cell.mode == "nearest":
        return {o * n // m: Fraction(1)}
    if cell.mode == "nearest_exact":
        return {(2 * o + 1) * n // (2 * m): Fraction(1)}
    if cell.options.antialias:
        return _antialiased(cell, o, n, m)
    c = _coordinate(cell, o, n, m)
    if cell.mode == "bilinear":
        c = min(max(c, Fraction(0)), Fraction(n - 1))
    row: Row = {}
    for j in range(math.floor(c) - cell.radius + 1, math.floor(c) + cell.radius + 1):
        weight = 1 - abs(c - j) if cell.mode == "bilinear" else _keys(c - j, Fraction(-3, 4))
        i = min(max(j, 0), n - 1)
        row[i] = row.get(i, Fraction(0)) + weight
    return {i: weight for i, weight in row.items() if weight}


def _coordinate(cell: Cell, o: int, n: int, m: int) -> Fraction:
    if cell.options.align_corners:
        return Fraction(o * (n - 1), m - 1) if m > 1 else Fraction(0)
    return Fraction((2 * o + 1) * n, 2 * m) - HALF


def _antialiased(cell: Cell, o: int, n: int, m: int) -> Row:
    stretch = max(Fraction(n, m), Fraction(1))
    centre = Fraction((2 * o + 1) * n, 2 * m)
    reach = cell.radius * stretch
    row: Row = {}
    for i in range(max(math.floor(centre - reach + HALF), 0), min(math.floor(centre + reach + HALF), n)):
        d = (i - centre + HALF) / stretch
        weight = max(1 - abs(d), Fraction(0)) if cell.mode == "bilinear" else _keys(d, -HALF)
        if weight:
            row[i] = weight
    total = sum(row.values())
    return {i: weight / total for i, weight in row.items()}


def _keys(distance: Fraction, a: Fraction) -> Fraction:
    d = abs(distance)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * (d - 1) * (d - 2) ** 2 if d < 2 else Fraction(0)
