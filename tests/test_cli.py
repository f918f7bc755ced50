"""The command line: pictures keep what they are, failures are one line and change nothing, the demo shows and checks."""

import struct
import subprocess
import sys
import textwrap
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms
from typer.testing import CliRunner

import burnpy
from burnpy import InterpolateMode
from burnpy.cli import app, demo_sheet
from burnpy.cli.demo import demo as demo_command
from burnpy.cli.pictures import load

MODES = [mode.value for mode in InterpolateMode]
SMOOTH = ["bilinear", "bicubic", "lanczos3"]
TOP = {"1": 1, "L": 255, "LA": 255, "RGB": 255, "RGBA": 255, "CMYK": 255, "I;16": 65535, "I": 2**31 - 1, "F": 1.0}
EXTENSION = {"CMYK": "tif", "I": "tif", "F": "tif"}
DTYPES = {"I;16": np.uint16, "I": np.int32, "F": np.float32}


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def resized(source, target, *options):
    """Resize, and return the new picture, loaded."""
    result = run("resize", source, target, *options)
    assert result.exit_code == 0, result.output
    assert result.output == ""
    with Image.open(target) as image:
        image.load()
        return image


def fails_in_one_line(result, *words):
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.startswith("burnpy: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def picture(mode, samples):
    """Make a picture of that mode from samples between 0 and 1, shape (H, W) or (H, W, bands)."""
    if mode in ("L", "LA", "RGB", "RGBA", "CMYK"):
        values = np.rint(samples * 255).astype(np.uint8)
        return Image.frombytes(mode, values.shape[1::-1], values.tobytes())
    if mode == "1":
        return Image.fromarray(samples > 0.5)
    return Image.fromarray((samples * TOP[mode]).astype(DTYPES[mode]))


def saved(path, image, **options):
    image.save(path, **options)
    return path


def random_picture(mode, height=9, width=12):
    bands = len(Image.new(mode, (1, 1)).getbands())
    rng = np.random.default_rng(bands)
    return picture(mode, rng.random((height, width, bands)[: 2 + (bands > 1)]))


@pytest.fixture
def grey(tmp_path):
    return saved(tmp_path / "grey.png", random_picture("L"))


# What a picture is, it stays


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", TOP)
def test_every_kind_of_picture_keeps_its_mode_and_gets_the_size_asked_for(tmp_path, kind, mode):
    extension = EXTENSION.get(kind, "png")
    source = saved(tmp_path / f"in.{extension}", random_picture(kind))
    image = resized(source, tmp_path / f"out.{extension}", "--size", "31x7", "--mode", mode)
    assert (image.mode, image.size) == (kind, (31, 7))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", TOP)
def test_a_picture_of_equal_size_is_the_same_to_the_bit(tmp_path, kind, mode):
    extension = EXTENSION.get(kind, "png")
    samples = random_picture(kind)
    if kind in ("LA", "RGBA"):
        samples.putalpha(200)  # where nothing shows, there is no colour to keep
    source = saved(tmp_path / f"in.{extension}", samples)
    image = resized(source, tmp_path / f"out.{extension}", "--scale", "1", "--mode", mode)
    np.testing.assert_array_equal(np.asarray(image), np.asarray(samples))


@pytest.mark.parametrize(
    ("mode", "options"),
    [(mode, options) for mode in MODES for options in ((), ("--align-corners",))]
    + [(mode, ("--antialias",)) for mode in SMOOTH],
)
@pytest.mark.parametrize("kind", TOP)
def test_a_constant_picture_stays_constant(tmp_path, kind, mode, options):
    extension = EXTENSION.get(kind, "png")
    bands = len(Image.new(kind, (1, 1)).getbands())
    shape = (6, 5, bands)[: 2 + (bands > 1)]
    constant = picture(kind, np.full(shape, 0.7))
    source = saved(tmp_path / f"in.{extension}", constant)
    image = resized(source, tmp_path / f"out.{extension}", "--size", "17x4", "--mode", mode, *options)
    values = np.asarray(image).reshape(17 * 4, -1)
    wanted = np.asarray(constant).reshape(30, -1)[0]
    if kind == "F":
        np.testing.assert_allclose(values, np.full_like(values, wanted), rtol=1e-6)
    else:
        np.testing.assert_array_equal(values, np.broadcast_to(wanted, values.shape))


def test_sixteen_bits_keep_their_precision(tmp_path):
    ramp = np.arange(40_000, 40_064, dtype=np.uint16).reshape(1, 64)
    source = saved(tmp_path / "in.png", Image.fromarray(ramp))
    image = resized(source, tmp_path / "out.png", "--size", "127x1", "--mode", "bilinear", "--align-corners")
    halves = np.arange(40_000, 40_063.1, 0.5)
    np.testing.assert_array_equal(np.asarray(image)[0], np.rint(halves))  # halves round to even


@pytest.mark.parametrize("extension", ["pgm", "tif"])
def test_sixteen_bits_survive_in_files_that_pillow_reads_as_something_else(tmp_path, extension):
    values = np.array([[0, 300, 65535], [7, 70, 700]], np.uint16)
    image = Image.fromarray(values if extension == "pgm" else values.astype(">u2"))
    source = saved(tmp_path / f"in.{extension}", image)
    np.testing.assert_array_equal(np.asarray(resized(source, tmp_path / "out.png", "--scale", "1")), values)


def test_values_that_overshoot_are_clipped(tmp_path):
    edge = np.repeat(np.array([[0, 0, 0, 255, 255, 255]], np.uint8), 4, axis=0)
    source = saved(tmp_path / "in.png", Image.fromarray(edge))
    values = np.asarray(resized(source, tmp_path / "out.png", "--scale", "4", "--mode", "bicubic"))[0].astype(int)
    assert (np.diff(values) >= 0).all()  # a wrap-around would jump
    assert (values[0], values[-1]) == (0, 255)


def test_floating_point_pictures_are_not_clipped_or_rounded(tmp_path):
    source = saved(tmp_path / "in.tif", Image.fromarray(np.array([[-3.25, 1000.5]], np.float32)))
    image = resized(source, tmp_path / "out.tif", "--size", "3x1", "--mode", "bilinear", "--align-corners")
    np.testing.assert_array_equal(np.asarray(image), [[-3.25, 498.625, 1000.5]])


def test_pixels_are_those_of_interpolate_rounded_half_to_even(grey, tmp_path):
    values = np.asarray(Image.open(grey)).astype(np.float64)[None, None]
    wanted = burnpy.interpolate(values, (5, 30), mode="lanczos3", align_corners=False, antialias=True)[0, 0]
    image = resized(grey, tmp_path / "out.png", "--size", "30x5", "--mode", "lanczos3", "--antialias")
    np.testing.assert_array_equal(np.asarray(image), np.clip(np.rint(wanted), 0, 255))


@pytest.mark.parametrize(("option", "corners"), [("--align-corners", True), ("--half-pixel", False), (None, False)])
def test_half_pixel_is_the_default(grey, tmp_path, option, corners):
    values = np.asarray(Image.open(grey)).astype(np.float64)[None, None]
    wanted = burnpy.interpolate(values, (20, 20), mode="bilinear", align_corners=corners)[0, 0]
    options = [option] if option else []
    image = resized(grey, tmp_path / "out.png", "--size", "20x20", "--mode", "bilinear", *options)
    assert np.abs(np.asarray(image) - wanted).max() <= 0.5 + 1e-4


def test_a_scale_rounds_sizes_down(grey, tmp_path):
    assert resized(grey, tmp_path / "out.png", "--scale", "0.6").size == (7, 5)  # of 12 x 9


@pytest.mark.parametrize("name", ["ndarray", "reference"])
def test_any_backend_can_be_asked_for(grey, tmp_path, name):
    own = np.asarray(resized(grey, tmp_path / "own.png", "--size", "20x20")).astype(int)
    other = np.asarray(resized(grey, tmp_path / "other.png", "--size", "20x20", "--backend", name)).astype(int)
    assert np.abs(own - other).max() <= 1


# Transparency


@pytest.mark.parametrize("mode", MODES)
def test_the_colour_of_what_is_transparent_does_not_bleed(tmp_path, mode):
    values = np.zeros((8, 8, 4), np.uint8)
    values[:, :4] = (255, 0, 0, 255)
    values[:, 4:] = (0, 255, 0, 0)
    source = saved(tmp_path / "in.png", Image.fromarray(values))
    red, green, _, alpha = np.moveaxis(
        np.asarray(resized(source, tmp_path / "out.png", "--scale", "3.5", "--mode", mode)), 2, 0
    )
    assert (green[alpha > 0] == 0).all()
    assert (red[alpha > 0] == 255).all()
    assert ((alpha > 0) & (alpha < 255)).any() == (mode in SMOOTH)


@pytest.mark.parametrize("mode", ["nearest", "nearest_exact"])
def test_nearest_copies_even_the_colour_of_what_is_transparent(tmp_path, mode):
    source = saved(tmp_path / "in.png", Image.new("RGBA", (2, 2), (1, 2, 3, 0)))
    assert resized(source, tmp_path / "out.png", "--scale", "2", "--mode", mode).getpixel((3, 3)) == (1, 2, 3, 0)


@pytest.mark.parametrize(
    ("kind", "key", "wanted"), [("L", 9, "LA"), ("1", 0, "LA"), ("P", 0, "RGBA"), ("RGB", (9, 9, 9), "RGBA")]
)
def test_a_transparent_colour_becomes_an_alpha_channel(tmp_path, kind, key, wanted):
    image = Image.new(kind, (4, 4), key)
    image.putpixel((0, 0), 1 if kind in ("1", "P") else (200 if kind == "L" else (200, 200, 200)))
    source = saved(tmp_path / "in.png", image, transparency=key)
    out = resized(source, tmp_path / "out.png", "--size", "8x8", "--mode", "bilinear")
    assert out.mode == wanted
    assert out.getchannel("A").getpixel((0, 0)) == 255
    assert out.getchannel("A").getpixel((7, 7)) == 0


# Palettes


def striped_palette():
    image = Image.new("P", (4, 2))
    image.putpalette([250, 10, 0, 0, 20, 240])
    image.putdata([0, 1, 0, 1] * 2)
    return image


@pytest.mark.parametrize("mode", SMOOTH)
def test_a_palette_becomes_rgb_since_indices_cannot_be_averaged(tmp_path, mode):
    source = saved(tmp_path / "in.png", striped_palette())
    out = resized(source, tmp_path / "out.png", "--size", "1x1", "--mode", mode, "--antialias")
    assert (out.mode, out.getpixel((0, 0))) == ("RGB", (125, 15, 120))


@pytest.mark.parametrize(("extension", "wanted"), [("png", "P"), ("gif", "P"), ("jpg", "RGB")])
def test_nearest_keeps_a_palette_where_the_format_has_one(tmp_path, extension, wanted):
    source = saved(tmp_path / "in.png", striped_palette())
    out = resized(source, tmp_path / f"out.{extension}", "--scale", "16", "--mode", "nearest")
    assert (out.mode, out.size) == (wanted, (64, 32))
    colour = np.array(out.convert("RGB").getpixel((4, 4)))
    assert np.abs(colour - (250, 10, 0)).max() <= (0 if wanted == "P" else 12)


# What goes with the pixels


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright: rows are columns
    source = saved(tmp_path / "in.jpg", Image.new("RGB", (12, 6), "red"), exif=exif)
    out = resized(source, tmp_path / "out.jpg", "--scale", "2")
    assert out.size == (12, 24)
    assert 0x0112 not in out.getexif()


def test_sixteen_bits_are_turned_upright_too(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    values = np.array([[1000, 2000, 3000]], np.uint16)
    source = saved(tmp_path / "in.png", Image.fromarray(values), exif=exif)
    np.testing.assert_array_equal(np.asarray(resized(source, tmp_path / "out.png", "--scale", "1")), values[:, ::-1])


@pytest.mark.parametrize("extension", ["png", "jpg", "tif"])
def test_colour_profile_and_resolution_are_kept(tmp_path, extension):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    source = saved(tmp_path / f"in.{extension}", random_picture("RGB"), icc_profile=profile, dpi=(300, 300))
    out = resized(source, tmp_path / f"out.{extension}", "--scale", "2")
    assert out.info["icc_profile"] == profile
    assert [round(float(value)) for value in out.info["dpi"]] == [300, 300]


def test_what_is_lost_is_said(tmp_path):
    frames = [Image.new("L", (4, 4), value) for value in (0, 255)]
    source = saved(tmp_path / "in.tif", frames[0], save_all=True, append_images=frames[1:])
    result = run("resize", source, tmp_path / "out.png", "--scale", "2")
    assert result.exit_code == 0
    assert result.stderr == f"burnpy: note: {source}: the first of 2 pictures is taken\n"


def test_a_file_has_the_permissions_that_the_one_it_replaces_had(grey, tmp_path):
    target = tmp_path / "out.png"
    target.touch()
    target.chmod(0o640)
    resized(grey, target, "--scale", "2")
    assert target.stat().st_mode & 0o777 == 0o640


def test_in_may_be_out(grey):
    assert resized(grey, grey, "--scale", "2").size == (24, 18)


# Failures: one line, exit status 2, nothing changed


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["--size WxH or --scale S"]),
        (["--size", "3x4", "--scale", "2"], ["--size WxH or --scale S"]),
        (["--size", "3"], ["640x480", "'3'"]),
        (["--size", "-3x4"], ["640x480"]),
        (["--size", "3.5x4"], ["640x480"]),
        (["--size", "0x4"], ["at least 1"]),
        (["--scale", "0"], ["positive"]),
        (["--scale", "nan"], ["positive"]),
        (["--scale", "0.01"], ["at least 1"]),
        (["--size", "3x4", "--antialias", "--align-corners"], ["align_corners"]),
        (["--size", "3x4", "--antialias", "--mode", "nearest"], ["antialias"]),
        (["--size", "3x4", "--backend", "nobody"], ["nobody"]),
        (["--size", "999999999x999999999"], []),
    ],
)
def test_options_without_meaning_are_one_line_and_leave_out_as_it_was(grey, tmp_path, options, words):
    target = tmp_path / "out.png"
    target.write_bytes(b"as it was")
    fails_in_one_line(run("resize", grey, target, *options), *words)
    assert target.read_bytes() == b"as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grey.png", "out.png"]


