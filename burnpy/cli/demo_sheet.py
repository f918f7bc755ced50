"""The demo's contact sheet: one column a mode; forward, backward and antialiasing under each other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from burnpy import InterpolateMode, __version__, interpolate, interpolate_backward
from burnpy.cli.demo_scene import scene

__all__ = ["contact_sheet", "diverging"]

Pixels = NDArray[np.float64]

_MARGIN, _GAP, _PANEL = 44, 24, 240
_TITLE, _CAPTION, _SCALE = 132, 44, 56
"""Heights of the title with the names of the columns, of the line above a row, and of a colour scale with its numbers."""
_INK, _GREY, _FAINT = (28, 28, 36), (112, 112, 124), (218, 218, 224)

_SMALL = 48
"""Pixels a side of what the first row magnifies."""
_CELLS, _FINE = 10, 22
"""Samples a side before and after, for the gradient of the second row."""
_DELTA = (13, 10)
"""Row and column of the output sample whose gradient is 1: off centre on both axes, and the nearest modes differ."""
_LARGE, _THUMB = 290, 58
"""Pixels a side before and after, in the third row."""
_RINGS = 330
"""Twice as close at the rim of the third row's picture as the small one can show."""

_BLUE, _WHITE, _RED = (33, 84, 180), (255, 255, 255), (196, 32, 40)


class _Row(NamedTuple):
    heading: str
    explanation: str
    top: int
    height: int


def contact_sheet() -> Image.Image:
    """Return the sheet, an RGB picture."""
    rows = forward, backward, antialias = _rows()
    width = 2 * _MARGIN + len(InterpolateMode) * (_PANEL + _GAP) - _GAP
    sheet = Image.new("RGB", (width, antialias.top + antialias.height + _MARGIN), _WHITE)
    draw = ImageDraw.Draw(sheet)
    _draw_title(draw, width)
    for row in rows:
        _draw_caption(draw, row, width)
    small, large = scene(_SMALL), scene(_LARGE, _RINGS)
    for column, mode in enumerate(InterpolateMode):
        left = _MARGIN + column * (_PANEL + _GAP)
        draw.text((left, _TITLE - 14), mode.value, _INK, _font(20), anchor="ls")
        sheet.paste(_picture(_half_pixel(small, _PANEL, mode)), (left, forward.top))
        _draw_gradient(sheet, draw, (left, backward.top), mode)
        _draw_thumbs(sheet, draw, (left, antialias.top), large, mode)
    return sheet


def _rows() -> tuple[_Row, _Row, _Row]:
    """Return what stands in each row, and where."""
    first = _TITLE + _CAPTION
    second = first + _PANEL + _GAP + _CAPTION
    third = second + _PANEL + _SCALE + _GAP + _CAPTION
    gradient = (
        f"the gradient of {_CELLS} x {_CELLS} inputs, given that of {_FINE} x {_FINE} outputs: "
        "1 at the one in the ring, 0 at all others"
    )
    thumbs = f"{_LARGE} x {_LARGE} pixels become {_THUMB} x {_THUMB}, shown at twice that size: without and with antialias"
    return (
        _Row("interpolate", f"{_SMALL} x {_SMALL} pixels become {_PANEL} x {_PANEL}, half-pixel", first, _PANEL),
        _Row("interpolate_backward", gradient, second, _PANEL + _SCALE),
        _Row("antialias", thumbs, third, 2 * _THUMB),
    )


def _draw_title(draw: ImageDraw.ImageDraw, width: int) -> None:
    draw.text((_MARGIN, 68), "burnpy", _INK, _font(40), anchor="ls")
    draw.text((width - _MARGIN, 68), f"every mode, forward and backward  |  {__version__}", _GREY, _font(16), anchor="rs")


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _draw_caption(draw: ImageDraw.ImageDraw, row: _Row, width: int) -> None:
    draw.line((_MARGIN, row.top - _CAPTION, width - _MARGIN - 1, row.top - _CAPTION), _FAINT)
    heading = _font(17)
    draw.text((_MARGIN, row.top - 15), row.heading, _INK, heading, anchor="ls")
    beside = _MARGIN + heading.getlength(row.heading) + 14
    draw.text((beside, row.top - 15), row.explanation, _GREY, _font(15), anchor="ls")


