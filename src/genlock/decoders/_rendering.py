"""From a decoded picture to a frame of a `Video` field: cropped, resized, in its colours."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from genlock._pictures import PictureHeader
from genlock.decoders._picture import Picture, PictureDecoder, Values
from genlock.errors import DecodeError, FieldError
from genlock.interfaces import FrameFormat

Size = tuple[int, int]
Region = tuple[int, int, int, int]

_ORDERS = {"rgb": "RGB", "rgba": "RGBA", "gray": "GRAY"}
_WHITE = {"uint8": 255, "uint16": 65535, "float32": 1}
_DTYPES = (np.uint8, np.uint16, np.float32)


class FrameRenderer(PictureDecoder):
    """Frames of a stream of pictures, in the form of a `FrameFormat`. One thread at a time.

    Arguments and errors: see `PictureDecoder`. Frames are resized by averaging where they shrink
    (`INTER_AREA`) and linearly where they grow.
    """

    def _render(
        self, unit: bytes | Values, header: PictureHeader, format: FrameFormat, out: Values
    ) -> None:
        region = format.crop or (0, 0, *header.shape)
        size = format.size or region[2:]
        self._check(header, region, format, out)
        shrink = self._shrink(header, region, size)
        if shrink == 1 and self._scaled(unit, header, region, size, format, out):
            return
        picture = self._picture(unit, header, format, shrink)
        if picture.values.dtype not in _DTYPES:
            raise DecodeError(f"pictures of {picture.values.dtype} have no white: use Depth")
        top, left, height, width = (edge // shrink for edge in region)
        values = np.ascontiguousarray(picture.values[top : top + height, left : left + width])
        if values.dtype == np.float32:
            values = np.where(np.isfinite(values), values, np.float32(0))
        values = _resize(values, size)
        _store(picture._replace(values=_convert(values, picture.white, format)), format, out)

    def _shrink(self, header: PictureHeader, region: Region, size: Size) -> int:
        """The fraction of its size at which a picture is decoded: 1, 2, 4 or 8."""
        return 1

    def _scaled(
        self,
        unit: bytes | Values,
        header: PictureHeader,
        region: Region,
        size: Size,
        format: FrameFormat,
        out: Values,
    ) -> bool:
        """Write the frame without making the whole picture, if that can be; says whether."""
        return False

    @abstractmethod
    def _picture(
        self, unit: bytes | Values, header: PictureHeader, format: FrameFormat, shrink: int
    ) -> Picture:
        """One unit decoded, upright; of one channel where the format is gray."""

    def _check(
        self, header: PictureHeader, region: Region, format: FrameFormat, out: Values
    ) -> None:
        top, left, height, width = region
        if top + height > header.shape[0] or left + width > header.shape[1]:
            raise FieldError(
                f"crop {region} reaches outside of a picture of {header.shape} pixels "
                "(crop is top, left, height, width)"
            )
        if out.dtype != format.dtype:  # `cv2.split` would write elsewhere and say nothing
            raise FieldError(f"frames of {format.dtype} do not fit into an array of {out.dtype}")
        if out.shape != format.frame_shape(header.shape):
            raise DecodeError(
                f"a picture of {header.shape} pixels in a stream of {self.stream.info.shape}: "
                "give size=(height, width) to bring them to one size"
            )


def _resize(values: Values, size: Size) -> Values:
    """Shrink by averaging, then grow linearly, in each direction as needed."""
    height, width = values.shape[:2]
    shrunk = (min(size[0], height), min(size[1], width))
    for target, interpolation in ((shrunk, cv2.INTER_AREA), (size, cv2.INTER_LINEAR)):
        if values.shape[:2] != target:
            values = cv2.resize(values, target[::-1], interpolation=interpolation)
    return values


def _convert(values: Values, white: int, format: FrameFormat) -> Values:
    """Values whose full intensity is `white` in the dtype that is wanted."""
    full = _WHITE[format.dtype]
    codes_kept = format.dtype == "uint16" and format.color == "gray" and white > 1
    if codes_kept or (white == full and values.dtype == format.dtype):
        return values.astype(format.dtype, copy=False)
    if format.dtype == "float32":
        return np.divide(values, np.float32(white), dtype=np.float32)
    scaled = np.multiply(values, np.float32(full / white), dtype=np.float32)
    return np.clip(np.rint(scaled), 0, full).astype(format.dtype)


def _store(picture: Picture, format: FrameFormat, out: NDArray[Any]) -> None:
    """Write into out in the colours and layout that are wanted."""
    values, order = picture.values, _ORDERS[format.color]
    if picture.order != order:
        values = cv2.cvtColor(values, getattr(cv2, f"COLOR_{picture.order}2{order}"))
    if format.layout == "HWC":
        out[...] = values.reshape(out.shape)
    elif values.ndim == 2:
        out[0] = values
    else:
        cv2.split(values, list(out))