def test_an_unknown_mode_names_those_there_are(grey, tmp_path):
    result = run("resize", grey, tmp_path / "out.png", "--scale", "2", "--mode", "cubic")
    assert result.exit_code == 2
    assert all(mode in result.stderr for mode in MODES)


@pytest.mark.parametrize(
    ("kind", "extension", "words"),
    [
        ("RGBA", "jpg", ["JPEG", "RGB with alpha", "PNG, TIFF, WEBP"]),
        ("LA", "bmp", ["BMP", "PNG"]),
        ("I;16", "jpg", ["16-bit", "PNG, TIFF"]),
        ("F", "png", ["floating-point", "TIFF"]),
        ("I", "png", ["32-bit", "TIFF"]),
        ("CMYK", "png", ["CMYK", "TIFF, JPEG"]),
        ("RGB", "gif", ["GIF", "PNG"]),
        ("RGB", "doc", [".doc", "PNG"]),
        ("RGB", "", ["extension", "PNG"]),
    ],
)
def test_a_format_that_cannot_hold_the_picture_is_refused_with_those_that_can(tmp_path, kind, extension, words):
    source = saved(tmp_path / "in.tif", random_picture(kind))
    fails_in_one_line(run("resize", source, tmp_path / f"out.{extension}".rstrip("."), "--scale", "2"), *words)
    assert [path.name for path in tmp_path.iterdir()] == ["in.tif"]


