"""The smallest line that shows a failure, ready to be pasted into a shell."""

import shlex
from typing import Any

import numpy as np

from burnpy.backends.registry import names
from burnpy.conformance.cases import Case
from burnpy.conformance.check import Check
from burnpy.conformance.subject import Adapter, Failed

__all__ = ["reproducer"]

LITERAL = 24
"""Arrays of up to so many elements are written out."""


def reproducer(backend: Any, adapter: Adapter, check: Check, case: Case, verdict: Failed) -> str:
    """Return a shell command that shows the failure: the one call where one shows it, else the check on its case."""
    one_call = verdict.source is not None and adapter.native and case.layout == "plain" and not case.note
    code = _call(backend, case, verdict) if one_call else _replayed(backend, check, case)
    plain = not any(character in code for character in '"\\$`!')
    return f'python -c "{code}"' if plain else f"python -c {shlex.quote(code)}"


def _backend_code(backend: object) -> tuple[str, str]:
    """Return an import and an expression that give the backend."""
    name = str(getattr(backend, "name", ""))
    if name in names():
        return "from burnpy import backends", f"backends.get({name!r})"
    kind = type(backend)
    return f"from {kind.__module__} import {kind.__qualname__.partition('.')[0]}", f"{kind.__qualname__}()"


def _call(backend: Any, case: Case, verdict: Failed) -> str:
    source = verdict.source
    assert source is not None
    imports, made = _backend_code(backend)
    array, more = _array_code(case, source)
    options = f"InterpolateOptions({case.cell.mode!r}, {case.options.align_corners}, {case.options.antialias})"
    if case.backward:
        x = f"np.zeros({(*source.shape[:2], *case.shape[2:])}, {case.dtype!r})"
        call = f"interpolate_backward({x}, {array}, {case.output_size}, {options})"
    else:
        call = f"interpolate({array}, {case.output_size}, {options})"
    return f"import numpy as np; from burnpy import InterpolateOptions; {imports}{more}; print({made}.{call})"


def _array_code(case: Case, source: np.ndarray[Any, Any]) -> tuple[str, str]:
    """Return an expression for an array, and what it has to import."""
    if source.size <= LITERAL:
        literal = np.array2string(source, separator=", ", floatmode="unique", max_line_width=10**6, threshold=10**6)
        literal = literal.replace("\n", "").replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({' '.join(literal.split())}, {source.dtype.name!r})", ""
    if np.array_equal(source, case.source(), equal_nan=True):
        return (
            f"values({case.values!r}, {source.shape}, {case.dtype!r})",
            "; from burnpy.conformance.cases import values",
        )
    flat = source.reshape(-1).tolist() if source.size <= 200 else None
    if flat is not None:
        return f"np.array({flat}, {source.dtype.name!r}).reshape{source.shape}".replace("nan", "np.nan"), ""
    return f"np.resize(np.array({source.reshape(-1)[:200].tolist()}), {source.shape}).astype({source.dtype.name!r})", ""


def _replayed(backend: Any, check: Check, case: Case) -> str:
    imports, made = _backend_code(backend)
    options = f"InterpolateOptions({case.cell.mode!r}, {case.options.align_corners}, {case.options.antialias})"
    rest = f"dtype={case.dtype!r}, values={case.values!r}, layout={case.layout!r}, note={case.note!r}"
    cell = f"Cell({options}, {case.backward})"
    return (
        f"from burnpy import InterpolateOptions; from burnpy.conformance import Case, Cell, replay; {imports}; "
        f"replay({made}, {check.id!r}, Case({cell}, {case.shape}, {case.output_size}, {rest}))"
    )
