"""What checks are run on: cells of the capability matrix, cases in a cell, and the arrays that cases are about.

Everything here is deterministic: a case names its input, and the same name gives the same numbers on every machine, so that
an expected failure can be strict and a reproducer can be pasted.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from burnpy._cached import cached
from burnpy.options import InterpolateMode, InterpolateOptions

__all__ = ["CELLS", "DTYPES", "LEVELS", "SWEEP", "Case", "Cell", "Level", "Size", "images", "may_slip", "values"]

Level: TypeAlias = Literal["core"] | Literal["strict"]
"""How much is asked: what burn's trait promises, or also what burnpy promises."""
Size: TypeAlias = tuple[int, int]
Array: TypeAlias = NDArray[Any]

LEVELS: Final[tuple[Level, ...]] = ("core", "strict")
DTYPES: Final = ("float64", "float32", "float16")
"""The element types that a backend is asked about, the widest first."""


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix of capabilities: a mode with its switches, in one direction."""

    options: InterpolateOptions
    backward: bool

    @property
    def mode(self) -> str:
        """The mode's name."""
        return self.options.mode.value

    @property
    def variant(self) -> str:
        """The coordinate convention and filter: "align_corners", "half_pixel" or "antialias"."""
        if self.options.antialias:
            return "antialias"
        return "align_corners" if self.options.align_corners else "half_pixel"

    @property
    def direction(self) -> str:
        """One of "forward" and "backward"."""
        return "backward" if self.backward else "forward"

    @property
    def id(self) -> str:
        """``mode/variant/direction``, as it is written in reports and in lists of expected failures."""
        return f"{self.mode}/{self.variant}/{self.direction}"

    @property
    def radius(self) -> int:
        """Samples on either side of the source coordinate that the filter weighs, before it is stretched."""
        return {"bilinear": 1, "bicubic": 2, "lanczos3": 3}.get(self.mode, 0)


def _cells() -> Iterator[Cell]:
    for mode in InterpolateMode:
        for align_corners, antialias in ((True, False), (False, False), (False, True)):
            if not (antialias and mode.is_nearest):
                for backward in (False, True):
                    yield Cell(InterpolateOptions(mode, align_corners, antialias), backward)


CELLS: Final = tuple(_cells())
"""Every cell there is: 13 sets of options, forward and backward."""


