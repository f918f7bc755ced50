"""The harness's front ends, and the promises of its reports: nothing dropped, nothing green that did not run."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from faulty_backends import FAULTS, Dense, Wrapped
from typer.testing import CliRunner

from burnpy import DTypeError, OptionError, UnsupportedError
from burnpy.backends import NdarrayBackend, register, unregister
from burnpy.cli import app
from burnpy.conformance import CELLS, all_checks, parametrize_with_checks, plan, run
from burnpy.conformance.html import to_html
from burnpy.conformance.junit import to_junit
from burnpy.conformance.select import Selection, read_expected_failures

BY_NAME = {fault.name: fault for fault in FAULTS}
ONE = "bilinear/half_pixel/forward"
NO_TERMINAL = {
    **os.environ,
    "NO_COLOR": "1",
    "COLUMNS": "200",
    "PYTHONSAFEPATH": "1",
    "PYTHONPATH": str(Path(__file__).parent),
}


class Limited(Wrapped):
    """Right, and without lanczos3 and gradients, as it says."""

    name = "limited"

    def supports(self, mode, *, align_corners, antialias, backward, dtype):
        return mode != "lanczos3" and not backward and dtype != "float16"

    def interpolate_backward(self, x, grad, output_size, options):
        raise UnsupportedError("no gradients")

    def interpolate(self, x, output_size, options):
        if options.mode == "lanczos3" or getattr(x, "dtype", None) == np.float16:
            raise UnsupportedError("no lanczos3 and no float16")
        return super().interpolate(x, output_size, options)


class Nothing(NdarrayBackend):
    name = "nothing"
    supports: Any = None  # it says nothing, and refuses when asked

    def interpolate(self, x, output_size, options):
        raise UnsupportedError("nothing")

    def interpolate_backward(self, x, grad, output_size, options):
        raise UnsupportedError("nothing")


@pytest.fixture(scope="module")
def limited():
    return run(Limited(), select="half_pixel and (bilinear or lanczos3)")


@pytest.fixture(scope="module")
def wrong():
    return run(BY_NAME["CubicOfAnotherLibrary"].make(), select="bicubic/align_corners/forward")


def test_every_check_says_in_a_sentence_what_must_hold():
    for check in all_checks():
        assert check.sentence.endswith((".", ")")), check.id
        assert len(check.sentence.split()) > 8, check.id
        assert set(check.needs) <= {other.id for other in all_checks()}


def test_the_size_of_the_levels_is_pinned_so_that_no_check_is_lost_unseen():
    """If this fails, checks were added or removed: change the numbers knowingly."""
    assert len(CELLS) == 26
    assert Counter(check.level for check in all_checks()) == {"core": 31, "strict": 14}
    assert len(plan("core")) == 716
    assert len(plan("strict")) == 1043


def test_cases_add_up_whatever_the_backend_does(limited, wrong):
    for report in (limited, wrong, run(Nothing(), select=ONE)):
        assert [(result.check, result.cell) for result in report.results] == plan("core")
        for result in report.results:
            assert sum(result.counts.values()) == result.cases


def test_what_is_declared_unsupported_is_neither_passed_nor_failed(limited):
    matrix = limited.matrix()
    assert matrix["lanczos3", "half_pixel", "forward"]["core"] == "unsupported"
    assert matrix["bilinear", "half_pixel", "backward"]["core"] == "unsupported"
    assert matrix["bilinear", "half_pixel", "forward"]["core"] == "passed"
    assert limited.passed
    assert "no lanczos3" in " ".join(limited.left_out())


def test_what_did_not_run_is_untested_and_listed(limited):
    assert limited.matrix()["nearest", "half_pixel", "forward"]["core"] == "untested"
    assert sum(map(len, limited.left_out().values())) == sum(result.status != "passed" for result in limited.results)


def test_a_run_with_nothing_supported_fails():
    report = run(Nothing(), select=ONE)
    assert not report.failures
    assert not report.passed


def test_a_run_with_nothing_selected_fails():
    assert not run("ndarray", select="no_such_check").passed


def test_a_malformed_expression_is_refused_before_the_run():
    with pytest.raises(OptionError, match="expected"):
        run("ndarray", select="bicubic and")


@pytest.mark.parametrize(
    ("text", "matches"),
    [("", True), ("linear", True), ("not linear", False), ("cubic and (forward or nothing)", True), ("nothing", False)],
)
def test_selection_understands_and_or_not(text, matches):
    assert Selection(text).matches("linear", "bicubic/half_pixel/forward") is matches


def test_an_element_type_that_is_supported_nowhere_may_be_refused_as_such_before_the_mode():
    class OnlyBilinear(NdarrayBackend):
        name = "only bilinear in double precision"

        def supports(self, mode, *, align_corners, antialias, backward, dtype):
            return mode == "bilinear" and dtype == "float64"

        def interpolate(self, x, output_size, options):
            if getattr(x, "dtype", None) != np.float64:
                raise DTypeError("float64 only")
            if options.mode != "bilinear":
                raise UnsupportedError("bilinear only")
            return super().interpolate(x, output_size, options)

    report = run(OnlyBilinear(), select="forward and declares_what_it_can")
    assert not report.failures, str(report)


def test_refusing_in_spite_of_supports_is_a_failure():
    class Sly(Wrapped):
        name = "sly"

        def supports(self, mode, **_):
            return True

        def around(self, call, arrays, output_size, options):
            if output_size[0] == 13:
                raise UnsupportedError("thirteen")
            return call(*arrays, output_size, options)

    report = run(Sly(), select=f"{ONE} and values_along_height")
    assert [result.status for result in report.failures] == ["failed"]
    assert "supports() says True" in str(report.failures[0].failure)


def test_refusing_without_supports_makes_a_cell_partial_and_never_green():
    class Choosy(Wrapped):
        name = "choosy"

        def around(self, call, arrays, output_size, options):
            if output_size[0] == 13:
                raise UnsupportedError("thirteen")
            return call(*arrays, output_size, options)

    report = run(Choosy(), select=ONE)
    assert report.matrix()["bilinear", "half_pixel", "forward"]["core"] == "partial"


def test_a_supports_that_raises_is_a_failure_and_no_crash():
    class Broken(Wrapped):
        name = "broken"

        supports: Any = len  # which takes no such arguments

    report = run(Broken(), select=ONE)
    assert report.failures[0].check.id == "declares_what_it_can"
    assert "supports() raised TypeError" in str(report.failures[0].failure)


def test_a_backend_that_exits_is_a_failure_and_no_crash():
    class Exits(Wrapped):
        name = "exits"

        def around(self, call, arrays, output_size, options):
            raise SystemExit(3)

    assert {result.status for result in run(Exits(), select=ONE).failures} == {"failed", "blocked"}


def test_a_failure_tells_a_stranger_everything(wrong):
    text = str(wrong)
    for part in ("CubicOfAnotherLibrary", "values_along_height", "bicubic, align_corners, forward", "x (1, 1, ", "float64"):
        assert part in text
    assert re.search(r"first wrong element \[.*\]: expected \S+, got \S+, off by \S+ = \S+ tolerances of \S+", text)


def test_the_smallest_failing_case_comes_first(wrong):
    costs = [result.failure.case.cost for result in wrong.failures if result.failure]
    assert costs == sorted(costs)


def test_a_reproducer_runs_and_shows_the_failure(wrong):
    result = next(result for result in wrong.failures if result.check.id == "values_along_height")
    done = subprocess.run(result.failure.reproducer, shell=True, capture_output=True, text=True, env=path_of_python())
    assert done.returncode == 0, done.stderr
    got = re.search(r"got ([-\d.e]+)", result.failure.message)
    assert got
    numbers = [float(text) for text in re.findall(r"-?\d+\.\d*(?:e[-+]\d+)?", done.stdout)]
    assert any(number == pytest.approx(float(got[1]), abs=1e-7) for number in numbers)


def test_a_reproducer_of_a_check_replays_it():
    report = run(BY_NAME["LosesNegativeStrides"].make(), select=f"{ONE} and any_layout")
    failure = report.failures[0].failure
    assert failure
    done = subprocess.run(failure.reproducer, shell=True, capture_output=True, text=True, env=path_of_python())
    assert done.stdout.startswith("Failed: layout reversed"), done.stderr


def path_of_python():
    return {**NO_TERMINAL, "PATH": str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]}


def test_an_expected_failure_is_no_failure_and_excuses_what_rests_on_it():
    fault = BY_NAME["AFullVectorOfRows"]
    report = run(fault.make(), select=ONE, expected_failures={f"values_along_height/{ONE}": "rows of 16"})
    assert report.passed, str(report)
    assert report.matrix()["bilinear", "half_pixel", "forward"]["core"] == "expected failure"


def test_an_expected_failure_that_passes_is_reported():
    report = run("ndarray", select=f"{ONE} and linear", expected_failures={f"linear/{ONE}": "long mended"})
    assert [result.status for result in report.failures] == ["unexpected pass"]
    assert "long mended" in str(report)


def test_an_expected_failure_that_names_nothing_is_reported():
    report = run("ndarray", select=f"{ONE} and linear", expected_failures={"no_such_check": "typing error"})
    assert not report.passed
    assert report.dead == ("no_such_check",)


def test_expected_failures_need_a_reason(tmp_path):
    path = tmp_path / "known.txt"
    path.write_text("# known\nlinear/*/*/forward: clips\n")
    assert read_expected_failures(path) == {"linear/*/*/forward": "clips"}
    path.write_text("linear\n")
    with pytest.raises(OptionError, match="reason"):
        read_expected_failures(path)


def test_an_authors_tolerance_is_used_and_shown():
    backend = BY_NAME["WeightsInHalfPrecision"].make()
    loose = run(backend, select="lanczos3/align_corners/forward and values_along", tolerances={"float64": 1e13})
    assert loose.passed
    assert "1e+13" in loose.tolerances["float64"]["core"]


def test_two_runs_report_the_same():
    def outcome():
        return [(result.id, result.status, result.counts) for result in run(Dense(), select=ONE).results]

    assert outcome() == outcome()


def test_json_holds_everything(wrong):
    data = json.loads(wrong.to_json())
    assert data["passed"] is False
    assert len(data["matrix"]) == 26
    assert len(data["results"]) == len(wrong.results)
    assert sum(data["cases"].values()) == sum(result.cases for result in wrong.results)
    assert any("failure" in result for result in data["results"])


def test_junit_counts_failures_and_skips(wrong):
    suite = ET.fromstring(to_junit(wrong))[0]
    assert suite.get("tests") == str(len(wrong.results)) == str(len(suite))
    assert suite.get("failures") == str(len(wrong.failures)) == str(len(suite.findall("testcase/failure")))


def test_html_is_one_page_with_every_backend(wrong, limited):
    page = to_html(limited, wrong)
    assert "limited" in page
    assert "CubicOfAnotherLibrary" in page
    assert not re.search(r"(src|href)=", page)


def test_custom_arrays_are_converted():
    class Boxed:
        """Wraps arrays in an object of its own."""

        def __init__(self, array):
            self.array = array
            self.shape = array.shape

    class Boxing(Wrapped):
        name = "boxing"

        def interpolate(self, x, output_size, options):
            return Boxed(super().interpolate(x.array, output_size, options))

        def interpolate_backward(self, x, grad, output_size, options):
            return Boxed(super().interpolate_backward(x.array, grad.array, output_size, options))

    report = run(Boxing(), select="bilinear", from_numpy=Boxed, to_numpy=lambda box: box.array)
    assert report.passed, str(report)
    assert report.counts["skipped"]


@parametrize_with_checks("ndarray", select="nearest/half_pixel")
def test_the_decorator_runs_checks(check):
    check()


def run_pytest(tmp_path, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=NO_TERMINAL)


AUTHOR = """
from faulty_backends import FAULTS
from burnpy.conformance import parametrize_with_checks
faulty = next(fault for fault in FAULTS if fault.name == "AFullVectorOfRows").make()

