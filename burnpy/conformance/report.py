"""What a run found: one result for every check in every cell, the matrix over them, and plain forms to keep.

A report adds up: the cases of all results, by status, are the cases that the level has.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from burnpy.conformance.cases import CELLS, LEVELS, Case, Cell, Level
from burnpy.conformance.check import Check

__all__ = ["BAD", "Failure", "Matrix", "Report", "Result", "Status"]

Status: TypeAlias = (
    Literal["passed", "partial", "unsupported", "skipped", "expected failure", "left out"]
    | Literal["failed", "error", "blocked", "untested", "unexpected pass"]
)
"""What became of a check in a cell; a passing run has none of the second kind."""
Matrix: TypeAlias = dict[tuple[str, str, str], dict[Level, Status]]
"""By (mode, variant, direction), then by level."""

BAD: Final[tuple[Status, ...]] = ("error", "failed", "unexpected pass", "blocked", "untested")
"""What a passing run has none of, the worst first."""


@dataclass(frozen=True)
class Failure:
    """The smallest case at which a check fails in a cell.

    Attributes
    ----------
    message : str
        What is wrong: the first wrong element, what was expected, and by how many tolerances it is off.
    case : Case
    off : float
        Tolerances that the worst element is off; NaN where that has no meaning.
    reproducer : str
        A shell command.
    cases : tuple of str
        All failing cases of the cell, the smallest first.
    """

    message: str
    case: Case
    off: float
    reproducer: str
    cases: tuple[str, ...]


@dataclass
class Result:
    """What became of a check in a cell.

    Attributes
    ----------
    check, cell
    status : Status
    cases : int
        How many the level has here.
    counts : Counter
        How many of them ended how; they add up to ``cases``.
    reason : str
        Why it is not simply passed or failed.
    failure : Failure or None
    calls : int
        Calls made to the backend.
    seconds : float
    excused : bool
        Whether it is blocked by expected failures alone.
    """

    check: Check
    cell: Cell
    status: Status
    cases: int
    counts: Counter[str]
    reason: str = ""
    failure: Failure | None = None
    calls: int = 0
    seconds: float = 0.0
    excused: bool = False

    @property
    def is_bad(self) -> bool:
        """Whether a passing run has none of it."""
        return self.status in BAD and not self.excused

    @property
    def id(self) -> str:
        """``check/mode/variant/direction``."""
        return f"{self.check.id}/{self.cell.id}"

    def describe(self, backend: str) -> str:
        """Say what failed so that a stranger understands it."""
        if self.failure is None:
            return f"{self.id}: {self.status}" + (f": {self.reason}" if self.reason else "")
        cell, failure = self.cell, self.failure
        return "\n".join(
            [
                f"backend {backend!r} fails {self.check.id}: {cell.mode}, {cell.variant}, {cell.direction}",
                f"  must hold  {self.check.sentence}",
                f"  case       {failure.case}  (the smallest of {len(failure.cases)} that fail, of {self.cases})",
                f"  found      {failure.message}",
                f"  reproduce  {failure.reproducer}",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        data: dict[str, Any] = {
            "id": self.id,
            "check": self.check.id,
            "family": self.check.family,
            "level": self.check.level,
            "mode": self.cell.mode,
            "variant": self.cell.variant,
            "direction": self.cell.direction,
            "status": self.status,
            "reason": self.reason,
            "cases": self.cases,
            "counts": dict(self.counts),
            "calls": self.calls,
            "seconds": round(self.seconds, 4),
        }
        if self.failure:
            data["failure"] = {
                "message": self.failure.message,
                "case": str(self.failure.case),
                "off_in_tolerances": self.failure.off if self.failure.off == self.failure.off else None,
                "reproducer": self.failure.reproducer,
                "failing_cases": list(self.failure.cases),
            }
        return data


@dataclass(frozen=True)
class Report:
    """The outcome of a run.

    Attributes
    ----------
    backend : str
    level : "core" or "strict"
    results : tuple of Result
        One for every check of the level in every cell that it applies to, whatever became of it.
    dead : tuple of str
        Expected failures that name no check there is.
    tolerances : dict
        The rule by dtype and level, in words.
    selection : str
        The expression that part of the level was left out by, or "".
    seconds : float
    """

    backend: str
    level: Level
    results: tuple[Result, ...]
    dead: tuple[str, ...] = ()
    tolerances: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    selection: str = ""
    seconds: float = 0.0

    @property
    def counts(self) -> Counter[str]:
        """How many checks in cells ended how."""
        return Counter(result.status for result in self.results)

    @property
    def case_counts(self) -> Counter[str]:
        """How many cases ended how."""
        return sum((result.counts for result in self.results), Counter[str]())

    @property
    def failures(self) -> tuple[Result, ...]:
        """What is not as it should be, the smallest failing case first; what is merely blocked comes last."""

        def key(result: Result) -> tuple[int, int]:
            return (
                BAD.index(result.status) if result.failure is None else -1,
                result.failure.case.cost if result.failure else 0,
            )

        return tuple(sorted((result for result in self.results if result.is_bad), key=key))

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, and something was right: nothing supported, or nothing selected, is no success."""
        values = [result for result in self.results if result.status == "passed" and result.check.needs]
        return not self.failures and not self.dead and bool(values)

    def matrix(self) -> Matrix:
        """Return one status for every mode, variant and direction, at every level that the run has.

        A cell is "passed" only if something in it passed and nothing is wrong; "partial" if the backend refused part of it
        or part of it was left out; "untested" if nothing ran.
        """
        levels = LEVELS[: LEVELS.index(self.level) + 1]
        return {
            (cell.mode, cell.variant, cell.direction): {level: self._status(cell, level) for level in levels}
            for cell in CELLS
        }

    def _status(self, cell: Cell, level: Level) -> Status:
        mine = [result for result in self.results if result.cell == cell and result.check.level == level]
        found = {result.status for result in mine if not result.excused}
        for status in BAD:
            if status in found:
                return status
        if "expected failure" in found:
            return "expected failure"
        if "passed" not in found:
            return "unsupported" if "unsupported" in found else "untested"
        refused = any(result.status == "unsupported" or _refused_in_part(result) for result in mine)
        return "partial" if refused or "left out" in found else "passed"

    def summary(self) -> str:
        """Say in a few lines how much ran, against what the level has."""
        cases = self.case_counts
        total = sum(cases.values())
        words = ("passed", "failed", "unsupported", "blocked", "skipped", "untested", "error", "left out")
        ran = cases["passed"] + cases["failed"]
        parts = ", ".join(f"{cases[word]} {word}" for word in words if cases[word])
        checks = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
        calls = sum(result.calls for result in self.results)
        return (
            f"{'PASSED' if self.passed else 'FAILED'}: "
            f"{self.backend} at level {self.level}, {self.seconds:.1f} s, {calls} calls\n"
            f"  cases   {ran} of {total} ran: {parts}\n"
            f"  checks  {len(self.results)} (check, cell) pairs: {checks}"
        )

    def left_out(self) -> dict[str, tuple[str, ...]]:
        """Return what did not run, by the reason."""
        reasons: dict[str, list[str]] = {}
        for result in self.results:
            if result.status in ("unsupported", "blocked", "skipped", "left out", "untested"):
                why = (
                    f"left out by -k {self.selection!r}"
                    if result.status == "left out"
                    else f"{result.status}: {result.reason}"
                )
                reasons.setdefault(why, []).append(result.id)
        return {reason: tuple(ids) for reason, ids in reasons.items()}

    def to_json(self) -> str:
        """Return everything as JSON, with a version of the format."""
        data = {
            "format": "burnpy-conformance",
            "version": 1,
            "backend": self.backend,
            "level": self.level,
            "passed": self.passed,
            "selection": self.selection,
            "seconds": round(self.seconds, 3),
            "tolerances": self.tolerances,
            "checks": dict(self.counts),
            "cases": dict(self.case_counts),
            "dead_expected_failures": list(self.dead),
            "matrix": [
                {"mode": mode, "variant": variant, "direction": direction, **levels}
                for (mode, variant, direction), levels in self.matrix().items()
            ],
            "results": [result.to_dict() for result in self.results],
        }
        return json.dumps(data, indent=1)

    def __str__(self) -> str:
        blocks = [result.describe(self.backend) for result in self.failures if result.status != "blocked"]
        dead = [f"expected failure {key!r} names no check of this level" for key in self.dead]
        return "\n\n".join([self.summary(), *blocks, *dead])


def _refused_in_part(result: Result) -> bool:
    """Tell whether the backend refused some cases in an element type that it has."""
    return result.check.dtypes == "widest" and bool(result.counts["unsupported"])
