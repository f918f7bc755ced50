"""Portable test vectors: cases as files, and the judging of what an implementation in any language made of them.

The format is defined in docs/vectors.md. A vector holds the source that the operator is applied to, the result in float64
(and for the polynomial modes as exact fractions), and the bound on the error of every element in units of eps.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from burnpy.conformance.cases import CELLS, Case, Cell, Level, Size, images
from burnpy.conformance.exact import exact_result
from burnpy.conformance.oracle import STRICT_K, Tolerance, expected
from burnpy.errors import BurnpyError, OptionError, UnsupportedError

__all__ = ["FORMATS", "Format", "Judgement", "check", "export"]

Format: TypeAlias = Literal["json", "npz"] | Literal["safetensors"]  # in files of NumPy and Python alone | by an extra
Arrays: TypeAlias = dict[str, NDArray[Any]]

FORMATS: Final[tuple[Format, ...]] = ("json", "npz", "safetensors")
NAME: Final = "burnpy-vectors"
VERSION: Final = 1

SIZES: Final[tuple[tuple[Size, Size], ...]] = (
    ((1, 1), (2, 3)),
    ((2, 3), (1, 1)),
    ((2, 3), (4, 2)),
    ((4, 4), (4, 4)),
    ((5, 4), (3, 7)),
    ((6, 8), (12, 4)),
    ((7, 9), (13, 5)),
    ((1, 30), (1, 22)),
    ((1, 14), (1, 23)),
)


class VectorError(BurnpyError, ValueError):
    """Files of vectors or of results are not what the format says."""


@dataclass(frozen=True)
class Judgement:
    """What became of one vector.

    Attributes
    ----------
    id : str
    status : "passed", "failed" or "missing"
    message : str
    """

    id: str
    status: Literal["passed", "failed", "missing"]
    message: str = ""


def export(directory: Path, format: Format = "json") -> int:
    """Write all vectors into a directory, which is made if need be, and return how many.

    Raises
    ------
    OptionError
        For an unknown format.
    UnsupportedError
        For safetensors without the package of that name.
    """
    if format not in FORMATS:
        raise OptionError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    directory.mkdir(parents=True, exist_ok=True)
    entries: list[dict[str, Any]] = []
    files: dict[str, str] = {}
    for cell in CELLS:
        cases = list(_cases(cell))
        names = [f"{cell.id.replace('/', '-')}-{number:02}" for number in range(len(cases))]
        arrays = {name: _arrays(case) for name, case in zip(names, cases, strict=True)}
        path = directory / f"{cell.id.replace('/', '-')}.{format}"
        _write(path, format, arrays)
        files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        entries += [_entry(name, case, path.name) for name, case in zip(names, cases, strict=True)]
    manifest = {"format": NAME, "version": VERSION, "files": files, "vectors": entries}
    (directory / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    return len(entries)


def _cases(cell: Cell) -> Iterator[Case]:
    for number, (size, output_size) in enumerate(SIZES):
        lead = (2, 2) if number == 2 else (1, 1)
        content = ("ramp", "checker", "ramp")[number % 3]
        yield Case(cell, (*lead, *size), output_size, values=content)
    yield from images(cell, [((3, 2), (4, 5))], values="impulse")


def _arrays(case: Case) -> Arrays:
    source = case.source()
    tiny, eps = 2 * float(np.finfo(np.float64).smallest_subnormal), float(np.finfo(np.float64).eps)
    core = expected(case, source, Tolerance("core"))
    strict = expected(case, source, Tolerance("strict", (("float64", 1.0),)))
    bounds = {"bound": (core.bound - tiny) / eps, "magnitude": (strict.bound - tiny) / eps}
    arrays: Arrays = {"source": source, "expected": core.values, **bounds}
    fractions = exact_result(case)
    if fractions is not None:
        arrays["expected"] = np.array([float(value) for value in fractions]).reshape(case.result_shape)
        arrays["fractions"] = np.array([f"{value.numerator}/{value.denominator}" for value in fractions])
    return arrays


def _entry(name: str, case: Case, file: str) -> dict[str, Any]:
    return {
        "id": name,
        "file": file,
        "mode": case.cell.mode,
        "align_corners": case.options.align_corners,
        "antialias": case.options.antialias,
        "direction": case.cell.direction,
        "shape": list(case.shape),
        "output_size": list(case.output_size),
        "exact": not case.cell.mode.startswith("lanczos"),
    }


def _write(path: Path, format: Format, arrays: dict[str, Arrays]) -> None:
    if format == "json":
        lines = (json.dumps({"id": name, **_plain(mine)}) for name, mine in arrays.items())
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return
    flat = {f"{name}/{key}": array for name, mine in arrays.items() for key, array in mine.items() if key != "fractions"}
    if format == "npz":
        np.savez(path, allow_pickle=False, **flat)
    else:
        _safetensors().save_file({key: np.ascontiguousarray(array) for key, array in flat.items()}, str(path))


def _plain(arrays: Arrays) -> dict[str, Any]:
    """Return arrays as flat lists; Python writes the shortest digits that give the float back."""
    return {key: array.reshape(-1).tolist() for key, array in arrays.items()}


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ModuleNotFoundError:
        raise UnsupportedError('the safetensors format needs its package: pip install "burnpy[vectors]"') from None
    return safetensors.numpy


def check(directory: Path, results: Path, *, level: Level = "core", dtype: str = "float64") -> list[Judgement]:
    """Judge results: at core by ``|error| <= eps(dtype) * bound``, at strict by ``|error| <= 8 * eps(dtype) * magnitude``.

    Parameters
    ----------
    directory : Path
        What `export` wrote.
    results : Path
        A directory with ``results.json``, ``results.npz`` or ``results.safetensors``: one result an id; or a file.
    level : "core" or "strict"
    dtype : str
        The precision that the implementation computes in.

    Returns
    -------
    list of Judgement
        One for every vector of the manifest, in its order.

    Raises
    ------
    VectorError
        If a file does not have its checksum, is of another version, or is no such file.
    """
    manifest = _manifest(directory)
    found = _results(results)
    eps = float(np.finfo(dtype).eps)
    cache: dict[str, dict[str, Arrays]] = {}
    verdicts: list[Judgement] = []
    for entry in manifest["vectors"]:
        file = entry["file"]
        if file not in cache:
            cache[file] = _read(directory / file, manifest["files"].get(file))
        verdicts.append(_judge(entry, cache[file][entry["id"]], found.get(entry["id"]), level, eps))
    unknown = set(found) - {entry["id"] for entry in manifest["vectors"]}
    verdicts += [Judgement(name, "failed", "no vector has this id") for name in sorted(unknown)]
    return verdicts


def _manifest(directory: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((directory / "manifest.json").read_text("utf-8"))
    except ValueError as error:
        raise VectorError(f"{directory / 'manifest.json'} is not JSON: {error}") from error
    if manifest.get("format") != NAME or manifest.get("version") != VERSION:
        raise VectorError(
            f"{directory} holds {manifest.get('format')} version {manifest.get('version')}, not {NAME} {VERSION}"
        )
    return manifest


def _read(path: Path, checksum: str | None) -> dict[str, Arrays]:
    """Return the arrays of a file by vector and name."""
    if hashlib.sha256(path.read_bytes()).hexdigest() != checksum:
        raise VectorError(f"{path} does not have the checksum that the manifest says: export the vectors again")
    if path.suffix == ".json":
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return {record.pop("id"): {key: np.array(value) for key, value in record.items()} for record in records}
    arrays: dict[str, Arrays] = {}
    for key, array in _flat(path).items():
        name, _, part = key.rpartition("/")
        arrays.setdefault(name, {})[part] = array
    return arrays


def _flat(path: Path) -> Arrays:
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    loaded: Arrays = _safetensors().load_file(str(path))
    return loaded


def _results(path: Path) -> Arrays:
    """Return results by id, from whichever of the formats there is."""
    candidates = [path] if path.is_file() else [path / f"results.{format}" for format in FORMATS]
    file = next((candidate for candidate in candidates if candidate.is_file()), None)
    if file is None:
        raise VectorError(f"{path} holds no results.json, results.npz or results.safetensors")
    if file.suffix != ".json":
        return _flat(file)
    try:
        records = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
        return {record["id"]: np.array([_number(v) for v in record["result"]], np.float64) for record in records}
    except (ValueError, KeyError, TypeError) as error:
        raise VectorError(f"{file} must hold lines {{'id': ..., 'result': [...]}}: {error!r}") from error


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _judge(entry: dict[str, Any], arrays: Arrays, result: NDArray[Any] | None, level: Level, eps: float) -> Judgement:
    if result is None:
        return Judgement(entry["id"], "missing", "there is no result for it")
    want, got = arrays["expected"].reshape(-1), np.asarray(result, np.float64).reshape(-1)
    if got.size != want.size:
        return Judgement(entry["id"], "failed", f"expected {want.size} elements, got {got.size}")
    bound = eps * (arrays["bound"] if level == "core" else STRICT_K * arrays["magnitude"]).reshape(-1)
    error = np.abs(got - want)
    wrong = ~(error <= bound)
    if not wrong.any():
        return Judgement(entry["id"], "passed")
    first = int(np.flatnonzero(wrong)[0])
    backward = entry["direction"] == "backward"
    shape = entry["shape"] if backward else [*entry["shape"][:2], *entry["output_size"]]
    at = [int(i) for i in np.unravel_index(first, shape)]
    exactly = f" = {Fraction(arrays['fractions'][first].item())}" if "fractions" in arrays else ""
    message = (
        f"element {at}: expected {want[first]!s}{exactly}, got {got[first]!s}, off by {error[first]:.3g}, bound "
        f"{bound[first]:.3g}; {int(wrong.sum())} of {wrong.size} elements are wrong"
    )
    return Judgement(entry["id"], "failed", message)
