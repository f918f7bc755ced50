"""``burnpy conformance``: judge backends by the contract."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from burnpy import OptionError
from burnpy.conformance import Level, Report, run
from burnpy.conformance.html import to_html
from burnpy.conformance.junit import to_junit
from burnpy.conformance.select import read_expected_failures

__all__ = ["conformance"]

_STYLES = {
    "passed": "[green]pass[/]",
    "partial": "[yellow]partial[/]",
    "failed": "[red bold]FAIL[/]",
    "error": "[red bold]ERROR[/]",
    "unexpected pass": "[red]unexpected pass[/]",
    "blocked": "[red]blocked[/]",
    "expected failure": "[magenta]expected[/]",
    "unsupported": "[dim]-[/]",
    "untested": "[dim]untested[/]",
}


def conformance(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Backends, as `burnpy backends` lists them.")],
    level: Annotated[
        str, typer.Option(metavar="core|strict", help="What burn promises, or also what burnpy does.")
    ] = "core",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write everything as JSON.", show_default=False)] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.", show_default=False)] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one HTML page.", show_default=False)] = None,
    select: Annotated[
        str | None, typer.Option("-k", metavar="EXPR", help="Run only ids that match, as in 'bicubic and not backward'.")
    ] = None,
    expected_failures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Lines 'check[/mode/variant/direction]: reason'.", show_default=False),
    ] = None,
    tolerance: Annotated[
        list[str] | None, typer.Option(metavar="DTYPE=K", help="Your own factor k for an element type.", show_default=False)
    ] = None,
    search: Annotated[bool, typer.Option("--search", help="Also try random cases, and shrink what fails.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="Length of the search.")] = 30.0,
    most: Annotated[int, typer.Option(help="Failures to print; the files have all.")] = 10,
) -> None:
    """Judge backends by burnpy's conformance checks.

    The exit status is 0 if every backend passes, 1 if one fails, 2 if it could not be run.
    """
    if level not in ("core", "strict"):
        raise OptionError(f"--level must be core or strict; got {level!r}")
    wanted: Level = "strict" if level == "strict" else "core"
    expected = read_expected_failures(expected_failures) if expected_failures else {}
    console = Console(highlight=False)
    factors = _factors(tolerance or [])
    reports = [_judged(name, wanted, select, expected, factors) for name in names]
    console.print(_table(reports))
    for report in reports:
        _print(console, report, most)
    _write(reports, json, junit, html)
    found = [_searched(console, name, wanted, select, seed, budget) for name in names] if search else []
    if not all([*(report.passed for report in reports), *found]):
        raise typer.Exit(1)


def _factors(settings: list[str]) -> dict[str, float]:
    factors: dict[str, float] = {}
    for setting in settings:
        dtype, _, factor = setting.partition("=")
        try:
            factors[dtype] = float(factor)
        except ValueError:
            raise OptionError(f"--tolerance must be DTYPE=K, as in float32=16; got {setting!r}") from None
    return factors


def _judged(name: str, level: Level, select: str | None, expected: dict[str, str], factors: dict[str, float]) -> Report:
    """Run with a progress bar on stderr, which is only drawn on a terminal."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"{name}: loading", total=None)

        def show(result: object, done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, description=f"{name}: {getattr(result, 'id', '')}")

        return run(name, level=level, select=select, expected_failures=expected, tolerances=factors or None, progress=show)


def _table(reports: list[Report]) -> Table:
    """Return modes, variants and directions against backends and levels."""
    table = Table("mode", "variant", "direction")
    matrices = [report.matrix() for report in reports]
    for report, matrix in zip(reports, matrices, strict=True):
        for level in next(iter(matrix.values())):
            table.add_column(f"{report.backend}\n{level}", justify="center")
    before = ""
    for key in matrices[0]:
        mode, variant, direction = key
        if before and mode != before:
            table.add_section()
        cells = [_STYLES[status] for matrix in matrices for status in matrix[key].values()]
        table.add_row(mode if mode != before else "", variant, direction, *cells)
        before = mode
    return table


def _print(console: Console, report: Report, most: int) -> None:
    shown = [result for result in report.failures if result.status != "blocked"]
    console.print(report.summary(), markup=False, soft_wrap=True)
    for reason, ids in report.left_out().items():
        console.print(f"  did not run: {len(ids)} checks, {reason}", markup=False, soft_wrap=True)
    rules = {rule for levels in report.tolerances.values() for level, rule in levels.items() if level == report.level}
    for rule in sorted(rules):
        console.print(f"  tolerance: {rule}", markup=False, soft_wrap=True)
    for result in shown[:most]:
        console.print("\n" + result.describe(report.backend), markup=False, soft_wrap=True)
    if len(shown) > most:
        console.print(f"\n{len(shown) - most} more failures; --most N prints more, --json F writes all", markup=False)
    for key in report.dead:
        console.print(f"\nthe expected failure {key!r} names no check of level {report.level}", markup=False)


def _write(reports: list[Report], json: Path | None, junit: Path | None, html: Path | None) -> None:
    if json:
        body = ",\n".join(report.to_json() for report in reports)
        json.write_text(f"[{body}]\n" if len(reports) > 1 else f"{body}\n", "utf-8")
    if junit:
        junit.write_text(to_junit(*reports), "utf-8")
    if html:
        html.write_text(to_html(*reports), "utf-8")


def _searched(console: Console, name: str, level: Level, select: str | None, seed: int, budget: float) -> bool:
    if importlib.util.find_spec("hypothesis") is None:
        raise OptionError('--search needs Hypothesis: pip install "burnpy[test]"')
    from burnpy.conformance.search import search

    with console.status(f"searching {name}"):
        report = search(name, seed=seed, budget=budget, level=level, select=select)
    console.print("\n" + str(report), markup=False, soft_wrap=True)
    return report.passed
