"""The demo's picture, computed at any size: smooth colours, hard edges, letters, and rings ever closer together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["scene"]

Pixels = NDArray[np.float64]

_HORIZON = 0.62
_GRID = 48
"""The letters are drawn on a grid of this many cells, so that at that size each cell is one pixel."""
_LETTERS = (
    "#.............",
    "#.............",
    "###.#.#.##.###",
    "#.#.#.#.#..#.#",
    "###.###.#..#.#",
)
_SKY = ((0.00, (24, 22, 72)), (0.45, (128, 46, 112)), (0.80, (240, 108, 78)), (1.00, (255, 190, 106)))
_SUN = ((0.00, (255, 244, 178)), (1.00, (255, 120, 72)))


def scene(size: int, rings: float = 105) -> Pixels:
    """Return the picture in ``size`` by ``size`` pixels, shape (1, 3, size, size), values from 0 to 1.

    ``rings`` is the phase of the rings at a distance of 1, in radians: at a distance r there are rings * r / pi of them per
    side. Each pixel is the colour at its centre, not an average over its area, so there is detail enough to alias.
    """
    v, u = np.meshgrid(*[(np.arange(size) + 0.5) / size] * 2, indexing="ij")
    picture = _gradient(v / _HORIZON, _SKY)
    _paint(picture, _sun(u, v), _gradient((v - 0.22) / 0.34, _SUN))
    _paint(picture, v > _ridge(u, 0.56, 0.20, 2.3, 0.35), (88, 40, 96))
    _paint(picture, v > _ridge(u, 0.62, 0.17, 3.1, 0.10), (42, 24, 66))
    _paint(picture, v > _HORIZON, _water(u, v, rings))
    _paint(picture, _letters(u, v), (255, 255, 255))
    return (picture / 255)[np.newaxis]


def _gradient(t: Pixels, stops: Sequence[tuple[float, tuple[int, int, int]]]) -> Pixels:
    """Return colours (3, H, W) that run through ``stops`` as ``t`` runs from 0 to 1."""
    places, colours = zip(*stops, strict=True)
    return np.stack([np.interp(t, places, channel) for channel in zip(*colours, strict=True)])


def _paint(picture: Pixels, where: NDArray[np.bool_], colour: Pixels | tuple[int, int, int]) -> None:
    colours = np.asarray(colour, np.float64)
    np.copyto(picture, colours if colours.ndim == 3 else colours[:, np.newaxis, np.newaxis], where=where)


def _sun(u: Pixels, v: Pixels) -> NDArray[np.bool_]:
    """Return a disc with slits that widen downwards."""
    down = (v - 0.30) / 0.24
    slit = (down > 0) & (np.mod(down * 5, 1) < 0.16 + 0.30 * down)
    return (np.hypot(u - 0.56, v - 0.38) < 0.2) & ~slit


def _ridge(u: Pixels, base: float, height: float, peaks: float, phase: float) -> Pixels:
    """Return the height of a line of straight-sided mountains above each ``u``."""
    broad = np.abs(np.mod(u * peaks + phase, 1) - 0.5)
    fine = np.abs(np.mod(u * peaks * 2.7 + phase, 1) - 0.5)
    return base - height * (0.75 * broad + 0.35 * fine)


def _water(u: Pixels, v: Pixels, rings: float) -> Pixels:
    """Return rings whose distance shrinks as they spread, a zone plate, from blue to the colours of the sky."""
    crest = 0.5 + 0.5 * np.cos(rings * ((u - 0.56) ** 2 + (v - _HORIZON) ** 2))
    glow = _gradient((v - _HORIZON) / (1 - _HORIZON), ((0, (255, 196, 128)), (0.5, (226, 96, 112)), (1, (96, 84, 176))))
    return np.asarray([[[26]], [[28]], [[84]]]) * (1 - crest) + glow * crest


def _letters(u: Pixels, v: Pixels) -> NDArray[np.bool_]:
    shape = np.array([[cell == "#" for cell in row] for row in _LETTERS])
    grid = np.zeros((_GRID, _GRID), np.bool_)
    grid[3 : 3 + shape.shape[0], 4 : 4 + shape.shape[1]] = shape
    return grid[(v * _GRID).astype(np.intp), (u * _GRID).astype(np.intp)]
