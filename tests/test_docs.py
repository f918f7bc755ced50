"""The Python in the README and in docs/ runs as it stands there, each page from top to bottom."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import burnpy
from burnpy.backends import NdarrayBackend, register, unregister

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if BLOCK.search(page.read_text("utf-8"))
]


class MyBackend(NdarrayBackend):
    """What pages call the reader's own."""

    name = "mine"


@pytest.fixture
def given(monkeypatch):
    """Return what pages take for granted: modules, the reader's backend, the example's that is installed, an image."""
    module = types.ModuleType("mine")
    monkeypatch.setattr(module, "MyBackend", MyBackend, raising=False)
    monkeypatch.setitem(sys.modules, "mine", module)
    register("example", MyBackend)
    yield {"burnpy": burnpy, "np": np, "MyBackend": MyBackend, "x": np.ones((1, 1, 4, 4))}
    unregister("example")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_on_a_page_run(page, given):
    text = page.read_text("utf-8")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), given)
