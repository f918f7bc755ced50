"""In which order to apply the operators of several axes, and in boxes of what size.

The order follows from the sizes alone, since it decides the last bits of the result; memory layout and boxes do not.
"""

import itertools
import math
from collections.abc import Sequence

from burnpy.backends._dispatch import MAX_AXES, Operator, Plan

__all__ = ["make_plan"]

BOX_BYTES = 1 << 18
"""What a box of output, and what stands between two operators, may take: half of a small second-level cache."""
ENOUGH = 16
"""Outputs along a resized axis below which a box would compute too much twice; given up only when nothing else helps."""


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
    axes = [axis for axis, operator in enumerate(operators) if operator is not None]

    def work(order: tuple[int, ...]) -> float:
        extent = list(shape)
        total = 0.0
        for axis in order:
            operator = operators[axis]
            assert operator is not None
            extent[axis] = operator.m
            total += math.prod(extent[axes[0] :]) * _work_per_output(operator, axis == len(shape) - 1)
        return total

    return min(itertools.permutations(axes), key=work)


def _work_per_output(operator: Operator, last: bool) -> float:
    """Estimate the time of one output, in multiply-adds; copies along the last axis are of single elements.

    Where the work is equal the first axis goes first: boxes of whole rows then compute nothing twice.
    """
    if operator.copies:
        return 2.0 if last else 0.5
    return operator.mean + 1.0


def _boxed(shape: tuple[int, ...], operators: tuple[Operator | None, ...], order: tuple[int, ...], half: bool) -> Plan:
    """Halve the box, outermost axis first, until it fits."""
    box = [size if operator is None else operator.m for size, operator in zip(shape, operators, strict=True)]
    while True:
        plan = Plan(shape, operators, order, tuple(box), half)
        if max(plan.scratch, plan.inside, math.prod(box)) * plan.itemsize <= BOX_BYTES or max(box) == 1:
            return plan
        axis, least = next(
            (axis, least)
            for enough in (ENOUGH, 1)
            for axis, operator in enumerate(operators)
            if box[axis] > (least := 1 if operator is None else enough)
        )
        box[axis] = max(-(-box[axis] // 2), least)
