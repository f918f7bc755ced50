"""Threads and builds: the same bits whatever computes them, and a process that stays usable."""

import hashlib
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from exact import OPTIONS

import burnpy
from burnpy import OptionError
from burnpy.backends import _dispatch, _kernels, _threads
from burnpy.backends._threads import run_parts

PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
SIZES = [((2, 3, 70, 90), (141, 60)), ((1, 1, 33, 400), (66, 801)), ((5, 1, 16, 16), (48, 48)), ((1, 2, 300, 31), (97, 64))]


@pytest.fixture(autouse=True)
def _restored():
    before = burnpy.get_num_threads()
    yield
    burnpy.set_num_threads(before)


def digest(threads=None):
    """Hash the results of every mode, both ways, in two types and two memory orders."""
    if threads:
        burnpy.set_num_threads(threads)
    backend = burnpy.backends.get("ndarray")
    found = hashlib.sha256()
    for shape, size in SIZES:
        rng = np.random.default_rng(shape)
        for dtype in (np.float32, np.float64):
            x, grad = rng.standard_normal(shape).astype(dtype), rng.standard_normal((*shape[:2], *size)).astype(dtype)
            last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
            for options in OPTIONS:
                for source in (x, last):
                    found.update(backend.interpolate(source, size, options).tobytes())
                    found.update(backend.interpolate_backward(source, grad, size, options).tobytes())
    return found.hexdigest()


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.path.dirname(__file__), **environment},  # noqa: PTH120
    )


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_bits_do_not_depend_on_the_number_of_threads(threads, monkeypatch):
    alone = digest(1)
    monkeypatch.setattr("burnpy.backends.ndarray.WORK_FOR_THREADS", 0)
    assert digest(threads) == alone


@pytest.mark.skipif(not _kernels.CPU_HAS_AVX2, reason="this processor runs the baseline build only")
def test_every_build_gives_the_same_bits():
    code = "import test_threads, burnpy.backends._dispatch as d; print(d.BUILD, test_threads.digest())"
    found = {}
    for build in ("baseline", "avx2"):
        done = run_python(code, BURNPY_KERNELS=build)
        assert done.returncode == 0, done.stderr
        name, found[build] = done.stdout.split()
        assert name == build
    assert found["baseline"] == found["avx2"] == digest()


def test_the_build_is_the_best_that_the_processor_runs():
    asked = os.environ.get("BURNPY_KERNELS")
    assert (asked or ("avx2" if _kernels.CPU_HAS_AVX2 else "baseline")) == _dispatch.BUILD


def test_an_unknown_build_is_refused():
    done = run_python("import burnpy", BURNPY_KERNELS="sse9")
    assert "BURNPY_KERNELS must be 'baseline' or 'avx2'; got 'sse9'" in done.stderr


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"BURNPY_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3),
        ({"BURNPY_NUM_THREADS": "", "OMP_NUM_THREADS": "5,2"}, 5),
        ({"BURNPY_NUM_THREADS": "none", "OMP_NUM_THREADS": "0"}, PROCESSORS),
    ],
)
def test_the_environment_sets_the_number_of_threads(environment, expected):
    done = run_python("import burnpy; print(burnpy.get_num_threads())", **environment)
    assert done.stdout.split() == [str(expected)]


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", None, True])
def test_the_number_of_threads_must_be_a_positive_integer(threads):
    with pytest.raises(OptionError, match="integer of at least 1"):
        burnpy.set_num_threads(threads)


@pytest.mark.parametrize(("count", "threads"), [(1, 4), (2, 4), (7, 2), (100, 3), (5, 1)])
def test_every_part_is_done_once(count, threads):
    seen: list[int] = []
    run_parts(lambda start, stop: seen.extend(range(start, stop)), count, threads)
    assert sorted(seen) == list(range(count))


def test_parts_run_at_the_same_time():
    both = threading.Barrier(2, timeout=30)
    first = threading.Lock()

    def work(start, stop):
        if start == 0 or first.acquire(blocking=False):
            both.wait()

    run_parts(work, 8, 2)


def test_an_error_on_any_thread_reaches_the_caller_after_all_have_stopped():
    running = []

    def work(start, stop):
        running.append(start)
        time.sleep(0.001)
        running.remove(start)
        if start >= 3:
            raise MemoryError("part")

    with pytest.raises(MemoryError, match="part"):
        run_parts(work, 8, 2)
    assert not running


def test_helpers_that_an_interrupt_left_at_work_are_replaced(monkeypatch):
    def interrupted(helper):
        raise KeyboardInterrupt

    _threads._forget_helpers()  # so that none is idle
    with monkeypatch.context() as patch:
        patch.setattr(_threads._Helper, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_parts(lambda start, stop: None, 8, 2)
    test_parts_run_at_the_same_time()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_does_not_wait_for_its_parents_threads():
    burnpy.set_num_threads(2)
    x = np.ones((1, 4, 300, 300), np.float32)
    expected = burnpy.interpolate(x, 600, mode="bicubic").sum()
    child = os.fork()
    if child == 0:
        os._exit(0 if burnpy.interpolate(x, 600, mode="bicubic").sum() == expected else 1)
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if done == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert done[1] == 0


def test_many_callers_may_share_the_pool(monkeypatch):
    monkeypatch.setattr("burnpy.backends.ndarray.WORK_FOR_THREADS", 0)
    burnpy.set_num_threads(3)
    x = np.random.default_rng(0).standard_normal((2, 3, 60, 70))
    expected = burnpy.interpolate(x, (100, 90), mode="lanczos3").tobytes()
    wrong: list[bytes] = []

    def work():
        wrong.extend({burnpy.interpolate(x, (100, 90), mode="lanczos3").tobytes() for _ in range(30)} - {expected})

    callers = [threading.Thread(target=work) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=60)
        assert not caller.is_alive()
    assert not wrong
