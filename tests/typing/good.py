"""What a consumer writes and a strict checker accepts, with the types that it sees; it runs as a program too.

`.ci/check_types.py` checks it outside the source tree, against the installed wheel, and that it imports every public name.
"""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar, assert_type

import numpy as np
from numpy.typing import NDArray

import burnpy
from burnpy import (
    Backend,
    BackendLoadError,
    BackendNotFoundError,
    BurnpyError,
    DTypeError,
    DuplicateBackendError,
    Interpolate1d,
    Interpolate2d,
    InterpolateMode,
    InterpolateOptions,
    InvalidBackendError,
    OptionError,
    ShapeError,
    UnsupportedError,
    __version__,
    backends,
    get_num_threads,
    interpolate,
    interpolate_backward,
    set_num_threads,
)
from burnpy.backends import (
    BackendInfo,
    NdarrayBackend,
    ReferenceBackend,
    default,
    get,
    info,
    names,
    refresh,
    register,
    set_default,
    unregister,
    use,
)
from burnpy.conformance import (
    CELLS,
    Case,
    Cell,
    Check,
    Level,
    Outcome,
    Report,
    Result,
    Status,
    all_checks,
    parametrize_with_checks,
    plan,
    replay,
    run,
    values,
)
from burnpy.options import ModeLike, ModeName
from burnpy.protocol import (
    ArrayT,
    SupportsQuery,
    check_grad_shape,
    check_image_shape,
    check_supported,
    checked_sizes,
    supports,
)
from burnpy.taps import Taps, build_taps

if TYPE_CHECKING:
    from burnpy.backends.jax import JaxBackend
    from burnpy.backends.scipy import ScipyBackend
    from burnpy.backends.torch import TorchBackend

FloatT = TypeVar("FloatT", np.float32, np.float64)

single: NDArray[np.float32] = np.ones((1, 1, 2, 2), np.float32)
double: NDArray[np.float64] = np.ones((1, 1, 2, 2))
half: NDArray[np.float16] = np.ones((1, 1, 2, 2), np.float16)
bilinear = InterpolateOptions("bilinear")


def the_dtype_is_kept() -> None:
    assert_type(interpolate(single, 3), NDArray[np.float32])
    assert_type(interpolate(double, (3, 4), mode="bicubic"), NDArray[np.float64])
    assert_type(interpolate(half, scale_factor=(2.0, 0.5)), NDArray[np.float16])
    assert_type(interpolate(single, 3, backend="reference"), NDArray[np.float32])
    assert_type(interpolate(single, 3, backend=NdarrayBackend()), NDArray[np.float32])
    assert_type(interpolate_backward(single, single, 2), NDArray[np.float32])
    assert_type(interpolate_backward((1, 1, 4, 4), single, 2), NDArray[np.float32])
    assert_type(interpolate_backward((1, 1, 4, 4), single, 2, backend="ndarray"), NDArray[np.float32])
    assert_type(NdarrayBackend().interpolate(single, (3, 3), bilinear), NDArray[np.float32])
    assert_type(NdarrayBackend().interpolate_backward(double, double, (2, 2), bilinear), NDArray[np.float64])
    assert_type(ReferenceBackend().interpolate(double, (3, 3), bilinear), NDArray[np.float64])
    assert_type(Interpolate2d(3)(single), NDArray[np.float32])
    signal: NDArray[np.float64] = np.ones((1, 1, 2))
    assert_type(Interpolate1d(scale_factor=2.0).forward(signal), NDArray[np.float64])


def generic_over_the_dtype(x: NDArray[FloatT]) -> NDArray[FloatT]:
    return interpolate(interpolate(x, scale_factor=0.5), x.shape[2:])


def sizes_are_whatever_counts() -> None:
    results = [
        interpolate(single, 3),
        interpolate(single, np.int64(3)),
        interpolate(single, [np.int8(3), 3]),
        interpolate(single, np.array([3, 3])),
        interpolate(single, scale_factor=1.5),
        interpolate(single, scale_factor=np.float32(1.5)),
        interpolate(single, scale_factor=(Fraction(3, 2), 1.5)),
        interpolate(single, scale_factor=np.array([1.5, 1.5])),
    ]
    assert all(result.shape == (1, 1, 3, 3) for result in results)


