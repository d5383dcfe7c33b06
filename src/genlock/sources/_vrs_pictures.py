"""Picture streams of VRS files: JPEG and PNG, raw pixels, and video codecs frame by frame."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock._pictures import read_header
from genlock._vrs.chunks import Chunks
from genlock._vrs.content import ImageSpec
from genlock._vrs.file import Records
from genlock._vrs.pixels import known, pixel_bits, to_array
from genlock._vrs.stream import VrsStream
from genlock.errors import DecodeError, GenlockError
from genlock.interfaces import CodecSpec, UnitTable
from genlock.sources._bitstream import inspector
from genlock.sources._vrs_profile import CAPTURE_TIME, PictureSpec, Profile
from genlock.sources._vrs_track import RecordUnits, Times, Track, nominal_rate, settled
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

CODECS = {"h.264": "h264", "h.265": "hevc", "av1": "av1", "vp8": "vp8", "vp9": "vp9"}
ENCODED = {"jpg": "mjpeg", "png": "png", "jxl": "jpegxl"}
PEEK = 1 << 11
"""Bytes of a coded picture that hold its parameter sets and the head of its first slice."""


def picture_track(stream: VrsStream, chunks: Chunks, name: str, profile: Profile) -> Track:
    """Describe a stream of pictures."""
    assert stream.content.image is not None
    video = stream.content.image.format == "video"
    heads = stream.heads(chunks, PEEK if video else 0)
    rows = stream.layout.rows(heads)
    spec = _completed(stream.content.image, stream, rows)
    times = settled(stream, rows, CAPTURE_TIME)
    meaning = profile.pictures(stream)
    problem = _problem(spec, name, stream, meaning)
    shape, bits = _size(stream, chunks, spec, times)
    bits = 16 if meaning.codes else bits
    intrinsics, extrinsics = profile.calibration(name, shape)
    codec = CODECS.get(spec.codec.lower(), "")
    info = StreamInfo(
        meaning.modality,
        encoding="packets" if video else "image",
        codec=codec if video else ENCODED.get(spec.format, ""),
        shape=shape,
        dtype="uint8" if bits <= 8 else "uint16" if bits <= 16 else "float32",
        rate=nominal_rate(stream.configuration),
        clock=profile.clock,
        stamp=meaning.stamp,
        exposure_ns=_exposure(rows[times.kept]),
        depth=meaning.depth,
        bits=bits,
        report=times.report,
    )
    described = Stream(name, info, Timeline(times.ns), intrinsics, extrinsics, problem)
    if video and problem is None:
        key, disposable = _picture_heads(stream, chunks, codec, heads)
        table = _table(stream, times, key, disposable)
        return Track(described, partial(CodedUnits, stream, codec, table))
    records = stream.records.take(times.kept)
    return Track(described, partial(PictureUnits, stream, records, spec, info, meaning))


def _completed(spec: ImageSpec, stream: VrsStream, rows: NDArray[np.void]) -> ImageSpec:
    """The pictures' format, with what the first record and the configuration add to the tags."""
    names = [name for name in rows.dtype.names or () if name.startswith("image_")]
    first = {name: rows[name][0] for name in names if len(rows)}
    return spec.completed(first).completed(stream.configuration)


def _problem(
    spec: ImageSpec, name: str, stream: VrsStream, meaning: PictureSpec
) -> GenlockError | None:
    """Why pictures like these cannot be decoded, or None."""
    what = meaning.problem
    if spec.format == "video" and spec.codec.lower() not in CODECS:
        what = f"its video codec is {spec.codec or 'not stated'}"
    elif spec.format == "raw" and not (known(spec.pixels) and all(spec.size)):
        what = f"its pictures are {spec.size[1]} x {spec.size[0]} pixels of {spec.pixels}"
    elif spec.format not in (*ENCODED, "video", "raw"):
        what = f"its pictures are {spec.format or 'of a format that is not stated'}"
    if not what:
        return None
    uri = stream.file.location.uri
    message = f"stream {name!r} of {uri} cannot be decoded: {what}"
    return DecodeError(message, recording=uri, stream=name)


def _size(
    stream: VrsStream, chunks: Chunks, spec: ImageSpec, times: Times
) -> tuple[tuple[int, ...], int]:
    """Height and width, and the bits of a component: the first picture knows best."""
    if spec.format in ENCODED and len(times.kept):
        try:
            data = stream.block(chunks, stream.records, int(times.kept[0]))
            header = read_header(io.BytesIO(data))
            return header.shape, max(8, int(header.white).bit_length())
        except DecodeError:
            pass  # decoding it will say so, with its time
    return (spec.size if all(spec.size) else ()), pixel_bits(spec.pixels)


