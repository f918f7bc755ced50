"""What is measured: sizes, memory orders, modes, directions, types, as data."""

import math
from dataclasses import dataclass

import numpy as np

from burnpy import InterpolateMode, InterpolateOptions


@dataclass(frozen=True)
class Case:
    """One job: an array of ``shape`` resized to ``size``, or the gradient of that.

    ``layout`` is "nchw", or "nhwc" for the same array with its channels last in memory.
    """

    suite: str
    shape: tuple[int, ...]
    size: tuple[int, ...]
    options: InterpolateOptions
    direction: str = "forward"
    dtype: str = "float32"
    layout: str = "nchw"

    @property
    def name(self) -> str:
        """Return a name to select and report the case by."""
        kind = self.options.mode.value + ("+aa" if self.options.antialias else "")
        sizes = "x".join(map(str, self.shape)) + "->" + "x".join(map(str, self.size))
        return f"{self.suite} {sizes} {kind} {self.direction} {self.dtype}"

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Return the shape of the forward result."""
        return (*self.shape[:2], *self.size)

    @property
    def moved_bytes(self) -> int:
        """Return the bytes that must be read and written once."""
        return (math.prod(self.shape) + math.prod(self.result_shape)) * np.dtype(self.dtype).itemsize

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ``x`` and a gradient of the result, with the memory order of the case."""
        rng = np.random.default_rng(0)
        x, grad = (self._ordered(rng.random(s, np.float32).astype(self.dtype)) for s in (self.shape, self.result_shape))
        return x, grad

    def _ordered(self, array: np.ndarray) -> np.ndarray:
        if self.layout == "nchw":
            return array
        return np.ascontiguousarray(np.moveaxis(array, 1, -1)).transpose(0, 3, 1, 2)


PLANE, SMALL = (1, 1), (8, 64)
LINEAR = ("bilinear", "bicubic", "lanczos3")
MODES = ("nearest", "nearest_exact", *LINEAR)


def half_pixel(mode: str, antialias: bool = False) -> InterpolateOptions:
    """Return the options that most libraries mean by a mode."""
    return InterpolateOptions(InterpolateMode(mode), align_corners=False, antialias=antialias)


def all_cases() -> list[Case]:
    """Return every case, forward and backward."""
    cases = [case for suite in (large, rgb, small, other, types, scaling) for case in suite()]
    return [
        Case(c.suite, c.shape, c.size, c.options, direction, c.dtype, c.layout)
        for c in cases
        for direction in ("forward", "backward")
    ]


def large() -> list[Case]:
    """One large plane, by every kind of ratio."""
    ratios = [((2048, 2048), (4096, 4096)), ((1024, 1024), (4096, 4096)), ((2048, 2048), (3072, 3072)),
              ((4096, 4096), (2048, 2048)), ((740, 740), (2020, 2020)), ((1080, 1920), (256, 256))]  # fmt: skip
    plain = [Case("plane", (1, 1, *n), m, half_pixel(mode)) for n, m in ratios for mode in MODES]
    down = [Case("plane", (1, 1, *n), m, half_pixel(mode, True)) for n, m in (ratios[3], ratios[5]) for mode in LINEAR]
    return plain + down


def rgb() -> list[Case]:
    """An RGB image, channels first and last."""
    ratios = [((1080, 1920), (2160, 3840)), ((1080, 1920), (540, 960)), ((1080, 1920), (256, 256))]
    plain = [
        Case("rgb", (1, 3, *n), m, half_pixel(mode), layout=layout)
        for layout in ("nchw", "nhwc")
        for n, m in ratios
        for mode in ("nearest", *LINEAR)
    ]
    down = [
        Case("rgb", (1, 3, *n), m, half_pixel(mode, True), layout=layout)
        for layout in ("nchw", "nhwc")
        for n, m in ratios[1:]
        for mode in LINEAR
    ]
    return [Case(f"rgb {c.layout}", c.shape, c.size, c.options, layout=c.layout) for c in plain + down]


def small() -> list[Case]:
    """Many small planes, and tiny ones."""
    sizes = [((8, 64), 32, 64), ((8, 64), 64, 32), ((4, 32), 37, 101), ((1, 3), 8, 16)]
    return [Case("small", (*nc, n, n), (m, m), half_pixel(mode)) for nc, n, m in sizes for mode in MODES]


def other() -> list[Case]:
    """Signals and volumes."""
    return [
        *(Case("signal", (1, 64, 44100), (48000,), half_pixel(mode)) for mode in ("nearest", *LINEAR)),
        *(Case("signal", (1, 1, 200_000), (300_000,), half_pixel(mode)) for mode in ("nearest", *LINEAR)),
        *(Case("volume", (1, 2, 64, 64, 64), (128, 128, 128), half_pixel(mode)) for mode in ("nearest", *LINEAR)),
    ]


def types() -> list[Case]:
    """The other element types."""
    return [
        Case("types", (1, 1, 1024, 1024), (2048, 2048), half_pixel(mode), dtype=dtype)
        for dtype in ("float64", "float16")
        for mode in ("nearest", "bilinear", "bicubic")
    ]


def scaling() -> list[Case]:
    """The same job at growing sizes: the time should be a line."""
    sizes = [(n, 2 * n) for n in (128, 256, 512, 1024, 2048, 4096)]
    return [Case("scaling", (1, 1, n, n), (m, m), half_pixel("bicubic")) for n, m in sizes]
