"""Backends by name: what is registered, what is installed, what is in use, and what goes wrong without harming others.

The plug-ins are real distributions, built and installed by pip into a directory of their own, and used by fresh
interpreters that have it on their path.
"""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pytest

import burnpy
from burnpy import (
    BackendLoadError,
    BackendNotFoundError,
    BurnpyError,
    DuplicateBackendError,
    InterpolateOptions,
    InvalidBackendError,
    OptionError,
    backends,
)
from burnpy.backends import NdarrayBackend
from burnpy.protocol import SupportsQuery

GOOD = """
class Plug:
    name = "{name}"

    def interpolate(self, x, output_size, options):
        return "forward"

    def interpolate_backward(self, x, grad, output_size, options):
        return "backward"
"""

PLUGINS = {
    "plug-good": ("good", "Plug", GOOD),
    "plug-instance": ("instance", "plug", GOOD + "\nplug = Plug()\n"),
    "plug-broken": ("broken", "Plug", "import an_engine_that_nobody_has\n"),
    "plug-exits": ("exits", "Plug", "import sys\nsys.exit(3)\n"),
    "plug-wrong-type": ("wrong_type", "plug", "plug = 42\n"),
    "plug-lacks": ("lacks", "Plug", GOOD.partition("    def interpolate_backward")[0]),
    "plug-other-arguments": ("other_arguments", "Plug", GOOD.replace("(self, x, grad,", "(self, grad,")),
    "plug-no-attribute": ("no_attribute", "Plug", ""),
    "plug-liar": ("liar", "Plug", GOOD.replace("{name}", "ndarray")),
    "plug-shadow": ("ndarray", "Plug", GOOD),
    "plug-twin-a": ("twin", "Plug", GOOD),
    "plug-twin-b": ("twin", "Plug", GOOD),
    "plug-prints": ("prints", "Plug", "print('what a noise')\n" + GOOD),
    "plug-asks-for-itself": ("itself", "Plug", "import burnpy.backends\nburnpy.backends.get('itself')\n" + GOOD),
    "plug-slow": ("slow", "Plug", "import time\ntime.sleep(0.3)\nprint('imported')\n" + GOOD),
}
"""Distribution: its entry point's name, the attribute it names, and the module's text."""

FAULTS = {
    "broken": "ModuleNotFoundError: No module named 'an_engine_that_nobody_has'",
    "exits": "SystemExit: 3",
    "wrong_type": "interpolate(x, output_size, options) is missing",
    "lacks": "interpolate_backward(x, grad, output_size, options) is missing",
    "other_arguments": "cannot be called as interpolate_backward(x, grad, output_size, options)",
    "no_attribute": "AttributeError",
    "liar": "it calls itself 'ndarray'",
    "itself": "asks for itself",
}


def write_distribution(directory, distribution, name, attribute, text):
    module = distribution.replace("-", "_")
    directory.mkdir()
    (directory / f"{module}.py").write_text(text.replace("{name}", name))
    (directory / "pyproject.toml").write_text(
        f"""
        [build-system]
        requires = ["setuptools"]
        build-backend = "setuptools.build_meta"

        [project]
        name = "{distribution}"
        version = "1.5"

        [project.entry-points."burnpy.backends"]
        {name} = "{module}:{attribute}"

        [tool.setuptools]
        py-modules = ["{module}"]
        """
    )


def install(directories, target):
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "--root-user-action=ignore", "--target", target, *directories],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the directory into which all the plug-ins are installed."""
    sources, target = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("installed")
    for distribution, plugin in PLUGINS.items():
        write_distribution(sources / distribution, distribution, *plugin)
    install([sources / distribution for distribution in PLUGINS], target)
    return target


def python(code, path="", **variables):
    """Run code in a fresh interpreter with ``path`` on its path, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def as_before():
    """Leave no backend, default or variable behind."""
    before = set(backends.names())
    yield
    for name in set(backends.names()) - before:
        backends.unregister(name)
    backends.set_default(None)


class Mine:
    name = "mine"

    def interpolate(self, x, output_size, options):
        return x + 1

    def interpolate_backward(self, x, grad, output_size, options):
        return grad + 1


# Installed plug-ins -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["good", "instance", "plug-good:good", "plug-shadow:ndarray", "plug-twin-b:twin"])
def test_an_installed_plug_in_is_found_by_name(installed, name):
    code = f"import burnpy; b = burnpy.backends.get({name!r}); print(b.name, b.interpolate(0, 0, 0), type(b).__module__)"
    module = {"good": "plug_good", "instance": "plug_instance"}.get(name, name.partition(":")[0].replace("-", "_"))
    assert python(code, installed) == f"{name.partition(':')[2] or name} forward {module}\n"


