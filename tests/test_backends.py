"""The two NumPy backends: values, adjointness, special values, memory layouts, errors."""

import json
import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact import OPTIONS, apply_split, dense, exact_rows, name_of, split, transposed

import burnpy
from burnpy import DTypeError, InterpolateOptions, ShapeError

DATA = Path(__file__).parent / "data"
EPS: dict[Any, Any] = {
    np.float64: np.finfo(np.float64).eps,
    np.float32: np.finfo(np.float32).eps,
    np.float16: np.finfo(np.float16).eps,
}
HALF_PIXEL = [o for o in OPTIONS if not o.align_corners]

every_option = pytest.mark.parametrize("options", OPTIONS, ids=name_of)


@pytest.fixture(params=["ndarray", "reference"])
def backend(request):
    return burnpy.backends.get(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def twenty_four_bits(rng, shape):
    return rng.standard_normal(shape).astype(np.float32).astype(np.float64)


# Values ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", json.loads((DATA / "burn_vectors.json").read_text()), ids=lambda case: case["name"])
def test_burns_own_vectors_hold(backend, case):
    x = np.array(case["input_values"]).reshape(case["input_shape"])
    size, options = tuple(case["output_size"]), InterpolateOptions(case["mode"], case["align_corners"])
    if case["direction"] == "forward":
        result = backend.interpolate(x, size, options)
    else:
        result = backend.interpolate_backward(x, np.array(case["grad"]).reshape(*x.shape[:2], *size), size, options)
    got, expected = result.ravel(), np.array(case["expected"])
    if case.get("asserted_indices"):
        got, expected = got[case["asserted_indices"]], expected[case["asserted_indices"]]
    if case["mode"].startswith("nearest"):  # their figures are whole: nothing is rounded
        assert (got == expected).all()
    tolerance = np.maximum(case["atol"], case["rtol"] * np.maximum(np.abs(got), np.abs(expected)))
    assert ((got == expected) | (np.abs(got - expected) < tolerance)).all()


@pytest.mark.parametrize("case", json.loads((DATA / "reported_bugs.json").read_text()), ids=lambda case: case["ref"])
def test_inputs_that_broke_others_do_not(backend, case):
    shape, size = tuple(case["input_shape"]), tuple(case["output_size"])
    options = InterpolateOptions(case["mode"], case["align_corners"], case["antialias"])
    assert case["values"] == "arange"
    x = np.arange(math.prod(shape), dtype=float).reshape(shape)
    if case["direction"] == "forward":
        result = backend.interpolate(x, size, options)
    else:
        grad_shape = (*shape[:2], *size)
        result = backend.interpolate_backward(
            x, np.arange(math.prod(grad_shape), dtype=float).reshape(grad_shape), size, options
        )
    assert np.allclose(result.ravel(), case["expected"], rtol=1e-12, atol=1e-12 * np.max(np.abs(case["expected"])) + 5e-13)


def random_pairs(count):
    rng = np.random.default_rng(7)
    return [tuple(map(int, pair)) for pair in rng.integers(1, 98, (count, 2))]


HARD_PAIRS = [(1, 1), (1, 97), (97, 1), (96, 97), (97, 96), (64, 96), (5000, 17), (17, 5000), (1999, 2000), (3000, 4501)]
PAIRS = [*random_pairs(200), *HARD_PAIRS]


def along_height(source, n, m, options, backward):
    """Apply the operator of one axis to the columns of ``source``."""
    backend = burnpy.backends.get("ndarray")
    if backward:
        x = np.empty((1, 1, n, source.shape[1]), source.dtype)
        return backend.interpolate_backward(x, source[None, None], (m, source.shape[1]), options)[0, 0]
    return backend.interpolate(source[None, None], (m, source.shape[1]), options)[0, 0]


def along_width(source, n, m, options, backward):
    """Apply the same operator to the rows of the transposed image."""
    backend, turned = burnpy.backends.get("ndarray"), np.ascontiguousarray(source.T)[None, None]
    if backward:
        x = np.empty((1, 1, source.shape[1], n), source.dtype)
        return backend.interpolate_backward(x, turned, (source.shape[1], m), options)[0, 0].T
    return backend.interpolate(turned, (source.shape[1], m), options)[0, 0].T


@pytest.mark.parametrize("start", range(0, len(PAIRS), 15))
@every_option
def test_both_directions_are_exact_to_four_eps_of_what_went_in(options, start):
    rng = np.random.default_rng(start)
    for n, m in PAIRS[start : start + 15]:
        if options.mode == "lanczos3" and max(n, m) > 2000:
            continue  # fifty digits take their time; these sizes have their own test
        rows = exact_rows(n, m, options)
        for backward, operator, size in ((False, rows, n), (True, transposed(rows, n), m)):
            source = twenty_four_bits(rng, (size, 2))
            source[:, 1] *= rng.integers(0, size) == np.arange(size)  # nothing hides the error of a small weight
            exact, bound = apply_split(split(operator), source)
            for dtype in (np.float64, np.float32):
                got = along_height(source.astype(dtype), n, m, options, backward)
                assert (np.abs(got.astype(float) - exact) <= 4 * EPS[dtype] * bound).all(), (n, m, dtype)
                assert (along_width(source.astype(dtype), n, m, options, backward) == got).all()


@pytest.mark.parametrize("options", [o for o in OPTIONS if o.mode == "lanczos3"], ids=name_of)
@pytest.mark.parametrize(("n", "m"), [(5000, 12), (12, 5000)])
def test_lanczos3_holds_at_large_sizes(options, n, m):
    rng = np.random.default_rng(n)
    x = twenty_four_bits(rng, (n, 1))
    exact, size = apply_split(split(exact_rows(n, m, options)), x)
    got = burnpy.backends.get("ndarray").interpolate(x[None, None], (m, 1), options)[0, 0]
    assert (np.abs(got - exact) <= 4 * EPS[np.float64] * size).all()


@every_option
def test_both_axes_together_are_exact(backend, options, rng):
    for _ in range(25):
        n, m = rng.integers(1, 30, 2), rng.integers(1, 30, 2)
        height, width = (dense(exact_rows(int(a), int(b), options), int(a)) for a, b in zip(n, m, strict=True))
        x, grad = rng.standard_normal((2, 3, *n)), rng.standard_normal((2, 3, *m))
        for dtype in (np.float64, np.float32):
            for got, a, b, source in (
                (backend.interpolate(x.astype(dtype), tuple(m), options), height, width, x),
                (
                    backend.interpolate_backward(x.astype(dtype), grad.astype(dtype), tuple(m), options),
                    height.T,
                    width.T,
                    grad,
                ),
            ):
                source = source.astype(dtype).astype(np.longdouble)
                exact = np.einsum("ph,nchw,qw->ncpq", a.astype(np.longdouble), source, b.astype(np.longdouble))
                size = np.einsum("ph,nchw,qw->ncpq", np.abs(a), np.abs(source.astype(float)), np.abs(b))
                assert got.dtype == dtype
                assert (np.abs(got - exact) <= 4 * EPS[dtype] * size).all(), (n, m, dtype)


@every_option
def test_backward_is_the_adjoint_of_forward(backend, options, rng):
    for n, m in [((5, 8), (9, 3)), ((1, 6), (4, 1)), ((17, 30), (16, 31)), ((40, 2), (7, 50))]:
        x, g = rng.standard_normal((2, 2, *n)), rng.standard_normal((2, 2, *m))
        y, back = backend.interpolate(x, m, options), backend.interpolate_backward(x, g, m, options)
        scale = np.linalg.norm(y) * np.linalg.norm(g)
        assert abs(np.vdot(y, g) - np.vdot(x, back)) <= 16 * EPS[np.float64] * scale


@every_option
def test_backward_is_the_transposed_matrix_column_by_column(backend, options):
    n, m = (3, 5), (4, 2)
    basis = np.eye(15).reshape(15, 1, *n)
    columns = backend.interpolate(basis, m, options).reshape(15, 8)
    rows = backend.interpolate_backward(np.empty((8, 1, *n)), np.eye(8).reshape(8, 1, *m), m, options).reshape(8, 15)
    assert np.allclose(columns.T, rows, rtol=4 * EPS[np.float64], atol=1e-18)


def test_the_gradient_does_not_read_the_values_of_x(backend, rng):
    options, grad = InterpolateOptions("bicubic"), rng.standard_normal((1, 2, 7, 6))
    poisoned = np.full((1, 2, 4, 5), np.nan)
    one, other = (backend.interpolate_backward(x, grad, (7, 6), options) for x in (poisoned, np.zeros_like(poisoned)))
    assert one.tobytes() == other.tobytes()


def test_half_precision_computes_in_single_and_rounds_once(rng):
    backend = burnpy.backends.get("ndarray")
    for options in HALF_PIXEL:
        x, grad = (
            rng.standard_normal((2, 2, 9, 12)).astype(np.float16),
            rng.standard_normal((2, 2, 14, 5)).astype(np.float16),
        )
        wide_x, wide_grad = x.astype(np.float32), grad.astype(np.float32)
        y, back = backend.interpolate(x, (14, 5), options), backend.interpolate_backward(x, grad, (14, 5), options)
        assert y.dtype == back.dtype == np.float16
        assert (y == backend.interpolate(wide_x, (14, 5), options).astype(np.float16)).all()
        assert (back == backend.interpolate_backward(wide_x, wide_grad, (14, 5), options).astype(np.float16)).all()


# Special values ----------------------------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308]


@every_option
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_equal_sizes_give_the_input_back_bit_for_bit(backend, options, dtype, rng):
    with np.errstate(over="ignore"):
        x = rng.choice(np.array(SPECIAL), (2, 3, 6, 7)).astype(dtype)
    assert backend.interpolate(x, (6, 7), options).tobytes() == x.tobytes()
    assert backend.interpolate_backward(x, x, (6, 7), options).tobytes() == x.tobytes()
    assert not np.shares_memory(backend.interpolate(x, (6, 7), options), x)


@every_option
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_reach_just_the_outputs_that_weigh_them(backend, options, bad):
    for n, m in [((6, 7), (9, 5)), ((4, 4), (8, 8)), ((9, 3), (6, 2)), ((5, 6), (5, 9)), ((40, 40), (60, 30))]:
        height, width = (dense(exact_rows(a, b, options), a) for a, b in zip(n, m, strict=True))
        for i, j in [(0, 0), (n[0] - 1, n[1] // 2), (n[0] // 2, n[1] - 1)]:
            x = np.ones((1, 1, *n))
            x[0, 0, i, j] = bad
            reached = np.outer(height[:, i], width[:, j]) != 0
            assert (~np.isfinite(backend.interpolate(x, m, options)[0, 0]) == reached).all()
        for i, j in [(0, 0), (m[0] - 1, m[1] // 2), (m[0] // 2, m[1] - 1)]:
            grad = np.ones((1, 1, *m))
            grad[0, 0, i, j] = bad
            reached = np.outer(height[i], width[j]) != 0
            assert (
                ~np.isfinite(backend.interpolate_backward(np.ones((1, 1, *n)), grad, m, options)[0, 0]) == reached
            ).all()


@pytest.mark.parametrize("mode", ["nearest", "nearest_exact", "bilinear"])
def test_minus_zero_survives(backend, mode):
    x = np.full((1, 1, 4, 4), -0.0)
    options = InterpolateOptions(mode, align_corners=False)
    assert np.signbit(backend.interpolate(x, (7, 9), options)).all()
    assert np.signbit(
        backend.interpolate_backward(np.zeros((1, 1, 4, 4)), np.full((1, 1, 7, 9), -0.0), (7, 9), options)
    ).all()


@every_option
def test_constants_are_kept(backend, options):
    x = np.full((1, 2, 6, 5), 0.1)
    assert np.allclose(backend.interpolate(x, (11, 3), options), 0.1, rtol=8 * EPS[np.float64], atol=0)


def test_an_input_that_no_output_reads_has_gradient_zero(backend):
    back = backend.interpolate_backward(np.ones((1, 1, 9, 9)), np.ones((1, 1, 2, 2)), (2, 2), InterpolateOptions("nearest"))
    expected = np.zeros((9, 9))
    expected[np.ix_([0, 4], [0, 4])] = 1
    assert (back[0, 0] == expected).all()


# Layouts -----------------------------------------------------------------------------------------------------------------


def channels_last(a):
    return np.ascontiguousarray(a.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


def sliced(a):
    whole = np.full([2 * size + 3 for size in a.shape], np.nan, a.dtype)
    view = whole[tuple(slice(2, 2 + 2 * size, 2) for size in a.shape)]
    view[...] = a
    return view


def reversed_everywhere(a):
    return np.ascontiguousarray(a[::-1, ::-1, ::-1, ::-1])[::-1, ::-1, ::-1, ::-1]


def read_only(a):
    frozen = a.copy()
    frozen.setflags(write=False)
    return frozen


def byte_swapped(a):
    return a.astype(a.dtype.newbyteorder())


def unaligned(a):
    record = np.zeros(a.shape, [("pad", "u1"), ("value", a.dtype)])
    record["value"] = a
    return record["value"]


def offset_by_a_byte(a):
    raw = bytearray(a.nbytes + 1)
    view = np.frombuffer(memoryview(raw)[1:], a.dtype).reshape(a.shape)
    view[...] = a
    return view


def cropped(a):
    whole = np.full([size + 5 for size in a.shape], np.nan, a.dtype)
    view = whole[tuple(slice(2, 2 + size) for size in a.shape)]
    view[...] = a
    return view


def axes_mixed(a):
    return np.ascontiguousarray(a.transpose(3, 1, 0, 2)).transpose(2, 1, 3, 0)


class Subclass(np.ndarray):
    pass


LAYOUTS = [
    np.asfortranarray, channels_last, sliced, reversed_everywhere, read_only, byte_swapped, unaligned, offset_by_a_byte,
    cropped, axes_mixed, lambda a: a.view(Subclass),
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__.replace("<lambda>", "subclass"))
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_memory_layout_does_not_change_a_bit(backend, layout, dtype, rng):
    for options in (OPTIONS[0], *[o for o in OPTIONS if o.mode in ("bicubic", "lanczos3")]):
        for shape, size in [((2, 3, 8, 11), (13, 7)), ((1, 1, 5, 40), (10, 20)), ((3, 4, 21, 1), (5, 9))]:
            x, grad = rng.standard_normal(shape).astype(dtype), rng.standard_normal((*shape[:2], *size)).astype(dtype)
            odd_x, odd_grad = layout(x), layout(grad)
            before = odd_x.tobytes(), odd_grad.tobytes()
            y = backend.interpolate(odd_x, size, options)
            back = backend.interpolate_backward(odd_x, odd_grad, size, options)
            assert y.tobytes() == backend.interpolate(x, size, options).tobytes()
            assert back.tobytes() == backend.interpolate_backward(x, grad, size, options).tobytes()
            assert (odd_x.tobytes(), odd_grad.tobytes()) == before
            assert y.dtype == back.dtype == np.dtype(dtype)
            assert type(y) is type(back) is np.ndarray
            assert not np.shares_memory(y, odd_x)
            assert y.flags.writeable


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (3,), (0, 1), (2, 3), (0, 1, 2, 3)])
def test_broadcast_axes_are_read_in_place(backend, axes, rng):
    shape = (3, 4, 6, 9)
    x = np.broadcast_to(rng.standard_normal([1 if d in axes else size for d, size in enumerate(shape)]), shape)
    for options in (InterpolateOptions("bicubic"), InterpolateOptions("nearest")):
        for size in [(8, 5), (6, 9)]:
            assert backend.interpolate(x, size, options).tobytes() == backend.interpolate(x.copy(), size, options).tobytes()
            grad = np.broadcast_to(1.5, (3, 4, *size))
            back = backend.interpolate_backward(x, grad, size, options)
            assert back.tobytes() == backend.interpolate_backward(x, grad.copy(), size, options).tobytes()


def test_the_result_keeps_the_memory_order_of_the_input(rng):
    x = channels_last(rng.standard_normal((2, 3, 8, 11)))
    y = burnpy.backends.get("ndarray").interpolate(x, (4, 5), InterpolateOptions("bilinear"))
    assert y.transpose(0, 2, 3, 1).flags.c_contiguous


def test_an_image_of_a_batch_does_not_depend_on_the_others(backend, rng):
    x = rng.standard_normal((4, 5, 9, 8))
    for options in OPTIONS:
        whole = backend.interpolate(x, (6, 13), options)
        for n, c in [(0, 0), (3, 4), (1, 2)]:
            alone = backend.interpolate(x[n : n + 1, c : c + 1], (6, 13), options)
            assert alone.tobytes() == whole[n : n + 1, c : c + 1].tobytes()


@every_option
def test_eight_threads_at_once_give_the_same_bits(options, rng):
    backend = burnpy.backends.get("ndarray")
    inputs = [rng.standard_normal((2, 2, 20 + k, 33)) for k in range(8)]
    expected = [backend.interpolate(x, (31, 17), options).tobytes() for x in inputs]
    wrong: list[object] = []

    def work(k):
        results = {backend.interpolate(inputs[k], (31, 17), options).tobytes() for _ in range(20)}
        wrong.extend(results - {expected[k]})

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Sizes and errors --------------------------------------------------------------------------------------------------------

BILINEAR = InterpolateOptions("bilinear")


@every_option
@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (0, 0, 4, 5)])
def test_an_empty_batch_gives_an_empty_result_of_the_right_shape(backend, options, shape):
    x = np.empty(shape, np.float32)
    y = backend.interpolate(x, (7, 3), options)
    assert (y.shape, y.dtype) == ((*shape[:2], 7, 3), np.float32)
    assert backend.interpolate_backward(x, y, (7, 3), options).shape == shape


@every_option
def test_one_sample_and_one_output(backend, options, rng):
    single = np.full((1, 1, 1, 1), 3.0)
    assert np.allclose(backend.interpolate(single, (4, 5), options), 3, rtol=8 * EPS[np.float64], atol=0)
    total = backend.interpolate_backward(single, np.ones((1, 1, 4, 5)), (4, 5), options)
    assert np.allclose(total, 20, rtol=40 * EPS[np.float64], atol=0)
    assert np.isfinite(backend.interpolate(rng.standard_normal((1, 1, 6, 7)), (1, 1), options)).all()


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((1, 1, 0, 4), (2, 2)),
        ((1, 1, 4, 0), (2, 2)),
        ((1, 4, 4), (2, 2)),
        ((4, 4), (2, 2)),
        ((1, 1, 1, 4, 4), (2, 2)),
        ((1, 1, 4, 4), (0, 2)),
        ((1, 1, 4, 4), (2, 0)),
        ((1, 1, 4, 4), (2, -1)),
        ((1, 1, 4, 4), (2.0, 2.0)),
        ((1, 1, 4, 4), (2,)),
        ((1, 1, 4, 4), (2, 2, 2)),
        ((1, 1, 4, 4), (True, 2)),
        ((1, 1, 4, 4), "22"),
        ((1, 1, 4, 4), None),
        ((1, 1, 4, 4), 2),
        ((1, 1, 4, 4), (None, 2)),
        ((1, 1, 4, 4), (2**62, 2**62)),
    ],
)
def test_shapes_and_sizes_out_of_range_are_refused(backend, shape, size):
    x = np.ones(shape)
    with pytest.raises(ShapeError):
        backend.interpolate(x, size, BILINEAR)
    with pytest.raises(ShapeError):
        backend.interpolate_backward(x, np.ones((1, 1, 2, 2)), size, BILINEAR)


