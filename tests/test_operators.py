"""Operators of modes in the kernels: every special loop gives the bits of the general one, and long axes no more memory."""

import functools
import inspect
import tracemalloc

import numpy as np
import pytest
from exact import OPTIONS, name_of

import burnpy
from burnpy import InterpolateOptions
from burnpy.backends import _operators, ndarray
from burnpy.backends._dispatch import MAX_AXES, Operator, Plan
from burnpy.backends._operators import make_operator
from burnpy.backends._plan import make_plan
from burnpy.taps import build_taps

SINGLE, DOUBLE = np.float32, np.float64
RATIOS = [(1, 2), (2, 1), (1, 4), (4, 1), (2, 3), (3, 2), (37, 101), (8, 1), (9, 2)]
MEGABYTES = 1e6

every_option = pytest.mark.parametrize("options", OPTIONS, ids=name_of)


def taps_of(n, m, options, backward):
    return build_taps(m, n, options).transpose() if backward else build_taps(n, m, options)


def left_to_right(x, taps, axis):
    """Apply taps along ``axis`` in the type of ``x``, one product after the other, leaving out weights of zero."""
    rows = np.moveaxis(x, axis, 0)
    weights = taps.weights.astype(x.dtype)
    longest = int(np.diff(taps.offset).max())
    y = np.zeros((taps.m, *rows.shape[1:]), x.dtype)
    started = np.zeros(taps.m, bool)
    for k in range(longest):
        has = np.flatnonzero(taps.offset[:-1] + k < taps.offset[1:])
        has = has[weights[taps.offset[has] + k] != 0]
        w = weights[taps.offset[has] + k].reshape(-1, *[1] * (rows.ndim - 1))
        product = w * rows[taps.first[has] + k]
        y[has] = np.where(started[has].reshape(w.shape), y[has] + product, product)
        started[has] = True
    return np.moveaxis(y, 0, axis)


def resized(x, sizes, options, backward, memory_order=None):
    """Return what a plan makes of ``x``, and what the general loop makes, axis by axis in the plan's order."""
    operators = [
        None if n == m else make_operator(n, m, options, backward, x.itemsize) for n, m in zip(x.shape, sizes, strict=True)
    ]
    order = memory_order or tuple(range(x.ndim))
    plan = make_plan(x.shape, operators, order)
    y = np.full([sizes[axis] for axis in order], np.nan, x.dtype)
    plan.run(np.ascontiguousarray(x.transpose(order)), y, 0, plan.boxes)
    if plan.large:  # memory that nobody has written yet is not written past the cache
        fresh = np.empty_like(y)
        plan.run(np.ascontiguousarray(x.transpose(order)), fresh, 0, plan.boxes)
        assert fresh.tobytes() == y.tobytes()
    expected = x
    for axis in (order[d - MAX_AXES + x.ndim] for d in plan.order):
        expected = left_to_right(expected, taps_of(x.shape[axis], sizes[axis], options, backward), axis)
    return y.transpose(np.argsort(order)), expected


def counts_intervals(options):
    return options.align_corners and not options.mode.is_nearest


