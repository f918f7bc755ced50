"""The checks inside an author's own pytest suite. Only what is here imports pytest."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from burnpy.conformance.cases import Level
from burnpy.conformance.report import Report
from burnpy.conformance.runner import plan, run

__all__ = ["Outcome", "parametrize_with_checks"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Outcome:
    """One check in one cell, as a test's argument: call it to have it judged.

    The whole run is made once for all tests of a decorator, when the first of them is called.
    """

    def __init__(self, run_once: "_Once", check: str, cell: str) -> None:
        self._run_once = run_once
        self.id = f"{check}/{cell}"

    def __call__(self) -> None:
        """Raise AssertionError if the check fails, skip the test if the backend does not support it."""
        import pytest

        report = self._run_once()
        result = next(result for result in report.results if result.id == self.id)
        dead = [key for key in report.dead if self.id == report.results[0].id]
        if dead:
            pytest.fail(f"expected failures that name no check: {', '.join(dead)}", pytrace=False)
        if result.is_bad:
            pytest.fail(result.describe(report.backend), pytrace=False)
        if result.status == "expected failure" or result.excused:
            pytest.xfail(result.reason)
        if result.status in ("unsupported", "skipped"):
            pytest.skip(f"{result.status}: {result.reason}")
        if result.status != "passed":
            pytest.fail(f"{self.id} did not run: {result.status}", pytrace=False)

    def __repr__(self) -> str:
        return self.id


class _Once:
    """A run that is made when it is first needed."""

    def __init__(self, backend: Any, settings: dict[str, Any]) -> None:
        self.backend = backend
        self.settings = settings
        self.report: Report | None = None

    def __call__(self) -> Report:
        if self.report is None:
            self.report = run(self.backend, **self.settings)
        return self.report


def outcomes(backend: Any, **settings: Any) -> list[Outcome]:
    """Return one outcome for every check in every cell of a level."""
    once = _Once(backend, settings)
    return [Outcome(once, check.id, cell.id) for check, cell in plan(settings.get("level", "core"))]


def parametrize_with_checks(
    backend: Any, *, level: Level = "core", expected_failures: Mapping[str, str] | None = None, **settings: Any
) -> Callable[[FunctionT], FunctionT]:
    """Parametrise a test by every check in every cell.

    Parameters
    ----------
    backend : Backend or str
        A backend, or the name of one that is registered.
    level : "core" or "strict"
    expected_failures : mapping of str to str, optional
        Reasons by check, or by ``check/mode/variant/direction`` with ``*`` for any. What is listed and passes fails.
    **settings
        As for `burnpy.conformance.run`.

    Returns
    -------
    decorator
        For a test that takes an argument ``check`` and calls it.

    Examples
    --------
    >>> @parametrize_with_checks("ndarray")
    ... def test_conformance(check):
    ...     check()
    """
    import pytest

    parameters = outcomes(backend, level=level, expected_failures=expected_failures, **settings)
    decorate = pytest.mark.parametrize("check", parameters, ids=repr)
    return lambda function: decorate(function)
