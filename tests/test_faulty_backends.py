"""The harness's own test: every fault is caught by the check that is about it, and nothing right is accused."""

import multiprocessing
import os
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from faulty_backends import FAULTS, Dense
from faulty_backends.base import exact, refuse
from faulty_backends.judging import BY_NAME, judge

from burnpy.backends import NdarrayBackend, get
from burnpy.conformance import all_checks, run
from burnpy.conformance import subject as subject_module
from burnpy.conformance.oracle import Expectation, expected


@pytest.fixture(scope="module")
def kills():
    with multiprocessing.get_context("spawn").Pool(min(os.cpu_count() or 1, 4)) as pool:
        return dict(pool.imap_unordered(judge, BY_NAME))


def test_there_are_at_least_sixty_faults():
    assert len(BY_NAME) == len(FAULTS) >= 60


@pytest.mark.parametrize("name", BY_NAME)
def test_every_fault_is_caught_by_the_check_that_is_about_it(kills, name):
    assert BY_NAME[name].about in kills[name]["failed"]


@pytest.mark.parametrize("name", BY_NAME)
def test_no_fault_breaks_the_harness(kills, name):
    assert not kills[name]["error"]


def test_the_kill_matrix(kills, capsys):
    """Print faults against checks; ``o`` is the check that is about the fault."""
    checks = [check.id for check in all_checks()]
    with capsys.disabled():
        print("\n\nkill matrix: fault x check (o: the check about the fault, x: another)")
        for number, check in enumerate(checks):
            print(f"  {number:2} {check}")
        print(f"{'':36}" + "".join(f"{number:3}" for number in range(len(checks))))
        for name, fault in BY_NAME.items():
            marks = ("o" if check == fault.about else "x" if check in kills[name]["failed"] else "." for check in checks)
            print(f"{name:36}" + "".join(f"{mark:>3}" for mark in marks))
        caught = sum(fault.about in kills[name]["failed"] for name, fault in BY_NAME.items())
        print(f"caught by the check about it: {caught} of {len(FAULTS)}")
    assert caught == len(FAULTS)


# Checks that are never alone, since the oracle sees the same faults. They are worth their time where the oracle itself is
# wrong: each of these faults goes unseen by every check of values when the oracle makes the same mistake.
WITHOUT_ORACLE = {
    "values_published": "AlwaysHalfPixel",
    "constants_are_preserved": "LanczosNotDivided",
    "flips_commute": "ShiftedByAHundredth",
    "axes_are_alike": "AntialiasAlongWidthOnly",
    "adjoint_to_forward": "GradientForgetsAlignCorners",
    "adjoint_of_every_basis_vector": "GradientOfBilinearForBicubic",
    "agrees_with_central_differences": "GradientIsTheResizeBack",
}


def test_every_check_is_the_only_one_to_catch_some_fault_or_needs_no_oracle(kills):
    alone = {next(iter(kill["failed"])) for kill in kills.values() if len(kill["failed"]) == 1}
    assert {check.id for check in all_checks()} - alone - set(WITHOUT_ORACLE) == set()


@pytest.mark.parametrize("check", WITHOUT_ORACLE)
def test_a_law_catches_what_a_wrong_oracle_approves(check, monkeypatch):
    fault = BY_NAME[WITHOUT_ORACLE[check]]
    wrong = fault.make()

    def mistaken(case, source, tolerance):
        right = expected(case, source, tolerance)
        x = np.asarray(source, np.float64)
        if case.backward:
            shape = (*x.shape[:2], *case.shape[2:])
            values = wrong.interpolate_backward(np.zeros(shape), x, case.output_size, case.options)
        else:
            values = wrong.interpolate(x, case.output_size, case.options)
        return Expectation(values, right.bound)

    monkeypatch.setattr(subject_module, "expected", mistaken)
    report = run(fault.make(), select=fault.cells)
    failed = {result.check.id for result in report.results if result.status == "failed"}
    assert check in failed
    assert not failed & {"values_along_height", "values_along_width", "values_of_images", "values_at_large_sizes"}


class OtherOrder(Dense):
    """Height first, then width."""

    def product(self, x, high, wide):
        return ((high @ x.astype(np.float64)) @ wide.T).astype(x.dtype)


class OwnPrecision(Dense):
    """Everything in the precision of the array, weights too, by a contraction over both axes at once."""

    def product(self, x, high, wide):
        own = np.float32 if x.dtype == np.float16 else x.dtype
        return np.einsum("ai,ncij,bj->ncab", high.astype(own), x.astype(own), wide.astype(own)).astype(x.dtype)


class DoubleInside(NdarrayBackend):
    """Computes in float64 whatever comes in."""

    def interpolate(self, x, output_size, options):
        refuse(x, None, output_size, options)
        return super().interpolate(x.astype(np.float64), output_size, options).astype(x.dtype)

    def interpolate_backward(self, x, grad, output_size, options):
        refuse(x, grad, output_size, options)
        return (
            super()
            .interpolate_backward(x.astype(np.float64), grad.astype(np.float64), output_size, options)
            .astype(x.dtype)
        )


class Sparse(Dense):
    """scipy.sparse operators."""

    def product(self, x, high, wide):
        import scipy.sparse

        rows = x.astype(np.float64).transpose(2, 3, 0, 1).reshape(x.shape[2], -1)
        both = scipy.sparse.csr_array(high) @ rows
        columns = both.reshape(len(high), x.shape[3], -1).transpose(1, 0, 2).reshape(x.shape[3], -1)
        result = scipy.sparse.csr_array(wide) @ columns
        return np.ascontiguousarray(result.reshape(len(wide), len(high), *x.shape[:2]).transpose(2, 3, 1, 0)).astype(
            x.dtype
        )


RIGHT: dict[str, Any] = {
    "ndarray": NdarrayBackend,
    "dense product": Dense,
    "passes in the other order": OtherOrder,
    "own precision": OwnPrecision,
    "float64 inside": DoubleInside,
    "scipy sparse": Sparse,
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_backend_by_another_route_passes_at_level_core(name):
    if name == "scipy sparse":
        pytest.importorskip("scipy.sparse")
    report = run(RIGHT[name]())
    assert report.passed, str(report)
    exact.cache_clear()


@pytest.mark.parametrize("name", ["reference", "scipy", "torch", "jax"])
def test_no_registered_backend_is_accused_at_level_core(name):
    if name != "reference":
        pytest.importorskip(name)
    # JAX compiles anew for every shape, a tenth of a second each: one cell there, which also calls the other direction.
    report = run(get(name), select="bilinear/half_pixel/backward" if name == "jax" else None)
    assert report.passed, str(report)


def test_a_wrong_backend_prints_few_lines_since_what_rests_on_a_failure_is_blocked():
    report = run(BY_NAME["HeightAndWidthSwapped"].make(), select="bilinear")
    counts: defaultdict[str, int] = defaultdict(int)
    for result in report.results:
        counts[result.status] += 1
    assert counts["failed"] <= 6 < counts["blocked"]
