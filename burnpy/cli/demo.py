"""``burnpy demo``: see every mode, forward and backward, and check that the two are adjoint."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from burnpy import InterpolateMode, InterpolateOptions, interpolate, interpolate_backward
from burnpy.cli import pictures
from burnpy.cli.demo_sheet import contact_sheet

__all__ = ["adjoint_error", "demo"]

_BOUND = 100 * float(np.finfo(np.float64).eps)
"""What rounding can explain of a difference of two sums; a wrong weight anywhere gives about its own size."""
_SIZES = (((31, 43), (88, 97)), ((88, 97), (31, 43)), ((1, 60), (17, 7)))
"""Pairs of (H, W) and (H', W'): growing, shrinking, and both at once from a single row."""


def demo(
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("burnpy-demo.png"),
) -> None:
    """Write a picture of every mode, forward and backward, and check that the gradient is right.

    The check: for random x and g, the sum of interpolate(x) * g is that of x * interpolate_backward(g), in float64.
    """
    file_format = pictures.format_of(out)
    sheet = contact_sheet()
    pictures.check_can_hold(file_format, sheet)
    pictures.save(sheet, out, file_format)
    typer.echo(f"wrote {out}, {sheet.width} x {sheet.height} pixels")
    errors = {mode: adjoint_error(mode) for mode in InterpolateMode}
    _print_table(errors)
    worst = float(np.max(list(errors.values())))  # NaN if any is
    if not worst <= _BOUND:
        typer.echo(f"FAILED: forward and backward are not adjoint: off by {worst:.1e}, allowed is {_BOUND:.1e}")
        raise typer.Exit(1)
    typer.echo(f"ok: {len(errors)} modes, forward and backward, adjoint to {worst:.1e}")


def _print_table(errors: dict[InterpolateMode, float]) -> None:
    table = Table("mode", "adjoint to")
    for mode, error in errors.items():
        table.add_row(mode.value, f"{error:.1e}")
    Console().print(table)


def adjoint_error(mode: InterpolateMode) -> float:
    """Return the largest difference between <A x, g> and <x, A^T g>, relative to |A x| |g|, over sizes and options."""
    return float(np.max([_dot_test(options, *sizes) for options in _options(mode) for sizes in _SIZES]))


def _options(mode: InterpolateMode) -> list[InterpolateOptions]:
    plain = [InterpolateOptions(mode, align_corners) for align_corners in (True, False)]
    return plain if mode.is_nearest else [*plain, InterpolateOptions(mode, align_corners=False, antialias=True)]


def _dot_test(options: InterpolateOptions, before: tuple[int, int], after: tuple[int, int]) -> float:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *before))
    g = rng.standard_normal((2, 3, *after))
    mode, align_corners, antialias = options.mode, options.align_corners, options.antialias
    y = interpolate(x, after, mode=mode, align_corners=align_corners, antialias=antialias)
    back = interpolate_backward(x, g, after, mode=mode, align_corners=align_corners, antialias=antialias)
    norms = float(np.linalg.norm(y) * np.linalg.norm(g))
    return abs(float(np.vdot(y, g)) - float(np.vdot(x, back))) / norms if norms else np.nan
