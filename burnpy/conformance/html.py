"""Reports as one self-contained HTML page: the matrices of several backends side by side, then what is wrong with each."""

from html import escape
from typing import Final

from burnpy.conformance.report import Report, Result, Status

__all__ = ["to_html"]

_SIGNS: Final[dict[Status, tuple[str, str]]] = {
    "passed": ("✓", "good"),
    "partial": ("◐", "part"),
    "failed": ("✗", "bad"),
    "error": ("!", "bad"),
    "unexpected pass": ("⇧", "bad"),
    "blocked": ("▪", "bad"),
    "expected failure": ("x", "known"),
    "unsupported": ("-", "none"),
    "untested": ("?", "open"),
}

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align:
left; } thead th { font-weight: 600; vertical-align: bottom; } td.cell { text-align: center; font-weight: 700; min-width:
3.2rem; } tr.first th, tr.first td { border-top: 2px solid var(--line); } th.row { font-weight: 400; } th.mode { font-
weight: 600; } .good { background: #2e9e5b33; color: #1b7a43; } .bad { background: #d1383833; color: #c02626; } .part {
background: #d99a1c33; color: #a87000; } .known { background: #7a5bd133; color: #6a48c4; } .none { color: #888; } .open {
background: var(--soft); color: #777; } @media (prefers-color-scheme: dark) { .good { color: #6fd89b; } .bad { color:
#ff8a8a; } .part { color: #f0c060; } } .verdict { font-weight: 700; padding: .1rem .5rem; border-radius: .3rem; } .legend
span { margin-right: 1.1rem; white-space: nowrap; } .legend b { padding: 0 .4rem; border-radius: .2rem; } details {
border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .8rem; margin: .5rem 0; } summary { cursor: pointer; }
pre { overflow-x: auto; background: var(--soft); padding: .6rem; border-radius: .3rem; font- size: 13px; } dl { display:
grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { color: #888; } dd { margin: 0; }
"""

MOST = 200
"""Failures written out for one backend."""


def to_html(*reports: Report) -> str:
    """Return the page."""
    names = ", ".join(report.backend for report in reports)
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Conformance of {escape(names)}</title><style>{_STYLE}</style></head><body>",
        "<h1>Conformance of interpolation backends</h1>",
        f"<p>{escape(names)}</p>",
        _matrix(reports),
        _legend(),
        *(_section(report) for report in reports),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _matrix(reports: tuple[Report, ...]) -> str:
    matrices = [report.matrix() for report in reports]
    levels = [list(next(iter(matrix.values()))) for matrix in matrices]
    heads = "".join(
        f"<th colspan={len(mine)}>{escape(report.backend)}</th>" for report, mine in zip(reports, levels, strict=True)
    )
    second = "".join(f"<th>{level}</th>" for mine in levels for level in mine)
    rows: list[str] = []
    before = ""
    for key in matrices[0]:
        mode, variant, direction = key
        first = " class=first" if mode != before else ""
        label = escape(mode) if mode != before else ""
        cells = "".join(_cell(matrix[key][level]) for matrix, mine in zip(matrices, levels, strict=True) for level in mine)
        rows.append(
            f"<tr{first}><th class=mode>{label}</th><th class=row>{variant}</th><th class=row>{direction}</th>{cells}</tr>"
        )
        before = mode
    axes = "".join(f"<th rowspan=2>{axis}</th>" for axis in ("mode", "variant", "direction"))
    head = f"<thead><tr>{axes}{heads}</tr><tr>{second}</tr></thead>"
    return f"<div class=scroll><table>{head}<tbody>{''.join(rows)}</tbody></table></div>"


def _cell(status: Status) -> str:
    sign, kind = _SIGNS[status]
    return f'<td class="cell {kind}" title="{status}" aria-label="{status}">{sign}</td>'


def _legend() -> str:
    entries = "".join(f"<span><b class={kind}>{sign}</b> {status}</span>" for status, (sign, kind) in _SIGNS.items())
    return f"<p class=legend>{entries}</p>"


def _section(report: Report) -> str:
    kind = "good" if report.passed else "bad"
    verdict = f"<span class='verdict {kind}'>{'passed' if report.passed else 'failed'}</span>"
    shown = [result for result in report.failures if result.status != "blocked"]
    more = f"<p>{len(shown) - MOST} more are in the JSON report.</p>" if len(shown) > MOST else ""
    dead = "".join(f"<p>The expected failure {escape(key)} names no check.</p>" for key in report.dead)
    rules = "".join(
        f"<dt>{dtype}</dt><dd>{escape('; '.join(f'{level}: {rule}' for level, rule in levels.items()))}</dd>"
        for dtype, levels in report.tolerances.items()
    )
    left = "".join(
        f"<details><summary>{escape(why)} ({len(ids)})</summary><pre>{escape(chr(10).join(ids))}</pre></details>"
        for why, ids in report.left_out().items()
    )
    return (
        f"<h2>{escape(report.backend)}, level {report.level} {verdict}</h2><pre>{escape(report.summary())}</pre>"
        f"{dead}{''.join(_failure(report, result) for result in shown[:MOST])}{more}"
        f"<details><summary>Tolerances</summary><dl>{rules}</dl></details>"
        + (f"<h3>What did not run</h3>{left}" if left else "")
    )


def _failure(report: Report, result: Result) -> str:
    found = result.failure.message if result.failure else result.reason
    text = escape(result.describe(report.backend))
    return f"<details><summary><b>{escape(result.id)}</b>: {escape(found)}</summary><pre>{text}</pre></details>"
