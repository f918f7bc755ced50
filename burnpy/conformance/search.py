"""A random search for what the fixed cases miss: shapes, sizes, options, layouts and contents, shrunk to the smallest.

It needs Hypothesis, which the extra ``test`` installs. The ordinary run is deterministic and does without.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnpy.backends.registry import get
from burnpy.conformance.cases import CELLS, DTYPES, Case, Cell, Level, Size, may_slip
from burnpy.conformance.check import Check
from burnpy.conformance.checks import all_checks
from burnpy.conformance.oracle import Tolerance, expected
from burnpy.conformance.reproduce import reproducer
from burnpy.conformance.select import Selection
from burnpy.conformance.subject import Adapter, Failed, NotApplicable, Subject, adapter_for
from burnpy.errors import DTypeError, UnsupportedError
from burnpy.protocol import Backend

__all__ = ["Finding", "SearchReport", "search"]

SEARCHED = (
    "every_dtype",
    "any_layout",
    "linear",
    "images_are_independent",
    "axes_are_alike",
    "constants_are_preserved",
    "adjoint_to_forward",
    "inputs_are_left_alone",
    "same_call_same_bits",
    "non_finite_values_stay_in_their_window",
)
"""The checks that hold of any case, and so can be asked of a random one."""


RATE = 50
"""Cases a second, about; how many are tried follows from the budget, and from this."""


@dataclass(frozen=True)
class Finding:
    """The smallest case found at which a check fails in a cell."""

    check: Check
    case: Case
    message: str
    reproducer: str

    def describe(self, backend: str) -> str:
        """Say what was found, in the form of the ordinary report."""
        cell = self.case.cell
        return (
            f"backend {backend!r} fails {self.check.id}: {cell.mode}, {cell.variant}, {cell.direction}\n"
            f"  must hold  {self.check.sentence}\n  case       {self.case}  (shrunk)\n"
            f"  found      {self.message}\n  reproduce  {self.reproducer}"
        )


@dataclass(frozen=True)
class SearchReport:
    """What a search did and found.

    Attributes
    ----------
    backend : str
    seed : int
    tried, judged : int
        Cases tried, and those of them that the backend supports.
    visited, pairs : int
        (check, cell) pairs that the budget sufficed for, and how many there are.
    findings : tuple of Finding
        The smallest first.
    seconds : float
    """

    backend: str
    seed: int
    tried: int
    judged: int
    visited: int
    pairs: int
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether something was judged, and nothing found."""
        return bool(self.judged) and not self.findings

    def __str__(self) -> str:
        head = (
            f"search: {self.backend}, seed {self.seed}: {self.judged} of {self.tried} cases judged in {self.seconds:.1f} s"
        )
        seen = f"{self.visited} of {self.pairs} (check, cell) pairs"
        return "\n\n".join(
            [f"{head}, {seen}, {len(self.findings)} findings", *(f.describe(self.backend) for f in self.findings)]
        )


def search(
    backend: str | Backend[Any],
    *,
    seed: int = 0,
    budget: float = 30.0,
    level: Level = "core",
    select: str | None = None,
    adapter: Adapter | None = None,
    progress: Callable[[str], None] | None = None,
) -> SearchReport:
    """Search for failures for about ``budget`` seconds.

    Parameters
    ----------
    backend : Backend or str
    seed : int
        The same seed tries the same cases in the same order; how many, the budget decides.
    budget : float
        Seconds.
    level : "core" or "strict"
        At "strict" nearest sizes where a float index slips are tried too.
    select : str, optional
        As for `burnpy.conformance.run`.
    """
    chosen = get(backend) if isinstance(backend, str) else backend
    seeker = _Seeker(chosen, adapter or adapter_for(chosen), Selection(select), level)
    started = time.perf_counter()
    pairs = [(check, cell) for check in all_checks() if check.id in SEARCHED for cell in CELLS if seeker.wants(check, cell)]
    order: list[int] = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    visited = 0
    for done, which in enumerate(order):
        share = (started + budget - time.perf_counter()) / (len(pairs) - done)
        check, cell = pairs[which]
        if share <= 0:
            break
        visited += 1
        if progress:
            progress(f"{check.id}/{cell.id}")
        seeker.seek(check, cell, seed, share)
    found = tuple(sorted(seeker.findings, key=lambda finding: finding.case.cost))
    name = str(getattr(chosen, "name", type(chosen).__name__))
    elapsed = time.perf_counter() - started
    return SearchReport(name, seed, seeker.tried, seeker.judged, visited, len(pairs), found, elapsed)


