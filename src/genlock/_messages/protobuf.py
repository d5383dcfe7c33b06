"""Protobuf messages by the descriptors that their log holds. The only file that imports protobuf's
own packages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from genlock._messages.codec import Schema
from genlock._messages.nested import Flat, NestedCodec, Time, flatten_list
from genlock._nanoseconds import SECOND_NS
from genlock.errors import DecodeError, MissingExtraError

TIMES = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration"})
ARRAYS = {1: "i4", 2: "i8", 3: "u4", 4: "u8", 5: "f8", 6: "f4", 7: "?", 8: "i4"}
"""NumPy types of protobuf's `CPPTYPE_…` numbers: integers, double, float, bool, enum."""


class ProtobufCodec(NestedCodec):
    """Reads protobuf messages; a message in a message counts as absent where it is not set.

    Raises DecodeError for descriptors that cannot be read, MissingExtraError.
    """

    def __init__(self, schema: Schema) -> None:
        self._decode = _decoder(schema)

    def flatten(self, data: bytes) -> Flat:
        into: Flat = {}
        try:
            _members("", self._decode(data), into)
        except DecodeError:
            raise
        except Exception as error:  # protobuf's DecodeError has no public name in all versions
            raise DecodeError(f"this is not a message of its schema: {error}") from error
        return into


def _decoder(schema: Schema) -> Callable[[bytes], Any]:
    try:
        from mcap.records import Schema as SchemaRecord
        from mcap_protobuf.decoder import DecoderFactory
    except ImportError as error:
        purpose = "reading protobuf messages"
        raise MissingExtraError("mcap-protobuf-support", "mcap", purpose) from error
    record = SchemaRecord(id=1, data=schema.definition, encoding=schema.language, name=schema.name)
    try:
        decoder = DecoderFactory().decoder_for(schema.encoding, record)
    except Exception as error:
        raise DecodeError(f"the definition of {schema.name} cannot be read: {error}") from error
    if decoder is None:
        raise DecodeError(f"{schema.name} has no protobuf definition, but {schema.language!r}")
    decode: Callable[[bytes], Any] = decoder
    return decode


def _members(prefix: str, message: Any, into: Flat) -> None:
    for field in message.DESCRIPTOR.fields:
        path, is_message = prefix + field.name, field.message_type is not None
        value = getattr(message, field.name)
        if is_message and field.message_type.GetOptions().map_entry:
            for key in value:
                _add(f"{path}.{key}", value[key], into)
        elif _repeated(field):
            if not is_message and field.cpp_type in ARRAYS:
                into[path] = np.array(value, ARRAYS[field.cpp_type])
            else:
                flatten_list(value, path, into, _add)
        elif not is_message or message.HasField(field.name):
            _add(path, value, into)


def _repeated(field: Any) -> bool:
    stated = getattr(field, "is_repeated", None)  # `label` is deprecated where this exists
    return bool(field.label == field.LABEL_REPEATED if stated is None else stated)


def _add(path: str, value: Any, into: Flat) -> None:
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is None:
        into[path] = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
    elif descriptor.full_name in TIMES:
        into[path] = Time(value.seconds * SECOND_NS + value.nanos)
    else:
        _members(path + ".", value, into)
