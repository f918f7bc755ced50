"""``burnpy backends``: which backends there are, where they come from, and what each of them can do."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import burnpy.backends
from burnpy import Backend, BackendLoadError, InterpolateMode, InterpolateOptions
from burnpy.protocol import supports

__all__ = ["backends"]

DTYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def backends() -> None:
    """List the backends that can be named, and what each can do: by mode, the dtypes that it takes."""
    names = burnpy.backends.names()
    with contextlib.redirect_stdout(sys.stderr):  # what plug-ins print is not the table
        loaded = dict(_loaded(names))
    console = Console()
    origins = Table("name", "comes from", "state", box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        known = burnpy.backends.info(name)
        origins.add_row(name, known.origin, known.reason or known.state)
    console.print(origins)
    console.print(_matrix(loaded))


def _loaded(names: tuple[str, ...]) -> Iterator[tuple[str, Backend[Any]]]:
    for name in names:
        with contextlib.suppress(BackendLoadError):  # the first table says why
            yield name, burnpy.backends.get(name)


def _matrix(loaded: dict[str, Backend[Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, caption="the dtypes that forward and backward take; '-' where none")
    table.add_column("mode", no_wrap=True)
    table.add_column("sampling", no_wrap=True)
    for name in loaded:
        table.add_column(name, overflow="fold")
    for mode in InterpolateMode:
        for sampling, options in _options(mode):
            table.add_row(mode.value, sampling, *(_cell(backend, options) for backend in loaded.values()))
    return table


def _options(mode: InterpolateMode) -> Iterator[tuple[str, InterpolateOptions]]:
    if mode.is_nearest:
        yield "", InterpolateOptions(mode)
        return
    yield "corners", InterpolateOptions(mode, True)
    yield "half-pixel", InterpolateOptions(mode, False)
    yield "antialias", InterpolateOptions(mode, False, True)


def _cell(backend: Backend[Any], options: InterpolateOptions) -> str:
    forward, backward = (_dtypes(backend, options, direction) for direction in (False, True))
    return forward if forward == backward else f"forward {forward}, backward {backward}"


def _dtypes(backend: Backend[Any], options: InterpolateOptions, backward: bool) -> str:
    switches = {"align_corners": options.align_corners, "antialias": options.antialias}
    can = [
        short
        for dtype, short in DTYPES.items()
        if supports(backend, options.mode, **switches, backward=backward, dtype=dtype)
    ]
    return " ".join(can) or "-"