def test_a_size_refused_is_refused_again_after_an_equal_one_was_fine(backend):
    x = np.ones((1, 1, 4, 4))
    backend.interpolate(x, (2, 1), BILINEAR)
    for size in [(2.0, 1.0), (2, True)]:
        with pytest.raises(ShapeError):
            backend.interpolate(x, size, BILINEAR)


@pytest.mark.parametrize("size", [(2**40, 2**40), (2**20, 2**25)])
def test_a_result_too_large_is_refused_before_any_work(backend, size):
    with pytest.raises((ShapeError, MemoryError)):
        backend.interpolate(np.ones((1, 1, 4, 4)), size, InterpolateOptions("nearest"))


@pytest.mark.parametrize("size", [[3, 5], np.array([3, 5]), (np.int32(3), np.uint8(5))])
def test_sizes_may_be_any_integers(backend, size):
    assert backend.interpolate(np.ones((1, 1, 4, 4)), size, BILINEAR).shape == (1, 1, 3, 5)


@pytest.mark.parametrize("shape", [(1, 1, 2, 3), (1, 2, 2, 2), (2, 1, 2, 2), (1, 2, 2), (1, 1, 4, 4), (0, 1, 2, 2)])
def test_a_gradient_of_another_shape_is_refused(backend, shape):
    with pytest.raises(ShapeError, match=r"grad must have shape \(1, 1, 2, 2\)"):
        backend.interpolate_backward(np.ones((1, 1, 4, 4)), np.ones(shape), (2, 2), BILINEAR)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.complex128, object, "U3", "M8[s]", np.longdouble])
