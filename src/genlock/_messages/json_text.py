"""JSON messages. Times are objects of "sec" and "nsec" (or "nanosec"), as Foxglove writes them."""

from __future__ import annotations

import json
from typing import Any

from genlock._messages.nested import Flat, NestedCodec, Time, flatten_list
from genlock._nanoseconds import SECOND_NS
from genlock.errors import DecodeError

TIME_KEYS = tuple({s, n} for s in ("sec", "secs") for n in ("nsec", "nsecs", "nanosec"))


class JsonCodec(NestedCodec):
    """Reads JSON objects; null counts as absent. A value that is no object has the path "data"."""

    def flatten(self, data: bytes) -> Flat:
        try:
            message = json.loads(data)
            into: Flat = {}
            if isinstance(message, dict):
                _members("", message, into)
            else:
                _add("data", message, into)
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"this is not a JSON message: {error}") from error
        return into


def _members(prefix: str, message: dict[str, Any], into: Flat) -> None:
    for key, value in message.items():
        _add(prefix + key, value, into)


def _add(path: str, value: Any, into: Flat) -> None:
    if isinstance(value, dict):
        if set(value) in TIME_KEYS and all(isinstance(part, int) for part in value.values()):
            seconds, rest = (value[key] for key in sorted(value, key=lambda k: "n" in k))
            into[path] = Time(seconds * SECOND_NS + rest)
        else:
            _members(path + ".", value, into)
    elif isinstance(value, list):
        flatten_list(value, path, into, _add)
    elif value is not None:
        into[path] = value
