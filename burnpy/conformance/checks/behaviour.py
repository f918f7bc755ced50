"""Behaviour: a call gives the same bits whenever, wherever and after whatever it is made."""

import itertools
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from burnpy.conformance.cases import CELLS, DTYPES, Case, Cell, images
from burnpy.conformance.check import ALONG_BOTH, bits, check
from burnpy.conformance.subject import Array, Subject
from burnpy.errors import DTypeError, UnsupportedError

__all__: list[str] = []


def _some(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((2, 3), (4, 3)), ((7, 5), (4, 9)), ((40, 37), (24, 61))], lead=(1, 2))


@check("core", _some, dtypes="every")
def check_same_call_same_bits(subject: Subject, case: Case) -> None:
    """The same call gives the same bits every time, so that a result can be compared with yesterday's."""
    source = case.source()
    first = bits(subject.apply(case, source))
    for repeat in range(2, 5):
        subject.judge(bits(subject.apply(case, source)) == first, f"call {repeat} gave other bits than call 1", source)


def _threads(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((6, 5), (9, 7)), ((64, 48), (40, 72))], lead=(1, 4))


@check("core", _threads, needs=("shape_and_dtype", "same_call_same_bits"))
def check_threads_do_not_disturb_each_other(subject: Subject, case: Case) -> None:
    """Two threads that call at once, each with its own input, get the bits that each gets alone."""
    sources = [case.source(), replace(case, values="noise2").source()]
    alone = [bits(subject.apply(case, source)) for source in sources]
    wrong, errors, calls = _at_once(subject, case, sources, alone)
    subject.judge(not errors, f"a thread raised {errors[:1]}, though the same call alone does not")
    subject.judge(not wrong, f"{len(wrong)} of {calls} calls from two threads at once gave other bits than alone")


ROUNDS = 8  # in which the calls overlapped in time
AT_MOST = 400  # rounds, where the calls are so short, or the machine so busy, that they seldom overlap


def _at_once(subject: Subject, case: Case, sources: list[Array], alone: list[bytes]) -> tuple[list[int], list[str], int]:
    """Return who got other bits, what was raised, and the number of calls.

    Only rounds in which the calls overlapped count: a thread woken late by a busy machine would else call when the other
    has long finished, and any backend would pass.
    """
    wrong: list[int] = []
    errors: list[str] = []
    began, ended = [0.0] * len(sources), [0.0] * len(sources)
    rounds = overlapped = 0
    going = True

    def count() -> None:  # run by one thread while the others wait, so that all go on or none
        nonlocal rounds, overlapped, going
        rounds += 1
        overlapped += max(began) < min(ended)
        going = overlapped < ROUNDS and rounds < AT_MOST and not errors

    meeting = threading.Barrier(len(sources), action=count)

    def work(which: int) -> None:
        meeting.wait()
        while going:
            began[which] = time.perf_counter()
            try:
                result = subject.apply(case, sources[which])
                ended[which] = time.perf_counter()
                if bits(result) != alone[which]:
                    wrong.append(which)
            except BaseException as error:
                errors.append(f"{type(error).__name__}: {error}")
            meeting.wait()

    threads = [threading.Thread(target=work, args=(which,)) for which in range(len(sources))]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # seconds; by default Python lets a thread run for longer than a small call takes
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    return wrong, errors, (rounds - 1) * len(sources)  # the first meeting is before the first round


def _between(cell: Cell) -> Iterator[Case]:
    """Use sizes that no other check uses, so that what is called before is the first at these sizes."""
    notes = ("another dtype", "other options", "other sizes", "the other direction", "another mode")
    for number, note in enumerate(notes):
        yield Case(cell, (1, 1, 18 + number, 20), (23, 21 + number), note=f"after {note}")


@check("core", _between, dtypes="every", needs=("shape_and_dtype", *ALONG_BOTH, "every_dtype"))
def check_calls_leave_no_trace(subject: Subject, case: Case) -> None:
    """A call gives the right values after calls with another dtype, other options, other sizes, the other direction or
    another mode: nothing remembered under too short a key.
    """
    for other in _others(case):
        try:
            if subject.answers(other.options, other.backward, other.dtype):
                subject.raw(other, *subject.arguments(other, other.source()))
        except (UnsupportedError, DTypeError):
            pass
        except Exception:  # what is wrong there is told in its own cell
            pass
    subject.judge_values(case, case.source())


def _others(case: Case) -> Iterator[Case]:
    """Yield what is called before: the same as the case but for what the note says."""
    what = case.note.removeprefix("after ")
    if what == "another dtype":
        yield from (case.with_dtype(dtype) for dtype in DTYPES if dtype != case.dtype)
    elif what == "other sizes":
        (height, width), (m_height, m_width) = case.shape[2:], case.output_size
        yield replace(case, shape=(*case.shape[:2], m_height, m_width), output_size=(height, width))
        yield replace(case, shape=(*case.shape[:2], width, height))
        yield replace(case, output_size=(m_width, m_height))
    else:
        yield from (replace(case, cell=cell) for cell in CELLS if cell != case.cell and _differs(cell, case.cell, what))


def _differs(cell: Cell, own: Cell, what: str) -> bool:
    same_mode, same_way = cell.mode == own.mode, cell.backward == own.backward
    return {
        "other options": same_mode and same_way,
        "the other direction": cell.options == own.options,
        "another mode": same_way and not same_mode and cell.variant == own.variant,
    }[what]


def _long_run(cell: Cell) -> Iterator[Case]:
    yield Case(cell, (1, 1, 3, 4), (5, 2), note="after 300 other sizes")


@check("strict", _long_run)
def check_many_sizes_leave_no_trace(subject: Subject, case: Case) -> None:
    """The bits are the same after hundreds of calls of other sizes: what is cached may be dropped and made anew."""
    source = case.source()
    before = bits(subject.apply(case, source))
    for height, width in itertools.islice(itertools.product(range(1, 20), range(2, 22)), 300):
        other = replace(case, output_size=(height, width))
        subject.apply(other, np.ones(other.source_shape, case.dtype))
    subject.judge(bits(subject.apply(case, source)) == before, "the same call gave other bits afterwards", source)
