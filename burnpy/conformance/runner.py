"""Running checks on a backend: every check in every cell, nothing dropped.

The plan is made before the backend is touched, and every planned case ends as exactly one thing: passed, failed,
unsupported, blocked, skipped, or left out by the caller's selection. A plan cannot be shortened by what a backend says or
does.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnpy.backends.registry import get
from burnpy.conformance.cases import CELLS, DTYPES, LEVELS, Case, Cell, Level
from burnpy.conformance.check import Check
from burnpy.conformance.checks import all_checks
from burnpy.conformance.oracle import Tolerance
from burnpy.conformance.report import Failure, Report, Result, Status
from burnpy.conformance.reproduce import reproducer
from burnpy.conformance.select import Selection, expectation_for
from burnpy.conformance.subject import Adapter, Failed, NotApplicable, Subject, adapter_for
from burnpy.errors import OptionError, UnsupportedError
from burnpy.protocol import Backend

__all__ = ["Progress", "plan", "replay", "run"]

Progress = Callable[[Result, int, int], None]
"""Called after every check in a cell with the result, how many are done and how many there are."""

PROBE = "declares_what_it_can"


def plan(level: Level) -> list[tuple[Check, Cell]]:
    """Return every check of a level in every cell that it applies to, cell by cell."""
    _known_level(level)
    wanted = LEVELS[: LEVELS.index(level) + 1]
    return [(check, cell) for cell in CELLS for check in all_checks() if check.level in wanted and check.applies(cell)]


def _known_level(level: str) -> None:
    if level not in LEVELS:
        raise OptionError(f"level must be one of {', '.join(map(repr, LEVELS))}; got {level!r}")


def run(
    backend: str | Backend[Any],
    *,
    level: Level = "core",
    expected_failures: Mapping[str, str] | None = None,
    select: str | None = None,
    tolerances: Mapping[str, float] | None = None,
    from_numpy: Callable[[NDArray[Any]], Any] | None = None,
    to_numpy: Callable[[Any], NDArray[Any]] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Judge a backend by every check of a level.

    Parameters
    ----------
    backend : Backend or str
        A backend, or the name of one that is registered.
    level : "core" or "strict"
        "core" asks what burn's trait promises; "strict" also what burnpy promises.
    expected_failures : mapping of str to str, optional
        What is known to fail, and why: a check's id, or ``check/mode/variant/direction`` with ``*`` for any. It is strict:
        what is listed and passes, and what is listed and does not exist, is reported as a failure.
    select : str, optional
        Run only what this expression matches, as in ``"bicubic and not backward"``; the rest is reported as left out.
    tolerances : mapping of str to float, optional
        Your own factor k by dtype, shown in the report.
    from_numpy, to_numpy : callable, optional
        Conversions to the backend's arrays and back. Without them the backend's own attributes of these names are used, or
        what is known of "torch" and "jax", or NumPy arrays are handed over.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    Report

    Examples
    --------
    >>> report = run("ndarray", select="bilinear/half_pixel/forward and along_width")
    >>> report.passed, report.counts["passed"]
    (True, 3)
    """
    chosen = get(backend) if isinstance(backend, str) else backend
    tolerance = Tolerance("core", tuple(sorted((tolerances or {}).items())))
    runner = _Runner(
        chosen, adapter_for(chosen, from_numpy, to_numpy), tolerance, dict(expected_failures or {}), Selection(select)
    )
    return runner.run(level, progress)


def replay(
    backend: str | Backend[Any],
    check: str,
    case: Case,
    *,
    tolerances: Mapping[str, float] | None = None,
    adapter: Adapter | None = None,
) -> None:
    """Run one check on one case, and print what it finds; what reproducers call."""
    chosen = get(backend) if isinstance(backend, str) else backend
    subject = Subject(chosen, adapter or adapter_for(chosen), Tolerance("core", tuple((tolerances or {}).items())))
    wanted = next(known for known in all_checks() if known.id == check)
    try:
        wanted.function(subject, case)
    except (Failed, NotApplicable, UnsupportedError) as verdict:
        print(f"{type(verdict).__name__}: {verdict}")
    else:
        print("passed")


