"""The backends on real libraries agree with ``reference`` where they answer, and say so where they do not."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from exact import OPTIONS, name_of

import burnpy
from burnpy import DTypeError, InterpolateMode, InterpolateOptions, ShapeError, UnsupportedError

DATA = Path(__file__).parent / "data"
BURN = json.loads((DATA / "burn_vectors.json").read_text())
REPORTED = json.loads((DATA / "reported_bugs.json").read_text())
NAMES = ["scipy", "torch", "jax"]
REFERENCE = burnpy.backends.get("reference")
EPS = np.finfo(np.float32).eps


class Library:
    """A backend with the way into its arrays, in float32, which all of them have, and back."""

    def __init__(self, name):
        self.name = name
        self.module = pytest.importorskip(name)
        self.backend = burnpy.backends.get(name)

    def array(self, values, dtype=np.float32):
        values = np.array(values, dtype)
        if self.name == "torch":
            return self.module.from_numpy(values)
        return self.module.numpy.asarray(values) if self.name == "jax" else values

    def forward(self, x, size, options):
        return np.asarray(self.backend.interpolate(self.array(x), size, options))

    def backward(self, x, grad, size, options):
        return np.asarray(self.backend.interpolate_backward(self.array(x), self.array(grad), size, options))


@pytest.fixture(params=NAMES, scope="module")
def library(request):
    return Library(request.param)


@pytest.fixture(scope="module")
def torch_library():
    return Library("torch")


@pytest.fixture(scope="module")
def jax_library():
    return Library("jax")


def answers(library, options, backward=False):
    return library.backend.supports(
        options.mode,
        align_corners=options.align_corners,
        antialias=options.antialias,
        backward=backward,
        dtype="float32",
    )


def close(got, want, x):
    """Compare at forty roundings of single precision, coordinates included, of the largest number there is."""
    assert got.shape == want.shape
    assert got.dtype == np.float32
    return np.abs(got - want).max(initial=0) <= 40 * EPS * max(np.abs(x).max(initial=0), np.abs(want).max(initial=0))


# Agreement ----------------------------------------------------------------------------------------------------------------


def golden(case):
    """Return shape, size, options, direction, and the array that the operator is applied to, of a golden vector."""
    shape, size = tuple(case["input_shape"]), tuple(case["output_size"])
    options = InterpolateOptions(case["mode"], case["align_corners"], case.get("antialias", False))
    backward = case["direction"] != "forward"
    applied = (*shape[:2], *size) if backward else shape
    given = case.get("grad" if backward else "input_values")
    return (
        shape,
        size,
        options,
        backward,
        np.resize(np.arange(math.prod(applied)) if given in (None, "arange") else given, applied),
    )


@pytest.mark.parametrize("case", [*BURN, *REPORTED], ids=lambda case: case.get("name") or case["ref"])
def test_every_golden_vector_that_is_supported_agrees_with_reference(library, case):
    shape, size, options, backward, values = golden(case)
    x = np.zeros(shape, np.float32)
    try:
        got = library.backward(x, values, size, options) if backward else library.forward(values, size, options)
    except UnsupportedError as refusal:
        assert library.name == "torch", "scipy and jax have every mode"
        slips = options.mode.is_nearest and "picks a wrong sample" in str(refusal)
        assert slips or (options.mode == "lanczos3" and not options.antialias)
        return
    values = values.astype(np.float64)
    if backward:
        want = REFERENCE.interpolate_backward(x.astype(np.float64), values, size, options)
    else:
        want = REFERENCE.interpolate(values, size, options)
    assert close(got, want, values)


def test_some_golden_vectors_are_supported_by_all(library):
    supported = [case for case in [*BURN, *REPORTED] if answers(library, golden(case)[2], golden(case)[3])]
    assert len(supported) > len([*BURN, *REPORTED]) / 2


SIZES = [((5, 7), (9, 4)), ((1, 6), (3, 1)), ((8, 3), (2, 3)), ((2, 1), (3, 1)), ((1, 1), (4, 5)), ((31, 29), (6, 47))]


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
@pytest.mark.parametrize(("size", "output"), SIZES, ids=str)
def test_both_directions_agree_with_reference_at_odd_sizes(library, options, size, output):
    if not answers(library, options):
        pytest.skip("declared unsupported")
    rng = np.random.default_rng(5)
    x, grad = rng.standard_normal((2, 3, *size)), rng.standard_normal((2, 3, *output))
    assert close(library.forward(x, output, options), REFERENCE.interpolate(x, output, options), x)
    got = library.backward(x, grad, output, options)
    assert close(got, REFERENCE.interpolate_backward(x, grad, output, options), grad)


# Refusals -----------------------------------------------------------------------------------------------------------------

BILINEAR = InterpolateOptions("bilinear")


@pytest.mark.parametrize(
    ("x", "size", "error"),
    [
        (np.ones((2, 2)), (2, 2), ShapeError),
        (np.ones((1, 1, 0, 2)), (2, 2), ShapeError),
        (np.ones((1, 1, 2, 2)), (2, 0), ShapeError),
        (np.ones((1, 1, 2, 2)), (2,), ShapeError),
        (np.ones((1, 1, 2, 2)), (2.0, 2), ShapeError),
        (np.ones((1, 1, 2, 2), np.int32), (2, 2), DTypeError),
    ],
)
def test_bad_arguments_are_refused_in_burnpys_words(library, x, size, error):
    dtype = x.dtype if x.dtype == np.int32 else np.float32
    with pytest.raises(error):
        library.backend.interpolate(library.array(x, dtype), size, BILINEAR)
    with pytest.raises(error):
        library.backend.interpolate_backward(library.array(x, dtype), library.array(np.ones((1, 1, 2, 2))), size, BILINEAR)


def test_what_is_no_array_of_the_library_is_refused(library):
    with pytest.raises(DTypeError, match="must be a"):
        library.backend.interpolate([[[[1.0]]]], (2, 2), BILINEAR)
    with pytest.raises(DTypeError, match="must be a"):
        library.backend.interpolate_backward(library.array(np.ones((1, 1, 2, 2))), [1.0], (2, 2), BILINEAR)


def test_a_grad_of_another_shape_or_dtype_is_refused(library):
    x = library.array(np.ones((1, 1, 2, 2)))
    with pytest.raises(ShapeError, match=r"grad must have shape \(1, 1, 3, 3\)"):
        library.backend.interpolate_backward(x, x, (3, 3), BILINEAR)
    with pytest.raises(DTypeError, match="dtype"):
        library.backend.interpolate_backward(x, library.array(np.ones((1, 1, 3, 3)), np.float16), (3, 3), BILINEAR)


def test_no_images_give_no_images(library):
    assert library.forward(np.ones((0, 3, 2, 2)), (4, 5), BILINEAR).shape == (0, 3, 4, 5)
    assert library.forward(np.ones((2, 0, 2, 2)), (4, 5), BILINEAR).shape == (2, 0, 4, 5)
    assert library.backward(np.ones((2, 0, 2, 2)), np.ones((2, 0, 4, 5)), (4, 5), BILINEAR).shape == (2, 0, 2, 2)


def test_a_result_is_never_the_argument_itself(library):
    x = library.array(np.ones((1, 1, 2, 2)))
    assert library.backend.interpolate(x, (2, 2), BILINEAR) is not x
    if library.name != "jax":  # whose arrays cannot be changed
        library.backend.interpolate(x, (2, 2), BILINEAR)[:] = 7
        library.backend.interpolate_backward(x, x, (2, 2), BILINEAR)[:] = 7
        assert (np.asarray(x) == 1).all()


def test_half_precision_computes_in_single_and_rounds_once(library):
    x = np.random.default_rng(3).standard_normal((1, 2, 5, 5)).astype(np.float16)
    got = np.asarray(library.backend.interpolate(library.array(x, np.float16), (8, 7), BILINEAR))
    want = REFERENCE.interpolate(x.astype(np.float64), (8, 7), BILINEAR)
    assert got.dtype == np.float16
    assert np.abs(got - want).max() <= np.finfo(np.float16).eps * np.abs(x).max()


# PyTorch ------------------------------------------------------------------------------------------------------------------


def test_torch_refuses_plain_lanczos_in_both_directions_and_says_who_has_it(torch_library):
    x = torch_library.array(np.ones((1, 1, 2, 2)))
    words = r"backend 'torch' does not do mode 'lanczos3' (forward|backward) .*'ndarray' does every mode"
    with pytest.raises(UnsupportedError, match=words):
        torch_library.backend.interpolate(x, (4, 4), InterpolateOptions("lanczos3"))
    with pytest.raises(UnsupportedError, match=words):
        torch_library.backend.interpolate_backward(x, x, (2, 2), InterpolateOptions("lanczos3"))


def test_torch_refuses_antialias_in_half_precision(torch_library):
    x = torch_library.array(np.ones((1, 1, 4, 4)), np.float16)
    with pytest.raises(UnsupportedError, match="float16"):
        torch_library.backend.interpolate(x, (2, 2), InterpolateOptions("bilinear", False, True))


@pytest.mark.parametrize("mode", [InterpolateMode.NEAREST, InterpolateMode.NEAREST_EXACT])
def test_torch_answers_nearest_exactly_or_not_at_all(torch_library, mode):
    options, refused = InterpolateOptions(mode), 0
    pairs = [(n, m) for n in range(1, 130, 3) for m in range(1, 130, 3)]
    for n, m in pairs:
        x = np.arange(n, dtype=np.float32).reshape(1, 1, n, 1)
        try:
            got = torch_library.forward(x, (m, 1), options)
        except UnsupportedError:
            refused += 1
            continue
        assert (got == REFERENCE.interpolate(x, (m, 1), options)).all()
    assert 0 < refused < len(pairs) / 10


def test_torch_tells_where_its_index_slips(torch_library):
    options = InterpolateOptions("nearest")
    slips = next(
        (n, m)
        for n in range(1, 200)
        for m in range(1, 200)
        if not (
            torch_library.module.nn.functional.interpolate(torch_library.module.arange(float(n)).reshape(1, 1, n), m)
            == torch_library.module.arange(m) * n // m
        ).all()
    )
    x = torch_library.array(np.ones((1, 1, 1, slips[0])))
    with pytest.raises(UnsupportedError, match=f"from {slips[0]} to {slips[1]} samples"):
        torch_library.backend.interpolate(x, (1, slips[1]), options)


@pytest.mark.parametrize("options", [o for o in OPTIONS if o.mode != "lanczos3" or o.antialias], ids=name_of)
def test_torch_autograd_through_forward_is_backward_and_through_backward_is_forward(torch_library, options):
    torch = torch_library.module
    rng = np.random.default_rng(8)
    x = torch.from_numpy(rng.standard_normal((1, 2, 6, 5))).requires_grad_()
    grad = torch.from_numpy(rng.standard_normal((1, 2, 9, 4))).requires_grad_()
    backend = torch_library.backend
    (by_autograd,) = torch.autograd.grad(backend.interpolate(x, (9, 4), options), x, grad)
    assert torch.allclose(by_autograd, backend.interpolate_backward(x, grad, (9, 4), options), rtol=1e-13, atol=1e-13)
    (again,) = torch.autograd.grad(backend.interpolate_backward(x, grad, (9, 4), options), grad, x)
    assert torch.allclose(again, backend.interpolate(x, (9, 4), options), rtol=1e-13, atol=1e-13)


def test_torch_keeps_the_height_of_a_single_column_right(torch_library):
    options = InterpolateOptions("bilinear", False, True)
    assert torch_library.forward([[[[0.0], [1.0]]]], (3, 1), options).ravel().tolist() == [0, 0.5, 1]


def test_torch_refuses_sparse_tensors(torch_library):
    sparse = torch_library.array(np.ones((1, 1, 2, 2))).to_sparse()
    with pytest.raises(DTypeError, match="dense"):
        torch_library.backend.interpolate(sparse, (2, 2), BILINEAR)


# JAX ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(InterpolateMode))
def test_jax_can_be_jitted_and_its_vjp_is_backward(jax_library, mode):
    jax, backend, options = jax_library.module, jax_library.backend, InterpolateOptions(mode, False)
    rng = np.random.default_rng(9)
    x, grad = jax_library.array(rng.random((1, 2, 6, 5))), jax_library.array(rng.random((1, 2, 9, 4)))
    forward = jax.jit(lambda x: backend.interpolate(x, (9, 4), options))
    backward = jax.jit(lambda x, g: backend.interpolate_backward(x, g, (9, 4), options))
    assert np.allclose(forward(x), backend.interpolate(x, (9, 4), options), rtol=0, atol=4 * EPS)
    y, vjp = jax.vjp(forward, x)
    assert y.shape == (1, 2, 9, 4)
    assert np.allclose(vjp(grad)[0], backward(x, grad), rtol=0, atol=40 * EPS)


def test_jax_loops_over_many_taps_as_it_adds_few(jax_library):
    options = InterpolateOptions("lanczos3", False, True)
    x = np.random.default_rng(1).standard_normal((1, 1, 200, 3))
    assert close(jax_library.forward(x, (7, 3), options), REFERENCE.interpolate(x, (7, 3), options), x)
    got = jax_library.backward(x, x[:, :, :7], (7, 3), options)
    assert close(got, REFERENCE.interpolate_backward(x, x[:, :, :7], (7, 3), options), x)


def test_jax_has_bfloat16_and_says_that_float64_must_be_enabled(jax_library):
    x = jax_library.array(np.ones((1, 1, 2, 2))).astype("bfloat16")
    assert jax_library.backend.interpolate(x, (3, 3), BILINEAR).dtype == "bfloat16"
    asked = {"align_corners": True, "antialias": False, "backward": False}
    enabled = jax_library.module.numpy.zeros(1, float).dtype == np.float64
    assert jax_library.backend.supports(InterpolateMode.BILINEAR, **asked, dtype="float64") == enabled


def test_none_of_the_libraries_is_imported_with_burnpy():
    import subprocess

    code = "import sys, burnpy, burnpy.cli; print([n for n in ('scipy', 'torch', 'jax') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
