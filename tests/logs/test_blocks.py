from __future__ import annotations

import bz2
import io
from typing import Any, BinaryIO

import lz4.frame
import numpy as np
import pytest
import zstandard
from mcap.writer import CompressionType

from genlock._logs import NO_BLOCK, Channel, Place
from genlock._logs.blocks import MAX_BLOCK, BlockCursor, MemoryWindow, check_crc, decompress
from genlock._logs.mcap import McapLog
from genlock.errors import DecodeError, LimitError
from genlock.location import Location
from log_writers import mcap_bytes
from ros_types import header, make

DATA = bytes(range(256)) * 400
PACKED = {
    "zstd": zstandard.compress(DATA),
    "lz4": lz4.frame.compress(DATA),
    "bz2": bz2.compress(DATA),
}


@pytest.mark.parametrize("name", PACKED)
def test_blocks_are_decompressed(name: str) -> None:
    assert decompress(PACKED[name], name, len(DATA)) == DATA


@pytest.mark.parametrize("size", [len(DATA) - 1, len(DATA) + 1, 0, 10])
@pytest.mark.parametrize("name", PACKED)
def test_a_block_of_another_size_than_stated_is_damaged(name: str, size: int) -> None:
    with pytest.raises(DecodeError):
        decompress(PACKED[name], name, size)


@pytest.mark.parametrize("name", PACKED)
def test_damaged_blocks(name: str) -> None:
    for data in (b"", b"\0" * 40, PACKED[name][: len(PACKED[name]) // 2]):
        with pytest.raises(DecodeError):
            decompress(data, name, len(DATA))


def test_a_block_takes_no_memory_by_what_it_claims() -> None:
    with pytest.raises(LimitError, match=f"above the limit of {MAX_BLOCK}"):
        decompress(PACKED["zstd"], "zstd", MAX_BLOCK + 1)
    bomb = zstandard.compress(bytes(1 << 26))
    with pytest.raises(DecodeError, match="larger than it should"):
        decompress(bomb, "zstd", 1000)


def test_unknown_compression_is_named() -> None:
    with pytest.raises(DecodeError, match="'brotli' are not known"):
        decompress(b"", "brotli", 1)


def test_checksums() -> None:
    check_crc(b"abc", 0)
    check_crc(b"abc", 0x352441C2)
    with pytest.raises(DecodeError, match="altered"):
        check_crc(b"abd", 0x352441C2)


def test_a_cursor_keeps_the_last_blocks_only() -> None:
    opened = []

    def open_block(file: Any, at: int) -> MemoryWindow:
        opened.append(at)
        return MemoryWindow(bytes([at]) * 8)

    cursor = BlockCursor(Location.of(b"0123456789"), open_block)
    read = [cursor.read(Place(block, 2, 3)) for block in (1, 1, 2, 1, 3, 1, 2)]
    assert read == [bytes([block]) * 3 for block in (1, 1, 2, 1, 3, 1, 2)]
    assert opened == [1, 2, 3, 2]
    assert cursor.read(Place(NO_BLOCK, 4, 3)) == b"456"
    with pytest.raises(DecodeError, match="ends within a message"):
        cursor.read(Place(NO_BLOCK, 8, 3))
    cursor.close()


class CountingLocation(Location):
    """Counts the bytes that are read."""

    count = 0

    def open(self) -> BinaryIO:
        location = self

        class Counting(io.BytesIO):
            def read(self, size: int | None = -1) -> bytes:
                data = super().read(size)
                location.count += len(data)
                return data

        assert self.data is not None
        return Counting(self.data)


class HeadSink:
    head: int | None = 12

    def __init__(self) -> None:
        self.found: list[tuple[int, Place, bytes]] = []

    def add(self, log_ns: int, place: Place, data: bytes) -> None:
        self.found.append((log_ns, place, data))


@pytest.mark.parametrize("chunked", [True, False])
def test_only_the_heads_of_uncompressed_messages_are_read(chunked: bool) -> None:
    kind = "sensor_msgs/msg/Image"
    pictures = [
        (k, make(kind, header=header(k), data=np.full(100_000, k, np.uint8))) for k in range(20)
    ]
    data = mcap_bytes({"/cam": pictures}, CompressionType.NONE, chunked)
    location = CountingLocation("memory:log", data)
    log, sink, channels = McapLog(location), HeadSink(), []

    def connect(channel: Channel) -> HeadSink:
        channels.append(channel)
        return sink

    assert log.scan(connect) == ()
    assert [channel.topic for channel in channels] == ["/cam"]
    assert len(data) > 2_000_000 and location.count < 20_000
    assert [log_ns for log_ns, _, _ in sink.found] == list(range(20))
    assert {len(head) for _, _, head in sink.found} == {12}
    location.count = 0
    cursor = log.cursor()
    whole = cursor.read(sink.found[7][1])
    assert whole[-100_000:] == bytes([7]) * 100_000
    assert location.count == len(whole)
    cursor.close()