def test_files_that_cannot_be_read_are_one_line(grey, tmp_path):
    text = tmp_path / "text.png"
    text.write_text("not a picture")
    half = tmp_path / "half.png"
    half.write_bytes(grey.read_bytes()[:-40])
    target = tmp_path / "out.png"
    fails_in_one_line(run("resize", tmp_path / "none.png", target, "--scale", "2"), "none.png", "No such file")
    fails_in_one_line(run("resize", tmp_path, target, "--scale", "2"), "directory")
    fails_in_one_line(run("resize", text, target, "--scale", "2"), "text.png", "not a picture")
    fails_in_one_line(run("resize", half, target, "--scale", "2"), "half.png", "truncated")


def test_big_pictures_are_read_without_a_word_and_enormous_ones_refused(grey, tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)  # Pillow warns above this, and raises above twice as many
    resized(grey, tmp_path / "out.png", "--scale", "0.5")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 40)
    fails_in_one_line(run("resize", grey, tmp_path / "out.png", "--scale", "0.5"), "grey.png", "108 pixels")


def test_places_that_cannot_be_written_are_one_line(grey, tmp_path):
    directory = tmp_path / "directory.png"
    directory.mkdir()
    fails_in_one_line(run("resize", grey, tmp_path / "none" / "out.png", "--scale", "2"), "none", "no such directory")
    fails_in_one_line(run("resize", grey, directory, "--scale", "2"), "directory.png", "not a file")


