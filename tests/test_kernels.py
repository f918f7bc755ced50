"""The kernels: every path gives, bit for bit, the sum of products from left to right."""

import itertools
import math

import numpy as np
import pytest

from burnpy.backends._dispatch import MAX_AXES, Operator, Plan
from burnpy.backends._plan import BOX_BYTES, make_plan

SINGLE, DOUBLE = np.float32, np.float64


def random_operator(rng, n, m, dtype, holes=0.2):
    """Runs of random lengths, some empty, whose starts and ends never decrease, with zero weights anywhere."""
    first = np.sort(rng.integers(0, n, m))
    stop = np.maximum(np.maximum.accumulate(np.minimum(first + rng.integers(0, 9, m), n)), first)
    offset = np.concatenate(([0], np.cumsum(stop - first)))
    weights = rng.standard_normal(offset[-1]) * (rng.random(offset[-1]) > holes)
    return Operator(n, m, first, offset, weights.astype(dtype)), (first, offset, weights.astype(dtype))


def copy_operator(rng, n, m, dtype):
    first = np.sort(rng.integers(0, n, m))
    raw = (first, np.arange(m + 1), np.ones(m, dtype))
    return Operator(n, m, *raw), raw


def left_to_right(x, raw, axis):
    """Apply an operator along ``axis`` the slow way."""
    first, offset, weights = raw
    rows = np.moveaxis(x, axis, 0)
    y = np.zeros((len(first), *rows.shape[1:]), x.dtype)
    for o in range(len(first)):
        terms = [w * rows[first[o] + k] for k, w in enumerate(weights[offset[o] : offset[o + 1]]) if w != 0]
        if terms:
            y[o] = terms[0]
        for term in terms[1:]:
            y[o] += term
    return np.moveaxis(y, 0, axis)


def padded(items, filler):
    return (filler,) * (MAX_AXES - len(items)) + tuple(items)


def run(plan, x, shape, start=0, stop=None):
    y = np.full(padded(shape, 1), np.nan, x.dtype)
    plan.run(x.reshape(padded(x.shape, 1)), y, start, plan.boxes if stop is None else stop)
    return y.reshape(shape)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("make", [random_operator, copy_operator])