@dataclass(frozen=True)
class Case:
    """One input of one check.

    Attributes
    ----------
    cell : Cell
    shape : tuple of int
        ``(N, C, H, W)``, the shape of x.
    output_size : tuple of two int
    dtype : str
    values : str
        Name of what the array holds, see `values`.
    layout : str
        How it lies in memory, see `burnpy.conformance.subject`.
    note : str
        What else a check distinguishes.
    """

    cell: Cell
    shape: tuple[int, ...]
    output_size: Size
    dtype: str = "float64"
    values: str = "noise"
    layout: str = "plain"
    note: str = ""

    @property
    def options(self) -> InterpolateOptions:
        """The options of the cell."""
        return self.cell.options

    @property
    def backward(self) -> bool:
        """Whether the gradient is asked for."""
        return self.cell.backward

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of ``interpolate(x)``, which is that of grad."""
        return (*self.shape[:2], *self.output_size)

    @property
    def source_shape(self) -> tuple[int, ...]:
        """The shape of what the operator is applied to: x forward, grad backward."""
        return self.output_shape if self.backward else self.shape

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        return self.shape if self.backward else self.output_shape

    @property
    def cost(self) -> int:
        """How much a reader has to look at: the elements of both ends."""
        return int(np.prod(self.shape) + np.prod(self.output_shape))

    def source(self) -> Array:
        """Return what the operator is applied to."""
        return values(self.values, self.source_shape, self.dtype)

    def with_dtype(self, dtype: str) -> "Case":
        """Return the case in another element type."""
        return replace(self, dtype=dtype)

    def __str__(self) -> str:
        extra = "".join(f", {word}" for word in (self.layout, self.note) if word not in ("", "plain"))
        return f"x {self.shape} -> {self.output_size}, {self.dtype}, {self.values}{extra}"


def values(name: str, shape: tuple[int, ...], dtype: str) -> Array:
    """Return an array of known content.

    Parameters
    ----------
    name : str
        "noise" (normal, seeded by the shape; "noise2" is another), "ramp", "impulse", "constant", "checker", "huge",
        "brim", "tiny", "zero", "minus_zero", "nan", "infinity" (the last two: one such sample in noise).
    shape : tuple of int
    dtype : str
    """
    return _values(name, shape, dtype).copy()


@cached(512)
def _values(name: str, shape: tuple[int, ...], dtype: str) -> Array:
    kind = np.dtype(dtype)
    rng = np.random.default_rng(zlib.crc32(repr((name, shape)).encode()))
    with np.errstate(all="ignore"):
        return np.asarray(_MAKERS[name](shape, rng, kind)).astype(kind)


def _noise(shape: tuple[int, ...], rng: np.random.Generator, _: np.dtype[Any]) -> Array:
    return rng.standard_normal(shape)


def _ramp(shape: tuple[int, ...], _: np.random.Generator, __: np.dtype[Any]) -> Array:
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape) % 1021 - 3


def _impulse(shape: tuple[int, ...], _: np.random.Generator, __: np.dtype[Any]) -> Array:
    flat = np.zeros(shape)
    flat.reshape(-1)[(flat.size - 1) // 3] = 1
    return flat


def _checker(shape: tuple[int, ...], _: np.random.Generator, __: np.dtype[Any]) -> Array:
    return np.asarray(1.0 - 2.0 * (np.indices(shape).sum(0) % 2))


def _scaled(shape: tuple[int, ...], rng: np.random.Generator, factor: float) -> Array:
    signs = rng.choice([-1.0, 1.0], shape)
    return signs * rng.uniform(0.5, 1, shape) * factor


def _special(shape: tuple[int, ...], rng: np.random.Generator, value: float) -> Array:
    noise = rng.standard_normal(shape)
    noise.reshape(-1)[(noise.size - 1) // 3] = value
    return noise


_MAKERS: Final[dict[str, Callable[[tuple[int, ...], np.random.Generator, np.dtype[Any]], Array]]] = {
    "noise": _noise,
    "noise2": _noise,
    "ramp": _ramp,
    "impulse": _impulse,
    "constant": lambda shape, rng, kind: np.full(shape, 0.7),
    "checker": _checker,
    "huge": lambda shape, rng, kind: _scaled(shape, rng, float(np.finfo(kind).max) / 4),
    "brim": lambda shape, rng, kind: 0.9 * float(np.finfo(kind).max) * _checker(shape, rng, kind),
    "tiny": lambda shape, rng, kind: _scaled(shape, rng, float(np.finfo(kind).tiny) / 2),
    "zero": lambda shape, rng, kind: np.zeros(shape),
    "minus_zero": lambda shape, rng, kind: np.full(shape, -0.0),
    "nan": lambda shape, rng, kind: _special(shape, rng, np.nan),
    "infinity": lambda shape, rng, kind: _special(shape, rng, np.inf),
}

SWEEP: Final = tuple(sorted(((n, m) for n in range(1, 18) for m in range(1, 18)), key=lambda pair: (sum(pair), pair)))
"""Every pair of sizes from 1 to 17, the smallest first."""

IMAGES: Final[tuple[tuple[Size, Size], ...]] = (
    ((1, 1), (5, 7)),
    ((5, 7), (1, 1)),
    ((2, 3), (3, 2)),
    ((3, 2), (7, 2)),
    ((3, 8), (8, 3)),
    ((7, 5), (8, 7)),
    ((9, 9), (4, 13)),
    ((13, 4), (5, 9)),
    ((1, 97), (1, 31)),
    ((97, 1), (31, 1)),
    ((16, 31), (31, 16)),
    ((17, 33), (33, 65)),
    ((129, 2), (64, 7)),
    ((2, 255), (3, 256)),
    ((127, 3), (128, 5)),
    ((64, 63), (32, 127)),
    ((31, 37), (61, 53)),
    ((2, 300), (3, 157)),
    ((1, 541), (2, 700)),
)
"""Sizes that programs get wrong: 1, primes, powers of two and their neighbours, thin, wide, up along one axis and down
along the other."""


def images(cell: Cell, sizes: Iterable[tuple[Size, Size]] = IMAGES, lead: Size = (1, 1), **rest: Any) -> Iterator[Case]:
    """Yield one case for each (size, output size), without those where a float index may slip."""
    for size, output_size in sizes:
        if not any(may_slip(cell, n, m) for n, m in zip(size, output_size, strict=True)):
            yield Case(cell, (*lead, *size), output_size, **rest)


@cached(4096)
def may_slip(cell: Cell, n: int, m: int) -> bool:
    """Tell whether a nearest index computed in floating point, by the formulas in use, is off somewhere at ``n -> m``.

    Such sizes are asked for at level strict only.
    """
    if not cell.options.mode.is_nearest:
        return False
    o = np.arange(m, dtype=np.int64)
    shift = 0.5 if cell.options.mode is InterpolateMode.NEAREST_EXACT else 0.0
    exact = (2 * o + int(2 * shift)) * n // (2 * m)
    return any(_slips(exact, o, n, m, shift, kind) for kind in (np.float32, np.float64))


def _slips(exact: Array, o: Array, n: int, m: int, shift: float, kind: type[np.floating[Any]]) -> bool:
    centre = o.astype(kind) + kind(shift)
    formulas = (centre * (kind(n) / kind(m)), centre * kind(n) / kind(m), centre / (kind(m) / kind(n)))
    return any(not np.array_equal(np.floor(formula), exact) for formula in formulas)
