"""Mistakes in taps and coordinates."""

import math
from collections.abc import Callable

import numpy as np

from faulty_backends.base import Careful, Dense, exact, fault, with_options


def keys(d, a):
    d = abs(d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def triangle(d):
    return max(1 - abs(d), 0.0)


def lanczos(d, lobes=3):
    return float(np.sinc(d) * np.sinc(d / lobes)) if abs(d) < lobes else 0.0


def coordinate(o, n, m, align_corners):
    if align_corners:
        return o * (n - 1) / (m - 1) if m > 1 else 0.0
    return (2 * o + 1) * n / (2 * m) - 0.5


def convolved(n, m, f, radius, coordinates, border="clamp", normalise=False):
    """Return a matrix of weights ``f(c - j)``; ``border`` says what becomes of those outside."""
    matrix = np.zeros((m, n))
    for o, c in enumerate(coordinates):
        for j in range(math.floor(c) - radius + 1, math.floor(c) + radius + 1):
            i = j
            if border == "clamp":
                i = min(max(j, 0), n - 1)
            elif border == "reflect":
                i = abs(j) if j < n else 2 * (n - 1) - j
            if 0 <= i < n:
                matrix[o, i] += f(c - j)
    if normalise:
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def coordinates(n, m, options):
    return [coordinate(o, n, m, options.align_corners) for o in range(m)]


@fault("values_along_height")
class FirstRowReadsTheNext(Dense):
    """Off by one at the upper border only, along height."""

    def axis(self, n, m, options, axis, backward):
        matrix = exact(n, m, options).copy()
        if axis == 0 and n > 1 and m != n:
            matrix[0] = np.roll(matrix[0], 1)
        return matrix


@fault("values_along_width", "bicubic/align_corners/forward")
class LastColumnReadsTheOneBefore(Dense):
    """Off by one at the right border only, along width."""

    def axis(self, n, m, options, axis, backward):
        matrix = exact(n, m, options).copy()
        if axis == 1 and n > 2 and m != n:
            matrix[-1] = np.roll(matrix[-1], -1)
        return matrix


@fault("values_along_height", "bicubic/half_pixel/forward")
class CubicDropsTheOutside(Dense):
    """Bicubic leaves out what is outside instead of repeating the border."""

    def axis(self, n, m, options, axis, backward):
        return convolved(n, m, lambda d: keys(d, -0.75), 2, coordinates(n, m, options), border="drop")


@fault("values_along_height", "bicubic/half_pixel/forward")
class CubicRenormalisesAtTheBorder(Dense):
    """Bicubic leaves out what is outside and divides by the rest, as another library does."""

    def axis(self, n, m, options, axis, backward):
        return convolved(n, m, lambda d: keys(d, -0.75), 2, coordinates(n, m, options), border="drop", normalise=True)


@fault("values_along_width", "bicubic/half_pixel/forward")
class CubicReflectsAtTheBorder(Dense):
    """Bicubic reflects at the border."""

    def axis(self, n, m, options, axis, backward):
        return convolved(n, m, lambda d: keys(d, -0.75), 2, coordinates(n, m, options), border="reflect")


@fault("values_along_height")
class BilinearExtrapolates(Dense):
    """Bilinear does not clamp the coordinate, so that borders are extrapolated."""

    def axis(self, n, m, options, axis, backward):
        matrix = np.zeros((m, n))
        for o, c in enumerate(coordinates(n, m, options)):
            i = min(max(math.floor(c), 0), max(n - 2, 0))
            matrix[o, i] += 1 - (c - i)
            matrix[o, min(i + 1, n - 1)] += c - i
        return matrix


@fault("values_along_height", "bicubic/align_corners/forward")
class CubicOfAnotherLibrary(Dense):
    """Bicubic with a = -0.5 for -0.75."""

    def axis(self, n, m, options, axis, backward):
        return convolved(n, m, lambda d: keys(d, -0.5), 2, coordinates(n, m, options))


@fault("values_along_width", "bicubic/antialias/forward")
class AntialiasedCubicWithTheWrongA(Dense):
    """Antialiased bicubic with a = -0.75 for -0.5."""

    def axis(self, n, m, options, axis, backward):
        return antialiased(n, m, lambda d: keys(d, -0.75), 2)


def antialiased(n, m, f, radius, stretch=None, normalise=True):
    s = max(n / m, 1.0) if stretch is None else stretch
    matrix = np.zeros((m, n))
    for o in range(m):
        z = (o + 0.5) * n / m
        for i in range(max(math.floor(z - radius * s + 0.5), 0), min(math.floor(z + radius * s + 0.5), n)):
            matrix[o, i] = f((i - z + 0.5) / s)
    return matrix / matrix.sum(axis=1, keepdims=True) if normalise else matrix


@fault("values_along_height", "bilinear/antialias/forward")
class AntialiasWithoutStretching(Dense):
    """Antialias is accepted and forgotten: the filter is not widened."""

    def axis(self, n, m, options, axis, backward):
        return antialiased(n, m, triangle, 1, stretch=1.0)


@fault("constants_are_preserved", "bilinear/antialias/forward")
class AntialiasWithoutDividing(Dense):
    """The widened filter is divided by the scale and not by its sum, which differs at the borders."""

    def axis(self, n, m, options, axis, backward):
        return antialiased(n, m, triangle, 1, normalise=False) / max(n / m, 1)


@fault("values_along_width", "lanczos3/antialias/forward")
class AntialiasStretchesUpwardsToo(Dense):
    """The filter is scaled by n/m also when the image grows."""

    def axis(self, n, m, options, axis, backward):
        matrix = antialiased(n, m, lanczos, 3, stretch=n / m, normalise=False)
        matrix[matrix.sum(axis=1) == 0, 0] = 1
        return matrix / matrix.sum(axis=1, keepdims=True)


@fault("axes_are_alike", "bicubic/antialias/forward")
class AntialiasAlongWidthOnly(Dense):
    """Antialiasing along width only."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, options if axis else with_options(options, antialias=False))


@fault("constants_are_preserved", "lanczos3/align_corners/forward")
class LanczosNotDivided(Dense):
    """Lanczos3 is not divided by the sum of its weights."""

    def axis(self, n, m, options, axis, backward):
        return convolved(n, m, lanczos, 3, coordinates(n, m, options), border="drop")


@fault("values_along_height", "lanczos3/half_pixel/forward")
class LanczosRepeatsTheBorder(Dense):
    """Lanczos3 repeats the border instead of leaving out what is outside."""

    def axis(self, n, m, options, axis, backward):
        return convolved(n, m, lanczos, 3, coordinates(n, m, options), normalise=True)


@fault("values_along_height", "lanczos3/half_pixel/forward")
class LanczosOfTwoLobes(Dense):
    """Lanczos with two lobes."""

    def axis(self, n, m, options, axis, backward):
        return convolved(n, m, lambda d: lanczos(d, 2), 2, coordinates(n, m, options), border="drop", normalise=True)


@fault("values_along_height", "bilinear/align_corners/forward")
class ConventionsSwappedAlongHeight(Dense):
    """Half-pixel and align_corners swapped along height."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, with_options(options, align_corners=not options.align_corners) if axis == 0 else options)


@fault("values_published", "bicubic/align_corners/forward")
class AlwaysHalfPixel(Dense):
    """align_corners is accepted and ignored."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, with_options(options, align_corners=False))


@fault("values_along_height", "bilinear/align_corners/forward")
class OneOutputTakesTheCentre(Dense):
    """With align_corners and a single output, the centre is taken instead of the first sample."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, with_options(options, align_corners=False)) if m == 1 else exact(n, m, options)


class Nearest(Careful):
    """Right, with a place for the index of each output."""

    index: Callable[..., int]

    def axis(self, n, m, options, axis, backward):
        matrix = np.zeros((m, n))
        for o in range(m):
            matrix[o, min(max(self.index(o, n, m), 0), n - 1)] = 1
        return matrix


@fault("values_along_height", "nearest_exact/half_pixel/forward")
class TiesGoDown(Nearest):
    """nearest_exact rounds a tie the other way."""

    def index(self, o, n, m):
        return -(-((2 * o + 1) * n - 2 * m) // (2 * m))


@fault("values_along_width", "nearest/align_corners/forward")
class NearestIsNearestExact(Nearest):
    """nearest takes the sample under the centre."""

    def index(self, o, n, m):
        return (2 * o + 1) * n // (2 * m)


@fault("values_along_width", "nearest/align_corners/forward")
class NearestHeedsAlignCorners(Nearest):
    """nearest follows align_corners, which it must ignore."""

    def index(self, o, n, m):
        return math.floor(coordinate(o, n, m, True) + 0.5)


@fault("values_at_large_sizes", "bicubic/half_pixel/forward")
class SinglePrecisionCoordinates(Dense):
    """Coordinates are computed in float32 for float64 arrays too, beyond a thousand samples."""

    def axis(self, n, m, options, axis, backward):
        if max(n, m) < 1000:
            return exact(n, m, options)
        single = [float(np.float32(o + 0.5) * (np.float32(n) / np.float32(m)) - np.float32(0.5)) for o in range(m)]
        return convolved(n, m, lambda d: keys(d, -0.75), 2, single)


@fault("values_along_height", "lanczos3/align_corners/forward")
class WeightsInHalfPrecision(Dense):
    """Weights come from a table in half precision."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, options).astype(np.float16).astype(np.float64)


@fault("values_of_images", "bilinear/align_corners/forward")
class ScaleOfHeightAlongWidth(Dense):
    """When both axes change, width is resampled with the scale of height."""

    def operators(self, sizes, output_size, options, backward):
        high, wide = super().operators(sizes, output_size, options, backward)
        (h, w), (mh, mw) = sizes, output_size
        if h != mh and w != mw:
            ratio = (h - 1) / max(mh - 1, 1)
            wide = convolved(w, mw, triangle, 1, [min(o * ratio, w - 1) for o in range(mw)])
        return [high, wide]


@fault("flips_commute", "bilinear/half_pixel/forward")
class ShiftedByAHundredth(Dense):
    """Coordinates are a hundredth of a sample too large."""

    def axis(self, n, m, options, axis, backward):
        moved = [min(max(c + 0.01, 0), n - 1) for c in coordinates(n, m, options)]
        return convolved(n, m, triangle, 1, moved) if n != m else exact(n, m, options)