@parametrize_with_checks(faulty, expected_failures={"values_along_height/bilinear/half_pixel/forward": "rows of 16", KNOWN})
def test_conformance(check):
    check()
"""


def test_in_an_authors_suite_failures_are_strictly_expected(tmp_path):
    (tmp_path / "test_known.py").write_text(AUTHOR.replace("KNOWN", ""))
    done = run_pytest(tmp_path, "-k", "bilinear and half_pixel and forward")
    assert done.returncode == 0, done.stdout
    assert "xfailed" in done.stdout
    (tmp_path / "test_known.py").write_text(AUTHOR.replace("KNOWN", '"linear/bilinear/half_pixel/forward": "mended"'))
    done = run_pytest(tmp_path, "-k", "linear/bilinear and half_pixel and forward")
    assert done.returncode == 1
    assert "take it off the list" in done.stdout


def test_pytest_runs_the_package_with_a_backend_by_name(tmp_path):
    arguments = ["--pyargs", "burnpy.conformance", "--burnpy-backend", "ndarray", "-k", "nearest/half_pixel/forward"]
    done = run_pytest(tmp_path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"2\d passed", done.stdout)


def test_pytest_without_the_option_says_what_is_missing(tmp_path):
    done = run_pytest(tmp_path, "--pyargs", "burnpy.conformance")
    assert done.returncode != 0
    assert "--burnpy-backend NAME" in done.stdout + done.stderr


def test_the_plugin_costs_other_projects_nothing():
    code = "import sys, _burnpy_pytest; print('burnpy' in sys.modules or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=NO_TERMINAL)
    assert done.stdout.split() == ["False"]


def test_importing_burnpy_does_not_import_the_harness():
    code = "import sys, burnpy; print([n for n in sys.modules if 'conformance' in n or n == 'pytest'])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=NO_TERMINAL
        ).stdout.strip()
        == "[]"
    )


def test_running_needs_no_pytest():
    code = "import sys, burnpy.conformance as c; c.run('ndarray', select='linear/nearest/'); print('pytest' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=NO_TERMINAL
        ).stdout.strip()
        == "False"
    )


@pytest.fixture
def registered():
    register("limited", Limited)
    register("WrongBeyondAVector", BY_NAME["WrongBeyondAVector"].make)
    yield
    unregister("limited")
    unregister("WrongBeyondAVector")


def test_the_command_judges_several_backends_and_writes_reports(tmp_path, registered):
    files = {name: tmp_path / f"report.{name}" for name in ("json", "junit", "html")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    done = CliRunner().invoke(app, ["conformance", "ndarray", "limited", "-k", ONE, *options])
    assert done.exit_code == 0, done.output
    assert "PASSED: ndarray at level core" in done.output
    assert [report["backend"] for report in json.loads(files["json"].read_text())] == ["ndarray", "limited"]
    assert len(ET.parse(files["junit"]).getroot()) == 2
    assert "limited" in files["html"].read_text()


def test_the_command_fails_with_a_wrong_backend(registered):
    done = CliRunner().invoke(app, ["conformance", "WrongBeyondAVector", "-k", ONE])
    assert done.exit_code == 1
    assert "reproduce" in done.output


def test_the_command_refuses_an_unknown_level():
    done = CliRunner().invoke(app, ["conformance", "ndarray", "--level", "lenient"])
    assert done.exit_code != 0


def test_the_command_exports_and_checks_vectors(tmp_path):
    assert CliRunner().invoke(app, ["vectors", "export", str(tmp_path)]).exit_code == 0
    (tmp_path / "results.json").write_text("")
    done = CliRunner().invoke(app, ["vectors", "check", str(tmp_path), "--results", str(tmp_path)])
    assert done.exit_code == 1
    assert "0 of 260 vectors passed" in done.output


def test_the_search_finds_and_shrinks_what_fixed_cases_miss():
    from burnpy.conformance.search import search

    class WrongAtNineteen(Wrapped):
        name = "wrong_at_nineteen"

        def after(self, result, arrays, output_size, options):
            return result * 2 if result.shape[2] > 18 and arrays[-1].shape[3] > 6 else result

    report = search(WrongAtNineteen(), seed=3, budget=20, select=f"{ONE} and every_dtype")
    assert [finding.case.output_size[0] for finding in report.findings] == [19]
    case = report.findings[0].case
    assert case.shape[3] == 7
    assert case.shape[:3] == (1, 1, 1)
    assert "reproduce" in str(report)


def test_the_search_passes_a_right_backend_and_says_how_much_it_tried():
    from burnpy.conformance.search import search

    report = search("ndarray", seed=1, budget=3, select="bicubic/half_pixel")
    assert report.passed
    assert 0 < report.judged <= report.tried  # how many a budget of time allows is the machine's affair
