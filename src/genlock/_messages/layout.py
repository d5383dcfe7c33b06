"""Where each value lies in a serialised ROS message, found by walking one message.

Messages of one type differ in layout only through the lengths of their strings and sequences. So
one message is walked, its lengths are noted as guards, and all others of the same size whose
guards agree are read at once, as columns of a matrix of bytes.

Sources: OMG CDR (formal/02-06-51) as DDS-XTypes 1.3 section 7.4 encapsulates it: plain CDR aligns
a primitive to its size, plain CDR2 to 4 at most. ROS 1: wiki.ros.org/msg, packed little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._messages.codec import TIME_DTYPE, Group
from genlock._messages.definitions import VARIABLE, RosField, Types
from genlock._nanoseconds import SECOND_NS
from genlock.errors import DecodeError

Matrix = NDArray[np.uint8]

PRIMITIVES: Mapping[str, str] = MappingProxyType(
    {
        "bool": "?",
        "byte": "u1",
        "char": "u1",
        "int8": "i1",
        "uint8": "u1",
        "int16": "i2",
        "uint16": "u2",
        "int32": "i4",
        "uint32": "u4",
        "int64": "i8",
        "uint64": "u8",
        "float32": "f4",
        "float64": "f8",
    }
)
TIMES = frozenset({"builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration"})


@dataclass(frozen=True)
class Wire:
    """How values are laid out in bytes.

    order: "<" or ">". start: offset of the first value. align: the largest alignment. terminated:
    whether strings end in a NUL that their length counts.
    """

    order: str = "<"
    start: int = 0
    align: int = 1
    terminated: bool = False

    @classmethod
    def of_cdr(cls, data: bytes) -> Wire:
        """What a message's encapsulation header says. Raises DecodeError."""
        kind = data[1] if len(data) >= 4 else -1
        if kind not in (0, 1, 6, 7):
            raise DecodeError(f"this is not a CDR message: it starts with {data[:4]!r}")
        return cls("<" if kind & 1 else ">", 4, 8 if kind < 2 else 4, True)


ROS1 = Wire()


class Leaf(NamedTuple):
    """One value of a message. dtype: "text", "time", or NumPy's. length: None for one value."""

    dtype: str
    offset: int
    length: int | None


@dataclass
class Layout:
    """Leaves by path, and (offset, value) of each length that the layout depends on."""

    wire: Wire
    leaves: dict[str, Leaf] = field(default_factory=dict)
    guards: list[tuple[int, int]] = field(default_factory=list)

    def fits(self, matrix: Matrix) -> NDArray[np.bool_]:
        """Which rows of a matrix of messages, [n, size], have this layout."""
        fitting = (matrix[:, : self.wire.start] == matrix[0, : self.wire.start]).all(axis=1)
        for offset, value in self.guards:
            fitting &= _numbers(matrix, f"{self.wire.order}u4", offset, 1)[:, 0] == value
        return np.asarray(fitting)

    def column(self, path: str, matrix: Matrix) -> NDArray[Any]:
        """One value of all messages in a matrix that fits: [n] or [n, k]."""
        dtype, offset, length = self.leaves[path]
        if dtype == "text":
            return _texts(matrix[:, offset : offset + (length or 0)])
        if dtype == "time":
            seconds = _numbers(matrix, f"{self.wire.order}i4", offset, 1)
            rest = _numbers(matrix, f"{self.wire.order}u4", offset + 4, 1)
            times = seconds.astype(np.int64) * SECOND_NS + rest
            return np.asarray(times[:, 0].view(TIME_DTYPE))
        values = _numbers(matrix, self.wire.order + dtype, offset, 1 if length is None else length)
        return values[:, 0] if length is None else values


def _numbers(matrix: Matrix, dtype: str, offset: int, count: int) -> NDArray[Any]:
    size = np.dtype(dtype).itemsize * count
    if not size:
        return np.zeros((len(matrix), 0), dtype)
    # of a single message this is a view: a picture is not copied
    part = np.ascontiguousarray(matrix[:, offset : offset + size])
    return part.view(dtype)


def _texts(part: Matrix) -> NDArray[Any]:
    texts = np.full(len(part), "", object)
    if part.shape[1]:
        different, which = np.unique(
            np.ascontiguousarray(part).view(f"S{part.shape[1]}")[:, 0], return_inverse=True
        )
        names = np.array([text.decode("utf-8", "replace") for text in different.tolist()], object)
        texts = names[which]
    return texts


