"""Taps: the operators as data, judged by exact arithmetic without any kernel."""

from fractions import Fraction

import numpy as np
import pytest
from exact import OPTIONS, dense, exact_rows, name_of

from burnpy import InterpolateOptions, ShapeError
from burnpy.taps import Taps, build_taps

EPS = np.finfo(np.float64).eps
SIZES = [
    (1, 1),
    (1, 7),
    (7, 1),
    (2, 3),
    (3, 2),
    (5, 5),
    (4, 8),
    (8, 4),
    (6, 9),
    (9, 6),
    (13, 29),
    (29, 13),
    (64, 97),
    (97, 31),
]

every_option = pytest.mark.parametrize("options", OPTIONS, ids=name_of)
every_size = pytest.mark.parametrize(("n", "m"), SIZES)


@every_option
@every_size
def test_every_weight_is_the_exact_one_to_three_eps_of_itself(n, m, options):
    got, exact = build_taps(n, m, options).to_dense(), dense(exact_rows(n, m, options), n)
    assert (np.abs(got - exact) <= 3 * EPS * np.abs(exact)).all()


@pytest.mark.parametrize("options", [o for o in OPTIONS if o.mode != "lanczos3"], ids=name_of)
@every_size
def test_rational_weights_are_exact_to_one_eps(n, m, options):
    got, exact = build_taps(n, m, options).to_dense(), dense(exact_rows(n, m, options), n)
    assert (np.abs(got - exact) <= EPS * np.abs(exact)).all()


@every_option
def test_a_weight_is_zero_just_where_it_should_be(options):
    for n in range(1, 14):
        for m in range(1, 14):
            got, exact = build_taps(n, m, options).to_dense(), dense(exact_rows(n, m, options), n)
            assert ((got == 0) == (exact == 0)).all(), (n, m)


@every_option
def test_starts_and_ends_of_runs_never_decrease_and_stay_inside_both_ways(options):
    for n in range(1, 25):
        for m in range(1, 25):
            for taps in (build_taps(n, m, options), build_taps(n, m, options).transpose()):
                end = taps.first + np.diff(taps.offset)
                assert (np.diff(taps.first) >= 0).all()
                assert (np.diff(end) >= 0).all()
                assert (taps.first >= 0).all()
                assert (end <= taps.n).all()
                assert taps.offset[0] == 0
                assert len(taps.weights) == taps.offset[-1]


@every_option
@every_size
def test_the_transpose_is_the_transposed_matrix_bit_for_bit(n, m, options):
    taps = build_taps(n, m, options)
    flipped = taps.transpose()
    assert (flipped.n, flipped.m) == (m, n)
    assert (flipped.to_dense() == taps.to_dense().T).all()
    assert (flipped.transpose().to_dense() == taps.to_dense()).all()


@every_option
def test_equal_sizes_give_the_identity(options):
    for n in range(1, 40):
        assert (build_taps(n, n, options).to_dense() == np.eye(n)).all()


def test_nearest_is_integer_arithmetic_for_all_sizes_up_to_512():
    nearest, nearest_exact = InterpolateOptions("nearest"), InterpolateOptions("nearest_exact")
    for m in range(1, 513):
        o = np.arange(m)
        for n in range(1, 513):
            assert (build_taps(n, m, nearest).first == o * n // m).all()
            assert (build_taps(n, m, nearest_exact).first == (2 * o + 1) * n // (2 * m)).all()


@pytest.mark.parametrize(
    ("mode", "n", "m", "o", "index"),
    [
        ("nearest", 30, 22, 11, 15),  # float64 floor((n/m)*o) gives 14
        ("nearest", 30, 44, 22, 15),
        ("nearest", 26, 22, 11, 13),  # a float32 scale gives 12
        ("nearest", 2, 98, 49, 1),
        ("nearest", 4098, 4097, 4096, 4096),
        ("nearest_exact", 14, 23, 11, 7),  # float32 gives 6
        ("nearest", 2**31 + 11, 10, 9, 9 * (2**31 + 11) // 10),
    ],
)
def test_no_index_slips_where_floating_point_does(mode, n, m, o, index):
    assert build_taps(n, m, InterpolateOptions(mode)).first[o] == index


@pytest.mark.parametrize(("n", "m"), [(2000, 4999), (4999, 2000), (1 << 20, 7), (1_000_003, 11)])
def test_large_sizes_keep_their_digits(n, m):
    o = m - 2
    taps = build_taps(n, m, InterpolateOptions("bilinear", align_corners=False))
    c = Fraction((2 * o + 1) * n, 2 * m) - Fraction(1, 2)
    i = c.numerator // c.denominator
    assert taps.first[o] == i
    assert taps.weights[taps.offset[o] : taps.offset[o + 1]].tolist() == [float(1 - (c - i)), float(c - i)]


@pytest.mark.parametrize("options", [o for o in OPTIONS if not o.mode.is_nearest], ids=name_of)
def test_an_operator_is_symmetric_unless_it_takes_the_first_sample(options):
    for n, m in SIZES:
        if m == 1 and options.align_corners:
            continue
        matrix = build_taps(n, m, options).to_dense()
        assert np.allclose(matrix, matrix[::-1, ::-1], rtol=4 * EPS, atol=0), (n, m)


@every_option
@every_size
def test_the_weights_of_an_output_add_up_to_one(n, m, options):
    assert np.allclose(build_taps(n, m, options).to_dense().sum(axis=1), 1, rtol=4 * EPS, atol=0)


@pytest.mark.parametrize("seed", range(40))
def test_trimmed_runs_hold_the_same_matrix_and_no_more_zeros_than_their_order_needs(seed):
    rng = np.random.default_rng(seed)
    n, m = (int(size) for size in rng.integers(1, 12, 2))
    first = np.sort(rng.integers(0, n + 1, m))
    stop = np.maximum(np.sort(rng.integers(0, n + 1, m)), first)
    offset = np.concatenate(([0], np.cumsum(stop - first)))
    weights = rng.standard_normal(offset[-1]) * (rng.random(offset[-1]) < rng.choice([0.0, 0.3, 0.7, 1.0]))
    taps = Taps(n, m, first, offset, weights)
    trimmed, matrix = taps.trimmed(), taps.to_dense()
    ends = trimmed.first + np.diff(trimmed.offset)
    assert (trimmed.to_dense() == matrix).all()
    assert (np.diff(trimmed.first) >= 0).all()
    assert (np.diff(ends) >= 0).all()
    assert (trimmed.first >= 0).all()
    assert (ends <= n).all()
    columns = [np.flatnonzero(row) for row in matrix]
    for o in range(m):
        if len(columns[o]):
            assert trimmed.first[o] == min(c[0] for c in columns[o:] if len(c))
            assert ends[o] == max(c[-1] for c in columns[: o + 1] if len(c)) + 1


def test_taps_cannot_be_changed():
    taps = build_taps(4, 8, InterpolateOptions("bicubic"))
    for array in (taps.first, taps.offset, taps.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(("n", "m"), [(0, 4), (4, 0), (-1, 4), (2**31, 2**31)])
def test_sizes_out_of_range_are_refused(n, m):
    with pytest.raises(ShapeError, match=f"n={n}, m={m}"):
        build_taps(n, m, InterpolateOptions("bilinear"))
