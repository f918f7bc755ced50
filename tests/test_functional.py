"""The functions and modules: any number of axes, sizes and scale factors, backends by name."""

import math
from typing import Any

import numpy as np
import pytest
from exact import OPTIONS, dense, exact_rows, name_of

import burnpy
from burnpy import DTypeError, Interpolate1d, Interpolate2d, OptionError, ShapeError, UnsupportedError

EPS = np.finfo(float).eps
CASES = [((7,), (12,)), ((9, 6), (5, 11)), ((4, 5, 6), (7, 3, 9)), ((6, 1, 5), (2, 4, 5))]


def matrices(n, m, options):
    return [dense(exact_rows(a, b, options), a) for a, b in zip(n, m, strict=True)]


def applied(x, operators):
    for axis, operator in enumerate(operators, start=2):
        x = np.moveaxis(np.tensordot(operator, x, (1, axis)), 0, axis)
    return x


def keywords(options):
    return {"mode": options.mode, "align_corners": options.align_corners, "antialias": options.antialias}


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
@pytest.mark.parametrize(("n", "m"), CASES)
def test_signals_images_and_volumes_are_one_operator_an_axis(n, m, options):
    rng = np.random.default_rng(3)
    x, grad = rng.standard_normal((2, 3, *n)), rng.standard_normal((2, 3, *m))
    operators = matrices(n, m, options)
    y = burnpy.interpolate(x, m, **keywords(options))
    back = burnpy.interpolate_backward(x, grad, m, **keywords(options))
    assert np.allclose(y, applied(x, operators), rtol=0, atol=50 * EPS)
    assert np.allclose(back, applied(grad, [a.T for a in operators]), rtol=0, atol=100 * EPS)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [(5,), (5, 6), (5, 6, 7)])
def test_shape_and_dtype_are_kept(dtype, n):
    x = np.ones((2, 3, *n), dtype)
    y = burnpy.interpolate(x, 4, mode="bilinear")
    assert (y.shape, y.dtype) == ((2, 3, *[4] * len(n)), dtype)
    back = burnpy.interpolate_backward(x, y, 4, mode="bilinear")
    assert (back.shape, back.dtype) == (x.shape, dtype)


def test_the_default_is_nearest_with_align_corners():
    x = np.arange(6.0).reshape(1, 1, 6)
    assert burnpy.interpolate(x, 9).ravel().tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 5]
    assert burnpy.interpolate(x, 3, mode="bilinear").ravel().tolist() == [0, 2.5, 5]


def test_the_backward_takes_a_shape_in_place_of_x():
    grad = np.random.default_rng(0).standard_normal((2, 3, 8, 5)).astype(np.float32)
    by_shape = burnpy.interpolate_backward((2, 3, 4, 9), grad, (8, 5), mode="bicubic")
    by_array = burnpy.interpolate_backward(np.zeros((2, 3, 4, 9), np.float32), grad, (8, 5), mode="bicubic")
    assert by_shape.tobytes() == by_array.tobytes()


@pytest.mark.parametrize(
    ("n", "scale", "m"),
    [(10, 0.7, 7), (10, 0.35, 3), (3, 1.5, 4), (7, 2, 14), (5, 1 / 3, 1), (100, np.float32(0.5), 50), (6, np.int64(2), 12)],
)
def test_a_scale_factor_gives_the_floor_of_the_product(n, scale, m):
    x = np.arange(float(n)).reshape(1, 1, n)
    assert m == math.floor(n * float(scale))
    by_scale = burnpy.interpolate(x, scale_factor=scale, mode="bilinear", align_corners=False)
    assert by_scale.tobytes() == burnpy.interpolate(x, m, mode="bilinear", align_corners=False).tobytes()


def test_the_resampling_follows_the_sizes_not_the_factor():
    y = burnpy.interpolate(np.arange(10.0).reshape(1, 1, 10), scale_factor=0.35, mode="bilinear", align_corners=False)
    assert np.allclose(y.ravel(), [7 / 6, 4.5, 47 / 6], rtol=4 * EPS, atol=0)


def test_scales_and_sizes_may_differ_by_axis():
    x = np.ones((1, 1, 4, 6))
    assert burnpy.interpolate(x, scale_factor=(2, 0.5)).shape == (1, 1, 8, 3)
    assert burnpy.interpolate(x, scale_factor=np.array([2.0, 0.5])).shape == (1, 1, 8, 3)
    assert burnpy.interpolate(x, [np.int8(5), 2]).shape == (1, 1, 5, 2)
    assert burnpy.interpolate(x, np.array([5, 2])).shape == (1, 1, 5, 2)
    assert burnpy.interpolate(x, np.int64(5)).shape == (1, 1, 5, 5)


@pytest.mark.parametrize("sizes", [{}, {"size": 3, "scale_factor": 2.0}])
def test_just_one_of_size_and_scale_factor_is_taken(sizes):
    with pytest.raises(OptionError, match="either size or scale_factor"):
        burnpy.interpolate(np.ones((1, 1, 4)), **sizes)
    with pytest.raises(OptionError, match="either size or scale_factor"):
        burnpy.interpolate_backward(np.ones((1, 1, 4)), np.ones((1, 1, 3)), **sizes)