def modes_are_the_enum_or_its_strings() -> None:
    by_name: ModeName = "nearest_exact"
    both: list[ModeLike] = [by_name, InterpolateMode.NEAREST_EXACT]
    for mode in both:
        assert_type(InterpolateOptions(mode).mode, InterpolateMode)
        interpolate(single, 3, mode=mode)
    assert_type(bilinear.align_corners, bool)
    assert_type(bilinear.mode.is_nearest, bool)


def a_name_says_which_backend() -> None:
    assert_type(get("ndarray"), NdarrayBackend)
    assert_type(get("reference"), ReferenceBackend)
    assert_type(get(), Backend[Any])
    the_default: Backend[NDArray[np.float32]] = get("ndarray")
    assert the_default.name == "ndarray"


def libraries_that_are_missing_harm_nobody() -> None:
    with suppress(BackendLoadError):
        of_scipy: ScipyBackend = get("scipy")
        assert of_scipy.name == "scipy"
    with suppress(BackendLoadError):
        of_torch: TorchBackend = get("torch")
        assert of_torch.name == "torch"
    with suppress(BackendLoadError):
        of_jax: JaxBackend = get("jax")
        assert of_jax.name == "jax"


class Nearest:
    """A third party's backend: it inherits from nothing of burnpy."""

    name = "mine"

    def interpolate(self, x: NDArray[Any], output_size: tuple[int, int], options: InterpolateOptions, /) -> NDArray[Any]:
        sizes = checked_sizes(output_size)
        check_image_shape(x.shape, sizes)
        check_supported(self, options, backward=False, dtype=x.dtype.name, why="it is an example")
        rows, columns = (np.arange(m) * n // m for n, m in zip(x.shape[2:], sizes, strict=True))
        return np.array(x[:, :, rows][:, :, :, columns])

    def interpolate_backward(
        self, x: NDArray[Any], grad: NDArray[Any], output_size: tuple[int, int], options: InterpolateOptions, /
    ) -> NDArray[Any]:
        check_grad_shape(x.shape, grad.shape, output_size)
        return NdarrayBackend().interpolate_backward(x, grad, output_size, options)

    def supports(
        self, mode: InterpolateMode, /, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
    ) -> bool:
        return mode is InterpolateMode.NEAREST


class Boxed:
    """An array library of one's own."""

    def __init__(self, array: NDArray[np.float64]) -> None:
        self.array = array


class BoxedBackend:
    """A backend for it; ``name`` may be a property, and arguments may have other names and be passed by keyword too."""

    @property
    def name(self) -> str:
        return "boxed"

    def interpolate(self, image: Boxed, size: tuple[int, int], options: InterpolateOptions) -> Boxed:
        return Boxed(interpolate(image.array, size, mode=options.mode))

    def interpolate_backward(self, image: Boxed, grad: Boxed, size: tuple[int, int], options: InterpolateOptions) -> Boxed:
        return Boxed(interpolate_backward(image.array, grad.array, size, mode=options.mode))


def there_and_back(backend: Backend[ArrayT], x: ArrayT, size: tuple[int, int]) -> ArrayT:
    return backend.interpolate_backward(x, backend.interpolate(x, size, InterpolateOptions("nearest")), size, bilinear)


def a_class_satisfies_the_protocol_by_its_members() -> None:
    mine: Backend[NDArray[Any]] = Nearest()
    boxed: Backend[Boxed] = BoxedBackend()
    asked: SupportsQuery = Nearest()
    switches = {"align_corners": True, "antialias": False, "backward": False}
    assert asked.supports(InterpolateMode.NEAREST, **switches, dtype="float32")
    assert not supports(mine, InterpolateMode.BICUBIC, **switches, dtype="float32")
    assert isinstance(mine, Backend)
    x = Boxed(double)
    assert_type(boxed.interpolate(x, (3, 3), bilinear), Boxed)
    assert_type(interpolate_by(boxed, x), Boxed)
    assert_type(there_and_back(BoxedBackend(), x, (3, 3)), Boxed)
    assert_type(there_and_back(NdarrayBackend(), single, (3, 3)), NDArray[np.float32])


def interpolate_by(backend: Backend[ArrayT], x: ArrayT) -> ArrayT:
    return backend.interpolate(x, (3, 3), bilinear)


def the_registry() -> None:
    register("mine", Nearest())
    register("boxed", BoxedBackend, override=True)
    register("mine too", lambda: Nearest())
    assert_type(info("mine"), BackendInfo)
    assert_type(names(), tuple[str, ...])
    assert_type(default(), str)
    with use("mine") as by_name:
        assert_type(by_name, Backend[Any])
    with use(BoxedBackend()) as by_object:
        assert by_object.name == "boxed"
    set_default("mine")
    set_default(None)
    for name in ("mine", "boxed", "mine too"):
        unregister(name)
    refresh()
    assert backends.get is get


def errors_are_of_one_family_and_of_python() -> None:
    family: list[type[BurnpyError]] = [
        BackendLoadError,
        BackendNotFoundError,
        DTypeError,
        DuplicateBackendError,
        InvalidBackendError,
        OptionError,
        ShapeError,
        UnsupportedError,
    ]
    value_errors: list[type[ValueError]] = [ShapeError, OptionError, DuplicateBackendError]
    type_errors: list[type[TypeError]] = [DTypeError, InvalidBackendError]
    assert len(family) > len(value_errors) > len(type_errors)
    try:
        interpolate(single, 0)
    except ShapeError as error:
        assert_type(error, ShapeError)


def operators_as_data() -> None:
    taps = build_taps(2, 4, bilinear)
    assert_type(taps, Taps)
    assert_type(taps.transpose(), Taps)
    assert_type(taps.to_dense(), NDArray[np.float64])
    assert_type(taps.first, NDArray[np.intp])


def threads() -> None:
    assert_type(get_num_threads(), int)
    set_num_threads(2)
    version: str = __version__
    assert burnpy.__version__ == version


def in_a_test_suite() -> tuple[Callable[[Outcome], None], Callable[..., None]]:
    """Not called here: the decorator imports pytest."""

    @parametrize_with_checks(Nearest(), level="strict", expected_failures={"every_size": "known"}, select="nearest")
    def test_conformance(check: Outcome) -> None:
        check()

    assert_type(test_conformance(Outcome.__new__(Outcome)), None)

    @parametrize_with_checks("ndarray")
    def test_by_name(check: Callable[[], None], tmp_path: object) -> None:
        check()

    return test_conformance, test_by_name


def conformance() -> None:
    level: Level = "core"
    report = run(Nearest(), level=level, select="nearest/align_corners/forward and shape_and_dtype")
    assert_type(report, Report)
    assert report.passed, str(report)
    result: Result = report.results[0]
    assert_type(result.status, Status)
    assert_type(result.check, Check)
    assert_type(result.cell, Cell)
    assert_type(report.to_json(), str)
    assert_type(CELLS, tuple[Cell, ...])
    assert_type(plan(level), list[tuple[Check, Cell]])
    assert_type(all_checks(), tuple[Check, ...])
    case = Case(CELLS[0], (1, 1, 2, 2), (3, 3))
    assert_type(values("ramp", case.shape, "float32"), NDArray[Any])
    replay(Nearest(), "shape_and_dtype", case)


if __name__ == "__main__":
    the_dtype_is_kept()
    assert generic_over_the_dtype(single).shape == single.shape
    sizes_are_whatever_counts()
    modes_are_the_enum_or_its_strings()
    a_name_says_which_backend()
    libraries_that_are_missing_harm_nobody()
    a_class_satisfies_the_protocol_by_its_members()
    the_registry()
    errors_are_of_one_family_and_of_python()
    operators_as_data()
    threads()
    conformance()