def test_a_failure_while_writing_leaves_out_as_it_was_and_no_rubbish(grey, tmp_path):
    target = tmp_path / "out.webp"
    target.write_bytes(b"as it was")
    fails_in_one_line(run("resize", grey, target, "--size", "20000x2"), "WEBP")  # which ends at 16383
    assert target.read_bytes() == b"as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grey.png", "out.webp"]


# The rest


def test_the_version_is_printed():
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"burnpy {burnpy.__version__}\n")


def test_backends_lists_every_name_and_what_each_can_do():
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["backends"])
    assert result.exit_code == 0
    listed, matrix = result.stdout.split("mode ")
    for name in burnpy.backends.names():
        assert name in listed
    for mode in MODES:
        assert matrix.count(f"\n {mode} ") == (1 if mode.startswith("nearest") else 3)
    assert "f16 f32 f64" in matrix


class OneWay:
    """Only plain bilinear forward in float32, and backward in float64."""

    name = "one_way"

    def supports(self, mode, *, align_corners, antialias, backward, dtype):
        return mode == "bilinear" and align_corners and dtype == ("float64" if backward else "float32")

    def interpolate(self, x, output_size, options): ...

    def interpolate_backward(self, x, grad, output_size, options): ...


def test_backends_shows_where_the_directions_differ():
    burnpy.backends.register("one_way", OneWay)
    try:
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["backends"])
    finally:
        burnpy.backends.unregister("one_way")
    assert result.stdout.count("forward f32, backward f64") == 1


