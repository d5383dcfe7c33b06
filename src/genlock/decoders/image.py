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

from genlock._pictures import PictureHeader
from genlock._pictures.header import pixel_limit
from genlock.decoders._jpeg import PlaneScaler
from genlock.decoders._picture import Picture, Values, decode
from genlock.decoders._rendering import FrameRenderer, Region, Size
from genlock.interfaces import FrameFormat, Units
from genlock.stream import Stream


class ImageDecoder(FrameRenderer):
    """Frames of a stream of pictures, decoded by OpenCV. One thread at a time.

    Arguments and errors: see `FrameRenderer`. A JPEG that is wanted much smaller is decoded at 1/2,
    1/4 or 1/8 of its size, as long as that is no less than what is wanted and cuts no pixel; one
    that is wanted a little smaller is scaled as it is stored (`PlaneScaler`).
    """

    def __init__(self, units: Units, stream: Stream, max_pixels: int | None = None) -> None:
        super().__init__(units, stream, max_pixels)
        self._planes = PlaneScaler(stream.info, pixel_limit(max_pixels))

    def _shrink(self, header: PictureHeader, region: Region, size: Size) -> int:
        return _shrink(header, region, size)

    def _scaled(
        self,
        unit: bytes | Values,
        header: PictureHeader,
        region: Region,
        size: Size,
        format: FrameFormat,
        out: Values,
    ) -> bool:
        if not (isinstance(unit, bytes) and _scales_planes(header, region, size, format)):
            return False
        header.check_whole(unit)
        return self._planes.write(unit, header, format, out)

    def _picture(
        self, unit: bytes | Values, header: PictureHeader, format: FrameFormat, shrink: int
    ) -> Picture:
        return decode(unit, header, "gray" if format.color == "gray" else "color", shrink)


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
