"""ROS message definitions (.msg, .idl, and those that ROS 2 ships) as fields by type.

The only file that imports rosbags, which parses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from genlock._messages.codec import Schema
from genlock.errors import DecodeError, MissingExtraError

VARIABLE = -1


class RosField(NamedTuple):
    """One field of a message.

    type: a primitive's name, "string", or a message type. length: None for a single value, the
    length of an array, or VARIABLE.
    """

    name: str
    type: str
    length: int | None = None


Types = Mapping[str, tuple[RosField, ...]]


@lru_cache(maxsize=256)
def ros_types(schema: Schema) -> tuple[Types, str]:
    """Fields of all types that a schema needs, by name, and the name of its own type.

    Where the log holds no definition (ROS 2 before Iron), those that ROS 2 ships are used. Raises
    DecodeError if a type is unknown or its definition cannot be read, MissingExtraError.
    """
    try:
        from rosbags.typesys import (
            Stores,
            get_types_from_idl,
            get_types_from_msg,
            get_typestore,
        )
        from rosbags.typesys.msg import normalize_msgtype
    except ImportError as error:
        raise MissingExtraError("rosbags", "ros", "reading ROS messages") from error
    name = normalize_msgtype(schema.name)
    text = schema.definition.decode("utf-8", "replace")
    try:
        if not text.strip() and schema.language == "":
            found: Mapping[str, Any] = get_typestore(Stores.LATEST).fielddefs
        elif schema.language == "ros2idl":
            found = get_types_from_idl(text)
        else:
            found = get_types_from_msg(text, schema.name)
    except Exception as error:  # the parser lets others than its own through
        raise DecodeError(f"the definition of {schema.name} cannot be read: {error}") from error
    signed = schema.encoding == "ros1"
    types = {
        key: tuple(_field(field, description, signed) for field, description in fields)
        for key, (_, fields) in found.items()
    }
    if name not in types:
        raise DecodeError(
            f"the log holds no definition of {schema.name}, and ROS 2 ships none: convert it with "
            "a ROS installation that knows it (ros2 bag convert, to MCAP)"
        )
    return MappingProxyType(types), name


def _field(name: str, description: tuple[Any, Any], signed: bool) -> RosField:
    """signed: whether a byte is, as in ROS 1; in ROS 2 it is not."""
    kind, detail = description[0].name, description[1]
    if kind == "BASE":
        return RosField(name, "int8" if signed and detail[0] == "byte" else detail[0])
    if kind == "NAME":
        return RosField(name, detail)
    inner = _field(name, detail[0], signed)
    return inner._replace(length=detail[1] if kind == "ARRAY" else VARIABLE)