def sizes_of(ratio, rng, options, least=1):
    """Two sizes in about that ratio; exactly, for the options that count samples, or intervals."""
    times = int(rng.integers(least, 300 // max(ratio) + least))
    ends = counts_intervals(options)
    return ratio[0] * times + ends, ratio[1] * times + ends


@every_option
@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("pixel", [(), (2,), (3,), (4,), (5,)], ids=str)
def test_along_one_axis_every_loop_gives_the_bits_of_the_general_one(pixel, backward, dtype, options):
    rng = np.random.default_rng(len(pixel))
    for ratio in RATIOS:
        n, m = sizes_of(ratio, rng, options)
        x = rng.standard_normal((int(rng.choice([1, 3, 20])), n, *pixel)).astype(dtype)
        got, expected = resized(x, (len(x), m, *pixel), options, backward)
        assert got.tobytes() == expected.tobytes(), (x.shape, m)


@every_option
@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_so_do_rows_of_any_length(backward, dtype, options):
    rng = np.random.default_rng(0)
    for ratio in [(1, 2), (2, 1), (2, 3), (37, 101), (15, 1)]:
        n, m = sizes_of(ratio, rng, options)
        for length in [*rng.integers(17, 300, size=4), 64, 128, 200, 256]:
            x = rng.standard_normal((2, n, length)).astype(dtype)
            got, expected = resized(x, (2, m, length), options, backward)
            assert got.tobytes() == expected.tobytes(), (x.shape, m)


@every_option
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("memory_order", [(0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 2, 1)], ids=str)
def test_along_two_axes_too_whatever_the_memory_order(memory_order, backward, options):
    rng = np.random.default_rng(1)
    for _ in range(12):
        (h, h_new), (w, w_new) = (sizes_of(RATIOS[i], rng, options) for i in rng.integers(len(RATIOS), size=2))
        x = rng.standard_normal((1, int(rng.integers(1, 4)), h, w)).astype(SINGLE)
        got, expected = resized(x, (*x.shape[:2], h_new, w_new), options, backward, memory_order)
        assert got.tobytes() == expected.tobytes(), (x.shape, h_new, w_new)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    ("mode", "backward"), [("bilinear", False), ("bilinear", True), ("bicubic", False), ("nearest", True)]
)
def test_so_does_an_axis_that_is_halved_together_with_another(mode, backward, channels, dtype):
    options = InterpolateOptions(mode, align_corners=False)
    rng = np.random.default_rng(channels)
    for memory_order in ((0, 1, 2, 3), (0, 2, 3, 1), (0, 2, 1, 3)):
        for h, h_new in ((60, 30), (60, 40), (50, 20), (31, 9)):
            w = int(rng.integers(1, 150))
            x = rng.standard_normal((2, channels, h, 2 * w)).astype(dtype)
            x[rng.random(x.shape) < 0.01] = np.inf
            with np.errstate(invalid="ignore"):
                got, expected = resized(x, (2, channels, h_new, w), options, backward, memory_order)
            np.testing.assert_array_equal(got, expected)


def test_rows_are_weighed_one_by_one_only_where_they_are_few():
    half_pixel = InterpolateOptions("bilinear", align_corners=False)
    half, third = (make_operator(n, 200, half_pixel, False, 4) for n in (400, 600))
    many = make_operator(1600, 200, InterpolateOptions("bilinear", align_corners=False, antialias=True), False, 4)
    assert half.is_done_with(half, earlier=False)
    assert third.is_done_with(half, earlier=False)
    assert not many.is_done_with(half, earlier=False)
    assert not half.is_done_with(half, earlier=True)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos3"])
def test_the_loops_for_turns_and_for_sparse_inputs_are_taken_where_they_should_be(mode):
    half_pixel = InterpolateOptions(mode, align_corners=False)
    assert make_operator(200, 400, half_pixel, False, 4).phases == 2
    assert make_operator(200, 800, half_pixel, False, 4).phases == 4
    assert make_operator(400, 200, half_pixel, False, 4).phases == 1
    assert make_operator(400, 200, half_pixel, True, 4).phases == 1  # the gradient of twice as long
    assert make_operator(200, 300, half_pixel, False, 4).phases == 0
    assert make_operator(2000, 200, half_pixel, False, 4).sparse
    assert make_operator(2000, 200, half_pixel, False, 4).apart
    assert not make_operator(300, 200, half_pixel, False, 4).sparse
    assert make_operator(200, 2000, half_pixel, True, 4).scatters
    assert not make_operator(200, 400, half_pixel, True, 4).scatters


def test_a_border_pixel_reads_nothing_beyond_the_array():
    # What lies before and after the array is NaN, so that a read beyond it shows.
    x = np.full(3 * 40 + 16, np.nan, SINGLE)
    x[8:-8] = 1
    inside = x[8:-8].reshape(1, 40, 3)
    for mode in ("nearest", "bilinear", "bicubic", "lanczos3"):
        for size in (5, 20, 80, 100):
            options = InterpolateOptions(mode, align_corners=False)
            operator = make_operator(40, size, options, False, 4)
            y = np.full(3 * size + 16, -1, SINGLE)
            plan = make_plan((1, 40, 3), [None, operator, None], range(3))
            lead = (None,) * (MAX_AXES - 3)
            plan.run(inside[lead], y[8:-8].reshape(1, size, 3)[lead], 0, plan.boxes)
            assert np.abs(y[8:-8] - 1).max() < 1e-6
            assert (y[:8] == -1).all()
            assert (y[-8:] == -1).all()


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("memory_order", [(0, 1, 2, 3), (0, 2, 3, 1)], ids=str)
@pytest.mark.parametrize(
    ("shape", "size"),
    [((1, 3, 1400, 1450), (300, 220)), ((1, 3, 1300, 1290), (650, 645)), ((1, 3, 850, 900), (1700, 1800))],
    ids=str,
)
@pytest.mark.parametrize(("mode", "antialias"), [("nearest", False), ("bilinear", False), ("bicubic", True)])
def test_so_do_sizes_that_no_cache_holds(mode, antialias, shape, size, memory_order, backward):
    # Large sources are asked for ahead, and large results written past the cache unless their memory is new.
    options = InterpolateOptions(mode, align_corners=False, antialias=antialias)
    before, after = (shape[:2] + size, shape) if backward else (shape, shape[:2] + size)
    x = np.random.default_rng(3).standard_normal(before, SINGLE)
    got, expected = resized(x, after, options, backward, memory_order)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


# Long axes ----------------------------------------------------------------------------------------------------------------


@every_option
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_a_shortened_operator_gives_the_bits_of_the_whole_one(backward, options, monkeypatch):
    rng = np.random.default_rng(2)
    make = _operators._make
    shortened = 0
    for _ in range(150):
        times, ends = int(rng.integers(1, 40)), counts_intervals(options)
        n, m = (int(size) * times + ends for size in rng.integers(1, 30, 2))
        if n == m:
            continue
        whole = make(n, m, options, backward, 8)
        with monkeypatch.context() as patch:
            patch.setattr(_operators, "LONG", 16)
            patch.setattr(_operators, "LONGEST_BOX", int(rng.integers(1, 20)))
            short = make(n, m, options, backward, 8)
        shortened += short.longest < m
        x = rng.standard_normal((int(rng.choice([1, 20])), n))
        assert applied(short, x).tobytes() == applied(whole, x).tobytes(), (n, m)
    assert shortened > 75


def applied(operator, x):
    plan = make_plan(x.shape, [None, operator], range(2))
    y = np.empty((len(x), operator.m))
    lead = (None,) * (MAX_AXES - 2)
    plan.run(x[lead], y[lead], 0, plan.boxes)
    return y


@pytest.mark.parametrize(
    "repeat",
    [(3, 0, 1, 1, 2), (3, 4, 1, 1, 2), (3, 2, -1, 1, 2), (3, 2, 1, -1, 2), (3, 2, 1, 1, 0), (5, 2, 1, 1, 4)],
    ids=str,
)
def test_a_repetition_that_would_leave_the_array_is_refused(repeat):
    _, period, times, advance, _ = repeat
    first = np.arange(8)
    with pytest.raises(ValueError, match="repeated"):
        Operator(8 + times * advance, 8 + times * period, first, np.arange(9), np.ones(8), repeat)


def test_a_box_longer_than_the_operator_allows_is_refused():
    operator = Operator(8 + 10, 8 + 10, np.arange(8), np.arange(9), np.ones(8), (3, 1, 10, 1, 4))
    assert make_plan((18,), [operator], range(1)).box[-1] <= 4
    with pytest.raises(ValueError, match="box"):
        Plan((1,) * 6 + (18,), (None,) * 6 + (operator,), (6,), (1,) * 6 + (5,))


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((1, 1, 2048, 2048), (4096, 4096)),
        ((1, 1, 2048, 2048), (1024, 1024)),
        ((1, 3, 1080, 1920), (256, 256)),
        ((1, 1, 740, 740), (2020, 2020)),
        ((1, 64, 44100), (48000,)),
        ((1, 1, 4_000_000), (6_000_000,)),
        ((1, 1, 20, 200_000), (40, 100_000)),
        ((1, 2, 64, 64, 64), (128, 128, 128)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float16, SINGLE])
