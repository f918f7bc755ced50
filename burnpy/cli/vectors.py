"""``burnpy vectors``: test vectors for implementations in any language."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from burnpy import OptionError
from burnpy.conformance import vectors

__all__ = ["vectors_app"]

vectors_app: typer.Typer = typer.Typer(
    no_args_is_help=True, help="Write test vectors for any language, and judge what it made of them."
)


class _Format(StrEnum):
    JSON = "json"
    NPZ = "npz"
    SAFETENSORS = "safetensors"


@vectors_app.command()
def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write them.", show_default=False)],
    file_format: Annotated[_Format, typer.Option("--format", help="json also has exact fractions.")] = _Format.JSON,
) -> None:
    """Write the vectors, forward and backward, with bounds and a manifest."""
    count = vectors.export(directory, file_format.value)
    typer.echo(f"{count} vectors in {directory}")


@vectors_app.command()
def check(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What `export` wrote.", show_default=False)],
    results: Annotated[Path, typer.Option(metavar="DIR2", help="Where results.json, .npz or .safetensors is.")],
    level: Annotated[str, typer.Option(metavar="core|strict", help="Which bound to hold it to.")] = "core",
    dtype: Annotated[str, typer.Option(help="What it computes in: float64, float32 or float16.")] = "float64",
) -> None:
    """Judge the results of an implementation; the exit status is 0 if all are there and right."""
    if dtype not in ("float64", "float32", "float16"):
        raise OptionError(f"--dtype must be float64, float32 or float16; got {dtype!r}")
    if level not in ("core", "strict"):
        raise OptionError(f"--level must be core or strict; got {level!r}")
    verdicts = vectors.check(directory, results, level="strict" if level == "strict" else "core", dtype=dtype)
    bad = [verdict for verdict in verdicts if verdict.status != "passed"]
    for verdict in bad:
        typer.echo(f"{verdict.status}: {verdict.id}: {verdict.message}")
    typer.echo(f"{len(verdicts) - len(bad)} of {len(verdicts)} vectors passed")
    if bad:
        raise typer.Exit(1)
