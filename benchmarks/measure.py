"""How it is measured: all jobs of a case in turn, again and again, so that a change of speed hits all alike."""

import gc
import random
import statistics
import time
import tracemalloc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from benchmarks.cases import Case
from benchmarks.peers import Job, jobs, to_numpy
from burnpy.backends import _operators, ndarray

SPINNING = ("torch", "onnxruntime", "jax")
"""Their threads stay busy for a while after a call, in which whoever is next would have fewer processors."""
SPIN_SECONDS = 0.012
WARM_SECONDS = 0.003
ROUNDS = 11
"""Or more: the system is slow for some rounds after much memory was freed or is asked for anew."""
FEW_ROUNDS = 5
"""Enough for a library that has taken `LONG_SECONDS`."""
LONG_SECONDS = 0.25
TOLERANCE = {"float64": 1e-6, "float32": 2e-3, "float16": 2e-2}
"""Relative to the largest value; others compute coordinates in float32, which costs them digits at large sizes."""


@dataclass(frozen=True)
class Timing:
    """Seconds a call: the least, the median, and the quartiles of all rounds."""

    least: float
    median: float
    quartiles: tuple[float, float]


@dataclass(frozen=True)
class Result:
    """What one case gave: timings by library, how far results are apart, and burnpy's extra memory in bytes."""

    case: Case
    threads: int
    timings: Mapping[str, Timing]
    differences: Mapping[str, float]
    extra_bytes: int

    def ratio(self, other: str) -> float:
        """Return how many times faster burnpy is than ``other``."""
        return self.timings[other].median / self.timings["burnpy"].median


def measure(case: Case, threads: int, seconds: float) -> Result:
    """Check that all agree, then time them in turn, each for ``seconds`` and `ROUNDS` rounds or more."""
    runs = dict(jobs(case, threads))
    expected = to_numpy(runs["burnpy"]()).astype(np.float64)
    differences = {
        name: float(np.abs(to_numpy(job()).astype(np.float64) - expected).max() / max(np.abs(expected).max(), 1e-30))
        for name, job in runs.items()
    }
    runs = {name: job for name, job in runs.items() if name == "opencv" or differences[name] <= TOLERANCE[case.dtype]}
    extra = _extra_bytes(runs["burnpy"])
    runs |= _copies(case)
    return Result(case, threads, _times(runs, seconds, threads), differences, extra)


def _copies(case: Case) -> dict[str, Job]:
    """Return the copy that moves as many bytes as must be read and written, and the copy of the output."""
    half = np.ones(max(case.moved_bytes // 2, 1), np.uint8)
    output = np.ones(case.shape if case.direction == "backward" else case.result_shape, case.dtype)
    return {"copy bytes": half.copy, "copy output": output.copy}


def _times(runs: Mapping[str, Job], seconds: float, threads: int) -> dict[str, Timing]:
    spent: dict[str, list[float]] = {name: [] for name in runs}
    inner = {name: max(1, int(1e-3 / max(_once(job), 1e-7))) for name, job in runs.items()}
    order = random.Random(0)
    gc.collect()
    gc.disable()
    try:
        while unfinished := [name for name, times in spent.items() if not _is_enough(times, inner[name], seconds)]:
            for name in order.sample(unfinished, len(unfinished)):  # so that nobody always follows the same one
                _warm(runs[name])
                start = time.perf_counter()
                for _ in range(inner[name]):
                    runs[name]()
                spent[name].append((time.perf_counter() - start) / inner[name])
                if threads > 1 and name in SPINNING:
                    time.sleep(SPIN_SECONDS)
    finally:
        gc.enable()
    return {name: _timing(times) for name, times in spent.items()}


def _is_enough(times: list[float], inner: int, seconds: float) -> bool:
    total = sum(times) * inner
    return total >= seconds and len(times) >= (FEW_ROUNDS if total >= LONG_SECONDS else ROUNDS)


def _warm(job: Job) -> None:
    """Call a job until caches and processors are as its own calls leave them, whatever ran or slept before."""
    start = time.perf_counter()
    job()
    while time.perf_counter() - start < WARM_SECONDS:
        job()


def _once(job: Job) -> float:
    job()
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def _timing(times: list[float]) -> Timing:
    low, middle, high = statistics.quantiles(times, n=4)
    return Timing(min(times), middle, (low, high))


def _extra_bytes(job: Job) -> int:
    """Return the largest amount of memory that a first call holds beyond its result: operators are made anew."""
    for cache in (_operators.make_short, _operators.make_long, ndarray._job):
        cast(Any, cache).cache_clear()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = to_numpy(job())
        return max(0, tracemalloc.get_traced_memory()[1] - before - result.nbytes)
    finally:
        tracemalloc.stop()
