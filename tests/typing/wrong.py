"""What a strict checker must refuse: every marked line, by just these codes of mypy and of pyright, and no other line."""

from contextlib import AbstractContextManager
from typing import Any, TypeAlias, assert_type

import numpy as np
from numpy.typing import NDArray

from burnpy import Backend, Interpolate2d, InterpolateMode, InterpolateOptions, interpolate, interpolate_backward
from burnpy.backends import NdarrayBackend, get, set_default, use
from burnpy.conformance import Outcome, parametrize_with_checks, run
from burnpy.options import ModeName
from burnpy.protocol import ArrayT, SupportsQuery

Array: TypeAlias = NDArray[Any]
Size: TypeAlias = tuple[int, int]

single: NDArray[np.float32] = np.ones((1, 1, 2, 2), np.float32)
whole: NDArray[np.int64] = np.ones((1, 1, 2, 2), np.int64)
bilinear = InterpolateOptions("bilinear")
backend = NdarrayBackend()

# Modes and options
InterpolateOptions("linear")  # error: arg-type | reportArgumentType
InterpolateOptions("bilinear", antialias="yes")  # error: arg-type | reportArgumentType
bilinear.antialias = True  # error: misc | reportAttributeAccessIssue
linear: InterpolateMode = InterpolateMode.LINEAR  # error: attr-defined | reportAttributeAccessIssue
mode: ModeName = "Bilinear"  # error: assignment | reportAssignmentType

Interpolate2d(3, mode="area")  # error: arg-type | reportArgumentType
interpolate(single, 3, mode="area")  # error: call-overload | reportArgumentType

# Arrays, sizes and results
interpolate(whole, 3)  # error: type-var | reportArgumentType
interpolate([[[1.0, 2.0]]], 3)  # error: call-overload | reportArgumentType
interpolate(single, 2.5)  # error: call-overload | reportArgumentType
interpolate(single, scale_factor="2")  # error: arg-type | reportArgumentType
interpolate(single, 3, None)  # error: call-overload | reportCallIssue
interpolate(single, 3, align=True)  # error: call-overload | reportCallIssue
interpolate_backward(single, 2)  # error: call-overload | reportArgumentType
interpolate_backward(1, single, 2)  # error: call-overload | reportArgumentType
kept: NDArray[np.float64] = interpolate(single, 3)  # error: arg-type | reportAssignmentType
backend.interpolate(single, (3,), bilinear)  # error: arg-type | reportArgumentType
backend.interpolate(single, (3, 3), "bilinear")  # error: arg-type | reportArgumentType
assert_type(Interpolate2d(3)(single), NDArray[np.float64])  # error: assert-type | reportAssertTypeFailure

# The registry
get(NdarrayBackend)  # error: call-overload | reportCallIssue, reportArgumentType
set_default(backend)  # error: arg-type | reportArgumentType
entered: AbstractContextManager[Backend[Any]] = use(3)  # error: arg-type | reportArgumentType
named: Backend[list[float]] = get("ndarray")  # error: assignment | reportAssignmentType


# Third parties' classes
class WithoutBackward:
    name = "forward only"

    def interpolate(self, x: Array, output_size: Size, options: InterpolateOptions, /) -> Array:
        return x


class WithoutName:
    def interpolate(self, x: Array, output_size: Size, options: InterpolateOptions, /) -> Array:
        return x

    def interpolate_backward(self, x: Array, grad: Array, output_size: Size, options: InterpolateOptions, /) -> Array:
        return x


class Swapped:
    name = "grad after output_size"

    def interpolate(self, x: Array, output_size: Size, options: InterpolateOptions, /) -> Array:
        return x

    def interpolate_backward(self, x: Array, output_size: Size, grad: Array, options: InterpolateOptions, /) -> Array:
        return x


class Lists:
    name = "returns what it does not take"

    def interpolate(self, x: Array, output_size: Size, options: InterpolateOptions, /) -> list[float]:
        return []

    def interpolate_backward(self, x: Array, grad: Array, output_size: Size, options: InterpolateOptions, /) -> list[float]:
        return []


class Keywords:
    name = "wants its options by keyword"

    def interpolate(self, x: Array, output_size: Size, *, options: InterpolateOptions) -> Array:
        return x

    def interpolate_backward(self, x: Array, grad: Array, output_size: Size, *, options: InterpolateOptions) -> Array:
        return x

    def supports(self, mode: InterpolateMode) -> bool:
        return True


without_backward: Backend[Array] = WithoutBackward()  # error: assignment | reportAssignmentType
without_name: Backend[Array] = WithoutName()  # error: assignment | reportAssignmentType
swapped: Backend[Array] = Swapped()  # error: assignment | reportAssignmentType
lists: Backend[Array] = Lists()  # error: assignment | reportAssignmentType
keywords: Backend[Array] = Keywords()  # error: assignment | reportAssignmentType
asked: SupportsQuery = Keywords()  # error: assignment | reportAssignmentType
interpolate(single, 3, backend=WithoutBackward())  # error: call-overload | reportCallIssue, reportArgumentType


def generic(by: Backend[ArrayT], x: ArrayT) -> ArrayT:
    by.interpolate(single, (3, 3), bilinear)  # error: arg-type | reportArgumentType
    return by.interpolate(x, (3, 3), "bilinear")  # error: arg-type | reportArgumentType


generic(backend, [1.0])  # error: misc | reportArgumentType

# The conformance checks
run(WithoutBackward())  # error: arg-type | reportArgumentType
run(backend, level="lax")  # error: arg-type | reportArgumentType
run(backend, to_numpy="numpy")  # error: arg-type | reportArgumentType


@parametrize_with_checks(Swapped())  # error: arg-type | reportArgumentType
def test_of_a_wrong_backend(check: Outcome) -> None:
    check()


@parametrize_with_checks(backend, tolerance={"float32": 16})  # error: call-arg | reportCallIssue
def test_of_a_misspelt_setting(check: Outcome) -> None:
    check(1)  # error: call-arg | reportCallIssue