@dataclass
class _Runner:
    """One run: the state that cells share, and that a cell's checks share."""

    backend: Any
    adapter: Adapter
    tolerance: Tolerance
    expected: dict[str, str]
    selection: Selection
    dtypes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    bad: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    excused: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def run(self, level: Level, progress: Progress | None) -> Report:
        planned = plan(level)
        wanted = self._with_prerequisites(planned)
        results: list[Result] = []
        started = time.perf_counter()
        with np.errstate(all="ignore"):
            for check, cell in planned:
                results.append(self._one(check, cell, (check.id, cell.id) in wanted))
                if progress:
                    progress(results[-1], len(results), len(planned))
        name = str(getattr(self.backend, "name", type(self.backend).__name__))
        elapsed = time.perf_counter() - started
        return Report(name, level, tuple(results), self._dead(planned), self._rules(), self.selection.text, elapsed)

    def _with_prerequisites(self, planned: Iterable[tuple[Check, Cell]]) -> set[tuple[str, str]]:
        """Return what is selected and all that it rests on: without these it could not be judged."""
        needs = {check.id: check.needs for check, _ in planned}

        def closure(check: str) -> Iterable[str]:
            yield check
            for need in needs.get(check, ()):
                yield from closure(need)

        return {
            (rest, cell.id)
            for check, cell in planned
            if self.selection.matches(check.id, cell.id)
            for rest in closure(check.id)
        }

    def _rules(self) -> dict[str, dict[str, str]]:
        strict = Tolerance("strict", self.tolerance.k)
        return {dtype: {"core": self.tolerance.describe(dtype), "strict": strict.describe(dtype)} for dtype in DTYPES}

    def _dead(self, planned: list[tuple[Check, Cell]]) -> tuple[str, ...]:
        """Return the expected failures that name nothing there is."""
        live = {expectation_for(self.expected, check.id, cell.id)[0] for check, cell in planned}
        keys = {key for check, cell in planned for key in self.expected if expectation_for({key: ""}, check.id, cell.id)[0]}
        return tuple(sorted(set(self.expected) - live - keys))

    def _one(self, check: Check, cell: Cell, wanted: bool) -> Result:
        """Run a check in a cell, or say why not."""
        cases = self._cases(check, cell)
        if not wanted:
            return Result(check, cell, "left out", len(cases), Counter({"left out": len(cases)}))
        missing = [need for need in check.needs if self._is_missing(need, cell)]
        if missing:
            reason = f"rests on {', '.join(missing)}"
            blocked = Result(check, cell, "blocked", len(cases), Counter({"blocked": len(cases)}), reason)
            blocked.excused = all(need in self.excused.get(cell.id, set()) for need in missing)
            return self._noted(blocked)
        started = time.perf_counter()
        result = self._run_cases(check, cell, cases)
        result.seconds = time.perf_counter() - started
        return self._noted(self._as_expected(result))

    def _is_missing(self, need: str, cell: Cell) -> bool:
        """Tell whether a prerequisite has failed; a false declaration of one dtype leaves the others to be judged."""
        some = need == PROBE and bool(self.dtypes.get(cell.id))
        return need in self.bad.get(cell.id, set()) and not some

    def _noted(self, result: Result) -> Result:
        if result.status in ("failed", "blocked", "error", "expected failure"):
            self.bad.setdefault(result.cell.id, set()).add(result.check.id)
        if result.status == "expected failure" or result.excused:
            self.excused.setdefault(result.cell.id, set()).add(result.check.id)
        return result

    def _cases(self, check: Check, cell: Cell) -> list[tuple[Case, bool]]:
        """Return the cases in every element type, and of each whether the backend has that type in this cell."""
        templates = list(check.cases(cell))
        known = self.dtypes.get(cell.id, [])
        if check.dtypes == "asked":
            return [(case.with_dtype(dtype), True) for dtype in DTYPES for case in templates]
        if check.dtypes in ("every", "half"):
            wanted = DTYPES if check.dtypes == "every" else ("float16",)
            return [(case.with_dtype(dtype), dtype in known) for dtype in wanted for case in templates]
        return [(case.with_dtype(known[0] if known else DTYPES[0]), bool(known)) for case in templates]

    def _run_cases(self, check: Check, cell: Cell, cases: list[tuple[Case, bool]]) -> Result:
        subject = Subject(self.backend, self.adapter, self.tolerance)
        result = Result(check, cell, "untested", len(cases), Counter())
        failures: list[tuple[Case, Failed]] = []
        for case, has_dtype in cases:
            status, verdict = _verdict(check, subject, case) if has_dtype else ("unsupported", "no such element type here")
            result.counts[status] += 1
            if status == "passed" and check.id == PROBE:
                self._add_dtype(cell, case.dtype)
            if isinstance(verdict, Failed):
                failures.append((case, verdict))
            elif isinstance(verdict, str) and not result.reason:
                result.reason = verdict
        result.calls = subject.calls
        result.status = _summary(result.counts)
        if failures:
            case, verdict = min(failures, key=lambda failure: failure[0].cost)
            if check.id == PROBE:
                self._forget_dtypes(cell, {case.dtype for case, _ in failures})
            lines = reproducer(self.backend, self.adapter, check, case, verdict)
            result.failure = Failure(verdict.message, case, verdict.off, lines, _smallest_first(failures))
            result.reason = ""
        return result

    def _add_dtype(self, cell: Cell, dtype: str) -> None:
        known = self.dtypes.setdefault(cell.id, [])
        if dtype not in known:
            known.append(dtype)

    def _forget_dtypes(self, cell: Cell, dtypes: set[str]) -> None:
        self.dtypes[cell.id] = [dtype for dtype in self.dtypes.get(cell.id, []) if dtype not in dtypes]

    def _as_expected(self, result: Result) -> Result:
        """Turn a failure that is listed into an expected one, and a listed success into a failure."""
        key, reason = expectation_for(self.expected, result.check.id, result.cell.id)
        if key is None:
            return result
        if result.status == "failed":
            result.status, result.reason = "expected failure", reason
        elif result.status in ("passed", "partial"):
            result.status = "unexpected pass"
            result.reason = f"listed as an expected failure by {key!r} ({reason}), but it passes: take it off the list"
        return result