def _exposure(rows: NDArray[np.void]) -> int | None:
    """The median exposure in ns."""
    if "exposure_duration_s" not in (rows.dtype.names or ()):
        return None
    seconds = rows["exposure_duration_s"]
    stated = seconds[np.isfinite(seconds) & (seconds > 0)]
    return round(float(np.median(stated)) * SECOND_NS) if len(stated) else None


class PictureUnits(RecordUnits):
    """Pictures that stand alone: encoded bytes, or arrays for raw pixels."""

    def __init__(
        self,
        stream: VrsStream,
        records: Records,
        spec: ImageSpec,
        info: StreamInfo,
        meaning: PictureSpec,
    ) -> None:
        super().__init__(stream)
        self._records = records
        self._image = spec
        self._codes = meaning.codes
        options = {"uri": stream.file.location.uri}
        self.spec = CodecSpec("image", info.codec, options=options)

    def unit(self, index: int) -> bytes | NDArray[Any]:
        data = self._stream.block(self._chunks, self._records, index)
        if self._image.format != "raw":
            return data
        pixels = to_array(data, self._image)
        return pixels if self._codes is None else self._codes(pixels.view(np.uint64))

    def units(self, first: int) -> Iterator[tuple[int, bytes | NDArray[Any]]]:
        for index in range(first, len(self._records)):
            yield index, self.unit(index)


class CodedUnits(RecordUnits):
    """Inter-coded pictures: one record's bytes each, in the order of decoding."""

    def __init__(self, stream: VrsStream, codec: str, table: UnitTable) -> None:
        super().__init__(stream)
        options = {"uri": stream.file.location.uri}
        self.spec = CodecSpec("packets", codec, table=table, options=options)

    def unit(self, index: int) -> bytes:
        return self._stream.block(self._chunks, self._stream.records, index)

    def units(self, first: int) -> Iterator[tuple[int, bytes]]:
        for index in range(first, len(self._stream.records)):
            yield index, self.unit(index)


def _table(
    stream: VrsStream, times: Times, key: NDArray[np.bool_], disposable: NDArray[np.bool_]
) -> UnitTable:
    """Units are the records in order; those without a time are decoded, but no row shows them."""
    count = len(stream.records)
    when = stream.record_times_ns.copy()
    when[times.kept] = times.ns
    shown = np.argsort(when, kind="stable")
    pts = np.empty(count, np.int64)
    pts[shown] = np.arange(count)
    units = np.arange(count, dtype=np.int64)
    return UnitTable(pts, units, key, disposable, times.kept.astype(np.int64), Fraction(1))


def _picture_heads(
    stream: VrsStream, chunks: Chunks, codec: str, heads: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which units are key pictures, and which no other refers to.

    heads: of the payloads, with at least `PEEK` bytes behind the layout where it is short.
    """
    layout, count = stream.layout, len(stream.records)
    key, disposable = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    starts = layout.sizes(heads) if count else np.zeros(0, int)
    rows = layout.rows(heads)
    stated = "image_key_frame_index" in (layout.fixed.names or ())
    inspect = inspector(codec, None)
    for unit in range(count):
        data = heads[unit, starts[unit] :].tobytes()
        if len(data) < PEEK // 2:
            data = stream.block(chunks, stream.records, unit)
        found = is_key(codec, data)
        if found is None:
            found = bool(stated and rows["image_key_frame_index"][unit] == 0) or unit == 0
        key[unit] = found
        disposable[unit] = inspect(memoryview(data)).disposable
    return key, disposable


def is_key(codec: str, data: bytes) -> bool | None:
    """Whether decoding can start at a coded picture; None where its NAL units do not tell.

    The type of its first slice: H.264 5 (ITU-T H.264 table 7-1), HEVC 16 to 21 (H.265 table 7-1).
    """
    if codec not in ("h264", "hevc"):
        return None
    at = data.find(b"\x00\x00\x01")
    while 0 <= at < len(data) - 3:
        head = data[at + 3]
        kind = head & 31 if codec == "h264" else head >> 1 & 63
        if codec == "h264" and 1 <= kind <= 5:
            return kind == 5
        if codec == "hevc" and kind < 32:
            return 16 <= kind <= 21
        at = data.find(b"\x00\x00\x01", at + 3)
    return None
