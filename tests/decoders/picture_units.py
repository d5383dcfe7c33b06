"""Units in memory, and how the decoder tests make pictures and streams from them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from genlock._pictures import read_header
from genlock.interfaces import CodecSpec
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

STEP_NS = 100_000_000


class MemoryUnits:
    """Encoded pictures or arrays, one for each row; row i is "file i"."""

    closed = False

    def __init__(self, units: Sequence[Any]) -> None:
        self._units = units
        self.spec = CodecSpec("image", options={"name": lambda row: f"file {row}"})

    def unit(self, index: int) -> Any:
        return self._units[index]

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        return iter(list(enumerate(self._units))[first:])

    def close(self) -> None:
        self.closed = True


def stream_of(units: Sequence[Any], valid: Sequence[bool] | None = None, **info: Any) -> Stream:
    """A stream with a row every 0.1 s."""
    first = next(unit for unit in units if unit is not None)
    if "shape" not in info:
        is_array = isinstance(first, np.ndarray)
        info["shape"] = first.shape[:2] if is_array else read_header(io.BytesIO(first)).shape
    rows = np.arange(len(units), dtype=np.int64) * STEP_NS
    timeline = Timeline(rows, valid=None if valid is None else np.array(valid))
    return Stream("cam", StreamInfo(**{"modality": "video", "encoding": "image"} | info), timeline)


def encode(picture: NDArray[Any] | Image.Image, format: str, **options: Any) -> bytes:
    """Encode with Pillow, which is not what the library decodes with."""
    if isinstance(picture, np.ndarray):
        picture = Image.fromarray(picture)
    file = io.BytesIO()
    picture.save(file, format, **options)
    return file.getvalue()


def with_exif(picture: NDArray[Any], format: str, orientation: int) -> bytes:
    """Encode with an EXIF orientation (TIFF: the tag; AVIF: `irot` and `imir`)."""
    if format == "TIFF":
        return encode(picture, format, tiffinfo={274: orientation})
    exif = Image.Exif()
    exif[274] = orientation
    options = {"quality": 95} if format in ("JPEG", "AVIF") else {"lossless": True}
    return encode(picture, format, exif=exif, **options)


def quadrants(height: int = 32, width: int = 48) -> NDArray[np.uint8]:
    """Red, green / blue, white."""
    picture = np.zeros((height, width, 3), np.uint8)
    picture[: height // 2, : width // 2] = [255, 0, 0]
    picture[: height // 2, width // 2 :] = [0, 255, 0]
    picture[height // 2 :, : width // 2] = [0, 0, 255]
    picture[height // 2 :, width // 2 :] = 255
    return picture


def gradient(height: int, width: int) -> NDArray[np.uint8]:
    """A picture whose every pixel tells where it is: (column, row, 3 * column + row) mod 256."""
    rows, columns = np.mgrid[:height, :width]
    return np.stack([columns, rows, 3 * columns + rows], -1).astype(np.uint8)
