"""``burnpy resize``: a picture file in another size."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from burnpy import InterpolateMode, InterpolateOptions, OptionError, interpolate
from burnpy.cli import pictures
from burnpy.cli.pictures import Planes

__all__ = ["resize"]

_MODES = ", ".join(InterpolateMode)


def _argument(metavar: str, text: str) -> Any:
    return typer.Argument(metavar=metavar, help=text, show_default=False)


def _option(metavar: str, text: str, show_default: bool = False) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=show_default)


def resize(
    source: Annotated[Path, _argument("IN", "The picture to read.")],
    target: Annotated[Path, _argument("OUT", "The picture to write; its extension says the format.")],
    size: Annotated[str | None, _option("WxH", "Size in pixels, as in 640x480.")] = None,
    scale: Annotated[float | None, _option("S", "Factor for both axes, as in 0.5; sizes round down.")] = None,
    mode: Annotated[InterpolateMode, _option("MODE", f"One of {_MODES}.", show_default=True)] = InterpolateMode.BICUBIC,
    antialias: Annotated[
        bool, typer.Option("--antialias", help="Average over the pixels that become one: wanted when a picture shrinks.")
    ] = False,
    align_corners: Annotated[
        bool,
        typer.Option(
            "--align-corners/--half-pixel",
            help="What coincides: the centres of the corner pixels, or the edges, which is right for most pictures.",
        ),
    ] = False,
    backend: Annotated[str | None, _option("NAME", "One that `burnpy backends` lists; ndarray by default.")] = None,
) -> None:
    """Resize a picture.

    OUT keeps IN's mode and bit depth, colour profile and resolution, and is turned upright. A palette becomes RGB, unless a
    nearest mode just copies. Colours count by their opacity, so that what is transparent does not bleed. Pixels are rounded
    half to even and clipped. OUT is replaced only once it is complete.
    """
    InterpolateOptions(mode, align_corners, antialias)  # refuses what has no meaning before any file is read
    wanted = _parsed_size(size, scale)
    file_format = pictures.format_of(target)
    image = pictures.load(source, note=lambda text: typer.echo(f"burnpy: note: {text}", err=True))
    if image.mode == "P" and not (mode.is_nearest and pictures.can_hold(file_format, "P")):
        image = image.convert("RGB")
    pictures.check_can_hold(file_format, image)

    def resized(planes: Planes) -> Planes:
        switches = {"align_corners": align_corners, "antialias": antialias}
        return interpolate(planes, wanted, scale_factor=scale, mode=mode, backend=backend, **switches)

    planes = pictures.to_planes(image)
    weighted = pictures.kind_of(image).alpha and not mode.is_nearest
    planes = _weighted_by_alpha(planes, resized) if weighted else resized(planes)
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


def _weighted_by_alpha(planes: Planes, resized: Callable[[Planes], Planes]) -> Planes:
    """Resize colours times alpha, and divide by alpha again; ``planes`` is used up."""
    planes[:, :-1] *= planes[:, -1:]
    planes = resized(planes)
    # A pixel whose alpha rounds to 0 shows no colour, and dividing by next to nothing would make one up.
    opaque = planes[:, -1:] > 0.5
    planes[:, :-1] = np.where(opaque, planes[:, :-1] / np.where(opaque, planes[:, -1:], 1), 0)
    return planes