class _Walk:
    """One pass over a message that notes where everything is."""

    def __init__(self, types: Types, data: bytes, wire: Wire) -> None:
        self._types = types
        self._data = data
        self._at = wire.start
        self.layout = Layout(wire)

    def message(self, name: str, path: str) -> None:
        fields = self._types.get(name)
        if fields is None:
            raise DecodeError(f"{path.rstrip('.')}: there is no definition of {name}")
        for one in fields:
            self._field(one, path + one.name)
        if not fields and self.layout.wire.terminated:
            self._take(1)  # CDR gives an empty structure one byte

    def _field(self, one: RosField, path: str) -> None:
        if one.length is None:
            self._single(one.type, path)
            return
        count, form = one.length, "{}.{}"
        if count == VARIABLE:
            count, form = self._length(path), "{}[{}]"
        if one.type in PRIMITIVES:
            self._primitive(one.type, path, count)
            return
        for index in range(count):
            self._single(one.type, form.format(path, index))

    def _single(self, type: str, path: str) -> None:
        if type in PRIMITIVES:
            self._primitive(type, path, None)
        elif type == "string":
            length = self._length(path)
            start = self._take(length)
            self.layout.leaves[path] = Leaf("text", start, length)
        elif type in TIMES:
            self._align(4)
            self.layout.leaves[path] = Leaf("time", self._take(8), None)
        else:
            self.message(type, path + ".")

    def _primitive(self, type: str, path: str, count: int | None) -> None:
        dtype = PRIMITIVES[type]
        size = np.dtype(dtype).itemsize
        if count != 0:  # nothing is aligned for a sequence of none
            self._align(size)
        start = self._take(size if count is None else size * count)
        self.layout.leaves[path] = Leaf(dtype, start, count)

    def _length(self, path: str) -> int:
        self._align(4)
        start = self._take(4)
        (length,) = struct.unpack_from(f"{self.layout.wire.order}I", self._data, start)
        if length > len(self._data) - self._at:
            raise DecodeError(f"{path}: {length} elements do not fit into {len(self._data)} bytes")
        self.layout.guards.append((start, length))
        return int(length)

    def _align(self, size: int) -> None:
        wire = self.layout.wire
        step = min(size, wire.align)
        self._at += -(self._at - wire.start) % step

    def _take(self, size: int) -> int:
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise DecodeError(f"the message is cut short: {len(self._data)} bytes")
        return start


def lay_out(types: Types, name: str, data: bytes, wire: Wire) -> Layout:
    """Walk one message. Raises DecodeError if it is too short or a type is unknown."""
    walk = _Walk(types, data, wire)
    walk.message(name, "")
    return walk.layout


def beginning(types: Types, name: str, data: bytes, wire: Wire) -> LayoutColumns:
    """The values that are whole in a message's first bytes."""
    walk = _Walk(types, data, wire)
    with suppress(DecodeError):
        walk.message(name, "")
    return LayoutColumns(walk.layout, np.frombuffer(data, np.uint8)[None])


class LayoutColumns(Mapping[str, NDArray[Any]]):
    """Columns of messages that share a layout, made when looked up."""

    def __init__(self, layout: Layout, matrix: Matrix) -> None:
        self._layout = layout
        self._matrix = matrix

    def __getitem__(self, path: str) -> NDArray[Any]:
        return self._layout.column(path, self._matrix)

    def __contains__(self, path: object) -> bool:
        return path in self._layout.leaves

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.leaves)

    def __len__(self) -> int:
        return len(self._layout.leaves)


def by_size(messages: Sequence[bytes]) -> Iterator[tuple[NDArray[np.intp], Matrix]]:
    """Messages of one size each: which, and their bytes [n, size]."""
    sizes = np.fromiter(map(len, messages), np.intp, len(messages))
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        data = b"".join([messages[row] for row in rows.tolist()])
        yield rows, np.frombuffer(data, np.uint8).reshape(len(rows), size)


def parse(types: Types, name: str, messages: Sequence[bytes], wire: Wire | None) -> Iterator[Group]:
    """Read messages of a type, grouped by their layout. wire: None if each message says (CDR)."""
    for rows, matrix in by_size(messages):
        while len(rows):
            first = messages[rows[0]]
            layout = lay_out(types, name, first, wire or Wire.of_cdr(first))
            fitting = layout.fits(matrix)
            whole = bool(fitting.all())  # then nothing is copied, which matters for a picture
            yield Group(rows[fitting], LayoutColumns(layout, matrix if whole else matrix[fitting]))
            rows, matrix = rows[~fitting], matrix[~fitting]
