"""What comes out: a table, JSON, and a plot."""

# Matplotlib need not be installed:
# pyright: reportMissingImports=false

import json
import math
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Result

PEERS = ("torch", "opencv", "pillow", "onnxruntime", "jax")
COPIES = ("copy bytes", "copy output")


def table(results: Sequence[Result]) -> Table:
    """Return milliseconds of burnpy, and of every other how many times as long it took."""
    made = Table(title=f"{results[0].threads} thread(s): burnpy in ms (median), others in multiples of it")
    made.add_column("case")
    for column in ("burnpy", *PEERS, *COPIES, "extra MB"):
        made.add_column(column, justify="right")
    for result in results:
        cells = [f"{result.timings['burnpy'].median * 1e3:.3f}"]
        for other in (*PEERS, *COPIES):
            ratio = result.ratio(other) if other in result.timings else None
            cells.append("" if ratio is None else f"{'[red]' if ratio < 1 and other in PEERS else ''}{ratio:.2f}")
        made.add_row(result.case.name, *cells, f"{result.extra_bytes / 1e6:.2f}")
    return made


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """Return the geometric mean and the least ratio to every library, by direction."""
    found: dict[str, Any] = {}
    for direction in ("forward", "backward"):
        for other in PEERS:
            ratios = {r.case.name: r.ratio(other) for r in results if r.case.direction == direction and other in r.timings}
            if ratios:
                least = min(ratios, key=lambda name: ratios[name])
                found[f"{direction} {other}"] = {
                    "cases": len(ratios),
                    "geometric mean": round(geometric_mean(ratios.values()), 2),
                    "least": round(ratios[least], 2),
                    "least at": least,
                    "slower in": sorted(name for name, ratio in ratios.items() if ratio < 1),
                }
    return found


def machine() -> dict[str, Any]:
    """Return what the measurements were made on and with."""
    versions = {}
    for name in ("burnpy", "numpy", "torch", "opencv-python-headless", "pillow", "onnxruntime", "jax"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def as_json(results: Sequence[Result]) -> str:
    """Return everything measured."""
    rows = [
        {
            "case": r.case.name,
            "threads": r.threads,
            "extra_bytes": r.extra_bytes,
            "differences": dict(r.differences),
            "seconds": {k: {"least": t.least, "median": t.median, "quartiles": t.quartiles} for k, t in r.timings.items()},
        }
        for r in results
    ]
    return json.dumps({"machine": machine(), "results": rows}, indent=1)


def plot(results: Sequence[Result], path: Path) -> None:
    """Draw how many times as long the others take, a point a case, on a logarithmic scale."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    rng = np.random.default_rng(0)
    for panel, direction in zip(axes, ("forward", "backward"), strict=True):
        for position, other in enumerate((*PEERS, *COPIES)):
            ratios = [r.ratio(other) for r in results if r.case.direction == direction and other in r.timings]
            panel.scatter(position + rng.uniform(-0.2, 0.2, len(ratios)), ratios, s=14, alpha=0.6)
        panel.set(title=direction, yscale="log", xticks=range(len(PEERS) + len(COPIES)))
        panel.set_xticklabels((*PEERS, *COPIES), rotation=30)
        panel.axhline(1, color="black", linewidth=0.8)
        panel.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel("time / time of burnpy")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def show(console: Console, results: Sequence[Result]) -> None:
    """Print the table and the summary."""
    console.print(table(results))
    for name, entry in summary(results).items():
        console.print(f"{name}: geometric mean {entry['geometric mean']}x over {entry['cases']} cases, "
                      f"least {entry['least']}x ({entry['least at']})")  # fmt: skip
        for slower in entry["slower in"]:
            console.print(f"  slower in {slower}")
    most = max(results, key=lambda result: result.extra_bytes)
    console.print(f"extra memory of a first call: at most {most.extra_bytes / 1e6:.2f} MB ({most.case.name})")
    for direction in ("forward", "backward"):
        rows = [r for r in results if r.case.suite == "scaling" and r.case.direction == direction]
        times = [
            f"{r.case.shape[-1]}: {r.timings['burnpy'].median * 1e9 / math.prod(r.case.result_shape):.2f}" for r in rows
        ]
        if times:
            console.print(f"scaling, {direction}, ns for every sample of the larger side: " + ", ".join(times))
