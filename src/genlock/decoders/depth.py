"""Depth pictures → metres. 16 bits stay 16 bits, nothing is blended, invalid pixels are 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._depth_encoding import DepthEncoding
from genlock._pictures import PictureHeader
from genlock.decoders._picture import PictureDecoder, Values, decode
from genlock.errors import DecodeError, FieldError, LayoutError
from genlock.interfaces import FrameFormat, Units
from genlock.stream import Stream


class DepthDecoder(PictureDecoder):
    """Frames of a stream of depth pictures: float32 [H, W] metres. One thread at a time.

    Arguments and errors: see `PictureDecoder`. Raises LayoutError if the stream does not say how
    its depth is encoded. The format's color, dtype and layout are not looked at.
    """

    def __init__(self, units: Units, stream: Stream, max_pixels: int | None = None) -> None:
        super().__init__(units, stream, max_pixels)
        self.encoding = depth_encoding(stream)

    def _render(
        self, unit: bytes | Values, header: PictureHeader, format: FrameFormat, out: Values
    ) -> None:
        codes = decode(unit, header, "depth").values
        if codes.ndim != 2:
            raise DecodeError(
                f"depth has one channel, this {header.codec} has {codes.shape[2]}: is it a picture?"
            )
        codes = resize_depth(codes, format.size, format.crop)
        if out.shape != codes.shape:
            raise DecodeError(
                f"depth of {codes.shape} pixels in a stream of {self.stream.info.shape}: give "
                "size=(height, width) to bring them to one size"
            )
        out[...] = to_metres(codes, self.encoding)


def depth_encoding(stream: Stream) -> DepthEncoding:
    """How a stream's depth is encoded. Raises LayoutError, with the line to add, if unknown."""
    if stream.info.depth is None:
        raise LayoutError(
            f"stream {stream.name!r} does not say how its depth is encoded: add depth = "
            "{ scale = 0.001, invalid = 0 } (metres per unit) to its declaration, or depth = "
            '{ encoding = "mm" } ("tum5000", "sun", "metres")',
            stream=stream.name,
        )
    return DepthEncoding.parse(stream.info.depth)


def to_metres(codes: NDArray[Any], encoding: DepthEncoding | str) -> NDArray[np.float32]:
    """Codes of any shape and number type → float32 metres, 0 where there is no depth.

    There is none where the code is the encoding's invalid one, or the result is 0, negative, NaN
    or infinite. encoding: as in `StreamInfo.depth`. Raises LayoutError for an unknown one.
    """
    if isinstance(encoding, str):
        encoding = DepthEncoding.parse(encoding)
    values = codes
    if encoding.rotated:
        if codes.dtype != np.uint16:
            raise DecodeError(f"depth rotated by 3 bits is uint16, not {codes.dtype}")
        values = codes >> 3 | codes << 13
    with np.errstate(over="ignore", invalid="ignore"):
        # a product in float64, rounded once, so that all spellings of one scale agree
        product = np.multiply(values, float(encoding.scale), dtype=np.float64)
        metres: NDArray[np.float32] = product.astype(np.float32)
    missing = ~(metres > 0) | np.isinf(metres)
    if encoding.invalid != 0:
        missing |= codes == encoding.invalid
    metres[missing] = 0
    return metres


def resize_depth(
    depth: NDArray[Any],
    size: tuple[int, int] | None = None,
    crop: tuple[int, int, int, int] | None = None,
) -> NDArray[Any]:
    """Crop (top, left, height, width), then resize to (height, width) by the nearest pixel.

    depth: [H, W, ...], codes or metres. Pixels are squares and the picture's edges stay in place:
    output pixel i of n is the input pixel of N that its centre lies in, floor((i + 1/2) * N / n),
    and the upper of two that it lies between (as `INTER_NEAREST_EXACT` and Pillow have it).
    Raises FieldError for a crop that reaches outside.
    """
    top, left, height, width = crop or (0, 0, *depth.shape[:2])
    if top + height > depth.shape[0] or left + width > depth.shape[1]:
        raise FieldError(
            f"crop {crop} reaches outside of depth of {depth.shape[:2]} pixels "
            "(crop is top, left, height, width)"
        )
    region = depth[top : top + height, left : left + width]
    if size is None or size == (height, width):
        return region
    rows, columns = (
        (2 * np.arange(n) + 1) * length // (2 * n)
        for n, length in zip(size, (height, width), strict=True)
    )
    resized: NDArray[Any] = region[rows[:, None], columns]
    return resized
