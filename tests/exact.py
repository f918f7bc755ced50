"""The operators of every mode in exact arithmetic, written from the definitions: what results are judged by.

Weights are `fractions.Fraction`, for lanczos3 `mpmath` numbers of 50 digits. Applied to values of at most 24 bits, every
product of a piece of a weight is exact, and `math.fsum` rounds once.
"""

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from burnpy import InterpolateMode, InterpolateOptions

mpmath.mp.dps = 50

HALF = Fraction(1, 2)
OPTIONS = [
    InterpolateOptions(mode, align_corners, antialias)
    for mode, align_corners, antialias in itertools.product(InterpolateMode, [True, False], [False, True])
    if not (antialias and (align_corners or mode.is_nearest))
]
"""Every combination that has a meaning."""


def name_of(options):
    return (
        options.mode.value
        + ("-align_corners" if options.align_corners else "")
        + ("-antialias" if options.antialias else "")
    )


@functools.lru_cache(maxsize=512)
def exact_rows(n, m, options):
    """For every output the list of ``(input, weight)``, exact; zero weights left out."""
    return [[(i, w) for i, w in sorted(row(o, n, m, options).items()) if w != 0] for o in range(m)]


def row(o, n, m, options):
    mode = options.mode
    if mode == "nearest":
        return {o * n // m: Fraction(1)}
    if mode == "nearest_exact":
        return {(2 * o + 1) * n // (2 * m): Fraction(1)}
    if options.antialias:
        return antialiased_row(o, n, m, mode)
    if options.align_corners:
        c = Fraction(o * (n - 1), m - 1) if m > 1 else Fraction(0)
    else:
        c = Fraction((2 * o + 1) * n, 2 * m) - HALF
    if mode == "bilinear":
        c = min(max(c, 0), n - 1)
        i = math.floor(c)
        return {i: 1 - (c - i)} | ({i + 1: c - i} if i + 1 < n else {})
    i = math.floor(c)
    if mode == "bicubic":
        weights: dict[int, Fraction] = {}
        for k in range(i - 1, i + 3):
            inside = min(max(k, 0), n - 1)
            weights[inside] = weights.get(inside, Fraction(0)) + keys(abs(c - k), Fraction(-3, 4))
        return weights
    return normalised({k: lanczos3(abs(c - k)) for k in range(i - 2, i + 4) if 0 <= k < n})


def antialiased_row(o, n, m, mode):
    s = max(Fraction(n, m), Fraction(1))
    z = (o + HALF) * n / m
    radius, weigh = {
        "bilinear": (1, lambda d: max(1 - d, Fraction(0))),
        "bicubic": (2, lambda d: keys(d, -HALF)),
        "lanczos3": (3, lanczos3),
    }[mode]
    window = range(max(math.floor(z - radius * s + HALF), 0), min(math.floor(z + radius * s + HALF), n))
    return normalised({i: weigh(abs(i - z + HALF) / s) for i in window})


def normalised(weights):
    total = sum(weights.values())
    return {i: weight / total for i, weight in weights.items()}


def keys(d, a):
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else Fraction(0)


def lanczos3(d):
    if d == 0:
        return mpmath.mpf(1)
    if d >= 3 or d.denominator == 1:
        return mpmath.mpf(0)
    exact = mpmath.mpf(d.numerator) / d.denominator
    return mpmath.sincpi(exact) * mpmath.sincpi(exact / 3)


def transposed(rows, n):
    columns: list[list[Any]] = [[] for _ in range(n)]
    for o, entries in enumerate(rows):
        for i, weight in entries:
            columns[i].append((o, weight))
    return columns


def pieces(weight):
    """Split a weight into float64 numbers of 26 bits that add up to it within 2**-100 of its size."""
    found = []
    for _ in range(4):
        head = float(weight)
        if head == 0:
            break
        mantissa, exponent = math.frexp(head)
        head = math.ldexp(round(math.ldexp(mantissa, 26)), exponent - 26)
        found.append(head)
        weight -= Fraction(head) if isinstance(weight, Fraction) else mpmath.mpf(head)
    return found


def split(rows):
    return [[(i, pieces(weight)) for i, weight in entries] for entries in rows]


def apply_split(rows, x):
    """Return ``A @ x``, correctly rounded, and ``sum |w * x|``; ``x`` of shape (n, k), at most 24 bits a value."""
    y, size = np.empty((len(rows), x.shape[1])), np.empty((len(rows), x.shape[1]))
    for column in range(x.shape[1]):
        values = x[:, column].astype(float).tolist()
        for o, entries in enumerate(rows):
            y[o, column] = math.fsum(piece * values[i] for i, parts in entries for piece in parts)
            size[o, column] = sum(abs(parts[0] * values[i]) for i, parts in entries)
    return y, size


def dense(rows, n):
    """The matrix, correctly rounded to float64."""
    matrix = np.zeros((len(rows), n))
    for o, entries in enumerate(rows):
        for i, weight in entries:
            matrix[o, i] = float(weight)
    return matrix