def test_other_dtypes_are_refused_by_name(backend, dtype):
    x = np.zeros((1, 1, 2, 2)).astype(dtype)
    with pytest.raises(DTypeError, match="float16, float32, float64; got"):
        backend.interpolate(x, (3, 3), BILINEAR)
    with pytest.raises(DTypeError):
        backend.interpolate_backward(x, np.zeros((1, 1, 3, 3)), (3, 3), BILINEAR)
    with pytest.raises(DTypeError):
        backend.interpolate_backward(np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 3, 3)).astype(dtype), (3, 3), BILINEAR)


def test_gradient_and_input_must_have_one_dtype(backend):
    with pytest.raises(DTypeError, match="dtype of x, float64; got float32"):
        backend.interpolate_backward(np.ones((1, 1, 2, 2)), np.ones((1, 1, 3, 3), np.float32), (3, 3), BILINEAR)


class Tensor:
    shape = (1, 1, 2, 2)
    dtype = np.dtype(float)

    def __array__(self, dtype=None, copy=None):
        return np.ones(self.shape)


@pytest.mark.parametrize("x", [[[[[1.0, 2.0]]]], Tensor(), 3.0, None, "x", np.ma.masked_array(np.ones((1, 1, 2, 2)))])
def test_what_is_not_an_array_is_refused(backend, x):
    with pytest.raises(DTypeError, match=r"must be a numpy\.ndarray; got"):
        backend.interpolate(x, (3, 3), BILINEAR)
    with pytest.raises(DTypeError):
        backend.interpolate_backward(x, np.ones((1, 1, 3, 3)), (3, 3), BILINEAR)


def test_it_works_on_after_an_error(backend):
    x = np.ones((1, 1, 4, 4))
    with pytest.raises(ShapeError):
        backend.interpolate(x, (0, 0), BILINEAR)
    assert (backend.interpolate(x, (2, 2), BILINEAR) == 1).all()
