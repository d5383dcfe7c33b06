"""What protobuf and JSON messages share: trees of values, flattened one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._messages.codec import NO_STAMP, STAMPS, TIME_DTYPE, Group, Message
from genlock.errors import DecodeError

Flat = dict[str, Any]


class NestedCodec(ABC):
    """Reads messages that have to be decoded whole; see `Codec`."""

    head: int | None = None

    @abstractmethod
    def flatten(self, data: bytes) -> Flat:
        """Values by path. Raises DecodeError."""

    def stamp_ns(self, data: bytes) -> int:
        flat = self.flatten(data)
        stamps = (flat[path] for path in STAMPS if path in flat)
        return next((int(stamp) for stamp in stamps if isinstance(stamp, Time)), NO_STAMP)

    def beginning(self, data: bytes) -> Message:
        return Message.read(self, data)

    def parse(self, messages: Sequence[bytes]) -> Iterator[Group]:
        alike: dict[tuple[Any, ...], list[tuple[int, Flat]]] = {}
        for row, data in enumerate(messages):
            flat = self.flatten(data)
            structure = tuple((path, _shape(value)) for path, value in flat.items())
            alike.setdefault(structure, []).append((row, flat))
        for found in alike.values():
            rows, flats = zip(*found, strict=True)
            yield Group(np.array(rows, np.intp), FlatColumns(flats))


class Time(int):
    """A time or duration in ns, told apart from other integers."""


def _shape(value: Any) -> Any:
    """What keeps values from being in one column."""
    if isinstance(value, np.ndarray):
        return value.shape
    return type(value) if isinstance(value, str | Time) else None


class FlatColumns(Mapping[str, NDArray[Any]]):
    """Columns of flattened messages of one structure, made when looked up."""

    def __init__(self, flats: Sequence[Flat]) -> None:
        self._flats = flats

    def __getitem__(self, path: str) -> NDArray[Any]:
        values = [flat[path] for flat in self._flats]
        if isinstance(values[0], np.ndarray):
            return np.stack(values)
        if isinstance(values[0], str):
            return np.array(values, object)
        return numbers(values).view(TIME_DTYPE) if isinstance(values[0], Time) else numbers(values)

    def __contains__(self, path: object) -> bool:
        return path in self._flats[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._flats[0])

    def __len__(self) -> int:
        return len(self._flats[0])


def numbers(values: Iterable[Any]) -> NDArray[Any]:
    """Numbers as an array: bool, int64, else float64."""
    array = np.array(list(values))
    return array.astype(np.float64) if array.dtype == object else array


def flatten_list(values: Sequence[Any], path: str, into: Flat, add: Any) -> None:
    """Add a list: numbers as one array, anything else by its number in brackets.

    add: called with (path, value, into) for each value of another kind.
    """
    if values and all(isinstance(value, int | float) for value in values):
        try:
            into[path] = numbers(values)
        except (ValueError, OverflowError) as error:
            raise DecodeError(f"{path}: {error}") from error
        return
    for index, value in enumerate(values):
        add(f"{path}[{index}]", value, into)
