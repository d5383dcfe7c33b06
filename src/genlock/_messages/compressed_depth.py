"""Depth images as ROS's compressed_depth_image_transport packs them.

A header of 12 bytes (a format number and two float32, little-endian), then a PNG of 16 bits, or
RVL (Wilson, "Fast Lossless Depth Image Compression", 2017) behind its width and height. Depth of
32FC1 is stored as codes of its inverse: depth = a / (code - b), 0 for none.
"""

from __future__ import annotations

import struct
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from genlock.errors import DecodeError

HEADER = struct.Struct("<iff")
_RVL_SIZE = struct.Struct("<ii")
PNG_MAGIC = b"\x89PNG"
MAX_NIBBLES = 10
"""A 32-bit number takes eleven nibbles of three bits; differences of 16 bits take six."""


def size_of(data: bytes) -> tuple[int, int]:
    """(height, width) of a packed depth image. Raises DecodeError."""
    payload = data[HEADER.size :]
    if payload.startswith(PNG_MAGIC) and len(payload) >= 24:
        width, height = struct.unpack_from(">II", payload, 16)
        return height, width
    if len(payload) < _RVL_SIZE.size:
        raise DecodeError(f"this is not a compressed depth image: {len(data)} bytes")
    width, height = _RVL_SIZE.unpack_from(payload)
    return height, width


def unpack(data: bytes, encoding: str) -> bytes | NDArray[Any]:
    """A picture of the depth: a PNG of codes for 16 bits, else an array [H, W].

    encoding: of the image that was compressed, "16UC1" or "32FC1". uint16 stays as it is; 32FC1
    gives float32 metres, 0 for none. Raises DecodeError.
    """
    payload = data[HEADER.size :]
    if not payload:
        raise DecodeError(f"this is not a compressed depth image: {len(data)} bytes")
    is_png = payload.startswith(PNG_MAGIC)
    if encoding != "32FC1":
        return payload if is_png else _from_rvl(payload)
    _, a, b = HEADER.unpack_from(data)
    codes = _from_png(payload) if is_png else _from_rvl(payload)
    with np.errstate(divide="ignore"):
        metres = np.float32(a) / (codes.astype(np.float32) - np.float32(b))
    return np.where(codes == 0, np.float32(0), metres)


def _from_png(payload: bytes) -> NDArray[np.uint16]:
    codes = cv2.imdecode(np.frombuffer(payload, np.uint8), cv2.IMREAD_UNCHANGED)
    if codes is None or codes.dtype != np.uint16 or codes.ndim != 2:
        raise DecodeError("the PNG of a compressed depth image is damaged")
    return np.asarray(codes)


def _from_rvl(payload: bytes) -> NDArray[np.uint16]:
    """Runs of (number of zeros, number of values, differences of the values)."""
    height, width = size_of(bytes(HEADER.size) + payload)
    count = height * width
    numbers = _variable_length(payload[_RVL_SIZE.size :])
    # each number is at least four bits, so a picture of zeros alone can be of any size
    if min(height, width) < 1 or count > 1 << 28:
        raise DecodeError(f"an RVL image claims {height} x {width} pixels")
    codes = np.zeros(count, np.uint16)
    at, done, last = 0, 0, 0
    while done < count:
        if at + 2 > len(numbers):
            raise DecodeError(f"an RVL image ends after {done} of {count} pixels")
        zeros, values = numbers[at : at + 2].tolist()
        steps = numbers[at + 2 : at + 2 + values]
        done, at = done + zeros, at + 2 + values
        if len(steps) < values or done + values > count or not zeros + values:
            raise DecodeError(f"an RVL image is damaged at pixel {done} of {count}")
        run = last + np.cumsum(steps >> 1 ^ -(steps & 1))
        codes[done : done + values] = run
        done, last = done + values, int(run[-1]) if values else last
    return codes.reshape(height, width)


def _variable_length(data: bytes) -> NDArray[np.int64]:
    """Numbers in nibbles of three bits, low ones first; the fourth bit says that more follow.

    Nibbles fill little-endian words of 32 bits from the top.
    """
    words = np.frombuffer(data[: len(data) // 4 * 4], "<u4")
    nibbles = (words[:, None] >> np.arange(28, -1, -4, dtype=np.uint32) & 15).ravel()
    stops = np.flatnonzero(nibbles < 8) + 1
    if not len(stops):
        return np.zeros(0, np.int64)
    starts = np.concatenate([[0], stops[:-1]])
    lengths = stops - starts
    place = np.arange(stops[-1]) - np.repeat(starts, lengths)
    if place.max() > MAX_NIBBLES:
        raise DecodeError("an RVL image is damaged: a number of more than 32 bits")
    parts = (nibbles[: stops[-1]].astype(np.int64) & 7) << (3 * place)
    return np.asarray(np.add.reduceat(parts, starts))
