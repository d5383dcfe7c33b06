"""GPMF payloads for tests, packed by hand from the format's public description."""

from __future__ import annotations

import struct


def entry(key: str, kind: str, size: int, data: bytes, repeat: int | None = None) -> bytes:
    count = len(data) // size if repeat is None else repeat
    head = key.encode() + struct.pack(">cBH", kind.encode(), size, count)
    return head + data + b"\0" * (-len(data) % 4)


def text(key: str, value: str) -> bytes:
    return entry(key, "c", 1, value.encode("latin-1"))


def number(key: str, kind: str, *values: float) -> bytes:
    codes = {"s": "h", "S": "H", "L": "I", "J": "Q", "f": "f", "l": "i"}
    return entry(
        key,
        kind,
        struct.calcsize(codes[kind]),
        struct.pack(f">{len(values)}{codes[kind]}", *values),
    )


def nest(key: str, *parts: bytes) -> bytes:
    data = b"".join(parts)
    return entry(key, "\0", 1, data)


def device(*streams: tuple[bytes, ...], identity: int = 1) -> bytes:
    return nest("DEVC", number("DVID", "L", identity), *(nest("STRM", *parts) for parts in streams))


def triples(key: str, *rows: tuple[int, int, int]) -> bytes:
    return entry(key, "s", 6, b"".join(struct.pack(">3h", *row) for row in rows))