def test_a_backend_that_cannot_be_loaded_does_not_hide_the_others():
    def broken():
        print("a backend that chatters")
        raise RuntimeError("its engine is cold")

    burnpy.backends.register("broken", broken)
    try:
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["backends"])
    finally:
        burnpy.backends.unregister("broken")
    assert result.exit_code == 0
    assert "its engine is cold" in result.stdout
    assert "f16 f32 f64" in result.stdout
    assert "chatters" not in result.stdout


def test_demo_writes_a_picture_of_five_columns_and_says_ok(tmp_path):
    target = tmp_path / "sheet.png"
    result = run("demo", "--out", target)
    assert result.exit_code == 0, result.output
    assert "ok: 5 modes, forward and backward, adjoint to " in result.stdout.splitlines()[-1]
    with Image.open(target) as image:
        assert (image.mode, image.size) == ("RGB", (1384, 1008))
        assert image.getpixel((0, 0)) == (255, 255, 255)


def test_demo_fails_when_forward_and_backward_are_not_adjoint(tmp_path, monkeypatch):
    def wrong(*arguments, **options):
        return burnpy.interpolate_backward(*arguments, **options) * (1 + 1e-6)

    monkeypatch.setattr(sys.modules[demo_command.__module__], "interpolate_backward", wrong)
    result = run("demo", "--out", tmp_path / "sheet.png")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout


def test_in_the_demo_zero_is_white_and_signs_have_their_colours():
    blue, white, red = demo_sheet.diverging(np.array([-2.0, 0.0, 2.0]), 2.0).astype(int)
    assert tuple(white) == (255, 255, 255)
    assert blue[2] > blue[0]
    assert red[0] > red[2]


@pytest.mark.parametrize("missing", ["typer", "rich", "PIL"])
def test_without_the_extra_one_line_says_how_to_get_it(missing):
    script = f"""
        import sys
        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == {missing!r}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        sys.meta_path.insert(0, Blocker())
        from burnpy.__main__ import main
        main()
    """
    result = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert 'pip install "burnpy[cli]"' in result.stderr


def test_python_m_burnpy_is_the_command_line():
    result = subprocess.run(
        [sys.executable, "-P", "-m", "burnpy", "--version"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, f"burnpy {burnpy.__version__}\n")


def png_of_one_deep_pixel():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)  # 1 x 1, 16 bits, RGB
    rows = zlib.compress(b"\0" + struct.pack(">HHH", 0x8000, 0x4000, 0))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("data", [png_of_one_deep_pixel(), b"P6 1 1 65535\n" + bytes(6)], ids=["png", "ppm"])
def test_sixteen_bit_colour_is_read_in_eight_with_a_note(tmp_path, data):
    path = tmp_path / "deep"
    path.write_bytes(data)
    notes: list[str] = []
    assert load(path, notes.append).mode == "RGB"
    assert len(notes) == 1
    assert "16-bit colour" in notes[0]


@pytest.mark.parametrize("data", [b"P6 1 1 255\n" + bytes(3), b"P5 1 1 65535\n" + bytes(2)])
def test_where_nothing_is_lost_there_is_no_note(tmp_path, data):
    path = tmp_path / "plain"
    path.write_bytes(data)
    notes: list[str] = []
    load(path, notes.append)
    assert notes == []
