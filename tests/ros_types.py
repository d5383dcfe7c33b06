"""ROS messages made and serialised by the rosbags package, to read back with Genlock's own code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from genlock._messages import Schema

ROS2: Typestore = get_typestore(Stores.ROS2_HUMBLE)
ROS1: Typestore = get_typestore(Stores.ROS1_NOETIC)

_NUMBERS: dict[str, Any] = {"bool": np.bool_, "byte": np.uint8, "char": np.uint8}
_NUMBERS |= {
    f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_NUMBERS |= {"float32": np.float32, "float64": np.float64}


def make(name: str, store: Typestore = ROS2, /, **values: Any) -> Any:
    """A message of a type; fields that are not given are zero or empty. A dict makes a message."""
    known = dict(store.fielddefs[name][1])
    filled = {
        field: _value(description, values.get(field), store) for field, description in known.items()
    }
    assert set(values) <= set(known), f"{name} has {sorted(known)}"
    return store.types[name](**filled)


def _value(description: Any, given: Any, store: Typestore) -> Any:
    kind, detail = description[0].name, description[1]
    if kind == "BASE":
        default = "" if detail[0] == "string" else np.dtype(_NUMBERS[detail[0]]).type().item()
        return default if given is None else given
    if kind == "NAME":
        return make(detail, store, **(given or {}))
    inner, length = detail
    if inner[0].name == "BASE" and inner[1][0] != "string":
        count = length if kind == "ARRAY" else 0
        dtype = _NUMBERS[inner[1][0]]
        return np.zeros(count, dtype) if given is None else np.asarray(given, dtype)
    given = given if given is not None else [None] * (length if kind == "ARRAY" else 0)
    return [_value(inner, one, store) for one in given]


def stamp(ns: int) -> dict[str, int]:
    """A header.stamp."""
    return {"sec": ns // 10**9, "nanosec": ns % 10**9}


def header(ns: int, frame: str = "") -> dict[str, Any]:
    return {"stamp": stamp(ns), "frame_id": frame}


def random_message(name: str, rng: np.random.Generator, store: Typestore) -> Any:
    """A message of a type with random values and lengths."""
    fields = store.fielddefs[name][1]
    return store.types[name](**{field: _random(what, rng, store) for field, what in fields})


def _random(description: Any, rng: np.random.Generator, store: Typestore) -> Any:
    kind, detail = description[0].name, description[1]
    if kind == "BASE":
        if detail[0] == "string":
            return "".join(rng.choice(list("aé界 x"), rng.integers(0, 6)))
        return _numbers(detail[0], 1, rng)[0].item()
    if kind == "NAME":
        return random_message(detail, rng, store)
    inner, length = detail
    count = length if kind == "ARRAY" else int(rng.integers(0, 4))
    if inner[0].name == "BASE" and inner[1][0] != "string":
        return _numbers(inner[1][0], count, rng)
    return [_random(inner, rng, store) for _ in range(count)]


def _numbers(name: str, count: int, rng: np.random.Generator) -> Any:
    dtype = np.dtype(_NUMBERS[name])
    if dtype.kind == "f":
        return rng.normal(size=count).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    # half the range: a `byte` is signed in one package and unsigned in another
    return rng.integers(0, np.iinfo(dtype).max // 2, count, dtype=dtype)


Leaf = tuple[str, Any]
TIMES = ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")


def leaves(message: Any, fields: Any, store: Typestore, path: str = "") -> Iterator[Leaf]:
    """Values of a message by path, as `genlock._messages` names them."""
    for name, description in fields:
        yield from _leaf(getattr(message, name), description, store, path + name)


def _leaf(value: Any, description: Any, store: Typestore, path: str) -> Iterator[Leaf]:
    kind, detail = description[0].name, description[1]
    if kind == "NAME" and detail in TIMES:
        yield path, value.sec * 10**9 + value.nanosec
    elif kind == "NAME":
        yield from leaves(value, store.fielddefs[detail][1], store, path + ".")
    elif kind == "BASE" or isinstance(value, np.ndarray):
        yield path, value
    else:
        form = "{}.{}" if kind == "ARRAY" else "{}[{}]"
        for index, one in enumerate(value):
            yield from _leaf(one, detail[0], store, form.format(path, index))


def schema(name: str, store: Typestore = ROS2) -> Schema:
    """The schema of a type with its definition, as an MCAP file or a ROS 1 bag holds it."""
    version = 2 if store is ROS2 else 1
    text, _ = store.generate_msgdef(name, ros_version=version)
    encoding = "cdr" if store is ROS2 else "ros1"
    return Schema(name, encoding, f"ros{version}msg", text.encode())


def encode(message: Any, store: Typestore = ROS2, little_endian: bool = True) -> bytes:
    name = message.__msgtype__
    if store is ROS2:
        return bytes(store.serialize_cdr(message, name, little_endian=little_endian))
    return bytes(store.serialize_ros1(message, name))
