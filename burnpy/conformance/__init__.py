"""Does a backend do what the contract says? One list of checks, and several ways to run it.

`run` judges a backend and returns a typed `Report`; `parametrize_with_checks` puts the same checks into an author's own
pytest suite; ``burnpy conformance NAME`` is the command line; ``pytest --pyargs burnpy.conformance --burnpy-backend
NAME`` needs no file at all. Nothing here imports pytest until it is asked for.
"""

from burnpy.conformance.author import Outcome, parametrize_with_checks
from burnpy.conformance.cases import CELLS, Case, Cell, Level, values
from burnpy.conformance.check import Check
from burnpy.conformance.checks import all_checks
from burnpy.conformance.report import Report, Result, Status
from burnpy.conformance.runner import plan, replay, run

__all__ = [
    "CELLS",
    "Case",
    "Cell",
    "Check",
    "Level",
    "Outcome",
    "Report",
    "Result",
    "Status",
    "all_checks",
    "parametrize_with_checks",
    "plan",
    "replay",
    "run",
    "values",
]
