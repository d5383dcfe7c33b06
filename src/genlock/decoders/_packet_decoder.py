"""Pictures of a stream of inter-coded units, by row, in any order, whatever FFmpeg decodes with."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
from av.error import FFmpegError
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from genlock._ffmpeg import prepare
from genlock._pictures.header import pixel_limit
from genlock.decoders._conversion import PictureWriter
from genlock.decoders._frames import FrameReader
from genlock.errors import ClosedError, DecodeError, GenlockError, LimitError, error_context
from genlock.interfaces import CodecSpec, FrameFormat, Units, Walker
from genlock.stream import Stream


class PacketDecoder(Walker):
    """Decodes one stream of packets; implements `FrameDecoder`. One thread at a time.

    units: a cursor of its own, which the decoder closes. max_pixels: the largest picture that may
    be decoded (default GENLOCK_MAX_PIXELS, else 2**28).

    Pictures are upright, and converted by their own matrix and range (untagged: BT.709 from 720
    lines on, else BT.601; limited). Pixels are never stretched by the sample aspect ratio, nor are
    HDR values tone-mapped. Raises LimitError if the stream claims larger pictures, DecodeError if
    FFmpeg has no decoder for it.
    """

    doubt: ClassVar[str] = ""
    """What else to think of, beside damage, where not one picture of a stream decodes."""

    def __init__(self, units: Units, stream: Stream, max_pixels: int | None = None) -> None:
        spec = units.spec
        self._units = units
        self._stream = stream
        self._uri = spec.options.get("uri")
        self._limit = pixel_limit(max_pixels or spec.options.get("max_pixels"))
        self._writers: dict[FrameFormat, PictureWriter] = {}
        self._closed = False
        with self._errors():
            if spec.table is None:
                raise DecodeError("a stream of packets comes without its unit table")
            self._row_unit = spec.table.row_unit
            self._reader = FrameReader(units, spec.table, self._open(spec))

    def _open(self, spec: CodecSpec) -> VideoCodecContext:
        try:
            context = self._context(spec)
            if context.width * context.height > self._limit:
                raise LimitError(
                    f"pictures of {context.width}x{context.height} are above the limit of"
                    f" {self._limit} pixels: raise max_pixels or GENLOCK_MAX_PIXELS"
                )
            prepare(context, self._limit, spec.options.get("view", 0))
            context.open(strict=False)
        except GenlockError:
            raise
        except (FFmpegError, ValueError) as error:
            raise DecodeError(f"FFmpeg has no decoder for {spec.codec!r}: {error}") from error
        return context

    @abstractmethod
    def _context(self, spec: CodecSpec) -> VideoCodecContext:
        """What decodes the stream, not open yet, with its codec headers."""

    @abstractmethod
    def _in_memory(self, frame: VideoFrame) -> VideoFrame:
        """A decoded frame that is wanted, in memory of the host."""

    def read(
        self, rows: NDArray[np.int64], format: FrameFormat, out: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Decode rows (ascending, repeats allowed) into out[i]; see `FrameDecoder.read`.

        out: [len(rows), C, H, W] or [len(rows), H, W, C] of the format's dtype. Raises DecodeError
        if no picture of the stream could ever be decoded, or if one has another size than the
        stream and the format does not say which size is wanted.
        """
        if self._closed:
            raise ClosedError("this video decoder was closed", stream=self._stream.name)
        expected = (len(rows), *format.frame_shape(self._stream.info.shape))
        if out.shape != expected or out.dtype != format.dtype:
            raise ValueError(f"out is {out.dtype} {out.shape}, not {format.dtype} {expected}")
        if format not in self._writers:
            self._writers[format] = PictureWriter(format, self._stream.info)
        units = self._row_unit[rows].tolist()
        first = dict(zip(reversed(units), range(len(units) - 1, -1, -1), strict=True))
        written = self._write(first, rows, self._writers[format], out)
        for place, unit in enumerate(units):
            if unit in written and place != first[unit]:
                out[place] = out[first[unit]]
        valid = np.array([unit in written for unit in units], np.bool_)
        out[~valid] = 0
        if len(rows) and not self._reader.produced and not self._reader.decodes():
            with self._errors(int(rows[0])):
                raise DecodeError(
                    "no picture of this stream can be decoded: it is damaged, or its pictures are"
                    f" above the limit of {self._limit} pixels{self.doubt}"
                )
        return valid

    def _write(
        self,
        places: dict[int, int],
        rows: NDArray[np.int64],
        writer: PictureWriter,
        out: NDArray[Any],
    ) -> set[int]:
        """Write each unit's picture to its place in out; gives the units that have a sound one."""
        written: set[int] = set()
        for unit, frame in self._reader.read(np.array(list(places), np.int64)):
            with self._errors(int(rows[places[unit]])):
                writer.write(self._in_memory(frame), out[places[unit]])
            written.add(unit)
        return written

    @property
    def leaps(self) -> bool:
        """Whether the next read is taken to lie elsewhere; see `Walker`."""
        return self._reader.leaps

    @leaps.setter
    def leaps(self, leaps: bool) -> None:
        self._reader.leaps = leaps

    @property
    def units_decoded(self) -> int:
        """How many units were decoded so far, without those that were skipped."""
        return self._reader.decoded

    def distance(self, row: int) -> int | None:
        """How many units lie before a row on the way from here; None if it has to seek."""
        return self._reader.distance(int(self._row_unit[row]))

    def _errors(self, row: int | None = None) -> AbstractContextManager[None]:
        time_ns = None if row is None else int(self._stream.timeline.ns[row])
        return error_context(self._uri, self._stream.name, time_ns)

    def close(self) -> None:
        """Release the decoder and its cursor. Harmless if done before."""
        self._closed = True
        self._writers.clear()
        self._reader.close()
        self._units.close()