@pytest.mark.parametrize("scale", [0, -1.0, math.inf, math.nan, "2", True, (2.0, 2.0), (), [None], 1j])
def test_a_scale_factor_must_be_positive_and_finite(scale):
    with pytest.raises(OptionError, match="scale_factor must be"):
        burnpy.interpolate(np.ones((1, 1, 4)), scale_factor=scale)


def test_a_scale_factor_that_leaves_nothing_is_refused():
    with pytest.raises(ShapeError, match="at least 1"):
        burnpy.interpolate(np.ones((1, 1, 4)), scale_factor=0.2)


@pytest.mark.parametrize("size", [0, -1, 2.5, "4", (3, 3), (), True])
def test_a_size_must_be_a_positive_integer_an_axis(size):
    with pytest.raises(ShapeError):
        burnpy.interpolate(np.ones((1, 1, 4)), size)


@pytest.mark.parametrize("shape", [(4,), (4, 4), (1, 1, 2, 2, 2, 2)])
def test_other_numbers_of_axes_are_refused(shape):
    with pytest.raises(ShapeError, match="must have shape"):
        burnpy.interpolate(np.ones(shape), 2)
    with pytest.raises(ShapeError, match="must have shape"):
        burnpy.interpolate_backward(shape, np.ones(shape), 2)


def test_what_is_not_an_array_is_refused():
    no_array: Any = [[[1.0, 2.0]]]
    with pytest.raises(DTypeError):
        burnpy.interpolate(no_array, 3)
    with pytest.raises(DTypeError):
        burnpy.interpolate(np.ones((1, 1, 4), int), 3)
    with pytest.raises(DTypeError, match="dtype of x"):
        burnpy.interpolate_backward(np.ones((1, 1, 4)), np.ones((1, 1, 3), np.float32), 3)


def test_a_backend_is_given_by_name_or_as_an_object():
    x = np.random.default_rng(1).standard_normal((1, 2, 5, 6))
    expected = burnpy.interpolate(x, (8, 3), mode="bicubic")
    for backend in ("ndarray", "reference", burnpy.backends.get("reference")):
        assert np.allclose(burnpy.interpolate(x, (8, 3), mode="bicubic", backend=backend), expected, atol=20 * EPS)
        back = burnpy.interpolate_backward(x, expected, (8, 3), mode="bicubic", backend=backend)
        assert np.allclose(back, burnpy.interpolate_backward(x, expected, (8, 3), mode="bicubic"), atol=20 * EPS)


def test_other_backends_do_images_only():
    with pytest.raises(UnsupportedError, match="'ndarray' does one to three"):
        burnpy.interpolate(np.ones((1, 1, 4)), 3, backend="reference")
    with pytest.raises(DTypeError, match="needs x itself"):
        burnpy.interpolate_backward((1, 1, 4, 4), np.ones((1, 1, 3, 3)), 3, backend="reference")


def test_an_unknown_backend_is_refused_with_the_list_of_known_ones():
    with pytest.raises(burnpy.BackendNotFoundError, match="ndarray"):
        burnpy.interpolate(np.ones((1, 1, 4, 4)), 3, backend="numpy")


@pytest.mark.parametrize(("module", "shape"), [(Interpolate1d, (2, 3, 8)), (Interpolate2d, (2, 3, 8, 8))])
def test_modules_are_the_function_with_its_options_kept(module, shape):
    x = np.random.default_rng(2).standard_normal(shape)
    for options in OPTIONS:
        made = module(output_size=5, **keywords(options))
        expected = burnpy.interpolate(x, 5, **keywords(options))
        assert made(x).tobytes() == made.forward(x).tobytes() == expected.tobytes()
    assert module(scale_factor=1.5)(x).shape == (2, 3, *[12] * (len(shape) - 2))
    assert Interpolate2d((3, 4))(np.ones((1, 1, 8, 8))).shape == (1, 1, 3, 4)


@pytest.mark.parametrize("module", [Interpolate1d, Interpolate2d])
def test_modules_refuse_nonsense_when_they_are_made(module):
    for wrong in ({}, {"output_size": 4, "scale_factor": 2.0}, {"scale_factor": -1}, {"output_size": 4, "mode": "cubic"}):
        with pytest.raises(OptionError):
            module(**wrong)
    for size in (0, 2.5, (3, 3, 3)):
        with pytest.raises(ShapeError):
            module(size)
    with pytest.raises(ShapeError, match="takes x of shape"):
        module(3)(np.ones((1, 1, 2, 2, 2)))


def test_modules_are_values_with_a_readable_repr():
    module = Interpolate1d(scale_factor=2.0, mode="bicubic")
    assert module == Interpolate1d(scale_factor=2.0, mode="bicubic")
    assert "scale_factor=2.0" in repr(module)
    frozen: Any = module
    with pytest.raises(AttributeError):
        frozen.mode = "nearest"
