"""What messages of robotics logs say: one file per encoding, and what they hold in common.

Schema ─► codec_for ─► Codec.parse(messages) ─► columns by path ─► tables, pictures, poses
"""

from __future__ import annotations

from genlock._messages.codec import Codec, Message, Schema, UnreadableCodec
from genlock._messages.json_text import JsonCodec
from genlock._messages.protobuf import ProtobufCodec
from genlock._messages.ros import RosCodec
from genlock.errors import DecodeError

__all__ = ["Codec", "Message", "Schema", "UnreadableCodec", "codec_for"]


def codec_for(schema: Schema) -> Codec:
    """What reads messages of a schema.

    Raises DecodeError for an encoding or a definition that cannot be read, MissingExtraError.
    """
    match schema.encoding:
        case "cdr" | "ros1":
            return RosCodec(schema)
        case "protobuf":
            return ProtobufCodec(schema)
        case "json":
            return JsonCodec()
        case other:
            raise DecodeError(
                f"messages encoded as {other!r} are not known (cdr, ros1, protobuf, json are)"
            )