@pytest.mark.parametrize(
    ("before", "n", "after"),
    [
        ((), 40, ()),  # one signal: no rows to transpose
        ((2,), 40, ()),
        ((3,), 40, ()),
        ((17,), 40, ()),
        ((3, 16), 300, ()),
        ((5,), 40, (3,)),  # channels last
        ((33,), 40, (4,)),
        ((2,), 40, (15,)),
        ((2,), 40, (16,)),
        ((), 40, (64,)),
        ((), 40, (64 + 16 + 5,)),
        ((3,), 1, (7,)),
    ],
)
def test_one_axis_is_summed_from_left_to_right_whatever_the_path(before, n, after, make, dtype):
    rng = np.random.default_rng([n, *before, *after])
    operator, raw = make(rng, n, 37, dtype)
    x = rng.standard_normal((*before, n, *after)).astype(dtype)
    shape = (*before, 37, *after)
    axis = len(before)
    operators = [operator if d == axis else None for d in range(x.ndim)]
    y = run(make_plan(x.shape, operators, range(x.ndim)), x, shape)
    assert y.tobytes() == left_to_right(x, raw, axis).tobytes()


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("seed", range(12))
def test_boxes_of_any_shape_give_the_same_bits(seed, dtype):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 20, 4))
    made = [random_operator(rng, n, int(rng.integers(1, 20)), dtype) for n in shape[1:]]
    operators = padded([None] + [operator for operator, _ in made], None)
    order = tuple(MAX_AXES - 3 + axis for axis in rng.permutation(3))
    x = rng.standard_normal(shape).astype(dtype)
    expected = x
    for axis in order:
        expected = left_to_right(expected, made[axis - MAX_AXES + 3][1], axis - MAX_AXES + 4)
    for _ in range(6):
        box = padded([int(rng.integers(1, size + 1)) for size in expected.shape], 1)
        plan = Plan(padded(shape, 1), operators, order, box)
        assert plan.boxes == math.prod(-(-size // side) for size, side in zip(padded(expected.shape, 1), box, strict=True))
        assert run(plan, x, expected.shape).tobytes() == expected.tobytes()


@pytest.mark.parametrize("inner", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(30))
def test_permuted_registers_give_the_same_bits(seed, inner):
    """Runs that follow one another evenly, of any numbers of taps, of which some reach over a border or are empty."""
    rng = np.random.default_rng([seed, inner])
    n, m, rows = (int(rng.integers(low, 120)) for low in (8, 8, 1))
    middle = np.sort(np.arange(m) * n / m + rng.uniform(-1, 1, m) * rng.integers(0, 2))
    before, after = rng.integers(0, [2, 9])
    first = np.clip(middle - before, 0, n).astype(int)
    stop = np.maximum(np.clip(middle + after + rng.integers(0, 2, m) * rng.integers(0, 2), 0, n).astype(int), first)
    stop = np.maximum.accumulate(stop)
    offset = np.concatenate(([0], np.cumsum(stop - first)))
    weights = (rng.standard_normal(offset[-1]) * (rng.random(offset[-1]) > rng.choice([0, 0.3]))).astype(SINGLE)
    operator, raw = Operator(n, m, first, offset, weights), (first, offset, weights)
    x = rng.choice(np.array([1.5, -0.0, 0, 1e-40, 3e38, -7], SINGLE), (rows, n, inner))
    x[rng.random(x.shape) < 0.02] = np.inf
    with np.errstate(all="ignore"):
        expected = left_to_right(x, raw, 1)
    unweighed = x.copy()
    unweighed[:, np.setdiff1d(np.arange(n), [first[o] + k for o in range(m) for k in np.flatnonzero(row(raw, o))])] = np.nan
    for size in {m, int(rng.integers(1, m + 1))}:
        box = (*(1,) * (MAX_AXES - 3), rows, size, inner)
        plan = Plan(padded(x.shape, 1), padded((None, operator, None), None), (MAX_AXES - 2,), box)
        y = run(plan, unweighed, expected.shape)
        np.testing.assert_array_equal(y, expected)
        assert (np.signbit(y) == np.signbit(expected))[~np.isnan(expected)].all()


def row(raw, o):
    _, offset, weights = raw
    return weights[offset[o] : offset[o + 1]]


def apart_operator(rng, m, lengths, gap, dtype, holes=0.0):
    """Runs that have no input in common, of lengths to choose from, up to ``gap`` inputs between them."""
    lengths = rng.choice(lengths, m)
    stop = np.cumsum(lengths + rng.integers(0, gap + 1, m))
    offset = np.concatenate(([0], np.cumsum(lengths)))
    weights = (rng.standard_normal(offset[-1]) * (rng.random(offset[-1]) >= holes)).astype(dtype)
    raw = (stop - lengths, offset, weights)
    return Operator(int(stop[-1]) + 1, m, *raw), raw


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("inner", [1, 2, 3, 4, 5, 16, 37])
@pytest.mark.parametrize(
    ("rows", "columns", "holes"),
    [
        ([2], [2], 0),
        ([4], [4], 0),
        ([2], [6], 0),
        ([6], [2], 0),
        ([3], [3], 0),
        ([1], [4], 0),  # a single row, weighed
        ([2], [2, 3], 0),  # numbers of taps that change all the time
        ([0, 3], [0, 2], 0),  # empty runs
        ([2], [2], 0.1),  # weights of zero
    ],
)
def test_two_axes_done_together_give_the_bits_of_one_after_the_other(rows, columns, holes, inner, dtype):
    """Where runs have no input in common, whichever axis comes first, few inputs or many lie between, in any strides."""
    rng = np.random.default_rng([inner, *rows, *columns])
    for m, gap in ((1, 3), (5, 3), (33, 3), (7, 40)):
        (down, raw_down), (along, raw_along) = (
            apart_operator(rng, m, lengths, gap, dtype, holes) for lengths in (rows, columns)
        )
        operators = padded((None, down, along, None), None)
        x = rng.standard_normal((2, down.n, along.n, inner)).astype(dtype)
        first, second = MAX_AXES - 3, MAX_AXES - 2
        for order in ((first, second), (second, first)):
            steps = [(raw_down, 1), (raw_along, 2)][:: 1 if order[0] == first else -1]
            expected = left_to_right(left_to_right(x, *steps[0]), *steps[1])
            for size in {m, (m + 1) // 2}:
                plan = Plan(padded(x.shape, 1), operators, order, padded((2, size, size, inner), 1))
                room = np.full((2, m, m, 2 * inner), np.nan, dtype)
                for cut in (slice(None, inner), slice(None, None, 2)):  # of pixels that lie apart, and elements that do
                    wide = np.full((*x.shape[:3], 2 * inner), np.nan, dtype)
                    wide[..., cut] = x
                    for source in (x, wide[..., cut]):
                        for y in (np.full(expected.shape, np.nan, dtype), room[..., cut]):
                            plan.run(source[(None,) * (MAX_AXES - 4)], y[(None,) * (MAX_AXES - 4)], 0, plan.boxes)
                            assert y.tobytes() == expected.tobytes()
                    assert np.isnan(np.delete(room, cut, axis=3)).all()
                    room[:] = np.nan


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::3])
def test_what_follows_two_axes_done_together_reads_what_they_made(order):
    rng = np.random.default_rng(5)
    made = [apart_operator(rng, m, [2], 3, SINGLE) for m in (3, 4, 5, 6)]
    expected = x = rng.standard_normal([operator.n for operator, _ in made]).astype(SINGLE)
    for axis in order:
        expected = left_to_right(expected, made[axis][1], axis)
    operators = padded([operator for operator, _ in made], None)
    plan = Plan(padded(x.shape, 1), operators, tuple(MAX_AXES - 4 + axis for axis in order), padded((3, 2, 5, 3), 1))
    assert run(plan, x, expected.shape).tobytes() == expected.tobytes()


def test_a_range_of_boxes_touches_nothing_else():
    rng = np.random.default_rng(1)
    operator, _ = random_operator(rng, 10, 12, DOUBLE)
    plan = Plan(padded((10, 8), 1), padded((operator, None), None), (MAX_AXES - 2,), padded((5, 8), 1))
    x = rng.standard_normal((10, 8))
    y = run(plan, x, (12, 8), 1, 2)
    assert np.isnan(y[:5]).all()
    assert not np.isnan(y[5:10]).any()
    assert np.isnan(y[10:]).all()


@pytest.mark.parametrize("strides", list(itertools.product([1, -1, 2, -3], repeat=2)))
@pytest.mark.parametrize("axis", [1, 2])
def test_any_strides_are_read_in_place(strides, axis):
    rng = np.random.default_rng(2)
    sizes = [3, 20, 18]
    whole = rng.standard_normal((3, 60, 54)).astype(SINGLE)
    x = whole[:, :: strides[0], :: strides[1]][:, :20, :18]
    operator, raw = random_operator(rng, sizes[axis], 25, SINGLE)
    plan = make_plan(x.shape, [operator if d == axis else None for d in range(3)], range(3))
    expected = left_to_right(x, raw, axis)
    y = np.empty(padded(expected.shape, 1), SINGLE)
    plan.run(x[(None,) * (MAX_AXES - 3)], y, 0, plan.boxes)
    assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("n", "m"), [((1, 1, 2048, 2048), (1, 1, 4096, 4096)), ((1, 1, 9, 100000), (1, 1, 5, 150000))])
