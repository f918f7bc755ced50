"""The command line's entry: ``burnpy`` and ``python -m burnpy``.

It imports nothing but what every installation has, so that an installation without the extra can say how to get it.
"""

import sys

__all__ = ["main"]

_EXTRA = {"typer": "Typer", "rich": "rich", "PIL": "Pillow"}
"""The import names of what the extra ``cli`` installs, and what they are called."""


def main() -> None:
    """Run the command line with the arguments of the process; does not return."""
    try:
        from burnpy.cli import app
    except ModuleNotFoundError as error:
        missing = _EXTRA.get((error.name or "").partition(".")[0])
        if missing is None:
            raise
        sys.exit(_complain(f'the command line needs {missing}, which is not installed: pip install "burnpy[cli]"'))
    app(prog_name="burnpy")


def _complain(message: str) -> int:
    """Print one line to stderr and return the exit status of a command that could not be run."""
    print(f"burnpy: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
