"""What formats fill: a source, and the units of its streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from genlock.clock import ClockMap
from genlock.location import Location
from genlock.stream import Stream


@dataclass(frozen=True)
class UnitSamples:
    """Which samples of an audio stream each of its units holds.

    A unit decodes to raw samples; `skip` of them are dropped (priming, edit lists), the next
    `count` are the stream's samples first … first + count. All int64 [U]; `first` and
    first + count ascend, and counts are 0 where a unit holds nothing of the stream.
    """

    first: NDArray[np.int64]
    count: NDArray[np.int64]
    skip: NDArray[np.int64]


@dataclass(frozen=True)
class UnitTable:
    """What is known of a stream's units without decoding them, in decode order.

    pts, dts: int64 [U] ticks of time_base. key: bool [U], decoding can start there. disposable:
    bool [U], no other unit refers to it. row_unit: int64 [N], the unit that holds each row of
    the timeline, so rows are in order of presentation; empty for audio, where `samples` says it.
    size: int64 [U] bytes, which together with the times tells packets apart after a seek; None
    where units need not be sought. position: int64 [U], the byte of the file that each unit comes
    from, which tells them apart better, if known (units of one page share it). damaged: bool [U],
    units of which the container lost bytes, or before which it lost units that they build on; a
    decoder need not notice. Read-only and thread-safe.
    """

    pts: NDArray[np.int64]
    dts: NDArray[np.int64]
    key: NDArray[np.bool_]
    disposable: NDArray[np.bool_]
    row_unit: NDArray[np.int64]
    time_base: Fraction
    size: NDArray[np.int64] | None = None
    samples: UnitSamples | None = None
    position: NDArray[np.int64] | None = None
    damaged: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class CodecSpec:
    """How a stream's units are coded.

    encoding: as in `StreamInfo`. codec: FFmpeg's name of the codec, "" for arrays and files.
    context: the open container's own codec context where units are its packets, since one made
    from a name loses priming and parameters; else None. extradata: codec headers. table: for
    inter-coded units. options: what a decoder needs to know beyond, by its documentation.
    """

    encoding: str
    codec: str = ""
    context: Any = None
    extradata: bytes | None = None
    table: UnitTable | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Units(Protocol):
    """A cursor over one stream's units. It serves one thread at a time and is closed explicitly."""

    @property
    def spec(self) -> CodecSpec: ...

    def unit(self, index: int) -> Any:
        """One independent unit: encoded bytes or an array for "image", an array [C, n] of samples
        (integers at the full scale of their type) for "samples" without a codec, all columns for
        "columns".

        Raises DecodeError, OpenError.
        """

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        """(index, unit) in decode order from unit `first`, which is a key unit."""

    def close(self) -> None: ...


@runtime_checkable
class Source(Protocol):
    """An open recording or file in one format. Thread-safe.

    streams: by name, with timelines on each stream's own clock (`StreamInfo.clock`).
    clocks: maps from a clock's name to the recording's clock. clock: the recording's clock.
    """

    location: Location
    clock: str
    clocks: Mapping[str, ClockMap]
    streams: Mapping[str, Stream]

    def units(self, stream: str) -> Units:
        """A new cursor over a stream's units, with file handles of its own."""

    def close(self) -> None:
        """Release what the source itself holds; cursors are closed by whoever made them."""


@runtime_checkable
class Resumable(Protocol):
    """A source that can be made again without its files, from its streams and what it kept.

    The module in `sources/` that made it has a function `restore(location, options, streams,
    state) -> Source` that does so.
    """

    def state(self) -> Mapping[str, Any] | None:
        """What `restore` needs besides: numbers, texts, arrays, `UnitTable`, and mappings or
        sequences of these. None for a source that has to be opened again after all.
        """


@dataclass(frozen=True)
class OpenOptions:
    """What the caller says about a file that the file cannot say itself.

    unit: unit of a lone table's times. streams: by stream name, the keys of a
    `[streams.NAME]` table of recording.toml; they win over what the file says. max_pixels: the
    largest picture that may be decoded (default GENLOCK_MAX_PIXELS, else 2**28). index: whether
    what opening finds out may be taken from the index, and kept there.
    """

    unit: str | None = None
    streams: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_pixels: int | None = None
    index: bool = True


class Format(Protocol):
    """What each module in `sources/` offers; `sources.FORMATS` lists them in order."""

    def claims(self, location: Location, head: bytes) -> bool:
        """Whether this looks like the format, by content first, then by suffix.

        head: the first 4096 bytes, b"" for a folder.
        """

    def open_source(
        self, location: Location, options: OpenOptions, open_child: OpenChild
    ) -> Source:
        """Open it. open_child opens another location with whatever format claims it.

        Raises OpenError naming the location.
        """


OpenChild = Callable[[Location, OpenOptions], Source]
