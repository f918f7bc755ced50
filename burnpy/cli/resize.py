"""``burnpy resize``: a picture file in another size."""

import re
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from burnpy import InterpolateMode, InterpolateOptions, OptionError, interpolate
from burnpy.cli import pictures
from burnpy.cli.pictures import Planes

__all__ = ["resize"]


def resize(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The picture to read.", show_default=False)],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="The picture to write; its extension says the format.", show_default=False)
    ],
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Size in pixels, as in 640x480.", show_default=False)] = None,
    scale: Annotated[
        float | None, typer.Option(metavar="S", help="Factor for both axes, as in 0.5; sizes round down.", show_default=False)
    ] = None,
    mode: Annotated[InterpolateMode, typer.Option(help="How to interpolate.", case_sensitive=False)] = InterpolateMode.BICUBIC,
    antialias: Annotated[
        bool, typer.Option("--antialias", help="Average over all the pixels that become one: wanted when a picture shrinks.")
    ] = False,
    align_corners: Annotated[
        bool,
        typer.Option(
            "--align-corners/--half-pixel",
            help="What coincides in both pictures: the centres of the corner pixels, or (right for most pictures) the edges.",
        ),
    ] = False,
    backend: Annotated[str | None, typer.Option(metavar="NAME", help="One of those that `burnpy backends` lists.")] = None,
) -> None:
    """Resize a picture.

    OUT keeps the mode and the bit depth of IN, its colour profile and its resolution, and is turned upright. Palettes become
    RGB, unless a nearest mode only copies indices. Colours are weighted by their opacity, so that what is transparent does
    not bleed. Pixels are rounded half to even and clipped. OUT is replaced only once it is complete.
    """
    options = InterpolateOptions(mode, align_corners, antialias)
    wanted = _parsed_size(size, scale)
    file_format = pictures.format_of(target)
    image = pictures.load(source, note=lambda text: typer.echo(f"burnpy: note: {text}", err=True))
    if image.mode == "P" and not (mode.is_nearest and pictures.can_hold(file_format, "P")):
        image = image.convert("RGB")
    pictures.check_can_hold(file_format, image)
    weighted = pictures.kind_of(image).alpha and not mode.is_nearest
    planes = _resized(pictures.to_planes(image), wanted, scale, options, backend, weighted)
    pictures.save(pictures.from_planes(planes, image), target, file_format)


def _parsed_size(size: str | None, scale: float | None) -> tuple[int, int] | None:
    """Return (H', W') from ``WxH``; None if there is a scale instead."""
    if (size is None) == (scale is None):
        raise OptionError("give either --size WxH or --scale S")
    if size is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})[xX]([0-9]{1,9})", size)
    if match is None:
        raise OptionError(f"--size must be WxH, two numbers of pixels as in 640x480; got {size!r}")
    width, height = map(int, match.groups())
    return height, width


def _resized(
    planes: Planes,
    size: tuple[int, int] | None,
    scale: float | None,
    options: InterpolateOptions,
    backend: str | None,
    weighted: bool,
) -> Planes:
    if weighted:
        planes[:, :-1] *= planes[:, -1:]
    planes = interpolate(
        planes,
        size,
        scale_factor=scale,
        mode=options.mode,
        align_corners=options.align_corners,
        antialias=options.antialias,
        backend=backend,
    )
    if weighted:
        # A pixel whose alpha rounds to 0 shows no colour, and dividing by next to nothing would make one up.
        opaque = planes[:, -1:] > 0.5
        planes[:, :-1] = np.where(opaque, planes[:, :-1] / np.where(opaque, planes[:, -1:], 1), 0)
    return planes
