"""The checks inside an author's own pytest suite. Only what is here imports pytest."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from numpy.typing import NDArray

from burnpy.conformance.cases import Level
from burnpy.conformance.report import Report
from burnpy.conformance.runner import plan, run
from burnpy.conformance.select import Selection
from burnpy.protocol import Backend

__all__ = ["Outcome", "parametrize_with_checks"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Outcome:
    """One check in one cell, as a test's argument: call it to have it judged."""

    def __init__(self, once: "_Once", check: str, cell: str, is_first: bool) -> None:
        self._once = once
        self._cell = cell
        self._is_first = is_first
        self.id: str = f"{check}/{cell}"

    def __call__(self) -> None:
        """Raise AssertionError if the check fails, skip the test if the backend does not support it."""
        import pytest

        report = self._once(self._cell)
        result = next(result for result in report.results if result.id == self.id)
        if report.dead and self._is_first:
            pytest.fail(f"expected failures that name no check: {', '.join(report.dead)}", pytrace=False)
        if result.is_bad:
            pytest.fail(result.describe(report.backend), pytrace=False)
        if result.status == "expected failure" or result.excused:
            pytest.xfail(result.reason)
        if result.status != "passed":
            pytest.skip(f"{result.status}: {result.reason}")

    def __repr__(self) -> str:
        return self.id


class _Once:
    """The runs of a decorator: one a cell, made when a test of that cell is the first to ask."""

    def __init__(self, backend: str | Backend[Any], settings: dict[str, Any]) -> None:
        self.backend = backend
        self.settings = settings
        self.reports: dict[str, Report] = {}

    def __call__(self, cell: str) -> Report:
        if cell not in self.reports:
            select = self.settings.get("select")
            own = f"({select}) and {cell}" if select else cell
            settings: dict[str, Any] = {**self.settings, "select": own}
            self.reports[cell] = run(self.backend, **settings)
        return self.reports[cell]


def outcomes(backend: str | Backend[Any], **settings: Any) -> list[Outcome]:
    """Return one outcome for every check in every cell of a level, or those of them that ``select`` matches."""
    once, selection = _Once(backend, settings), Selection(settings.get("select"))
    pairs = [
        (check.id, cell.id) for check, cell in plan(settings.get("level", "core")) if selection.matches(check.id, cell.id)
    ]
    return [Outcome(once, check, cell, number == 0) for number, (check, cell) in enumerate(pairs)]


def parametrize_with_checks(
    backend: str | Backend[Any],
    *,
    level: Level = "core",
    expected_failures: Mapping[str, str] | None = None,
    select: str | None = None,
    tolerances: Mapping[str, float] | None = None,
    from_numpy: Callable[[NDArray[Any]], Any] | None = None,
    to_numpy: Callable[[Any], NDArray[Any]] | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """Parametrise a test by every check in every cell.

    Parameters
    ----------
    backend : Backend or str
        A backend, or the name of one that is registered.
    level : "core" or "strict"
    expected_failures : mapping of str to str, optional
        Reasons by check, or by ``check/mode/variant/direction`` with ``*`` for any. What is listed and passes fails.
    select, tolerances, from_numpy, to_numpy
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

    parameters = outcomes(
        backend,
        level=level,
        expected_failures=expected_failures,
        select=select,
        tolerances=tolerances,
        from_numpy=from_numpy,
        to_numpy=to_numpy,
    )
    decorate = pytest.mark.parametrize("check", parameters, ids=repr)
    return lambda function: decorate(function)
