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
from burnpy.backends import _dispatch, _kernels, _pool
from burnpy.backends._operators import make_operator
from burnpy.backends._plan import make_plan

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


@pytest.mark.skipif(len(_kernels.CPU_BUILDS) == 1, reason="this processor runs the baseline build only")
def test_every_build_gives_the_same_bits():
    code = "import test_threads, burnpy.backends._dispatch as d; print(d.BUILD, test_threads.digest())"
    found = {}
    for build in _kernels.CPU_BUILDS:
        done = run_python(code, BURNPY_KERNELS=build)
        assert done.returncode == 0, done.stderr
        name, found[build] = done.stdout.split()
        assert name == build
    assert set(found.values()) == {digest()}


def test_the_build_is_the_best_that_the_processor_runs():
    asked = os.environ.get("BURNPY_KERNELS")
    assert (asked or _kernels.CPU_BUILDS[-1]) == _dispatch.BUILD


def test_an_unknown_build_is_refused():
    done = run_python("import burnpy", BURNPY_KERNELS="sse9")
    assert "BURNPY_KERNELS must be one of baseline, avx2, avx512; got 'sse9'" in done.stderr


def test_a_build_that_the_processor_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(_kernels, "CPU_BUILDS", ("baseline",))
    monkeypatch.setenv("BURNPY_KERNELS", "avx2")
    with pytest.raises(OptionError, match="'avx2', which this processor lacks; unset it, or set it to one of baseline"):
        _dispatch._chosen()


@pytest.mark.parametrize(("compiled", "expected"), [((), "baseline"), (("avx2",), "avx2"), (("avx2", "avx512"), "avx512")])
def test_the_best_build_is_taken_of_those_that_were_compiled(compiled, expected, monkeypatch):
    monkeypatch.setattr(_kernels, "CPU_BUILDS", _kernels.BUILDS)
    monkeypatch.delenv("BURNPY_KERNELS", raising=False)
    monkeypatch.setattr(_dispatch, "_is_compiled", lambda build: build in ("baseline", *compiled))
    assert _dispatch._chosen() == expected


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


def rows_to_resize(rows):
    """Return a plan with at least so many boxes, a source and an empty result."""
    operator = make_operator(4, 5000, burnpy.InterpolateOptions("bicubic"), False, 8)
    lead = (None,) * (_dispatch.MAX_AXES - 2)
    x = np.random.default_rng(rows).standard_normal((rows, 4))
    plan = make_plan(x.shape, [None, operator], range(2))
    return plan, x[lead], np.full((rows, 5000), np.nan)[lead]


def test_any_number_of_threads_may_be_asked_for():
    burnpy.set_num_threads(10**20)
    assert (burnpy.interpolate(np.ones((1, 1, 300, 300), np.float32), 600, mode="bilinear") == 1).all()


@pytest.mark.parametrize("rows", [1, 16, 33, 200])
@pytest.mark.parametrize("threads", [2, 3, 5, 40])
def test_every_box_is_filled_whoever_fills_it(rows, threads):
    plan, x, y = rows_to_resize(rows)
    alone = y.copy()
    assert plan.run(x, alone, 0, plan.boxes) == 0
    for _ in range(30):
        y.fill(np.nan)
        assert 0 <= plan.run(x, y, 0, plan.boxes, threads) <= plan.boxes
        np.testing.assert_array_equal(y, alone)


def test_no_box_but_those_asked_for_is_filled():
    plan, x, y = rows_to_resize(100)
    alone = y.copy()
    assert plan.boxes > 4
    plan.run(x, alone, 1, plan.boxes - 1)
    plan.run(x, y, 1, plan.boxes - 1, 3)
    np.testing.assert_array_equal(y, alone)
    plan.run(x, y.fill(np.nan) or y, 2, 2, 3)
    assert np.isnan(y).all()


def test_helpers_do_a_part_of_the_work():
    plan, x, y = rows_to_resize(2000)
    deadline = time.monotonic() + 30
    while plan.run(x, y, 0, plan.boxes, 2) == 0:
        assert time.monotonic() < deadline
    assert "burnpy" in {thread.name for thread in threading.enumerate()}


def test_helpers_that_slept_are_woken():
    plan, x, y = rows_to_resize(2000)
    deadline = time.monotonic() + 30
    while plan.run(x, y, 0, plan.boxes, 2) == 0:
        time.sleep(0.05)
        assert time.monotonic() < deadline


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be placed on this system")
def test_a_helper_kept_from_work_by_its_caller_is_moved_and_may_go_where_it_might_before():
    plan, x, y = rows_to_resize(50)
    _pool.forget()
    others = set(threading.enumerate())
    plan.run(x, y, 0, plan.boxes, 2)
    helper = (set(threading.enumerate()) - others).pop().native_id or -1
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("one processor")
    own = min(before)
    try:
        os.sched_setaffinity(0, {own})
        for _ in range(100):
            os.sched_setaffinity(helper, {own})
            for _ in range(3):
                plan.run(x, y, 0, plan.boxes, 2)  # the helper waits for the caller's processor
            os.sched_setaffinity(helper, before)  # which alone moves nothing
            for _ in range(10):
                plan.run(x, y, 0, plan.boxes, 2)
            assert os.sched_getaffinity(helper) == before
        assert os.sched_getaffinity(0) == {own}
    finally:
        os.sched_setaffinity(0, before)


def test_there_are_no_more_helpers_than_asked_for():
    plan, x, y = rows_to_resize(50)
    _pool.forget()
    callers = [threading.Thread(target=plan.run, args=(x, y.copy(), 0, plan.boxes, 3)) for _ in range(20)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert 1 <= _pool.helpers() <= 2


def test_a_caller_does_without_threads_that_the_system_has_not(monkeypatch):
    def none_left(thread):
        raise RuntimeError("can't start new thread")

    plan, x, y = rows_to_resize(50)
    _pool.forget()
    monkeypatch.setattr(threading.Thread, "start", none_left)
    assert plan.run(x, y, 0, plan.boxes, 4) == 0
    assert np.isfinite(y).all()
    assert _pool.helpers() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_does_not_wait_for_its_parents_threads_but_starts_its_own():
    burnpy.set_num_threads(2)
    plan, source, result = rows_to_resize(2000)
    x = np.ones((1, 4, 300, 300), np.float32)
    expected = burnpy.interpolate(x, 600, mode="bicubic").sum()
    child = os.fork()
    if child == 0:
        same = burnpy.interpolate(x, 600, mode="bicubic").sum() == expected
        helped = any(plan.run(source, result, 0, plan.boxes, 2) for _ in range(1000))
        os._exit(0 if same and helped else 1)
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
