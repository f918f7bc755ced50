"""``burnpy backends``: which backends there are."""

from rich.console import Console
from rich.table import Table

import burnpy.backends
from burnpy import BackendLoadError

__all__ = ["backends"]


def backends() -> None:
    """List the backends that can be named."""
    table = Table("name", "type", "module")
    for name in burnpy.backends.names():
        table.add_row(name, *_type_and_module(name))
    Console().print(table)


def _type_and_module(name: str) -> tuple[str, str]:
    try:
        kind = type(burnpy.backends.get(name))
    except BackendLoadError as error:  # one that is broken must not hide the others
        return "cannot be loaded", str(error)
    return kind.__qualname__, kind.__module__
