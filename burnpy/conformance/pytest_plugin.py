"""The pytest plugin: ``pytest --pyargs burnpy.conformance --burnpy-backend NAME``.

pytest loads this file in every project of an environment where burnpy is installed, so it imports nothing and does nothing
until the option is given.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_generate_tests"]


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the options."""
    group = parser.getgroup("burnpy", "conformance of burnpy backends")
    group.addoption("--burnpy-backend", metavar="NAME", help="the registered backend to judge")
    group.addoption("--burnpy-level", metavar="LEVEL", default="core", help="core (the default) or strict")
    group.addoption("--burnpy-expected-failures", metavar="FILE", help="lines 'check[/mode/variant/direction]: reason'")


def pytest_generate_tests(metafunc: "pytest.Metafunc") -> None:
    """Parametrise the test in this package, and any other that takes a ``burnpy_check``, by all checks."""
    if "burnpy_check" not in metafunc.fixturenames:
        return
    from burnpy.conformance.author import outcomes

    name = metafunc.config.getoption("--burnpy-backend")
    if not name:
        import pytest

        raise pytest.UsageError("which backend? give --burnpy-backend NAME")
    level = metafunc.config.getoption("--burnpy-level")
    found = outcomes(name, level=level, expected_failures=_expected(metafunc.config))
    metafunc.parametrize("burnpy_check", found, ids=repr)


def _expected(config: "pytest.Config") -> dict[str, str]:
    from pathlib import Path

    from burnpy.conformance.select import read_expected_failures

    path = config.getoption("--burnpy-expected-failures")
    return read_expected_failures(Path(path)) if path else {}
