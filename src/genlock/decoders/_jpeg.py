"""JPEGs made smaller from the planes that they store, as the frames of a video are.

FFmpeg hands out luma and the planes of colour, which often are a quarter as large, and libswscale
scales them before it makes RGB of them. Averaging full RGB with OpenCV took longer than decoding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import av
from av.error import FFmpegError
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from genlock._ffmpeg import prepare
from genlock._pictures import PictureHeader
from genlock.decoders._conversion import PictureWriter
from genlock.decoders._scaler import FULL_RANGE
from genlock.interfaces import FrameFormat
from genlock.stream import StreamInfo


class PlaneScaler:
    """Writes JPEGs at smaller sizes. One thread at a time.

    info: of the stream; each picture's own size and orientation count. limit: in pixels.
    """

    def __init__(self, info: StreamInfo, limit: int) -> None:
        self._info = info
        self._limit = limit
        self._writer: tuple[object, PictureWriter] | None = None

    def write(
        self, data: bytes, header: PictureHeader, format: FrameFormat, out: NDArray[Any]
    ) -> bool:
        """Write one picture whose planes are as `PictureHeader.ycc` says into out.

        False, and out as it was, where FFmpeg does not decode it as its header says.
        """
        frame = self._decoded(data, header)
        if frame is None:
            return False
        self._writer_of(header, format).write(frame, out)
        return True

    def _writer_of(self, header: PictureHeader, format: FrameFormat) -> PictureWriter:
        """Neighbours are mostly alike, and what was set up for one serves the next."""
        kind = (header.shape, header.orientation, format)
        if self._writer is None or self._writer[0] != kind:
            turn = header.orientation
            shape = (*header.shape, header.channels)
            info = replace(self._info, shape=shape, rotation=turn.rotation, flipped=turn.flipped)
            self._writer = kind, PictureWriter(format, info)
        return self._writer[1]

    def _decoded(self, data: bytes, header: PictureHeader) -> VideoFrame | None:
        # a context of its own: no picture may be decoded with tables of the one before
        context = av.CodecContext.create("mjpeg", "r")
        prepare(context, self._limit)
        try:
            (frame,) = context.decode(av.Packet(data))
        except (FFmpegError, ValueError):
            return None
        same = (frame.height, frame.width) == (header.height, header.width)
        full = frame.color_range == FULL_RANGE or frame.format.name == "gray"
        return frame if same and full else None
