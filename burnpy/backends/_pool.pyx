# cython: boundscheck=False, wraparound=False, freethreading_compatible=True
"""Threads that help a caller with a job: parts of it, whose results do not depend on who does them, or in which order.

A helper that has nothing to do stays awake for a moment, since calls follow one another and a sleeping processor takes tens
of microseconds to wake, and sleeps then. A caller waits for no helper that has not begun. Helpers are started when they are
first needed, and anew in a child process after a fork, so that a child never waits for threads that it does not have.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)

import os
import threading

from burnpy.backends import _threads

cdef extern from "_pool.h" nogil:
    long burnpy_look(long *word)
    long burnpy_add(long *word, long value)
    long burnpy_exchange(long *word, long value)
    bint burnpy_replace(long *word, long old, long value)
    void burnpy_pause()
    void burnpy_drive_away(long thread)

cdef enum:
    SPINS = 3000  # pauses before going to sleep: 50 to 150 microseconds
    MISSES = 3  # jobs in a row, after which a helper is moved
    ALIGNMENT = 64  # bytes, of scratch memory
    IDLE, ASLEEP, GIVEN, RUNNING, AWAITED  # what a helper is

cdef struct Job:
    Work work
    const void *data
    long parts
    long begun  # parts, of which some are done
    long helped  # parts that helpers did

cdef struct Helper:
    long state
    long spins
    long thread  # the number that the system knows it by
    long missed  # jobs in a row, which were done before it began
    Job *job
    void *scratch
    PyThread_type_lock wake, done  # held, but for the moment in which they wake the helper, or its caller


cdef class _Thread:
    """A helper and the thread that it is; both live as long as the process."""

    cdef Helper helper

    def __init__(self, bint spins):
        self.helper = Helper(IDLE, SPINS if spins else 0, wake=PyThread_allocate_lock(), done=PyThread_allocate_lock())
        if self.helper.wake == NULL or self.helper.done == NULL:
            raise MemoryError("cannot allocate the locks of a thread")
        PyThread_acquire_lock(self.helper.wake, WAIT_LOCK)
        PyThread_acquire_lock(self.helper.done, WAIT_LOCK)
        thread = threading.Thread(target=self.serve, name="burnpy", daemon=True)
        thread.start()
        self.helper.thread = getattr(thread, "native_id", -1)  # which few systems do not have

    def serve(self):
        with nogil:
            _serve(&self.helper)


cdef class _State:
    cdef object lock
    cdef list idle
    cdef Py_ssize_t helpers

    def __init__(self):
        self.lock, self.idle, self.helpers = threading.Lock(), [], 0


cdef _State _state = _State()


cdef Py_ssize_t run(Work work, const void *job, Py_ssize_t parts, int threads, size_t scratch) except -1:
    """Call ``work(job, part, ...)`` for ``range(parts)`` on up to ``threads`` threads, ``scratch`` bytes for each.

    Returns how many parts were done by helpers.
    """
    cdef list helpers = _borrowed(min(threads, parts) - 1, threads - 1) if threads > 1 else []
    cdef Py_ssize_t count = len(helpers), i
    cdef size_t each = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT, own = count * sizeof(Helper *)
    cdef char *memory = <char *>PyMem_RawMalloc((count + 1) * each + own + ALIGNMENT)
    cdef char *aligned = memory + own
    cdef Helper **given = <Helper **>memory
    cdef Job shared = Job(work, job, parts, 0, 0)
    if memory == NULL:
        _state.idle.extend(helpers)
        raise MemoryError(f"cannot allocate {(count + 1) * each} bytes of scratch space")
    aligned += ALIGNMENT - <size_t>aligned % ALIGNMENT
    for i in range(count):
        given[i] = &(<_Thread>helpers[i]).helper
    with nogil:
        for i in range(count):
            _give(given[i], &shared, aligned + (i + 1) * each)
        _share(&shared, aligned)
        for i in range(count):
            _take_back(given[i])
    PyMem_RawFree(memory)
    if count:
        _state.idle.extend(helpers)
    return shared.helped


cdef list _borrowed(Py_ssize_t count, Py_ssize_t most):
    """Return up to ``count`` helpers that have nothing to do; of ``most`` in all, others may be at work for others."""
    with _state.lock:
        helpers = [_state.idle.pop() for _ in range(min(count, len(_state.idle)))]
        while len(helpers) < count and _state.helpers < most:
            try:
                # More of them than processors would keep others from work, if they stayed awake.
                helpers.append(_Thread(_state.helpers + 1 < _threads.PROCESSORS))
            except RuntimeError:  # the system has no more threads
                break
            _state.helpers += 1
        return helpers


def forget():
    """Start over without helpers, as a child process after a fork must."""
    global _state
    _state = _State()


def helpers():
    """Return how many helpers were started."""
    return _state.helpers


cdef long _share(Job *job, void *scratch) noexcept nogil:
    """Do parts that nobody has begun, until there are none; return how many."""
    cdef long part = burnpy_add(&job.begun, 1), done = 0
    while part < job.parts:
        job.work(job.data, part, scratch)
        done += 1
        part = burnpy_add(&job.begun, 1)
    return done


cdef void _give(Helper *helper, Job *job, void *scratch) noexcept nogil:
    helper.job, helper.scratch = job, scratch
    if burnpy_exchange(&helper.state, GIVEN) == ASLEEP:
        helper.missed = -1  # this one it may miss
        PyThread_release_lock(helper.wake)


cdef void _take_back(Helper *helper) noexcept nogil:
    """Return when a helper is done with what it was given, at once if it has not begun.

    One that is awake and begins nothing waits for a processor, often for the caller's: where the system wakes it there, all
    others being busy at that moment, it stays for milliseconds, in which each of the two only has the other's time.
    """
    cdef long spin = 0
    if burnpy_replace(&helper.state, GIVEN, IDLE):
        helper.missed += 1
        if helper.missed >= MISSES and helper.spins:
            burnpy_drive_away(helper.thread)
            helper.missed = 0
        return
    helper.missed = 0
    while burnpy_look(&helper.state) == RUNNING:
        if spin < helper.spins:
            burnpy_pause()
            spin += 1
        elif burnpy_replace(&helper.state, RUNNING, AWAITED):
            PyThread_acquire_lock(helper.done, WAIT_LOCK)


cdef void _serve(Helper *helper) noexcept nogil:
    """Do one job after another, for ever."""
    cdef long spin = 0
    while True:
        if burnpy_replace(&helper.state, GIVEN, RUNNING):
            burnpy_add(&helper.job.helped, _share(helper.job, helper.scratch))
            if burnpy_exchange(&helper.state, IDLE) == AWAITED:
                PyThread_release_lock(helper.done)
            spin = 0
        elif spin < helper.spins:
            burnpy_pause()
            spin += 1
        elif burnpy_replace(&helper.state, IDLE, ASLEEP):
            PyThread_acquire_lock(helper.wake, WAIT_LOCK)  # and then it is given something, or was
            spin = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)
