"""The backend is found by name, is right where it says it is, and says what it is not."""

import numpy as np
import pytest

import burnpy
from burnpy.conformance import Outcome, parametrize_with_checks


@parametrize_with_checks("example")
def test_conformance(check: Outcome) -> None:
    check()


def test_it_is_found_by_name() -> None:
    x = np.array([[[[0.0, 1.0]]]])
    assert burnpy.interpolate(x, (1, 3), mode="bilinear", backend="example").tolist() == [[[[0.0, 0.5, 1.0]]]]


def test_it_says_what_it_does_not_do() -> None:
    with pytest.raises(burnpy.UnsupportedError, match="nearest and bilinear"):
        burnpy.interpolate(np.ones((1, 1, 2, 2)), 4, mode="bicubic", backend="example")
