"""The command ``python -m benchmarks.import_time``: what ``import burnpy`` costs after NumPy, with and without plug-ins.

Fresh interpreters in turn, one that sees no plug-in and one that sees many, so that a change of speed hits both alike.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

TIMED = """
import sys, time
import numpy
start = time.perf_counter()
import burnpy
print(1e3 * (time.perf_counter() - start))
assert "importlib.metadata" not in sys.modules
{after}
"""
LISTED = "assert sum('plug' in name for name in burnpy.backends.names()) == {plugins}"


def main(
    plugins: Annotated[int, typer.Option(help="How many plug-ins the second interpreter sees.")] = 50,
    rounds: Annotated[int, typer.Option(help="How often each is started.")] = 40,
) -> None:
    """Measure the import beside the same import with plug-ins installed; both see that they are, or are not, there."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(plugins):
            _install(Path(folder), number)
        paths = {0: "", plugins: folder}
        times: dict[int, list[float]] = {count: [] for count in paths}
        for _ in track(range(rounds), "rounds", transient=True):
            for count, path in paths.items():
                times[count].append(_import_ms(path, count))
    table = Table("plug-ins installed", "import burnpy, ms: median", "fastest", "slowest")
    for count, ms in times.items():
        table.add_row(str(count), f"{statistics.median(ms):.1f}", f"{min(ms):.1f}", f"{max(ms):.1f}")
    Console().print(table)


def _install(folder: Path, number: int) -> None:
    """Leave what an installer leaves of a distribution with one module and one entry point."""
    (folder / f"plug_{number}.py").write_text("raise ImportError('nobody asked for it')\n")
    info = folder / f"plug_{number}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: plug-{number}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[burnpy.backends]\nplug{number} = plug_{number}:Backend\n")


def _import_ms(path: str, plugins: int) -> float:
    code = TIMED.format(after=LISTED.format(plugins=plugins))
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-P", "-c", code]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    typer.run(main)
