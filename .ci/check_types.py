"""Check what a consumer of the installed burnpy sees: strict checkers accept what is right and refuse what is wrong.

    python .ci/check_types.py good.py wrong.py

The files, of `tests/typing`, are copied to an empty directory, so that the checkers find the installed package and no
settings, and there

* mypy --strict and pyright's strict mode accept every file without a marked line, which has no comment that silences them,
  and which then runs as a program,
* both refuse every line marked ``# error: MYPY_CODES | PYRIGHT_RULES``, by errors of just these codes, and no other line,
* ``good.py`` imports every public name, so that none is added without its types being looked at.
"""

import ast
import importlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[1] / "tests" / "typing"
PUBLIC = ("burnpy", "burnpy.backends", "burnpy.conformance", "burnpy.options", "burnpy.protocol", "burnpy.taps")
MARK = re.compile(r"# error: (.+) \| (.+)$")
SILENCED = re.compile(r"#\s*(type|pyright|mypy|noqa):")

Errors = dict[int, set[str]]
"""The codes by line."""


def main(files: list[str]) -> int:
    """Check the files; say what is not as it should be."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
        problems = [problem for file in files for problem in _checked(directory, SOURCES / file)]
    problems += [f"good.py does not import {public}" for public in _missing()] if "good.py" in files else []
    print(*problems, f"types: {len(files)} files, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


def _checked(directory: Path, source: Path) -> list[str]:
    shutil.copy(source, directory)
    lines = source.read_text("utf-8").splitlines()
    marks = {number: mark.groups() for number, line in enumerate(lines, 1) if (mark := MARK.search(line))}
    problems = [f"{source.name}: silences a checker: {line.strip()}" for line in lines if SILENCED.search(line)]
    for which, errors in enumerate((_mypy(directory, source.name), _pyright(directory, source.name))):
        checker = ("mypy", "pyright")[which]
        expected = {number: set(mark[which].split(", ")) for number, mark in marks.items()}
        problems += [
            f"{source.name}:{number}: {checker} should say {_listed(expected, number)}, and says {_listed(errors, number)}"
            for number in sorted({*expected, *errors})
            if expected.get(number) != errors.get(number)
        ]
    if not marks:
        done = subprocess.run([sys.executable, "-P", source.name], cwd=directory, check=False)
        problems += [f"{source.name} fails as a program"] if done.returncode else []
    return problems


def _listed(errors: Errors, line: int) -> str:
    return ", ".join(sorted(errors.get(line, ()))) or "nothing"


def _mypy(directory: Path, file: str) -> Errors:
    command = [sys.executable, "-P", "-m", "mypy", "--strict", "--output=json", "--config-file=", file]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"mypy broke on {file}:\n{done.stdout}{done.stderr}")
    errors: Errors = defaultdict(set)
    for line in done.stdout.splitlines():
        found: dict[str, Any] = json.loads(line) if line.startswith("{") else {}  # the last line is a sum in words
        if found.get("severity") == "error":
            errors[found["line"]].add(found["code"])
    return errors


def _pyright(directory: Path, file: str) -> Errors:
    command = [sys.executable, "-P", "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, file]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"pyright broke on {file}:\n{done.stdout}{done.stderr}")
    errors: Errors = defaultdict(set)
    for found in json.loads(done.stdout)["generalDiagnostics"]:
        errors[found["range"]["start"]["line"] + 1].add(found.get("rule", "error"))
    follows = re.compile("reportUnknown|reportUntyped")  # of an error that is named, that a type is not known
    return {line: {rule for rule in rules if not follows.match(rule)} or rules for line, rules in errors.items()}


def _missing() -> list[str]:
    """Return the public names that good.py does not import from anywhere; pyright has checked that it uses its imports."""
    tree = ast.parse((SOURCES / "good.py").read_text("utf-8"))
    nodes = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    imported = {(alias.name, id(_named(str(node.module), alias.name))) for node in nodes for alias in node.names}
    public = [(module, name) for module in PUBLIC for name in importlib.import_module(module).__all__]
    return [f"{module}.{name}" for module, name in public if (name, id(_named(module, name))) not in imported]


def _named(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["good.py", "wrong.py", "libraries.py"]))
