"""The pytest plugin: ``pytest --pyargs burnpy.conformance --burnpy-backend NAME``.

pytest loads every plugin of an environment in every project, so this file stands outside the package, whose import costs
tens of milliseconds, and imports nothing before the option is used.
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
    """Parametrise a test that takes a ``burnpy_check`` by all checks."""
    if "burnpy_check" in metafunc.fixturenames:
        from burnpy.conformance.pytest_plugin import generate

        generate(metafunc)
