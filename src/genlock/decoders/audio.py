"""`AudioDecoder`: the samples of an audio stream, at its own rate or any other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._recent import Budget
from genlock.decoders._resample import Resampler, Samples, Valid
from genlock.decoders._sample_blocks import SampleBlocks
from genlock.errors import ClosedError, LimitError, StreamError, error_context
from genlock.interfaces import Units
from genlock.stream import Stream
from genlock.timeline import SampledTimeline

CACHE_BYTES = 16 << 20
"""Bound on what a decoder without a shared budget keeps: 40 s of 48 kHz stereo in float32."""

MOST_PER_SECOND = 2**26
"""Samples of all channels that a second may have: 1398 channels at 48 kHz."""


class AudioDecoder:
    """Reads any span of an audio stream; see `interfaces.SampleDecoder`. One thread at a time.

    units: a cursor over the stream, closed with the decoder; its table says which samples each
    unit holds. kept: where decoded samples stay for the next window, as stored and resampled;
    decoders of one stream share what is in it.

    Integers are scaled by 2**(bits - 1), so that full scale is 1; floats are as stored, also above
    1. Packets that are damaged, or of another rate or channel count than the stream's, are zero
    and invalid. The same samples come out whatever was read before and wherever a window starts.
    Raises StreamError if the stream is not audio, LimitError if its header claims more samples a
    second than audio can have, DecodeError if FFmpeg has no decoder for it.
    """

    def __init__(self, units: Units, stream: Stream, kept: Budget | None = None) -> None:
        table, timeline = units.spec.table, stream.timeline
        if table is None or table.samples is None or not isinstance(timeline, SampledTimeline):
            raise StreamError(f"stream {stream.name!r} is not audio", stream=stream.name)
        self._units: Units | None = units
        self._uri = units.spec.options.get("uri")
        self._stream = stream
        self._rate = timeline.rate
        channels = stream.info.shape[0]
        if channels * timeline.rate > MOST_PER_SECOND:
            why = f"{channels} channels at {timeline.rate} Hz are more than audio can be"
            raise LimitError(why, recording=self._uri, stream=stream.name)
        kept = kept or Budget(CACHE_BYTES)
        scope = (self._uri or id(self), stream.name)
        self._blocks = SampleBlocks(units, table.samples, self._rate, channels, kept, scope)
        self._resampler = Resampler(self._native, channels, self._rate, kept, scope)

    def read(self, first: int, rate: int, out: Samples) -> Valid:
        """Fill out, float32 [C, N], with samples first … first + N of the stream at `rate` Hz.

        first may be negative and the end beyond the stream's: zeros. Returns bool [N]: where data
        was. Raises ClosedError, and DecodeError where nothing of the stream can be decoded.
        """
        if self._units is None:
            raise ClosedError("this audio decoder is closed", stream=self._stream.name)
        if out.shape[0] != self._stream.info.shape[0]:
            raise ValueError(f"out has {out.shape[0]} channels, not {self._stream.info.shape[0]}")
        with error_context(self._uri, self._stream.name):
            if self._stream.problem is not None:
                raise self._stream.problem
            if rate == self._rate:
                return self._native(first, out)
            return self._resampler.read(first, rate, out)

    def _native(self, first: int, out: Samples) -> Valid:
        """`read` at the stream's own rate."""
        valid = np.zeros(out.shape[1], np.bool_)
        stop, filled = first + out.shape[1], first
        for piece in self._blocks.pieces(first, stop):
            a = max(first, piece.first)
            b = min(stop, piece.first + piece.samples.shape[1])
            if a < b:
                samples = piece.samples[:, a - piece.first : b - piece.first]
                _scale(samples, out[:, a - first : b - first])
                valid[a - first : b - first] = True
                filled = b if a == filled else filled
        if filled < stop:
            out[:, ~valid] = 0
        return valid

    def close(self) -> None:
        """Close the units and forget what was decoded; again is fine."""
        if self._units is not None:
            self._units.close()
            self._units = None
            del self._blocks, self._resampler


def _scale(stored: NDArray[Any], out: Samples) -> None:
    """Write stored samples as floats: integers by their full scale, unsigned ones centred."""
    kind, full_scale = stored.dtype.kind, np.float32(2.0 ** (8 * stored.dtype.itemsize - 1))
    for channel, values in zip(stored, out, strict=True):  # a channel of a second stays in cache
        values[:] = channel
        if kind == "u":
            values -= full_scale
        if kind != "f":
            values *= 1 / full_scale
