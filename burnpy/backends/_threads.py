"""How many threads share the work of a call: what users set."""

import os

from burnpy.errors import OptionError

__all__ = ["PROCESSORS", "get_num_threads", "set_num_threads"]

PROCESSORS: int = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""How many processors this process may run on."""
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


def _initial() -> int:
    for variable in ("BURNPY_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(variable, "").partition(",")[0].strip()
        if value.isdecimal() and int(value) >= 1:
            return int(value)
    return PROCESSORS


_threads = _initial()
