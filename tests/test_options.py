"""Options and errors: what is refused, and in what words."""

import copy
import pickle
from typing import Any

import pytest

import burnpy
from burnpy import InterpolateMode, InterpolateOptions, OptionError

MODES = ["nearest", "nearest_exact", "bilinear", "bicubic", "lanczos3"]


def test_the_modes_are_burns():
    assert [mode.value for mode in InterpolateMode] == MODES


@pytest.mark.parametrize("name", MODES)
def test_a_mode_may_be_given_by_name(name):
    assert InterpolateOptions(name) == InterpolateOptions(InterpolateMode(name))
    assert InterpolateOptions(name).mode is InterpolateMode(name)


def test_align_corners_is_the_default_and_antialias_is_not():
    options = InterpolateOptions("bilinear")
    assert (options.align_corners, options.antialias) == (True, False)


def test_options_are_values():
    one, same, other = (InterpolateOptions("bicubic", ac) for ac in (False, False, True))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    frozen: Any = one
    with pytest.raises(AttributeError):
        frozen.antialias = True


@pytest.mark.parametrize("mode", ["linear", "", "Bilinear", "BILINEAR", None, 3, b"nearest", ["nearest"]])
def test_an_unknown_mode_is_refused_with_the_list_of_known_ones(mode):
    with pytest.raises(OptionError, match="'nearest', 'nearest_exact', 'bilinear', 'bicubic', 'lanczos3'"):
        InterpolateOptions(mode)


@pytest.mark.parametrize("mode", ["nearest", "nearest_exact"])
def test_antialias_with_a_nearest_mode_is_refused(mode):
    with pytest.raises(OptionError, match="'bilinear', 'bicubic', 'lanczos3'"):
        InterpolateOptions(mode, align_corners=False, antialias=True)


def test_antialias_with_align_corners_is_refused_and_says_what_to_pass():
    with pytest.raises(OptionError, match="pass align_corners=False"):
        InterpolateOptions("bicubic", antialias=True)


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_a_switch_must_be_a_bool(value):
    with pytest.raises(OptionError, match="align_corners must be True or False"):
        InterpolateOptions("bicubic", value)
    with pytest.raises(OptionError, match="antialias must be True or False"):
        InterpolateOptions("bicubic", False, value)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (burnpy.ShapeError, ValueError),
        (burnpy.DTypeError, TypeError),
        (burnpy.OptionError, ValueError),
        (burnpy.UnsupportedError, NotImplementedError),
        (burnpy.BackendNotFoundError, LookupError),
        (burnpy.BackendLoadError, ImportError),
    ],
)
def test_every_error_is_a_burnpy_error_and_the_builtin_one_expects(error, builtin):
    assert issubclass(error, burnpy.BurnpyError)
    assert issubclass(error, builtin)
