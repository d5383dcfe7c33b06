"""What a source knows ⇄ bytes, written so that reading them can run no code.

    magic, CRC-32 of what follows, lengths of the text and the arrays, text (JSON), arrays

Several values may follow one another. The text is one value. Numbers, texts and None stand for
themselves, an object is a mapping, and everything else is a list whose first item says what it is:
["tuple", …], ["array", dtype, shape, offset], ["StreamInfo", {fields that differ from their
defaults}]. Only the kinds named here exist.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from genlock import errors
from genlock.clock import ClockMap
from genlock.errors import GenlockError, MissingExtraError
from genlock.interfaces import UnitSamples, UnitTable
from genlock.stream import ColorTags, Extrinsics, Intrinsics, Stream, StreamInfo
from genlock.timeline import Report, SampledTimeline, Timeline

MAGIC = b"genlock index 2\n"
LENGTHS = struct.Struct("<4xQQ")
CHECKED_AT = len(MAGIC) + 4
TEXT_AT = CHECKED_AT + LENGTHS.size
ALIGNMENT = 8
"""Of texts and arrays: NumPy copies what lies askew."""

RECORDS = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            ClockMap,
            ColorTags,
            Extrinsics,
            Intrinsics,
            Report,
            Stream,
            StreamInfo,
            UnitSamples,
            UnitTable,
        )
    }
)
PLAIN = (str, bool, int, float, type(None))


def pack(value: Any) -> bytes:
    """Bytes that `unpack` turns into an equal value. Raises TypeError for what has no such form."""
    packer = _Packer()
    text = _padded(json.dumps(packer.form(value), separators=(",", ":")).encode(), b" ")
    arrays = b"".join(packer.arrays)
    checked = LENGTHS.pack(len(text), len(arrays)) + text + arrays
    return MAGIC + struct.pack("<I", zlib.crc32(checked)) + checked


def length_of(data: bytes | memoryview) -> int:
    """How many bytes the first value takes, of which there may be less. Raises ValueError."""
    if len(data) < TEXT_AT or data[: len(MAGIC)] != MAGIC:
        raise ValueError("these bytes are of another kind or version")
    text, arrays = LENGTHS.unpack_from(data, CHECKED_AT)
    return TEXT_AT + int(text) + int(arrays)


def unpack(data: bytes | memoryview) -> Any:
    """The value of `pack`; arrays are read-only views of it. Raises ValueError for other bytes."""
    if length_of(data) != len(data):
        raise ValueError("these bytes are not whole")
    checksum = int.from_bytes(data[len(MAGIC) : CHECKED_AT], "little")
    if zlib.crc32(memoryview(data)[CHECKED_AT:]) != checksum:
        raise ValueError("these bytes are damaged")
    arrays_at = TEXT_AT + LENGTHS.unpack_from(data, CHECKED_AT)[0]
    try:
        return _Unpacker(data, arrays_at).value(json.loads(bytes(data[TEXT_AT:arrays_at])))
    except (TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ValueError(f"these bytes say nothing that is known here: {error}") from error


class _Packer:
    """Turns values into their form in the text, and collects arrays."""

    def __init__(self) -> None:
        self.arrays: list[bytes] = []
        self._length = 0

    def form(self, value: Any) -> Any:
        kind = type(value)
        if kind in PLAIN:
            return value
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, tuple | list):
            return [kind.__name__, *map(self.form, value)]
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return self.form(value.item())
        if isinstance(value, Fraction):
            return ["Fraction", value.numerator, value.denominator]
        if isinstance(value, bytes):
            return ["bytes", self._array(np.frombuffer(value, np.uint8))]
        if isinstance(value, GenlockError) and not isinstance(value, MissingExtraError):
            place = (value.recording, value.stream, value.time_ns)
            return ["error", kind.__name__, value.message, *place]
        return self._record(value)

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"only names are kept as keys, not those of {value!r:.80}")
        return {key: self.form(item) for key, item in value.items()}

    def _record(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind is SampledTimeline:
            rule = (value.first_ns, value.rate, value.count, value.segments, value.clock)
            return [kind.__name__, *map(self.form, rule)]
        if kind is Timeline:
            return [kind.__name__, *map(self.form, (value.ns, value.durations_ns, value.valid))]
        if RECORDS.get(kind.__name__) is not kind or not is_dataclass(value):
            raise TypeError(f"a {kind.__name__} cannot be kept")
        stated = {field.name: getattr(value, field.name) for field in fields(value)}
        defaults = {field.name: _default(field) for field in fields(value)}
        differing = {k: v for k, v in stated.items() if not _is_default(v, defaults[k])}
        return [kind.__name__, self.form(differing)]

    def _array(self, value: np.ndarray[Any, Any]) -> list[Any]:
        if value.dtype.kind not in "biuf":
            raise TypeError(f"an array of {value.dtype} cannot be kept")
        data = _padded(np.ascontiguousarray(value).tobytes())
        offset, self._length = self._length, self._length + len(data)
        self.arrays.append(data)
        return ["array", value.dtype.str, list(value.shape), offset]


class _Unpacker:
    """Turns forms back into values."""

    def __init__(self, data: bytes | memoryview, arrays_at: int) -> None:
        self._data = data
        self._arrays_at = arrays_at

    def value(self, form: Any) -> Any:
        if type(form) is dict:
            plain = PLAIN
            return {k: v if type(v) in plain else self.value(v) for k, v in form.items()}
        if type(form) is not list:
            return form
        kind, *items = form
        if kind == "array":
            return self._array(*items)
        if kind in RECORDS:
            return RECORDS[kind](**self.value(items[0]))
        return _KINDS[kind]([self.value(item) for item in items])

    def _array(self, dtype: str, shape: list[int], offset: int) -> np.ndarray[Any, Any]:
        of = np.dtype(dtype)
        if of.kind not in "biuf" or min((offset, *shape)) < 0:
            raise ValueError(f"there is no array of {dtype} {shape} at {offset}")
        count = math.prod(shape)
        return np.frombuffer(self._data, of, count, self._arrays_at + offset).reshape(shape)


def _error(items: list[Any]) -> GenlockError:
    name, message, recording, stream, time_ns = items
    kind = getattr(errors, name)
    if not issubclass(kind, GenlockError) or kind is MissingExtraError:
        raise ValueError(f"there is no such error as {name}")
    error: GenlockError = kind(message, recording=recording, stream=stream, time_ns=time_ns)
    return error


_KINDS: Mapping[str, Callable[[list[Any]], Any]] = MappingProxyType(
    {
        "tuple": tuple,
        "list": list,
        "Fraction": lambda items: Fraction(*items),
        "bytes": lambda items: items[0].tobytes(),
        "error": _error,
        "Timeline": lambda items: Timeline(*items),
        "SampledTimeline": lambda items: SampledTimeline(*items),
    }
)


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and not isinstance(value, np.ndarray) and value == default


def _padded(data: bytes, padding: bytes = b"\0") -> bytes:
    return data + padding * (-len(data) % ALIGNMENT)