def _smallest_first(failures: list[tuple[Case, Failed]]) -> tuple[str, ...]:
    ordered = sorted(failures, key=lambda failure: failure[0].cost)
    return tuple(str(case) for case, _ in ordered)


def _verdict(check: Check, subject: Subject, case: Case) -> tuple[str, Failed | str | None]:
    """Run a check on a case. What is judged by nothing has not run, and what breaks the harness is an error of its own."""
    before = subject.judged
    try:
        check.function(subject, case)
    except Failed as verdict:
        return "failed", verdict
    except NotApplicable as reason:
        return "skipped", str(reason)
    except UnsupportedError as refusal:
        return _refused(check, subject, case, refusal)
    except Exception as error:
        return "error", f"the harness itself failed: {type(error).__name__}: {error} ({case})"
    return ("passed", None) if subject.judged > before else ("untested", "nothing was judged")


def _refused(check: Check, subject: Subject, case: Case, refusal: UnsupportedError) -> tuple[str, Failed | str | None]:
    """A refusal is a fault where the backend has declared that it can."""
    if check.id != PROBE and subject.declares(case.options, case.backward, case.dtype):
        return "failed", Failed(f"supports() says True, yet it raised {type(refusal).__name__}: {refusal}")
    return "unsupported", str(refusal)


def _summary(counts: Counter[str]) -> Status:
    """Return the status of a check in a cell from those of its cases: the worst first, green only if something passed."""
    for status in ("error", "failed", "untested"):
        if counts[status]:
            return status
    if counts["passed"]:
        return "passed"
    return "unsupported" if counts["unsupported"] else "skipped" if counts["skipped"] else "untested"
