"""Portable vectors: complete, exact, the same in every format, and a program in C judges itself by them."""

import hashlib
import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnpy import InterpolateOptions, OptionError, backends
from burnpy.backends.reference import axis_matrix
from burnpy.conformance import CELLS, vectors
from burnpy.conformance.exact import exact_matrix

EXAMPLE = Path(__file__).parent.parent / "examples" / "vectors_c" / "check_vectors.c"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    directory = tmp_path_factory.mktemp("vectors")
    vectors.export(directory, "json")
    return directory


def records(directory):
    manifest = json.loads((directory / "manifest.json").read_text())
    lines = {}
    for file in manifest["files"]:
        for line in (directory / file).read_text().splitlines():
            record = json.loads(line)
            lines[record["id"]] = record
    return [(entry, lines[entry["id"]]) for entry in manifest["vectors"]]


def answer(entry, record, backend, dtype="float64"):
    options = InterpolateOptions(entry["mode"], entry["align_corners"], entry["antialias"])
    shape, size = entry["shape"], tuple(entry["output_size"])
    source = np.array(record["source"], dtype)
    if entry["direction"] == "forward":
        return backend.interpolate(source.reshape(shape), size, options)
    return backend.interpolate_backward(np.zeros(shape, dtype), source.reshape(*shape[:2], *size), size, options)


def write_results(directory, path, backend, dtype="float64", change=lambda name, result: result):
    lines = []
    for entry, record in records(directory):
        result = change(entry["id"], answer(entry, record, backend, dtype).reshape(-1).astype(float))
        lines.append(json.dumps({"id": entry["id"], "result": result.tolist()}))
    path.write_text("\n".join(lines))
    return path


def test_every_cell_has_vectors_of_grown_and_shrunk_images(exported):
    entries = [entry for entry, _ in records(exported)]
    cells = {(e["mode"], e["align_corners"], e["antialias"], e["direction"]) for e in entries}
    assert len(cells) == len(CELLS)
    for cell in cells:
        mine = [e for e in entries if (e["mode"], e["align_corners"], e["antialias"], e["direction"]) == cell]
        assert any(e["output_size"][0] > e["shape"][2] for e in mine)
        assert any(e["output_size"][0] < e["shape"][2] for e in mine)


def test_the_manifest_has_the_checksum_of_every_file(exported):
    manifest = json.loads((exported / "manifest.json").read_text())
    for file, checksum in manifest["files"].items():
        assert hashlib.sha256((exported / file).read_bytes()).hexdigest() == checksum


def test_two_exports_are_the_same_bytes(exported, tmp_path):
    vectors.export(tmp_path, "json")
    for file in exported.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_polynomial_modes_have_fractions_and_lanczos_has_none(exported):
    for entry, record in records(exported):
        assert ("fractions" in record) == entry["exact"] == (entry["mode"] != "lanczos3")
        if entry["exact"]:
            assert [float(Fraction(text)) for text in record["fractions"]] == record["expected"]


@pytest.mark.parametrize(
    "cell", [cell for cell in CELLS if not cell.backward and cell.mode != "lanczos3"], ids=lambda cell: cell.id
)
def test_exact_weights_agree_with_the_reference_which_is_written_separately(cell):
    for n, m in [(1, 1), (1, 5), (5, 1), (3, 7), (7, 3), (9, 4), (16, 17)]:
        dense = np.zeros((m, n))
        for o, row in enumerate(exact_matrix(cell, n, m)):
            assert sum(row.values()) == 1
            for i, weight in row.items():
                dense[o, i] = weight
        np.testing.assert_allclose(dense, axis_matrix(n, m, cell.options), rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize(("name", "dtype"), [("ndarray", "float64"), ("ndarray", "float32"), ("reference", "float64")])
def test_a_right_implementation_passes(exported, tmp_path, name, dtype):
    path = write_results(exported, tmp_path / "results.json", backends.get(name), dtype)
    assert {verdict.status for verdict in vectors.check(exported, tmp_path, dtype=dtype)} == {"passed"}
    assert {verdict.status for verdict in vectors.check(exported, path, dtype=dtype, level="strict")} == {"passed"}


def test_one_wrong_element_is_found_and_named(exported, tmp_path):
    def spoil(name, result):
        if name == "bicubic-half_pixel-forward-02":
            result[9] += 1e-9
        return result

    write_results(exported, tmp_path / "results.json", backends.get("ndarray"), change=spoil)
    bad = [verdict for verdict in vectors.check(exported, tmp_path) if verdict.status != "passed"]
    assert [verdict.id for verdict in bad] == ["bicubic-half_pixel-forward-02"]
    assert "element [0, 1, 0, 1]" in bad[0].message
    assert "1 of 32 elements" in bad[0].message


def test_missing_and_unknown_results_are_no_success(exported, tmp_path):
    (tmp_path / "results.json").write_text('{"id": "nobody", "result": [1]}\n')
    verdicts = vectors.check(exported, tmp_path)
    assert {verdict.status for verdict in verdicts} == {"missing", "failed"}


def test_nan_is_no_right_answer(exported, tmp_path):
    write_results(exported, tmp_path / "results.json", backends.get("ndarray"), change=lambda _, result: result * np.nan)
    assert {verdict.status for verdict in vectors.check(exported, tmp_path)} == {"failed"}


def test_a_changed_file_is_refused(exported, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(exported, copy)
    file = next(copy.glob("bilinear*"))
    file.write_text(file.read_text().replace("1.0", "1.5", 1))
    write_results(exported, tmp_path / "results.json", backends.get("ndarray"))
    with pytest.raises(ValueError, match="checksum"):
        vectors.check(copy, tmp_path)


@pytest.mark.parametrize("format", ["npz", "safetensors"])
def test_other_formats_hold_the_same_numbers(exported, tmp_path, format):
    if format == "safetensors":
        pytest.importorskip("safetensors")
    vectors.export(tmp_path, format)
    write_results(exported, tmp_path / "results.json", backends.get("ndarray"))
    assert {verdict.status for verdict in vectors.check(tmp_path, tmp_path)} == {"passed"}


def test_an_unknown_format_is_refused(tmp_path):
    unknown: Any = "xml"
    with pytest.raises(OptionError, match="json, npz, safetensors"):
        vectors.export(tmp_path, unknown)


def test_the_example_in_c_passes_what_it_implements(exported, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path / "check_vectors"
    subprocess.run([compiler, "-O2", "-o", program, EXAMPLE, "-lm"], check=True)
    with (tmp_path / "results.json").open("w") as results:
        subprocess.run([program, exported], check=True, stdout=results)
    verdicts = {verdict.id: verdict.status for verdict in vectors.check(exported, tmp_path)}
    for entry, _ in records(exported):
        has = entry["mode"] in ("nearest", "nearest_exact", "bilinear") and not entry["antialias"]
        assert verdicts[entry["id"]] == ("passed" if has else "missing"), entry["id"]