def test_the_functions_take_a_plug_in_by_name(installed):
    code = "import burnpy, numpy; print(burnpy.interpolate(numpy.ones((1, 1, 2, 2)), 3, backend='good'))"
    assert python(code, installed) == "forward\n"


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_plug_in_fails_who_asks_for_it_and_names_its_distribution(installed, name):
    code = f"""
        import burnpy
        for _ in range(2):
            try:
                burnpy.backends.get({name!r})
            except burnpy.BackendLoadError as error:
                print(error, "|", type(error.__cause__).__name__)
        print(burnpy.backends.info({name!r}).state, burnpy.backends.get().name)
    """
    first, second, after = python(code, installed).splitlines()
    assert first == second
    distribution = next(d for d, plugin in PLUGINS.items() if plugin[0] == name)
    assert f"backend {name!r} (entry point of {distribution} 1.5) cannot be loaded: " in first
    assert FAULTS[name] in first
    assert not first.endswith("| NoneType")
    assert after == "broken ndarray"


def test_the_listing_shows_all_and_imports_none(installed):
    code = """
        import burnpy, json, sys
        found = [vars(burnpy.backends.info(name)) for name in burnpy.backends.names()]
        print(json.dumps(found), [module for module in sys.modules if module.startswith("plug_")])
    """
    text = python(code, installed)
    found = {entry["name"]: entry for entry in json.loads(text[: text.rindex("[")])}
    assert text.endswith(" []\n")
    bare = {plugin[0] for plugin in PLUGINS.values()} - {"twin", "ndarray"}
    assert {"jax", "ndarray", "reference", "scipy", "torch"} | bare <= set(found)
    assert {"plug-twin-a:twin", "plug-twin-b:twin", "plug-shadow:ndarray"} <= set(found)
    assert "twin" not in found
    assert found["good"] == {
        "name": "good", "origin": "entry point of plug-good 1.5", "state": "not loaded", "reason": ""
    }  # fmt: skip


