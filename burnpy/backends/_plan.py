"""In which order to apply the operators of several axes, and in boxes of what size.

The order follows from the sizes alone, since it decides the last bits of the result; memory layout and boxes do not.
"""

import itertools
import math
from collections.abc import Sequence

from burnpy.backends._dispatch import MAX_AXES, Operator, Plan

__all__ = ["make_plan"]

BOX_BYTES = 400 << 10
"""What a box of output, and what stands between two operators, may take: a part of a second-level cache."""
BOXES = 8
"""Boxes of a plan, or fewer if it has less work than that, so that threads have something to share."""
WORK_PER_BOX = 350_000
"""Multiply-adds that are worth a box of their own."""
PAST_CACHE = 4
"""How many times larger a box may be that is written past the cache."""
ENOUGH = 16
"""Outputs of a box along a resized axis, or rows, below which there is too little to do at once."""
ENOUGH_BETWEEN = 64
"""Outputs along the axis that is resized second below which a box would do too much of the first one twice."""


def make_plan(
    shape: Sequence[int], operators: Sequence[Operator | None], memory_order: Sequence[int], half: bool = False
) -> Plan:
    """Plan ``operators``, one an axis (None where it stays as it is), on an array of ``shape``.

    Parameters
    ----------
    shape : sequence of int
    operators : sequence of Operator or None
        One an axis of ``shape``; at least one operator.
    memory_order : sequence of int
        The axes from the slowest to the fastest in memory; the plan is for arrays transposed to that order, with leading
        axes of 1 up to `MAX_AXES`.
    half : bool, default False
        The arrays are of float16; see `Plan`.
    """
    missing = MAX_AXES - len(shape)
    order = tuple(missing + memory_order.index(axis) for axis in _pass_order(shape, operators))
    lead_shape = (1,) * missing + tuple(shape[axis] for axis in memory_order)
    return _boxed(lead_shape, (None,) * missing + tuple(operators[axis] for axis in memory_order), order, half)


def _pass_order(shape: Sequence[int], operators: Sequence[Operator | None]) -> tuple[int, ...]:
    """Return the axes that have an operator in the order of least work."""
    made = {axis: operator for axis, operator in enumerate(operators) if operator is not None}
    axes = list(made)

    def work(order: tuple[int, ...]) -> float:
        extent: list[float] = list(shape)
        if len(order) > 1 and made[order[0]].is_done_with(made[order[1]], order[1] < order[0]):
            extent[order[1]] = min(extent[order[1]], made[order[1]].mean * made[order[1]].m)  # no others need be seen
        total = 0.0
        for axis in order:
            operator = made[axis]
            extent[axis] = operator.m
            total += math.prod(extent[axes[0] :]) * _work_per_output(operator, axis == len(shape) - 1)
        return total

    return min(itertools.permutations(reversed(axes)), key=work)


def _work_per_output(operator: Operator, last: bool) -> float:
    """Estimate the time of one output, in units of a multiply-add on rows of contiguous elements, from measurements.

    Along the last axis copies are of single elements, and rows are transposed for the rest, except where few inputs are
    weighed, or outputs weigh in turns.
    """
    if operator.copies:
        return 10.0 if last else 2.0
    if last and operator.sparse:
        return 2.5 * operator.mean + 10.0
    if last and not operator.phases:
        return operator.mean + 4.0 + 4.0 * operator.n / operator.m
    return operator.mean + (2.5 if last else 2.0)


def _boxed(shape: tuple[int, ...], operators: tuple[Operator | None, ...], order: tuple[int, ...], half: bool) -> Plan:
    """Halve the box, outermost axis first, until it fits."""
    box = [size if operator is None else operator.longest for size, operator in zip(shape, operators, strict=True)]
    while True:
        plan = Plan(shape, operators, order, tuple(box), half)
        kept = max(plan.scratch, plan.inside, math.prod(box) // (PAST_CACHE if plan.large else 1))
        fits = kept * plan.itemsize <= BOX_BYTES and plan.boxes >= min(BOXES, plan.work / WORK_PER_BOX)
        if fits or max(box) == 1:
            return plan
        box = next(
            smaller
            for enough in (ENOUGH, 1)
            for axis in range(len(operators))
            if _is_enough(smaller := _halved(box, axis), axis, operators, order, enough) and smaller != box
        )


def _halved(box: list[int], axis: int) -> list[int]:
    return [*box[:axis], -(-box[axis] // 2), *box[axis + 1 :]]


def _is_enough(
    box: list[int], axis: int, operators: tuple[Operator | None, ...], order: tuple[int, ...], enough: int
) -> bool:
    """Tell whether a box that was halved along ``axis`` is not too small."""
    operator = operators[axis]
    if operator is not None:
        twice = order[1:] == (axis,) and not (operator.copies or operator.apart) and enough > 1
        return box[axis] >= (ENOUGH_BETWEEN if twice else enough)
    first = min(order)
    return len(order) > 1 or axis > first or math.prod(box[:first]) >= enough
