"""The rooms of the house: which file may import which, and what an import costs."""

import ast
import doctest
import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

PACKAGE = Path(__file__).parents[1] / "burnpy"
LAYERS: dict[str, set[str]] = {
    "burnpy._cached": set(),
    "burnpy.errors": set(),
    "burnpy.options": {"burnpy.errors"},
    "burnpy.protocol": {"burnpy.errors", "burnpy.options"},
    "burnpy.taps": {"burnpy.errors", "burnpy.options"},
    "burnpy.backends._plan": {"burnpy.backends._dispatch"},
    "burnpy.backends.reference": {"burnpy._cached", "burnpy.errors", "burnpy.options", "burnpy.protocol"},
    "burnpy.backends.registry": {"burnpy.errors", "burnpy.options", "burnpy.protocol", "burnpy.backends.*"},
}
"""What a module may import of burnpy; a later room may also import all rooms before it."""
ROOMS = ["burnpy._cached", "burnpy.errors", "burnpy.options", "burnpy.protocol", "burnpy.taps", "burnpy.backends",
         "burnpy.functional", "burnpy.modules", "burnpy.conformance", "burnpy.cli", "burnpy.__main__"]  # fmt: skip


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(("burnpy", *path.relative_to(PACKAGE).with_suffix("").parts))
        yield name.removesuffix(".__init__"), path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import"
            module = str(node.module)
            yield from ([f"burnpy.{alias.name}" for alias in node.names] if module == "burnpy" else [module])


def room(name):
    """Return the number of a room; what is in none stands before all."""
    return next((index for index, start in enumerate(ROOMS) if name == start or name.startswith(start + ".")), -1)


@pytest.mark.parametrize(
    ("name", "path"), [m for m in modules() if m[0] != "burnpy"], ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_room_imports_only_from_rooms_before_it(name, path):
    for imported in imports(path):
        if not imported.startswith("burnpy."):
            continue
        if name in LAYERS:
            allowed = LAYERS[name]
            assert imported in allowed or any(imported.startswith(a[:-1]) for a in allowed if a.endswith("*")), imported
        else:
            assert room(imported) <= room(name), f"{name} imports {imported}"


def test_the_oracle_shares_nothing_with_what_it_judges():
    found = set(imports(PACKAGE / "backends" / "reference.py"))
    assert not {name for name in found if "taps" in name or "kernels" in name}


def test_the_kernels_import_only_the_pool_and_the_pool_only_its_size():
    found = {
        name: [
            line for line in (PACKAGE / "backends" / name).read_text().splitlines() if "import" in line and "burnpy" in line
        ]
        for name in ("_kernels.pyx", "_pool.pyx")
    }
    assert found["_kernels.pyx"] == ["from burnpy.backends cimport _pool"]
    assert found["_pool.pyx"] == ["from burnpy.backends import _threads"]


def test_sources_without_compiled_kernels_say_so(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "burnpy", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    done = subprocess.run(
        [sys.executable, "-c", "import burnpy"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert f"burnpy is imported from {tmp_path}, where its kernels are not compiled" in done.stderr


def test_importing_burnpy_imports_no_extra():
    code = "import burnpy, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = set(
        subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "burnpy" in loaded
    assert not loaded & {"PIL", "typer", "click", "rich", "torch", "jax", "scipy", "pytest", "hypothesis", "mpmath"}


@pytest.mark.parametrize("name", [name for name, _ in modules() if not name.startswith(("burnpy.cli", "burnpy.__main__"))])
def test_the_examples_in_docstrings_hold(name):
    library = name.removeprefix("burnpy.backends.")
    if library in ("scipy", "torch", "jax"):
        pytest.importorskip(library)
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
