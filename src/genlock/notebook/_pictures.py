"""Frames as pictures for the eye: 8-bit RGB, depth in colour, JPEG."""

from __future__ import annotations

import base64
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

RGB = NDArray[np.uint8]

NEAR_TO_FAR = ("#fde725", "#7ad151", "#22a884", "#2a788e", "#414487", "#440154")
"""Colours of depth, evenly spaced from the nearest to the farthest."""
INVALID = ("#e8465a", "#8c1c2c")
"""The two colours of the hatch that marks pixels without a depth."""
HATCH_PIXELS = 4


def rgb_of(frame: NDArray[Any], depth_range: tuple[float, float] | None = None) -> RGB:
    """A frame as uint8 [H, W, 3].

    frame: a picture as `Video` gives it (either layout, any dtype, 1, 3 or 4 channels), or depth
    [H, W] in metres, coloured over `depth_range` with pixels that are 0 hatched.
    """
    if frame.ndim == 2:
        return _depth_colours(frame, depth_range or depth_range_of(frame))
    if frame.shape[0] in (1, 3, 4) and frame.shape[-1] not in (1, 3, 4):
        frame = np.moveaxis(frame, 0, -1)
    if frame.dtype == np.uint16:
        frame = frame >> 8
    elif np.issubdtype(frame.dtype, np.floating):
        frame = np.clip(_unit(frame) * 255, 0, 255)
    channels = [0, 0, 0] if frame.shape[-1] == 1 else [0, 1, 2]
    return np.ascontiguousarray(frame[..., channels], np.uint8)


def _unit(frame: NDArray[Any]) -> NDArray[Any]:
    """Fractions as they are; normalized values stretched over 0 to 1."""
    low, high = float(frame.min()), float(frame.max())
    return frame if low >= 0 and high <= 1 else (frame - low) / (high - low)


def depth_range_of(depth: NDArray[Any]) -> tuple[float, float]:
    """Nearest and farthest valid depth, (0, 1) where nothing is valid."""
    valid = depth[depth > 0]
    return (float(valid.min()), float(valid.max())) if valid.size else (0.0, 1.0)


def _depth_colours(depth: NDArray[Any], depth_range: tuple[float, float]) -> RGB:
    near, far = depth_range
    place = np.clip((depth - near) / max(far - near, 1e-9), 0, 1) * (len(NEAR_TO_FAR) - 1)
    anchors = _channels(NEAR_TO_FAR)
    knots = range(len(anchors))
    colours = np.stack([np.interp(place, knots, anchors[:, i]) for i in range(3)], -1)
    rows, columns = np.indices(depth.shape)
    stripes = (rows + columns) // HATCH_PIXELS % 2
    hatch = _channels(INVALID)[stripes]
    return np.where((depth > 0)[..., None], colours, hatch).astype(np.uint8)


def _channels(colours: tuple[str, ...]) -> NDArray[np.int64]:
    return np.array([list(bytes.fromhex(colour[1:])) for colour in colours])


def jpeg_uri(picture: RGB) -> str:
    """A picture as a data URI of a JPEG."""
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.height, encoder.width = picture.shape[:2]
    encoder.pix_fmt, encoder.framerate = "yuvj420p", 1  # type: ignore[assignment]
    frame = av.VideoFrame.from_ndarray(picture, "rgb24").reformat(format="yuvj420p")
    packets = [*encoder.encode(frame), *encoder.encode(None)]
    data = b"".join(map(bytes, packets))
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
