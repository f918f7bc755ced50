"""The command ``python -m benchmarks``."""

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from benchmarks import report
from benchmarks.cases import all_cases
from benchmarks.measure import measure
from benchmarks.peers import set_threads


def main(
    select: Annotated[str, typer.Option("-k", help="Measure the cases whose name matches this regular expression.")] = "",
    threads: Annotated[list[int] | None, typer.Option("--threads", help="Numbers of threads; may be repeated.")] = None,
    seconds: Annotated[float, typer.Option(help="Time to spend on each library in each case.")] = 0.25,
    out: Annotated[Path, typer.Option(help="Folder for results.json and results.png.")] = Path("benchmarks/results"),
) -> None:
    """Measure burnpy beside PyTorch, OpenCV, Pillow, onnxruntime and JAX, all interleaved in one run."""
    cases = [case for case in all_cases() if re.search(select, case.name)]
    if not cases:
        raise typer.BadParameter(f"no case matches {select!r}")
    console, every = Console(width=170), []
    for count in threads or [1, 2]:
        set_threads(count)
        results = [measure(case, count, seconds) for case in track(cases, f"{count} thread(s)", transient=True)]
        report.show(console, results)
        every += results
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(report.as_json(every))
    report.plot(every, out / "results.png")
    console.print(f"wrote {out / 'results.json'} and {out / 'results.png'}")


if __name__ == "__main__":
    typer.run(main)