def test_what_stands_between_two_operators_is_small_at_any_size(n, m):
    rng = np.random.default_rng(3)
    operators = [
        None if a == b else Operator(a, b, np.arange(b) * a // b, np.arange(b + 1), rng.random(b))
        for a, b in zip(n, m, strict=True)
    ]
    assert 0 < make_plan(n, operators, range(4)).scratch * 8 <= BOX_BYTES


@pytest.mark.parametrize(
    ("n", "m", "first", "offset", "weights"),
    [
        (4, 2, [0, 3], [0, 2, 4], 4),  # beyond the last input
        (4, 2, [-1, 0], [0, 1, 2], 2),
        (4, 2, [2, 1], [0, 1, 2], 2),  # starts go back
        (4, 2, [0, 1], [0, 3, 4], 4),  # ends go back
        (4, 2, [0, 1], [0, 2, 1], 1),  # a run of negative length
        (4, 2, [0, 1], [0, 1, 2], 1),  # too few weights
        (4, 2, [0, 1], [1, 2, 3], 3),
        (4, 2, [0], [0, 1, 2], 2),
        (4, 0, [], [0], 0),
    ],
)
def test_an_operator_that_would_read_out_of_bounds_is_refused(n, m, first, offset, weights):
    with pytest.raises(ValueError, match="run"):
        Operator(n, m, np.array(first, np.intp), np.array(offset, np.intp), np.ones(weights))


def test_a_plan_refuses_arrays_of_other_shapes_types_and_boxes():
    operator = Operator(4, 2, np.array([0, 2]), np.array([0, 1, 2]), np.ones(2))
    plan = make_plan((3, 4), [None, operator], (0, 1))
    good_x, good_y = np.zeros(padded((3, 4), 1)), np.zeros(padded((3, 2), 1))
    plan.run(good_x, good_y, 0, 1)
    with pytest.raises(ValueError, match="size that was planned"):
        plan.run(np.zeros(padded((3, 5), 1)), good_y, 0, 1)
    with pytest.raises(ValueError, match="size that was planned"):
        plan.run(good_x, np.zeros(padded((2, 2), 1)), 0, 1)
    with pytest.raises(ValueError, match="size that was planned"):
        plan.run(good_x[None], good_y, 0, 1)
    with pytest.raises(ValueError, match="size that was planned"):
        plan.run(good_x[0, 0, 0, 0, 0, 0], good_y, 0, 1)
    with pytest.raises(ValueError, match="fewer boxes"):
        plan.run(good_x, good_y, 0, 2)
    with pytest.raises(ValueError, match="mismatch"):
        plan.run(good_x.astype(SINGLE), good_y, 0, 1)
    with pytest.raises(ValueError, match="mismatch"):
        plan.run(good_x.astype(good_x.dtype.newbyteorder()), good_y, 0, 1)
    with pytest.raises(ValueError, match="mismatch"):
        plan.run(good_x, good_y.astype(np.int64), 0, 1)
    plan.run(good_x[0, 0, 0, 0, 0], good_y[0, 0], 0, 1)  # leading axes may lack
    good_y.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        plan.run(good_x, good_y, 0, 1)


# Half precision, converted box by box: NumPy's own conversion of whole arrays must equal it -------------------------------


def in_halves(plan, x, shape):
    y = np.empty(shape, np.float16)
    lead = (None,) * (MAX_AXES - x.ndim)
    plan.run(x.view(np.uint16)[lead], y.view(np.uint16)[lead], 0, plan.boxes)
    return y


def every_half():
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def test_every_half_goes_in_and_out_as_it_is_but_for_a_nan_that_becomes_quiet():
    x = every_half().reshape(256, 256)
    expected = x.view(np.uint16) | np.where(np.isnan(x), np.uint16(0x0200), np.uint16(0))
    operator = Operator(256, 512, np.arange(512) // 2, np.arange(513), np.ones(512, SINGLE))
    y = in_halves(make_plan(x.shape, [operator, None], range(2), half=True), x, (512, 256))
    assert (y[::2].view(np.uint16) == expected).all()
    assert (y[1::2].view(np.uint16) == expected).all()


@pytest.mark.parametrize("other", [0.0, 2.0**-25, 1.0, 1 + 2.0**-10, 65504.0, -3.25, 5.96e-8])
@pytest.mark.parametrize("weight", [1.0, 0.5, 1 / 3, 1.0000001, 2.0**-12, 3e-8, 16.0])
def test_sums_are_rounded_to_half_as_numpy_rounds_them(other, weight):
    x = np.stack([every_half(), np.full(1 << 16, other, np.float16)])
    operator = Operator(2, 1, np.array([0]), np.array([0, 2]), np.array([weight, 1.0], SINGLE))
    y = in_halves(make_plan(x.shape, [operator, None], range(2), half=True), x, (1, 1 << 16))
    with np.errstate(all="ignore"):
        expected = (SINGLE(weight) * x[:1].astype(SINGLE) + x[1:].astype(SINGLE)).astype(np.float16)
    assert (np.isnan(y) == np.isnan(expected)).all()
    assert (y.view(np.uint16) == expected.view(np.uint16))[~np.isnan(y)].all()


@pytest.mark.parametrize("seed", range(12))
def test_boxes_of_halves_are_single_precision_rounded_once_whatever_the_layout(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in rng.integers(1, 20, 4))
    operators = [None, *(random_operator(rng, n, int(rng.integers(1, 20)), SINGLE)[0] for n in shape[1:])]
    result = [size if operator is None else operator.m for size, operator in zip(shape, operators, strict=True)]
    whole = rng.standard_normal([2 * size for size in shape]).astype(np.float16)
    x = whole[tuple(slice(None, None, step) for step in rng.choice([2, -2], 4))]
    single = run(make_plan(shape, operators, range(4)), x.astype(SINGLE), result)
    plan = make_plan(shape, operators, range(4), half=True)
    assert in_halves(plan, x, result).tobytes() == single.astype(np.float16).tobytes()
    box = padded([int(rng.integers(1, size + 1)) for size in result], 1)
    small = Plan(padded(shape, 1), padded(operators, None), plan.order, box, half=True)
    assert in_halves(small, x, result).tobytes() == single.astype(np.float16).tobytes()


def test_half_precision_is_computed_in_single():
    operator = Operator(2, 1, np.array([0]), np.array([0, 2]), np.ones(2))
    with pytest.raises(ValueError, match="float32"):
        make_plan((2, 3), [operator, None], range(2), half=True)
