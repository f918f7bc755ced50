"""Picture files to arrays and back, losing nothing that the file's format can hold.

One table says what the numbers of each of Pillow's modes mean and which formats hold them all; nothing here resamples.
"""

import errno
import math
import secrets
import shutil
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

__all__ = [
    "Kind",
    "Planes",
    "can_hold",
    "check_can_hold",
    "format_of",
    "from_planes",
    "kind_of",
    "load",
    "save",
    "to_planes",
]

Planes: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
"""Pixels as floating-point numbers, shape (1, C, H, W)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the pixels of one of Pillow's modes are.

    Parameters
    ----------
    words : str
        What to call such a picture.
    stored : str
        The dtype of a sample, as NumPy spells it; little-endian as in Pillow's memory.
    low, high : float
        The range of a sample.
    formats : tuple of str
        Pillow's names of the formats that hold every such picture, up to a lossy format's own compression.
    alpha : bool
        Whether the last channel is the opacity of the others.
    double : bool
        Whether to compute in float64: float32 has no bits to spare for more than 8 bits a sample.
    """

    words: str
    stored: str
    low: float
    high: float
    formats: tuple[str, ...]
    alpha: bool = False
    double: bool = False


def _eight_bits(words: str, formats: str, alpha: bool = False) -> Kind:
    return Kind(words, "u1", 0, 255, tuple(formats.split()), alpha)


_KINDS = {
    "1": Kind("1-bit", "?", 0, 1, ("PNG", "TIFF", "GIF", "BMP", "PPM", "TGA")),
    "L": _eight_bits("8-bit grey", "PNG TIFF JPEG WEBP GIF BMP PPM TGA AVIF JPEG2000"),
    "LA": _eight_bits("grey with alpha", "PNG TIFF WEBP TGA AVIF JPEG2000", alpha=True),
    "P": _eight_bits("palette", "PNG TIFF GIF BMP TGA"),
    "RGB": _eight_bits("RGB", "PNG TIFF JPEG WEBP BMP PPM TGA AVIF JPEG2000"),
    "RGBA": _eight_bits("RGB with alpha", "PNG TIFF WEBP TGA AVIF JPEG2000", alpha=True),
    "CMYK": _eight_bits("CMYK", "TIFF JPEG"),
    "I;16": Kind("16-bit grey", "<u2", 0, 2**16 - 1, ("PNG", "TIFF", "PPM", "JPEG2000"), double=True),
    "I": Kind("32-bit integer grey", "<i4", -(2**31), 2**31 - 1, ("TIFF",), double=True),
    "F": Kind("floating-point grey", "<f4", -math.inf, math.inf, ("TIFF", "PPM")),
}

_QUALITY = {"JPEG": 95, "WEBP": 95, "AVIF": 90}
"""Higher than Pillow's defaults, which are for the web: what was sharp should stay so."""


def kind_of(image: Image.Image) -> Kind:
    """Return what the pixels of ``image``, as `load` returns it, are."""
    return _KINDS[image.mode]


def format_of(path: Path) -> str:
    """Return Pillow's name for the format of a file to be written at ``path``, by its extension.

    Raises
    ------
    OSError
        If nothing can be written there: no such directory, not a file, or an extension that stands for no known format.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such directory", str(path.parent))
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "exists and is not a file", str(path))
    name = Image.registered_extensions().get(path.suffix.lower(), "")
    known = {known for kind in _KINDS.values() for known in kind.formats} & Image.SAVE.keys()
    if name not in known:
        raise OSError(f"{path}: the extension must stand for one of {', '.join(sorted(known))}; got {path.suffix!r}")
    return name


def can_hold(file_format: str, mode: str) -> bool:
    """Whether a file of that format can hold a picture of that mode."""
    return file_format in _KINDS[mode].formats


def check_can_hold(file_format: str, image: Image.Image) -> None:
    """Raise OSError, naming formats that can, if a file of ``file_format`` cannot hold ``image``."""
    if not can_hold(file_format, image.mode):
        kind = kind_of(image)
        raise OSError(f"{file_format} cannot hold a {kind.words} picture; these can: {', '.join(kind.formats)}")


def load(path: Path, note: Callable[[str], None]) -> Image.Image:
    """Return the picture in the file at ``path``, upright, in a mode that `kind_of` knows.

    Transparency by palette or by colour key becomes an alpha channel. What cannot be kept is told to ``note``.

    Raises
    ------
    OSError
        If the file cannot be read, is not a picture, or is one of a kind that is not resized.
    """
    try:
        with _big_pictures_welcome(), Image.open(path) as file:
            for loss in _losses(file):
                note(f"{path}: {loss}")
            image = _plain(ImageOps.exif_transpose(file), file.format)
    except MemoryError:
        raise
    except Exception as error:  # of a damaged file, Pillow's readers may raise anything
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise OSError(f"{path}: not a picture that can be read: {error}") from error
    if image.mode not in _KINDS:
        raise OSError(f"{path}: pictures of mode {image.mode} are not resized; convert it to RGB")
    return image


def _big_pictures_welcome() -> AbstractContextManager[Any]:
    """Silence Pillow's warning of big pictures, which is for servers; of enormous ones it still raises."""
    return warnings.catch_warnings(action="ignore", category=Image.DecompressionBombWarning)