class _Seeker:
    """The state of a search."""

    def __init__(self, backend: Any, adapter: Adapter, selection: Selection, level: Level) -> None:
        self.backend = backend
        self.adapter = adapter
        self.selection = selection
        self.level = level
        self.findings: list[Finding] = []
        self.tried = self.judged = 0

    def wants(self, check: Check, cell: Cell) -> bool:
        return check.applies(cell) and self.selection.matches(check.id, cell.id)

    def seek(self, check: Check, cell: Cell, seed: int, seconds: float) -> None:
        """Try random cases of a check in a cell; keep the smallest that fails."""
        import hypothesis
        from hypothesis import HealthCheck, Phase

        every_health_check: Any = HealthCheck  # its own iteration leaves out deprecated ones, which checkers do not know
        until = time.perf_counter() + seconds
        smallest: list[tuple[Case, Failed]] = []

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=max(4, min(200, int(seconds * RATE))),
            database=None,
            deadline=None,
            print_blob=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(every_health_check),
            report_multiple_bugs=False,
        )
        @hypothesis.given(_cases(cell, self.adapter))
        def attempt(case: Case) -> None:
            if time.perf_counter() > until and not smallest:
                return
            verdict = self.verdict(check, case)
            if verdict is not None:
                smallest[:] = [min([*smallest, (case, verdict)], key=lambda found: found[0].cost)]
                raise verdict

        try:
            attempt()
        except Failed:
            case, verdict = smallest[0]
            line = reproducer(self.backend, self.adapter, check, case, verdict)
            self.findings.append(Finding(check, case, verdict.message, line))

    def verdict(self, check: Check, case: Case) -> Failed | None:
        """Return what a check finds at a case, None if nothing."""
        self.tried += 1
        slips = any(may_slip(case.cell, n, m) for n, m in zip(case.shape[2:], case.output_size, strict=True))
        if (slips and self.level == "core") or not _is_in_range(case):
            return None
        subject = Subject(self.backend, self.adapter, Tolerance("core"))
        try:
            with np.errstate(all="ignore"):
                check.function(subject, case)
        except Failed as verdict:
            return verdict
        except (NotApplicable, UnsupportedError, DTypeError):
            return None
        self.judged += 1
        return None


def _is_in_range(case: Case) -> bool:
    """Tell whether results are finite even when a check multiplies its input by hundreds; float16 ends at 65504."""
    largest = expected(case, np.abs(case.source()), Tolerance("core")).bound / np.finfo(case.dtype).eps
    return bool(np.max(largest, initial=0) * 64 < np.finfo(case.dtype).max)


def _cases(cell: Cell, adapter: Adapter) -> Any:
    """Return a strategy for cases of a cell; it shrinks towards small sizes, one image, float64, noise, plain memory."""
    from hypothesis import strategies as st

    def made(n: int, c: int, high: Size, wide: Size, dtype: str, content: str, layout: str) -> Case:
        return Case(cell, (n, c, high[0], wide[0]), (high[1], wide[1]), dtype, content, layout)

    size = st.integers(1, 12) | st.integers(1, 40) | st.integers(1, 260)
    return st.builds(
        made,
        st.integers(1, 3),
        st.integers(1, 3),
        st.tuples(size, size),
        st.tuples(size, size),
        st.sampled_from(DTYPES),
        st.sampled_from(["noise", "ramp", "impulse", "constant", "checker"]),
        st.sampled_from(["plain", *adapter.layouts]),
    )