def _half_pixel(x: Pixels, size: int, mode: InterpolateMode, antialias: bool = False) -> Pixels:
    return interpolate(x, (size, size), mode=mode, align_corners=False, antialias=antialias)


def _picture(planes: Pixels) -> Image.Image:
    samples = np.clip(np.rint(planes[0] * 255), 0, 255).astype(np.uint8)
    return Image.fromarray(np.ascontiguousarray(np.moveaxis(samples, 0, -1)))


def _draw_gradient(sheet: Image.Image, draw: ImageDraw.ImageDraw, corner: tuple[int, int], mode: InterpolateMode) -> None:
    """Draw the gradient of a delta, the grid of the inputs, the place of the delta, and the scale."""
    delta = np.zeros((1, 1, _FINE, _FINE))
    delta[0, 0, *_DELTA] = 1
    gradient = interpolate_backward((1, 1, _CELLS, _CELLS), delta, (_FINE, _FINE), mode=mode, align_corners=False)[0, 0]
    left, top = corner
    limit = float(np.abs(gradient).max())
    cell = _PANEL // _CELLS
    pixels = Image.fromarray(diverging(gradient, limit)).resize((_PANEL, _PANEL), Image.Resampling.NEAREST)
    sheet.paste(pixels, corner)
    last = _PANEL - 1
    for step in (*range(0, _PANEL, cell), last):
        draw.line((left + step, top, left + step, top + last), _FAINT)
        draw.line((left, top + step, left + last, top + step), _FAINT)
    x, y = (left + (_DELTA[1] + 0.5) * _PANEL / _FINE, top + (_DELTA[0] + 0.5) * _PANEL / _FINE)
    draw.ellipse((x - 5, y - 5, x + 5, y + 5), outline=_WHITE, width=4)
    draw.ellipse((x - 4, y - 4, x + 4, y + 4), outline=_INK, width=2)
    _draw_scale(sheet, draw, (left, top + _PANEL + 12), gradient, limit)


def _draw_scale(
    sheet: Image.Image, draw: ImageDraw.ImageDraw, corner: tuple[int, int], gradient: Pixels, limit: float
) -> None:
    left, top = corner
    ramp = diverging(np.linspace(-limit, limit, _PANEL)[np.newaxis], limit)
    sheet.paste(Image.fromarray(np.repeat(ramp, 8, axis=0)), corner)
    draw.rectangle((left, top, left + _PANEL - 1, top + 7), outline=_FAINT)
    numbers = (f"{-limit:.3f}", "0", f"{limit:.3f}")
    for place, anchor, number in zip((0, _PANEL // 2, _PANEL), ("ls", "ms", "rs"), numbers, strict=True):
        draw.text((left + place, top + 24), number, _GREY, _font(13), anchor=anchor)
    extent = f"from {gradient.min():.3g} to {gradient.max():.3g}, sum {gradient.sum():.3f}"
    draw.text((left, top + 44), extent, _INK, _font(14), anchor="ls")


def diverging(values: Pixels, limit: float) -> NDArray[np.uint8]:
    """Return a colour for each value, shape (*values.shape, 3): blue at -limit, white at 0, red at limit."""
    stops = zip(_BLUE, _WHITE, _RED, strict=True)
    channels = [np.interp(values, (-limit, 0, limit), channel) for channel in stops]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)


def _draw_thumbs(
    sheet: Image.Image, draw: ImageDraw.ImageDraw, corner: tuple[int, int], large: Pixels, mode: InterpolateMode
) -> None:
    """Draw the large picture shrunk, without and with antialias."""
    left, top = corner
    side = 2 * _THUMB
    right = left + _PANEL - side
    _paste_twice(sheet, _half_pixel(large, _THUMB, mode), (left, top))
    if not mode.is_nearest:
        _paste_twice(sheet, _half_pixel(large, _THUMB, mode, antialias=True), (right, top))
        return
    draw.rectangle((right, top, right + side - 1, top + side - 1), outline=_FAINT)
    text = "has none: it\npicks single\nsamples"
    draw.multiline_text((right + side / 2, top + side / 2), text, _GREY, _font(14), anchor="mm", align="center")


def _paste_twice(sheet: Image.Image, planes: Pixels, corner: tuple[int, int]) -> None:
    picture = _picture(planes)
    sheet.paste(picture.resize((2 * picture.width, 2 * picture.height), Image.Resampling.NEAREST), corner)
