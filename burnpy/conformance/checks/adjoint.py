"""The gradient: it is the adjoint of the forward operation, of every basis vector, and of nothing but the sizes."""

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from burnpy.conformance.cases import CELLS, Case, Cell, images
from burnpy.conformance.check import bits, check
from burnpy.conformance.oracle import matrix
from burnpy.conformance.subject import Array, NotApplicable, Subject, lay_out
from burnpy.errors import UnsupportedError

__all__: list[str] = []


def _is_backward(cell: Cell) -> bool:
    return cell.backward


def _pairs(cell: Cell) -> Iterator[Case]:
    yield from images(
        cell, [((2, 2), (3, 3)), ((4, 3), (2, 5)), ((7, 6), (11, 13)), ((20, 17), (9, 31)), ((33, 34), (47, 15))]
    )


def _forward_of(case: Case) -> Case:
    cell = next(cell for cell in CELLS if cell.options == case.options and not cell.backward)
    return replace(case, cell=cell)


def _both_ways(subject: Subject, case: Case) -> Case:
    """Return the forward case; without a forward operation there is nothing to be adjoint to."""
    forward = _forward_of(case)
    try:
        if subject.answers(forward.options, False, case.dtype):
            subject.apply(forward, forward.source())
            return forward
    except UnsupportedError:
        pass
    raise NotApplicable("the backend has no forward operation here to compare with")


@check("core", _pairs, applies=_is_backward)
def check_adjoint_to_forward(subject: Subject, case: Case) -> None:
    """For random x and g, <interpolate(x), g> = <x, interpolate_backward(x, g)>: the definition of the gradient of a linear
    operation, by the backend's own forward.
    """
    forward = _both_ways(subject, case)
    x, g = forward.source(), replace(case, values="noise2").source()
    y, back = subject.apply(forward, x).astype(np.float64), subject.apply(case, g).astype(np.float64)
    bound = np.sum(np.abs(x) * subject.right(case, g).bound) + np.sum(np.abs(g) * subject.right(forward, x).bound)
    left, right = np.array([np.sum(y * g)]), np.array([np.sum(x * back)])
    subject.judge_close(left, right, np.array([bound]), what="<interpolate(x), g> against <x, gradient>: ")


def _tiny(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((1, 2), (1, 3)), ((2, 1), (5, 1)), ((3, 1), (2, 1)), ((2, 3), (4, 2)), ((3, 4), (5, 3))])
    yield from images(cell, [((1, 6), (1, 23)), ((23, 1), (6, 1))])


@check("core", _tiny, applies=_is_backward)
def check_adjoint_of_every_basis_vector(subject: Subject, case: Case) -> None:
    """The gradient of every single output is the row of weights that made it: what the inner product of random vectors can
    hide in a sum shows here, one element at a time.
    """
    forward = _both_ways(subject, case)
    size_in, size_out = (int(np.prod(shape)) for shape in (case.shape, case.output_shape))
    columns = [_unit(subject, forward, i) for i in range(size_in)]
    rows = np.array([_unit(subject, case, o) for o in range(size_out)])
    high, wide = (matrix(case.cell, n, m) for n, m in zip(case.shape[2:], case.output_size, strict=True))
    unit = np.ones((1, 1, 1, 1)) * np.finfo(case.dtype).eps
    bound = 64 * unit[0, 0] * (1 + np.kron(high.reach + high.size_of, wide.reach + wide.size_of).T)
    subject.judge_close(rows, np.array(columns).T, bound, what="gradient of output o with respect to input i, at [o, i]: ")


def _unit(subject: Subject, case: Case, index: int) -> Array:
    source = np.zeros(case.source_shape, case.dtype)
    source.reshape(-1)[index] = 1
    return subject.apply(case, source).astype(np.float64).reshape(-1)


def _slopes(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((2, 2), (3, 3)), ((3, 5), (6, 2))])


@check("core", _slopes, applies=_is_backward)
def check_agrees_with_central_differences(subject: Subject, case: Case) -> None:
    """Moving one sample of x by plus and minus 1/2 changes the sum of g * interpolate(x) by the gradient: what anyone who
    doubts a gradient tries first.
    """
    forward = _both_ways(subject, case)
    x, g = forward.source(), replace(case, values="noise2").source()
    back = subject.apply(case, g).astype(np.float64)
    slopes = np.empty(x.size)
    for i in range(x.size):
        ends = [_moved(x, i, step) for step in (0.5, -0.5)]
        above, below = (float(np.sum(subject.apply(forward, end) * g.astype(np.float64))) for end in ends)
        slopes[i] = above - below
    noise = 4 * float(np.sum(np.abs(g) * subject.right(forward, np.abs(x) + 1).bound))
    subject.judge_close(back.reshape(-1), slopes, noise + subject.right(case, g).bound.reshape(-1), what="gradient by x: ")


def _moved(x: Array, i: int, step: float) -> Array:
    moved = x.copy()
    moved.reshape(-1)[i] += step
    return moved


def _contents(cell: Cell) -> Iterator[Case]:
    for content in ("zero", "ramp", "nan", "infinity", "huge"):
        yield from images(cell, [((3, 4), (5, 2)), ((4, 4), (4, 4))], note=f"x holds {content}")


@check("core", _contents, applies=_is_backward)
def check_gradient_ignores_the_values_of_x(subject: Subject, case: Case) -> None:
    """The operation is linear, so its gradient depends on grad and the sizes alone: any x of that shape, even one of NaN,
    gives the same bits.
    """
    grad = case.source()
    content = case.note.removeprefix("x holds ")
    x = replace(_forward_of(case), values=content).source()
    call = functools.partial(subject.raw, case, subject.native(x), subject.native(lay_out(grad, "plain")))
    got = subject.guarded(lambda: subject.adapter.to_numpy(call()))
    plain = subject.apply(case, grad)
    subject.judge(
        bits(got) == bits(plain), f"the gradient for an x that {case.note[2:]} differs from that for another x", grad
    )
