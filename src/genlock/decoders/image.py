"""Encoded pictures (JPEG, PNG, TIFF, WebP, …) and arrays → frames of `Video` fields.

Decoding is OpenCV's; what OpenCV leaves open is decided here:

- EXIF and HEIF orientations are applied, all eight. A crop is in upright pixels.
- The format is what the content says, whatever the file's suffix.
- Alpha is dropped for "rgb", not blended; it is opaque where the file has none. Resizing treats
  it as one more channel (colours are not weighted by it).
- 16 bits to 8 is a division by 257, rounded. Floating-point pictures are 0 to 1: clipped for
  integers, kept beyond for float32; what is not finite becomes 0. Nothing is tone-mapped.
- "gray" of a JPEG is its luma as stored, of other colour pictures BT.601 luma.
- Animations give their first frame.
- A JPEG or PNG that was cut short is an error, never half a picture. Bytes that were altered
  inside a JPEG are not noticed: the format has no checksum.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from genlock._pictures import PictureHeader
from genlock._pictures.header import pixel_limit
from genlock.decoders._jpeg import PlaneScaler
from genlock.decoders._picture import Picture, PictureDecoder, Values, decode
from genlock.errors import DecodeError, FieldError
from genlock.interfaces import FrameFormat, Units
from genlock.stream import Stream

Size = tuple[int, int]
Region = tuple[int, int, int, int]

_ORDERS = {"rgb": "RGB", "rgba": "RGBA", "gray": "GRAY"}
_WHITE = {"uint8": 255, "uint16": 65535, "float32": 1}
_DTYPES = (np.uint8, np.uint16, np.float32)


class ImageDecoder(PictureDecoder):
    """Frames of a stream of pictures, in the form of a `FrameFormat`. One thread at a time.

    Arguments and errors: see `PictureDecoder`. Frames are resized by averaging where they shrink
    (`INTER_AREA`) and linearly where they grow. A JPEG that is wanted much smaller is decoded at
    1/2, 1/4 or 1/8 of its size, as long as that is no less than what is wanted and cuts no pixel;
    one that is wanted a little smaller is scaled as it is stored (`PlaneScaler`).
    """

    def __init__(self, units: Units, stream: Stream, max_pixels: int | None = None) -> None:
        super().__init__(units, stream, max_pixels)
        self._planes = PlaneScaler(stream.info, pixel_limit(max_pixels))

    def _render(
        self, unit: bytes | Values, header: PictureHeader, format: FrameFormat, out: Values
    ) -> None:
        region = format.crop or (0, 0, *header.shape)
        size = format.size or region[2:]
        self._check(header, region, format, out)
        shrink = _shrink(header, region, size)
        if shrink == 1 and isinstance(unit, bytes) and _scales_planes(header, region, size, format):
            header.check_whole(unit)
            if self._planes.write(unit, header, format, out):
                return
        picture = decode(unit, header, "gray" if format.color == "gray" else "color", shrink)
        if picture.values.dtype not in _DTYPES:
            raise DecodeError(f"pictures of {picture.values.dtype} have no white: use Depth")
        top, left, height, width = (edge // shrink for edge in region)
        values = np.ascontiguousarray(picture.values[top : top + height, left : left + width])
        if values.dtype == np.float32:
            values = np.where(np.isfinite(values), values, np.float32(0))
        values = _resize(values, size)
        _store(picture._replace(values=_convert(values, picture.white, format)), format, out)

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


def _shrink(header: PictureHeader, region: Region, size: Size) -> int:
    """The largest fraction at which a JPEG can be decoded without loss for the result."""
    if header.codec != "jpeg":
        return 1
    edges = (*header.shape, *region)
    for shrink in (8, 4, 2):
        enough = region[2] >= size[0] * shrink and region[3] >= size[1] * shrink
        if enough and not any(edge % shrink for edge in edges):
            return shrink
    return 1


def _scales_planes(header: PictureHeader, region: Region, size: Size, format: FrameFormat) -> bool:
    """Whether a JPEG is wanted smaller, in values that the planes of a frame give."""
    smaller = region[2:] != size and region[2] >= size[0] and region[3] >= size[1]
    return header.ycc and smaller and format.dtype != "uint16"


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