@pytest.mark.parametrize("mode", ["bilinear", "lanczos3"])
def test_a_call_takes_two_megabytes_beside_its_result_at_any_size(mode, dtype, shape, size, monkeypatch):
    monkeypatch.setattr(ndarray, "make_operator", _operators._make)  # every call is a first one
    monkeypatch.setattr(ndarray, "_job", inspect.unwrap(ndarray._job))
    x = np.ones(shape, dtype)
    threads = burnpy.get_num_threads()
    burnpy.set_num_threads(1)
    try:
        forward = functools.partial(burnpy.interpolate, x, size, mode=mode, align_corners=False)
        backward = functools.partial(burnpy.interpolate_backward, x, forward(), size, mode=mode, align_corners=False)
        for call in (forward, backward):
            assert extra_bytes(call) <= 2 * MEGABYTES
    finally:
        burnpy.set_num_threads(threads)


def extra_bytes(call):
    """Return how much a call holds at most beside its result."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = call()
        return tracemalloc.get_traced_memory()[1] - before - result.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("rows", [65, 67])
def test_many_rows_past_the_cache_are_as_each_row_alone(rows, mode):
    options = InterpolateOptions(mode, align_corners=False)
    x = np.random.default_rng(rows).standard_normal((rows, 40001)).astype(SINGLE)
    operators = [None, make_operator(40001, 64003, options, False, 4)]
    together, alone = make_plan(x.shape, operators, (0, 1)), make_plan((1, 40001), operators, (0, 1))
    assert together.large
    assert not alone.large
    y, row = np.zeros((rows, 64003), SINGLE), np.zeros((1, 64003), SINGLE)
    together.run(x, y, 0, together.boxes)
    for r in range(rows):
        alone.run(x[r : r + 1], row, 0, alone.boxes)
        assert row.tobytes() == y[r].tobytes()


@pytest.mark.parametrize("mode", ["nearest", "nearest_exact"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_picks_from_more_than_caches_hold_are_the_inputs_themselves(mode, step):
    """Next rows are asked for in pieces, here several a row, unless its elements lie backwards."""
    options = InterpolateOptions(mode, align_corners=False)
    n, m = (301, 20001), (130, 9007)
    x = np.arange(n[0] * n[1] * abs(step), dtype=SINGLE).reshape(n[0], -1)[:, ::step]
    plan = make_plan(n, [make_operator(*sizes, options, False, 4) for sizes in zip(n, m, strict=True)], (0, 1))
    y = np.zeros(m, SINGLE)
    plan.run(x, y, 0, plan.boxes)
    half = 1 if mode == "nearest_exact" else 0
    down, along = (((2 * np.arange(size) + half) * length) // (2 * size) for length, size in zip(n, m, strict=True))
    np.testing.assert_array_equal(y, x[np.ix_(down, along)])