def test_the_command_line_lists_the_faulty_beside_the_good(installed):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "burnpy", "backends"],
        env={**os.environ, "PYTHONPATH": str(installed), "COLUMNS": "250"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for fault in FAULTS.values():
        assert fault in done.stdout
    assert "what a noise" not in done.stdout
    assert "what a noise" in done.stderr


def test_a_name_that_two_claim_is_no_ones_and_the_error_says_how_to_choose(installed):
    code = """
        import burnpy
        try:
            burnpy.backends.get("twin")
        except burnpy.BackendNotFoundError as error:
            print(error)
    """
    assert "ask for 'plug-twin-a:twin' or 'plug-twin-b:twin'" in python(code, installed)


def test_a_built_in_name_stays_the_built_in_ones(installed):
    assert python("import burnpy; print(type(burnpy.backends.get('ndarray')).__module__)", installed) == (
        "burnpy.backends.ndarray\n"
    )


def test_eight_threads_at_once_load_a_plug_in_once_and_get_the_same(installed):
    code = """
        import burnpy, threading
        start, got = threading.Barrier(8), []
        def ask():
            start.wait()
            got.append(burnpy.backends.get("slow"))
        threads = [threading.Thread(target=ask) for _ in range(8)]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        print(len(got), len(set(map(id, got))))
    """
    assert python(code, installed) == "imported\n8 1\n"


def test_one_plug_in_that_loads_does_not_keep_others_waiting(installed):
    code = """
        import burnpy, threading, time
        thread = threading.Thread(target=burnpy.backends.get, args=("slow",))
        thread.start()
        time.sleep(0.1)
        print(burnpy.backends.get("good").name, burnpy.backends.info("slow").state, flush=True)
        thread.join()
    """
    assert python(code, installed) == "good not loaded\nimported\n"


def test_importing_burnpy_and_using_ndarray_reads_no_metadata(installed):
    code = """
        import sys
        import numpy, burnpy
        burnpy.interpolate(numpy.ones((1, 1, 2, 2)), 3, backend="ndarray")
        burnpy.interpolate(numpy.ones((1, 1, 2, 2)), 3)
        print("importlib.metadata" in sys.modules, [module for module in sys.modules if module.startswith("plug_")])
    """
    assert python(code, installed) == "False []\n"


def test_refresh_finds_what_was_installed_meanwhile_and_keeps_what_is_loaded(installed, tmp_path):
    target = tmp_path / "later"
    target.mkdir()
    write_distribution(tmp_path / "source", "plug-late", "late", "Plug", GOOD)
    code = f"""
        import burnpy, subprocess, sys
        sys.path.append({str(target)!r})
        good = burnpy.backends.get("good")
        assert "late" not in burnpy.backends.names()
        sys.stdin.readline()
        assert "late" not in burnpy.backends.names()
        burnpy.backends.refresh()
        print(burnpy.backends.get("late").name, burnpy.backends.get("good") is good)
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(installed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    install([tmp_path / "source"], target)
    assert process.communicate("go\n")[0] == "late True\n"
    assert process.returncode == 0


def test_metadata_that_cannot_be_read_harms_no_one(installed, tmp_path):
    bad = tmp_path / "bad-1.0.dist-info"
    bad.mkdir()
    (bad / "METADATA").write_text("Name: bad\nVersion: 1.0\n")
    (bad / "entry_points.txt").write_bytes(b"[burnpy.backends]\n\xff\xfe\n")
    code = "import burnpy; print(burnpy.backends.get('good').name)"
    assert python(code, f"{tmp_path}{os.pathsep}{installed}") == "good\n"


def test_a_missing_library_is_listed_with_the_line_that_installs_it():
    code = """
        import sys
        sys.modules["torch"] = None  # what an import system says of a library that is not there
        import burnpy
        print(burnpy.backends.info("torch"))
        try:
            burnpy.backends.get("torch")
        except burnpy.BackendLoadError as error:
            print(error)
    """
    known, error = python(code).splitlines()
    assert "state='not installed'" in known
    assert 'pip install "burnpy[torch]"' in known
    assert 'pip install "burnpy[torch]"' in error


# Registered by the program ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [Mine(), Mine, lambda: Mine()], ids=["object", "class", "function"])
def test_a_registered_backend_is_found_listed_and_forgotten(given):
    backends.register("mine", given)
    assert "mine" in backends.names()
    assert backends.info("mine").origin == f"registered by {__name__}"
    anything: Any = None
    assert backends.get("mine").interpolate(1, anything, anything) == 2
    assert backends.info("mine").state == "loaded"
    backends.unregister("mine")
    assert "mine" not in backends.names()
    with pytest.raises(BackendNotFoundError, match="registered are: none"):
        backends.unregister("mine")


def test_a_factory_is_called_when_its_name_is_asked_for_and_once():
    calls = []

    def make():
        calls.append(1)
        return Mine()

    backends.register("mine", make)
    assert calls == []
    assert backends.get("mine") is backends.get("mine")
    assert calls == [1]


def test_a_factory_that_fails_is_tried_again_after_refresh():
    ready: list[object] = []

    def make():
        if not ready:
            raise RuntimeError("not yet")
        return Mine()

    backends.register("mine", make)
    with pytest.raises(BackendLoadError, match="RuntimeError: not yet") as caught:
        backends.get("mine")
    assert isinstance(caught.value.__cause__, RuntimeError)
    ready.append(True)
    with pytest.raises(BackendLoadError):
        backends.get("mine")
    backends.refresh()
    assert backends.get("mine").name == "mine"


def test_registering_the_same_object_twice_is_no_error_another_one_is():
    mine = Mine()
    backends.register("mine", mine)
    backends.register("mine", mine)
    with pytest.raises(DuplicateBackendError, match="override=True"):
        backends.register("mine", Mine())
    backends.register("mine", other := Mine(), override=True)
    assert backends.get("mine") is other


def test_a_built_in_name_is_taken_only_on_purpose_and_given_back():
    with pytest.raises(DuplicateBackendError, match="built in"):
        backends.register("ndarray", Mine())
    backends.register("ndarray", mine := Mine(), override=True)
    try:
        found: object = backends.get("ndarray")
        assert found is mine
    finally:
        backends.unregister("ndarray")
    assert isinstance(backends.get("ndarray"), NdarrayBackend)


class NoName(Mine):
    name = ""


class NotCallable:
    name = "not callable"
    interpolate = 3
    interpolate_backward = Mine.interpolate_backward


class Swapped:
    name = "swapped"
    interpolate = Mine.interpolate

    def interpolate_backward(self, x):
        return x


class BadSupports(Mine):
    def supports(self, mode):
        return True


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (NoName(), "name must be a string"),
        (NotCallable(), "interpolate is not callable"),
        (Swapped(), "interpolate_backward(x) cannot be called as"),
        (BadSupports(), "supports(mode, *, align_corners, antialias, backward, dtype)"),
        (42, "interpolate_backward(x, grad, output_size, options) is missing"),
    ],
    ids=["name", "not callable", "arguments", "supports", "anything"],
)
def test_what_a_wrong_backend_lacks_is_named_when_it_is_registered(wrong, words):
    with pytest.raises(InvalidBackendError) as caught:
        backends.register("wrong", wrong)
    assert words in str(caught.value)
    assert "wrong" not in backends.names()
    with pytest.raises(InvalidBackendError), backends.use(wrong):
        pass


@pytest.mark.parametrize("name", ["", "a:b", 3, None])
def test_a_name_must_be_a_string_without_a_colon(name):
    with pytest.raises(OptionError):
        backends.register(name, Mine())


@pytest.mark.parametrize(("asked", "meant"), [("ndaray", "ndarray"), ("Torch", "torch"), ("referense", "reference")])
def test_a_close_miss_is_suggested(asked, meant):
    with pytest.raises(BackendNotFoundError, match=f"did you mean '{meant}'"):
        backends.get(asked)
    with pytest.raises(BackendNotFoundError, match="ndarray"):
        backends.info(asked)


def test_a_far_miss_lists_what_there_is():
    with pytest.raises(BackendNotFoundError, match=r"no backend is named 'xyzzy'; There are .*ndarray, reference"):
        backends.get("xyzzy")


@pytest.mark.parametrize("wrong", [3, b"ndarray", ["ndarray"]])
def test_a_backend_is_asked_for_by_a_string(wrong):
    with pytest.raises(BackendNotFoundError, match="a string"):
        backends.get(wrong)


def test_names_cannot_be_changed():
    assert isinstance(backends.names(), tuple)


# In use -------------------------------------------------------------------------------------------------------------------

X = np.ones((1, 1, 2, 2))


def test_use_nests_and_ends_even_when_the_block_fails():
    assert backends.get().name == "ndarray"
    with backends.use("reference") as outer:
        assert backends.get() is outer
        with pytest.raises(KeyError, match="True"), backends.use(mine := Mine()):
            raise KeyError(backends.get() is mine)
        assert backends.get() is outer
    assert backends.get().name == "ndarray"


def test_use_decides_for_functions_and_a_named_backend_decides_over_it():
    with backends.use(Mine()):
        assert (burnpy.interpolate(X, 2) == 2).all()
        assert (burnpy.interpolate_backward(X, X, 2) == 2).all()
        assert (burnpy.interpolate(X, 2, backend="ndarray") == 1).all()
        assert burnpy.Interpolate2d(output_size=2, mode="bilinear")(X).max() == 2


def test_use_of_a_name_that_is_not_there_enters_no_block():
    with pytest.raises(BackendNotFoundError), backends.use("nowhere"):
        pytest.fail("entered")


def test_use_does_not_reach_another_thread():
    seen = []
    with backends.use("reference"):
        thread = threading.Thread(target=lambda: seen.append(backends.get().name))
        thread.start()
        thread.join()
    assert seen == ["ndarray"]


def test_use_does_not_reach_another_task():
    async def one(name, entered, other_entered):
        with backends.use(name):
            entered.set()
            await other_entered.wait()
            return backends.get().name

    async def both():
        first, second = asyncio.Event(), asyncio.Event()
        names = await asyncio.gather(one("reference", first, second), one("scipy-like", second, first))
        return [*names, backends.get().name]

    backends.register("scipy-like", type("Like", (Mine,), {"name": "scipy-like"}))
    assert asyncio.run(both()) == ["reference", "scipy-like", "ndarray"]


def test_the_default_is_the_one_set_else_the_variable_else_ndarray(monkeypatch):
    assert backends.default() == "ndarray"
    monkeypatch.setenv("BURNPY_BACKEND", "reference")
    assert (backends.default(), backends.get().name) == ("reference", "reference")
    backends.set_default("ndarray")
    assert backends.get().name == "ndarray"
    backends.set_default(None)
    assert backends.get().name == "reference"
    with backends.use("ndarray"):
        assert backends.get().name == "ndarray"


def test_a_wrong_variable_is_named_in_the_error(monkeypatch):
    monkeypatch.setenv("BURNPY_BACKEND", "refrence")
    with pytest.raises(BackendNotFoundError, match=r"variable BURNPY_BACKEND .*did you mean 'reference'"):
        burnpy.interpolate(X, 2)


def test_a_default_that_is_not_there_is_refused():
    with pytest.raises(BackendNotFoundError):
        backends.set_default("nowhere")
    assert backends.default() == "ndarray"


def test_the_registrys_errors_are_burnpys_and_the_built_in_kind():
    assert issubclass(DuplicateBackendError, (BurnpyError, ValueError))
    assert issubclass(InvalidBackendError, BurnpyError)
    assert issubclass(InvalidBackendError, TypeError)
    assert issubclass(BackendLoadError, ImportError)
    assert issubclass(BackendNotFoundError, LookupError)


@pytest.mark.parametrize("name", ["ndarray", "reference", "scipy", "torch", "jax"])
def test_every_built_in_backend_goes_by_its_name_and_answers_the_protocol(name):
    if name in ("scipy", "torch", "jax"):
        pytest.importorskip(name)
    backend = backends.get(name)
    assert backend.name == name
    assert isinstance(backend, burnpy.Backend)
    assert isinstance(backend, SupportsQuery)
    o = InterpolateOptions("bilinear")
    assert backend.supports(o.mode, align_corners=True, antialias=False, backward=True, dtype="float32") is True