def _losses(file: Any) -> list[str]:
    """Say what will be lost of an opened, not yet loaded, file."""
    losses: list[str] = []
    if (frames := getattr(file, "n_frames", 1)) > 1:
        losses.append(f"the first of {frames} pictures is taken")
    if _is_deep_colour(file):
        losses.append("16-bit colour is read with 8 bits a channel, since Pillow has no more")
    if file.mode.startswith("I") and "transparency" in file.info:
        losses.append("the grey level that stands for transparent is not kept")
    return losses


def _is_deep_colour(file: Any) -> bool:
    """Whether the file has more than 8 bits a channel, as far as its reader's instructions for decoding tell."""
    arguments: list[object] = []
    for _, _, _, given in getattr(file, "tile", ()):
        arguments += _listed(given)
    deep = any(";16" in str(argument) for argument in arguments)
    deep_ppm = file.format == "PPM" and any(isinstance(argument, int) and argument > 255 for argument in arguments)
    return file.mode in ("LA", "RGB", "RGBA", "CMYK") and (deep or deep_ppm)


def _listed(given: tuple[object, ...] | str | None) -> list[object]:
    return list(given) if isinstance(given, tuple) else [given]


def _plain(image: Image.Image, file_format: str | None) -> Image.Image:
    """Return ``image`` in one of the modes of the table, if it can be had without loss."""
    if image.mode.startswith("I;16") or (image.mode == "I" and file_format == "PPM"):  # Pillow widens PGM's 16 bits
        return _with_info(Image.fromarray(np.asarray(image).astype("<u2")), image)
    if image.mode in ("1", "L") and "transparency" in image.info:
        return image.convert("LA")
    if image.mode in ("P", "PA", "RGB") and image.has_transparency_data:
        return image.convert("RGBA")
    return image.convert("RGB") if image.mode == "RGBX" else image


def _with_info(image: Image.Image, source: Image.Image) -> Image.Image:
    """Give ``image`` what is kept besides pixels: the colour profile and the resolution."""
    image.info = {key: source.info[key] for key in ("icc_profile", "dpi") if source.info.get(key)}
    return image


def to_planes(image: Image.Image) -> Planes:
    """Return the samples of ``image``, as `load` returns it, in the type to compute in and in the order they are in."""
    samples = np.moveaxis(np.atleast_3d(np.asarray(image)), -1, 0)[np.newaxis]
    return samples.astype(np.float64) if kind_of(image).double else samples.astype(np.float32)


def from_planes(planes: Planes, like: Image.Image) -> Image.Image:
    """Return the picture of the mode, palette, profile and resolution of ``like`` that has these samples.

    They are rounded half to even and clipped to the mode's range.
    """
    kind = kind_of(like)
    if like.mode != "F":
        planes = np.clip(np.rint(planes), kind.low, kind.high)
    samples = np.moveaxis(planes[0], 0, -1).astype(kind.stored)
    size = (samples.shape[1], samples.shape[0])
    raw = "1;8" if like.mode == "1" else like.mode
    image = Image.frombytes(like.mode, size, samples.tobytes(), "raw", raw)
    if like.mode == "P":
        image.putpalette(like.getpalette() or [])
    return _with_info(image, like)


def save(image: Image.Image, path: Path, file_format: str) -> None:
    """Write ``image`` to ``path``, which is replaced when the new file is complete, and otherwise left as it was.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    path = path.resolve()  # a link stays a link
    temporary = path.with_name(f".burnpy-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("x+b") as file:
            image.save(file, file_format, **_save_options(image, file_format))
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except MemoryError:
        raise
    except Exception as error:  # of a size beyond the format's limits, Pillow's writers raise many things
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise OSError(f"{path}: cannot be written as {file_format}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _save_options(image: Image.Image, file_format: str) -> dict[str, Any]:
    options: dict[str, Any] = {"icc_profile": image.info["icc_profile"]} if "icc_profile" in image.info else {}
    dpi = tuple(float(value) for value in image.info.get("dpi", ()))
    if len(dpi) == 2 and all(0 < value < math.inf for value in dpi):
        options["dpi"] = dpi
    if file_format in _QUALITY:
        options["quality"] = _QUALITY[file_format]
    return options
