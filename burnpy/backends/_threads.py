"""How many threads share the work of a call, and the helpers that they are.

Work is split into parts whose results do not depend on the split. Helpers are started when they are first needed, and anew
in a child process after a fork, so that a child never waits for threads that it does not have.
"""

import itertools
import os
import threading
from collections.abc import Callable

from burnpy.errors import OptionError

__all__ = ["get_num_threads", "run_parts", "set_num_threads"]

PARTS_PER_THREAD = 4
"""So that a thread that is held up does not hold up the others."""


class _Helper:
    """A thread that does one job after another and sleeps in between: a lock wakes it sooner than a queue would."""

    def __init__(self) -> None:
        self._given, self._done = threading.Lock(), threading.Lock()  # held while there is no job, or none done
        self._given.acquire()
        self._done.acquire()
        self._job: Callable[[], None] | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._serve, name="burnpy", daemon=True).start()

    def start(self, job: Callable[[], None]) -> None:
        self._job, self._error = job, None
        self._given.release()

    def wait(self) -> BaseException | None:
        """Return when the job is done, with what it raised."""
        self._done.acquire()
        return self._error

    def _serve(self) -> None:
        while True:
            self._given.acquire()
            try:
                if self._job:
                    self._job()
            except BaseException as error:  # the caller raises it
                self._error = error
            self._job = None
            self._done.release()


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[_Helper] = []
        self.helpers = 0


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

    helpers = _borrowed(min(threads, parts) - 1, threads - 1)
    for helper in helpers:
        helper.start(share)
    try:
        share()
    finally:
        errors = _waited_for(helpers)
    for error in errors:
        if error:
            raise error


def _waited_for(helpers: list[_Helper]) -> list[BaseException | None]:
    """Return what the jobs of helpers raised, and the helpers to those who have nothing to do."""
    try:
        errors = [helper.wait() for helper in helpers]
    except BaseException:  # an interrupt: they may still be at work, so others take their place
        with _state.lock:
            _state.helpers -= len(helpers)
        raise
    _state.idle.extend(helpers)
    return errors


def _borrowed(count: int, most: int) -> list[_Helper]:
    """Return up to ``count`` helpers that have nothing to do; of ``most`` in all, others may be at work for others."""
    with _state.lock:
        helpers = [_state.idle.pop() for _ in range(min(count, len(_state.idle)))]
        while len(helpers) < count and _state.helpers < most:
            try:
                helpers.append(_Helper())
            except RuntimeError:  # the system has no more threads
                break
            _state.helpers += 1
        return helpers


def _forget_helpers() -> None:
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
    os.register_at_fork(after_in_child=_forget_helpers)
