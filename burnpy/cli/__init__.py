"""The command line, one file per command.

Every exception that a user can cause becomes one line on stderr and exit status 2, here and for all commands.
"""

from typing import Annotated, Any

import typer
import typer.core

from burnpy import BurnpyError, __version__
from burnpy.cli.backends import backends
from burnpy.cli.conformance import conformance
from burnpy.cli.demo import demo
from burnpy.cli.resize import resize
from burnpy.cli.vectors import vectors_app

__all__ = ["app"]


class _OneLineErrors(typer.core.TyperGroup):
    """A group of commands whose expected failures are one line, not a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has left, as `head` does; Typer ends quietly
            raise
        except (BurnpyError, OSError, MemoryError) as error:
            typer.echo(f"burnpy: {_in_one_line(error)}", err=True)
            raise typer.Exit(2) from error


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    return f"not enough memory: {text}".removesuffix(": ") if isinstance(error, MemoryError) else text


app: typer.Typer = typer.Typer(cls=_OneLineErrors, no_args_is_help=True, add_completion=False)
for _command in (resize, backends, demo, conformance):
    app.command()(_command)
app.add_typer(vectors_app, name="vectors")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"burnpy {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Resize pictures, and look at what interpolation and its gradient do."""
