"""A check as data: a small function, the sentence that says what must hold, and what it is run on.

The list of checks is the one source of everything: the runner, the pytest front ends, the search and the documentation read
it. A check is made from a plain function by the decorator `check`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from burnpy.conformance.cases import Case, Cell, Level
from burnpy.conformance.subject import Subject

__all__ = ["ALONG_BOTH", "Check", "Dtypes", "any_cell", "bits", "check", "registered"]

Cases: TypeAlias = Callable[[Cell], Iterable[Case]]
Function: TypeAlias = Callable[[Subject, Case], None]
FunctionT = TypeVar("FunctionT", bound=Function)
Dtypes: TypeAlias = Literal["widest", "half"] | Literal["every", "asked"]
"""The element types a case is run in: the widest that the backend has in that cell, each that it has, float16 alone, or (to
find out which it has) each there is."""

ALONG_BOTH: Final = ("values_along_height", "values_along_width")
"""What checks of values rest on: where these fail, the others would only say so again."""


@dataclass(frozen=True)
class Check:
    """One statement about a backend.

    Attributes
    ----------
    id : str
    sentence : str
        What must hold, and why.
    level : "core" or "strict"
    family : str
        The file it stands in.
    function : callable
        Takes the subject and a case; raises `burnpy.conformance.subject.Failed` if the statement does not hold.
    cases : callable
        The cases of a cell, the smallest first.
    applies : callable
        Whether the statement has a meaning in a cell.
    needs : tuple of str
        Checks that must have passed in the cell; if one has not, this one is blocked.
    dtypes : "widest", "every", "half" or "asked"
    """

    id: str
    sentence: str
    level: Level
    family: str
    function: Function
    cases: Cases
    applies: Callable[[Cell], bool]
    needs: tuple[str, ...]
    dtypes: Dtypes


_checks: Final[dict[str, Check]] = {}


def any_cell(_: Cell) -> bool:
    """Apply everywhere."""
    return True


def check(
    level: Level,
    cases: Cases,
    *,
    applies: Callable[[Cell], bool] = any_cell,
    needs: tuple[str, ...] = ("shape_and_dtype",),
    dtypes: Dtypes = "widest",
) -> Callable[[FunctionT], FunctionT]:
    """Register a function named ``check_<id>`` as a check; its docstring is the sentence."""

    def register(function: FunctionT) -> FunctionT:
        name = function.__name__.removeprefix("check_")
        sentence = " ".join((function.__doc__ or "").split())
        family = function.__module__.rpartition(".")[2]
        assert name not in _checks, name
        _checks[name] = Check(name, sentence, level, family, function, cases, applies, needs, dtypes)
        return function

    return register


def registered() -> tuple[Check, ...]:
    """Return the checks made so far, in the order of their definition."""
    return tuple(_checks.values())


def bits(array: NDArray[Any]) -> bytes:
    """Return an array's elements as bytes, to compare bit for bit."""
    return np.ascontiguousarray(array).tobytes()
