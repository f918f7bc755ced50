"""The result is the oracle's, over every small size, sizes that programs get wrong, and published numbers."""

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import numpy as np

from burnpy._cached import cached
from burnpy.conformance.cases import CELLS, IMAGES, SWEEP, Case, Cell, images
from burnpy.conformance.check import ALONG_BOTH, check
from burnpy.conformance.oracle import Tolerance, expected
from burnpy.conformance.subject import Subject

__all__: list[str] = []


def _along_height(cell: Cell) -> Iterator[Case]:
    for n, m in SWEEP:
        yield from images(cell, [((n, 1), (m, 1))])


def _along_width(cell: Cell) -> Iterator[Case]:
    for n, m in SWEEP:
        yield from images(cell, [((1, n), (1, m))])


def _images(cell: Cell) -> Iterator[Case]:
    yield from images(cell)
    for content in ("ramp", "impulse", "constant", "checker"):
        yield from images(cell, [((3, 2), (5, 4)), ((8, 9), (5, 4)), ((6, 5), (3, 11))], values=content)


@check("core", _along_height)
def check_values_along_height(subject: Subject, case: Case) -> None:
    """A single column of every height from 1 to 17 to every other is resampled as the formulas say, since one wrong tap at
    a border shows at some small size. (Nearest: but where a float index slips; see indices_are_exact.)
    """
    subject.judge_values(case, case.source())


@check("core", _along_width)
def check_values_along_width(subject: Subject, case: Case) -> None:
    """A single row of every width from 1 to 17 to every other is resampled as the formulas say: the path along the last
    axis is often another one.
    """
    subject.judge_values(case, case.source())


@check("core", _images, needs=("shape_and_dtype", *ALONG_BOTH))
def check_values_of_images(subject: Subject, case: Case) -> None:
    """Images of awkward sizes (primes, powers of two and their neighbours, thin, wide, up along one axis and down along the
    other) are resampled as the formulas say.
    """
    subject.judge_values(case, case.source())


_LARGE = [((1, 150), (1, 1201)), ((1025, 1), (300, 1)), ((300, 1), (1027, 1)), ((1, 1500), (1, 150))]


def _large(cell: Cell) -> Iterator[Case]:
    yield from images(cell, _LARGE)


@check("core", _large, needs=("shape_and_dtype", *ALONG_BOTH, "values_of_images"))
def check_values_at_large_sizes(subject: Subject, case: Case) -> None:
    """Long axes are resampled as the formulas say: blocks, threads and precision of coordinates show only there."""
    subject.judge_values(case, case.source())


@cached(1)
def _published() -> list[dict[str, Any]]:
    text = resources.files("burnpy.conformance").joinpath("published.json").read_text("utf-8")
    vectors: list[dict[str, Any]] = json.loads(text)
    return vectors


def _golden(cell: Cell) -> Iterator[Case]:
    for number, vector in enumerate(_published()):
        same = (vector["mode"], vector["align_corners"], vector["direction"]) == (
            cell.mode,
            cell.options.align_corners,
            cell.direction,
        )
        if same and not cell.options.antialias:
            size = (int(vector["output_size"][0]), int(vector["output_size"][1]))
            yield Case(cell, tuple(vector["input_shape"]), size, note=f"vector {number}: {vector['name']}")


_WITH_PUBLISHED = frozenset(cell.id for cell in CELLS if any(_golden(cell)))


def _is_published(cell: Cell) -> bool:
    return cell.id in _WITH_PUBLISHED


@check("core", _golden, applies=_is_published)
def check_values_published(subject: Subject, case: Case) -> None:
    """The vectors of burn's own tests hold, to the digits they are printed with: numbers that owe nothing to this package's
    oracle.
    """
    vector = _published()[int(case.note.removeprefix("vector ").partition(":")[0])]
    given = np.array(vector["grad" if case.backward else "input_values"], case.dtype)
    got = subject.apply(case, given.reshape(case.source_shape)).astype(np.float64).reshape(-1)
    want = np.array(vector["expected"], np.float64)
    if "asserted_indices" in vector:
        want, got = (array[vector["asserted_indices"]] for array in (want, got))
    coarse = 2e-2 if "test_1d_lanczos3" in vector["name"] else 0.0  # some of those figures follow another border rule
    bound = np.maximum(max(vector["atol"], coarse), vector["rtol"] * np.maximum(np.abs(want), np.abs(got)))
    subject.judge_close(got, want, bound, source=given.reshape(case.source_shape))


def _precise(cell: Cell) -> Iterator[Case]:
    for n, m in SWEEP[::5]:
        yield from images(cell, [((n, 1), (m, 1)), ((1, n), (1, m))])
    yield from images(cell, IMAGES[::2])
    yield from images(cell, [((1, 500), (1, 1249)), ((613, 1), (349, 1))])


@check("strict", _precise, dtypes="every", needs=("shape_and_dtype", *ALONG_BOTH, "every_dtype"))
def check_values_are_precise(subject: Subject, case: Case) -> None:
    """In every element type the error stays within 8 eps of the sum of |weight * sample|: coordinates are exact and weights
    are computed in double, at any size.
    """
    source = case.source()
    got = subject.apply(case, source)
    strict = Tolerance("strict", subject.tolerance.k)
    right = expected(case, source, strict)
    subject.judge_close(got, right.values, right.bound, source=source)
