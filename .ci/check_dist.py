"""Build the sdist, the wheel from the sdist, each in an empty environment, and check what is in them.

python .ci/check_dist.py DIRECTORY

leaves both in DIRECTORY. Besides what `twine` and `check-wheel-contents` know: the wheel has every file that is meant to be
installed, and the sdist every file of the repository but those that are left out on purpose; neither has anything else.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]

IN_WHEEL = ["burnpy/*.py", "burnpy/*.pyi", "burnpy/py.typed", "burnpy/conformance/published.json", "_burnpy_pytest.py"]
"""What a wheel has of the repository, entirely, and nothing else but compiled modules and what its format asks for."""
COMPILED = re.compile(r"burnpy/backends/_(pool|kernels(_avx2|_avx512)?)\.[^/]+\.(so|pyd)")
METADATA = re.compile(r"burnpy-[^/]+\.dist-info/(METADATA|WHEEL|RECORD|top_level\.txt|entry_points\.txt|licenses/LICENSE)")

NOT_IN_SDIST = [".*"]
"""What concerns the repository alone: the settings of git and of CI."""
ONLY_IN_SDIST = ["PKG-INFO", "setup.cfg", "burnpy.egg-info/*"]
"""What setuptools adds: metadata."""


def main(directory: str) -> int:
    """Build and check; say what is not as it should be."""
    into = Path(directory).resolve()
    _run("build", "--outdir", str(into), str(ROOT))  # the sdist, and from it the wheel
    (sdist,), (wheel,) = into.glob("*.tar.gz"), into.glob("*.whl")
    _run("twine", "check", "--strict", str(sdist), str(wheel))
    _run("check_wheel_contents", "--config", str(ROOT / "pyproject.toml"), str(wheel))
    problems = [*_of_the_wheel(wheel), *_of_the_sdist(sdist)]
    print(*problems, f"distribution: {sdist.name} and {wheel.name}, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


def _run(module: str, *arguments: str) -> None:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{module} {' '.join(arguments)} failed")


def _of_the_wheel(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if not name.endswith("/")}
    expected = {name for name in _tracked() if _is_one_of(name, IN_WHEEL)}
    more = {name for name in inside - expected if not COMPILED.fullmatch(name) and not METADATA.fullmatch(name)}
    problems = [f"the wheel lacks {name}" for name in sorted(expected - inside)]
    problems += [f"the wheel should not have {name}" for name in sorted(more)]
    problems += ["the wheel has no compiled kernels"] if not any(map(COMPILED.fullmatch, inside)) else []
    problems += ["the wheel has no licence"] if not any(name.endswith("licenses/LICENSE") for name in inside) else []
    return problems


def _of_the_sdist(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        inside = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    expected = {name for name in _tracked() if not _is_one_of(name, NOT_IN_SDIST)}
    more = {name for name in inside - expected if not _is_one_of(name, ONLY_IN_SDIST)}
    problems = [f"the sdist lacks {name}" for name in sorted(expected - inside)]
    return problems + [f"the sdist should not have {name}" for name in sorted(more)]


def _tracked() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def _is_one_of(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
