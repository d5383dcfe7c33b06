"""Bytes of a log: in the file or in a decompressed block, read in the same way."""

from __future__ import annotations

import bz2
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import BinaryIO, Protocol

from genlock._logs import NO_BLOCK, Place
from genlock.errors import DecodeError, LimitError, MissingExtraError
from genlock.location import Location

MAX_BLOCK = 1 << 30
"""The largest decompressed block in bytes; writers make blocks of 1 to 16 MB."""
KEPT_BLOCKS = 2


class Window(Protocol):
    """A range of bytes that is read at random."""

    size: int

    def bytes(self, offset: int, count: int) -> bytes:
        """Bytes from offset on; fewer at the end."""


class FileWindow:
    """A whole file. One thread at a time."""

    def __init__(self, location: Location) -> None:
        self._file: BinaryIO = location.open()
        self.size = self._file.seek(0, 2)

    def bytes(self, offset: int, count: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(count)

    def close(self) -> None:
        self._file.close()


class MemoryWindow:
    """A decompressed block."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def bytes(self, offset: int, count: int) -> bytes:
        return self._data[offset : offset + count]


def decompress(data: bytes, compression: str, size: int) -> bytes:
    """Undo a block's compression ("zstd", "lz4", "bz2").

    size: what the block claims to be without it; no more is taken. Raises DecodeError if it is
    damaged or another size, LimitError above `MAX_BLOCK`, MissingExtraError.
    """
    if size > MAX_BLOCK:
        raise LimitError(f"a block claims {size} bytes, above the limit of {MAX_BLOCK}")
    if compression not in _DECOMPRESSORS:
        known = ", ".join(_DECOMPRESSORS)
        raise DecodeError(f"blocks compressed with {compression!r} are not known ({known} are)")
    try:
        result = _DECOMPRESSORS[compression](data, size)
    except ImportError as error:
        purpose = f"reading blocks compressed with {compression}"
        raise MissingExtraError("mcap and rosbags", "mcap,ros", purpose) from error
    except Exception as error:  # each library has errors of its own
        raise DecodeError(f"a block compressed with {compression} is damaged: {error}") from error
    if len(result) != size:
        raise DecodeError(f"a block holds {len(result)} bytes where {size} are stated")
    return result


def _zstd(data: bytes, size: int) -> bytes:
    import zstandard

    if zstandard.frame_content_size(data) > size:
        raise ValueError("it claims to be larger than it should")
    return bytes(zstandard.ZstdDecompressor().decompress(data, max_output_size=max(size, 1)))


def _lz4(data: bytes, size: int) -> bytes:
    import lz4.frame

    # one byte more than stated, to see a block that is larger
    return bytes(lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1))


def _bz2(data: bytes, size: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(data, max_length=size + 1)


_DECOMPRESSORS: dict[str, Callable[[bytes, int], bytes]] = {
    "zstd": _zstd,
    "lz4": _lz4,
    "bz2": _bz2,
}


def check_crc(data: bytes, stated: int) -> None:
    """Compare a block with its CRC-32, where it has one (not 0). Raises DecodeError."""
    if stated and zlib.crc32(data) != stated:
        raise DecodeError("a block's checksum is wrong: its bytes were altered")


class BlockCursor:
    """Reads messages of a file with compressed blocks; the last blocks are kept decompressed.

    open_block: decompresses the block at an offset of the file.
    """

    def __init__(
        self, location: Location, open_block: Callable[[FileWindow, int], MemoryWindow]
    ) -> None:
        self._file = FileWindow(location)
        self._open_block = open_block
        self._blocks: OrderedDict[int, MemoryWindow] = OrderedDict()

    def read(self, place: Place) -> bytes:
        window = self._file if place.block == NO_BLOCK else self._block(place.block)
        data = window.bytes(place.offset, place.size)
        if len(data) < place.size:
            raise DecodeError(f"the file ends within a message at byte {place.offset}")
        return data

    def _block(self, offset: int) -> MemoryWindow:
        if offset not in self._blocks:
            while len(self._blocks) >= KEPT_BLOCKS:
                self._blocks.popitem(last=False)
            self._blocks[offset] = self._open_block(self._file, offset)
        self._blocks.move_to_end(offset)
        return self._blocks[offset]

    def close(self) -> None:
        self._file.close()
        self._blocks.clear()
