"""What the pytest plugin does once it is asked to; the plugin itself is a file outside the package that imports nothing."""

from pathlib import Path

import pytest

from burnpy.conformance.author import outcomes
from burnpy.conformance.select import read_expected_failures

__all__ = ["generate"]


def generate(metafunc: pytest.Metafunc) -> None:
    """Parametrise ``burnpy_check`` by every check in every cell, for the backend that the command line names."""
    config = metafunc.config
    name = config.getoption("--burnpy-backend")
    if not name:
        raise pytest.UsageError("which backend? give --burnpy-backend NAME")
    path = config.getoption("--burnpy-expected-failures")
    expected = read_expected_failures(Path(path)) if path else {}
    found = outcomes(name, level=config.getoption("--burnpy-level"), expected_failures=expected)
    metafunc.parametrize("burnpy_check", found, ids=repr)
