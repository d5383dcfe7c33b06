"""What the image and depth decoders share: one unit → an upright array; rows → units."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from genlock._pictures import PictureHeader, read_header
from genlock._pictures.npy import describe
from genlock.decoders._exr import read_exr
from genlock.decoders._heif import read_heif
from genlock.errors import ClosedError, DecodeError, error_context
from genlock.interfaces import FrameFormat, Units
from genlock.stream import Stream

Purpose = Literal["color", "gray", "depth"]
Values = NDArray[Any]


class Picture(NamedTuple):
    """A decoded picture, upright.

    values: [H, W] or [H, W, C], as stored. order: of the channels, as OpenCV names it: "GRAY",
    "BGR", "BGRA", "RGB", "RGBA". white: the code of full intensity.
    """

    values: Values
    order: str
    white: int


def decode(
    unit: bytes | Values, header: PictureHeader, purpose: Purpose, shrink: int = 1
) -> Picture:
    """Decode one picture without changing its values.

    purpose: "gray" takes the luma of a JPEG as stored, "depth" the depth channel of an EXR.
    shrink: 1, 2, 4 or 8, for JPEG only: decode at a fraction of its size, at little cost.
    Animations give their first frame. Raises DecodeError, MissingExtraError.
    """
    first = "RGB"
    if isinstance(unit, np.ndarray):
        values = unit
    else:
        header.check_whole(unit)
        if header.codec in _READERS:
            values = _READERS[header.codec](unit, purpose)
        else:
            values, first = _with_opencv(unit, header, purpose, shrink), "BGR"
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[..., 0]
    if header.codec not in _TURNED_BY_READER:
        values = header.orientation.upright(values)
    expected = tuple(length // shrink for length in header.shape)
    if values.shape[:2] != expected:
        raise DecodeError(f"this {header.codec} has {values.shape} pixels, its header {expected}")
    if values.dtype in (np.float16, np.float64):
        values = values.astype(np.float32)
    return Picture(values, _channel_order(values, first), header.white)


def _channel_order(values: Values, first: str) -> str:
    if values.ndim == 2:
        return "GRAY"
    order = {3: first, 4: first + "A"}.get(values.shape[2])
    if order is None:
        raise DecodeError(f"pictures of {values.shape[2]} channels are not known")
    return order


_SHRUNK = {
    1: 0,
    2: cv2.IMREAD_REDUCED_GRAYSCALE_2,
    4: cv2.IMREAD_REDUCED_GRAYSCALE_4,
    8: cv2.IMREAD_REDUCED_GRAYSCALE_8,
}


def _with_opencv(data: bytes, header: PictureHeader, purpose: Purpose, shrink: int) -> Values:
    flags = cv2.IMREAD_UNCHANGED  # all bits, and EXIF is left to us
    if header.codec == "jpeg":
        luma = purpose == "gray" or header.channels == 1
        flags = cv2.IMREAD_GRAYSCALE if luma else cv2.IMREAD_COLOR
        flags |= cv2.IMREAD_IGNORE_ORIENTATION | _SHRUNK[shrink]
    values: Values | None = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if values is None:
        raise DecodeError(
            f"OpenCV {cv2.__version__} cannot decode this {header.codec}: it is damaged, or of a "
            "kind that needs a newer opencv-python-headless"
        )
    return values


_READERS: dict[str, Callable[[bytes, Purpose], Values]] = {
    "exr": lambda data, purpose: read_exr(data, depth=purpose == "depth"),
    "heic": lambda data, purpose: read_heif(data),
    "npy": lambda data, purpose: np.load(io.BytesIO(data), allow_pickle=False),
}
"""Readers of what OpenCV does not read; their channels are in RGB order."""

_TURNED_BY_READER = frozenset({"tiff", "heic"})


class PictureDecoder(ABC):
    """Rows of a stream of independent pictures. One thread at a time.

    units: give encoded bytes, or arrays [H, W] or [H, W, C] in RGB order. If its spec has an
    option "name", a function from a row to the file it is in, errors name that file. stream: whose
    timeline says when each row is and which are valid. max_pixels: see `pixel_limit`.
    """

    def __init__(self, units: Units, stream: Stream, max_pixels: int | None = None) -> None:
        self.units = units
        self.stream = stream
        self.max_pixels = max_pixels
        self._closed = False
        self._name: Callable[[int], str | None] = units.spec.options.get("name", lambda row: None)

    def read(
        self, rows: NDArray[np.int64], format: FrameFormat, out: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Decode rows [R] (ascending, repeats allowed) into out[i], of `format.frame_shape`.

        Returns bool [R]: False, and zeros in out, where the timeline marks the row invalid.
        Raises DecodeError naming file, stream and time for a row that is damaged or missing,
        LimitError for one that claims too many pixels, FieldError for a crop outside of it,
        ClosedError.
        """
        if self._closed:
            raise ClosedError("this decoder is closed", stream=self.stream.name)
        valid = self.stream.timeline.valid
        sound = np.ones(len(rows), np.bool_) if valid is None else valid[rows]
        for i, row in enumerate(map(int, rows)):
            if not sound[i]:
                out[i] = 0
            elif i and row == rows[i - 1]:
                out[i] = out[i - 1]
            else:
                with self._errors(row):
                    self._read_one(row, format, out[i])
        return sound

    def close(self) -> None:
        """Close the units, which the decoder owns. May be called twice."""
        self._closed = True
        self.units.close()

    def _errors(self, row: int) -> AbstractContextManager[None]:
        time_ns = int(self.stream.timeline.ns[row])
        return error_context(self._name(row), self.stream.name, time_ns)

    def _read_one(self, row: int, format: FrameFormat, out: NDArray[Any]) -> None:
        self._render(*self._unit(row), format, out)

    def _unit(self, row: int) -> tuple[bytes | Values, PictureHeader]:
        """A row's unit, and what it says of itself, within the limit."""
        unit = self.units.unit(row)
        if isinstance(unit, np.ndarray):
            header = describe(unit.shape, unit.dtype)
            if header.white > 1:
                header = replace(header, white=2**self.stream.info.bits - 1)
        else:
            unit = bytes(unit)
            header = read_header(io.BytesIO(unit))
        header.check_limit(self.max_pixels)
        return unit, header

    @abstractmethod
    def _render(
        self, unit: bytes | Values, header: PictureHeader, format: FrameFormat, out: Values
    ) -> None:
        """Decode one unit into out."""
