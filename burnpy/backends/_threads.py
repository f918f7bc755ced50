"""How many threads share the work of a call, and the small pool that they come from.

Work is split into parts whose results do not depend on the split. The pool is made when it is first needed, and anew in a
child process after a fork, so that a child never waits for threads that it does not have.
"""

import itertools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from burnpy.errors import OptionError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["get_num_threads", "run_parts", "set_num_threads"]

PARTS_PER_THREAD = 4
"""So that a thread that is held up does not hold up the others."""


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ThreadPoolExecutor | None = None
        self.pool_size = 0


_state = _State()
_threads = 0


def set_num_threads(threads: int) -> None:
    """Set how many threads a call may use, in the whole process.

    The initial number is that of the environment variable ``BURNPY_NUM_THREADS``, else of ``OMP_NUM_THREADS``, else of the
    processors that this process may run on. Results are the same bits for every number.

    Raises
    ------
    OptionError
        If it is not an integer of at least 1.
    """
    global _threads
    _threads = _checked_number(threads)


def _checked_number(threads: object) -> int:
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise OptionError(f"the number of threads must be an integer of at least 1; got {threads!r}")
    return threads


def get_num_threads() -> int:
    """Return how many threads a call may use."""
    return _threads


def run_parts(work: Callable[[int, int], None], count: int, threads: int) -> None:
    """Call ``work(start, stop)`` for ranges that together are ``range(count)``, on up to ``threads`` threads at once."""
    parts = min(count, threads * PARTS_PER_THREAD)
    bounds = [count * part // parts for part in range(parts + 1)]
    ranges = iter(list(itertools.pairwise(bounds)))
    lock = threading.Lock()

    def share() -> None:
        while True:
            with lock:
                part = next(ranges, None)
            if part is None:
                return
            work(*part)

    helpers = [_pool(threads - 1).submit(share) for _ in range(min(threads, parts) - 1)]
    try:
        share()
    finally:
        for helper in helpers:
            helper.result()


def _pool(size: int) -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor

    with _state.lock:
        if _state.pool is None or _state.pool_size < size:
            _state.pool, _state.pool_size = ThreadPoolExecutor(size, "burnpy"), size
        return _state.pool


def _forget_pool() -> None:
    global _state
    _state = _State()


def _initial() -> int:
    for variable in ("BURNPY_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(variable, "").partition(",")[0].strip()
        if value.isdecimal() and int(value) >= 1:
            return int(value)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_threads = _initial()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
