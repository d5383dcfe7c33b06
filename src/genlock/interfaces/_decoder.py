"""What codecs fill: decoders of pictures, sound, tables and point clouds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FrameFormat:
    """How decoded pictures are wanted.

    size: (height, width) or None for the stream's own. crop: (top, left, height, width) in upright
    pixels of the stream, taken before resizing, or None. color: "rgb", "gray" (luma as stored),
    "rgba", "yuv420p" (the stream's own matrix and range; uint8 [H * 3 / 2, W]: H lines of Y, then
    U and V at half size, each two rows in one line). dtype: "uint8", "uint16" (rgb: scaled to 16
    bits; gray: the stored codes), "float32" (0 to 1). layout: "CHW" or "HWC". depth frames are
    float32 [H, W] metres whatever the layout.
    """

    size: tuple[int, int] | None = None
    crop: tuple[int, int, int, int] | None = None
    color: str = "rgb"
    dtype: str = "uint8"
    layout: str = "CHW"

    @property
    def channels(self) -> int:
        return {"rgb": 3, "gray": 1, "rgba": 4}[self.color]

    def frame_shape(self, native: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of one frame of a stream whose upright frames are `native` (height, width)."""
        height, width = self.size or (self.crop[2:] if self.crop else native[:2])
        if self.color == "yuv420p":
            return (height * 3 // 2, width)
        if self.layout == "CHW":
            return (self.channels, height, width)
        return (height, width, self.channels)


class FrameDecoder(Protocol):
    """Turns units into pictures. One thread at a time."""

    def read(
        self, rows: NDArray[np.int64], format: FrameFormat, out: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Decode `rows` (ascending, repeats allowed) into out[i].

        Returns bool [len(rows)]: False where the stream holds no sound picture for a row (damaged
        or missing); out[i] is then zero. Raises DecodeError when nothing can be decoded at all.
        """

    def close(self) -> None: ...


class Walker(ABC):
    """A decoder that stands in its stream, from where going on may cost less than seeking.

    leaps: whether the next read is taken to lie elsewhere, so that no more is decoded than it needs
    and going on after it costs a seek. Set by whoever lends the decoder.
    """

    leaps: bool

    @property
    @abstractmethod
    def units_decoded(self) -> int:
        """How many units were decoded so far, without those that were skipped."""

    @abstractmethod
    def distance(self, row: int) -> int | None:
        """How many units lie before a row on the way from here; None if it has to seek."""


class SampleDecoder(Protocol):
    """Turns units into audio. One thread at a time."""

    def read(self, first: int, rate: int, out: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Fill out, float32 [C, N], with samples first … first + N of the stream at `rate`.

        Sample 0 is the stream's first sample (priming removed); positions count on the clock, so
        holes are zero. C is the stream's own channel count. Returns bool [N]: where data was.
        The result is a function of the file, first, N and rate alone.
        """

    def close(self) -> None: ...


class ColumnDecoder(Protocol):
    """Gives a table as arrays. Thread-safe after construction."""

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Arrays [N] or [N, k] by column, rows as in the stream's timeline. Read-only."""

    def close(self) -> None: ...


class PointDecoder(Protocol):
    """Turns units into point clouds. One thread at a time."""

    def read(self, row: int, columns: Sequence[str], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The points of a row, [P, D]; those with a value that is not finite are left out.

        columns: as in `StreamInfo.columns`. Raises DecodeError for a row that is damaged or lacks a
        column, OpenError.
        """

    def close(self) -> None: ...


Decoder = FrameDecoder | SampleDecoder | ColumnDecoder | PointDecoder
