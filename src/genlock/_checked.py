"""Read tables of keys and values that people write, saying exactly what is wrong with them.

A `Reader` takes a value and its `Place` and gives the value checked, or raises LayoutError naming
the file, the stream and the key; for a misspelt key also the one that was probably meant.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from genlock._nanoseconds import exact
from genlock.errors import LayoutError

_WORDS: dict[type, str] = {str: "texts", Integral: "whole numbers", Real: "numbers"}


@dataclass(frozen=True)
class Place:
    """Where a value stands: the file, and the keys that lead to it from its top."""

    file: str
    keys: tuple[str, ...] = ()

    def at(self, *keys: str) -> Place:
        """The place of a key of this table, or of one deeper down."""
        return Place(self.file, self.keys + keys)

    def __str__(self) -> str:
        """The file, the table and the key, such as "a.toml: [streams.imu] time.unit"."""
        keys = [toml_key(key) for key in self.keys]
        table, key = ".".join(keys[:2]), ".".join(keys[2:])
        where = " ".join(filter(None, (table and f"[{table}]", key)))
        return ": ".join(filter(None, (self.file, where)))

    def error(self, problem: str) -> LayoutError:
        """An error about this place."""
        stream = self.keys[1] if len(self.keys) > 1 and self.keys[0] == "streams" else None
        return LayoutError(f"{self}: {problem}", stream=stream)


Reader = Callable[[Any, Place], Any]


def toml_key(name: str) -> str:
    """A name as a key of TOML, in quotes where it holds more than letters, digits, "-" and "_"."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
    return name if bare else toml_text(name)


def toml_text(value: str) -> str:
    """A text as TOML writes it: a basic string, whose escapes are those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def meant(given: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: what was probably meant, or what there is."""
    known = list(known)
    if close := closest(given, known):
        return f"; did you mean {close!r}?"
    return f"; there is {', '.join(map(repr, known))}" if known else ""


def closest(given: object, known: Iterable[str]) -> str | None:
    """The known word that an unknown one was probably meant to be."""
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(given).lower(), list(folded), 1)
    return folded[close[0]] if close else None


def read_table(values: Any, readers: Mapping[str, Reader], place: Place) -> dict[str, Any]:
    """Read each key of a table with its own reader."""
    for key in mapping(values, place):
        if key not in readers:
            raise place.at(str(key)).error(f"there is no such key{meant(str(key), readers)}")
    return {key: readers[key](value, place.at(key)) for key, value in values.items()}


def by_name(reader: Reader) -> Reader:
    """Read a table of names that the writer chooses, all of whose values are alike."""

    def read(values: Any, place: Place) -> dict[str, Any]:
        return read_table(values, dict.fromkeys(mapping(values, place), reader), place)

    return read


def table(make: Callable[..., Any], readers: Mapping[str, Reader], needs: str = "") -> Reader:
    """Read a table and make an object of it; needs: the keys it must have, apart by blanks."""

    def read(values: Any, place: Place) -> Any:
        found = read_table(values, readers, place)
        for key in needs.split():
            if key not in found:
                raise place.error(f"needs {key!r}")
        try:
            return make(**{"from_" if key == "from" else key: v for key, v in found.items()})
        except ValueError as error:
            raise place.error(str(error)) from error

    return read


def mapping(value: Any, place: Place) -> dict[str, Any]:
    """Take a table as it is."""
    if not isinstance(value, Mapping):
        raise place.error(f"must be a table, {{ key = value, … }}, not {value!r}")
    return dict(value)


def text(value: Any, place: Place) -> str:
    if not isinstance(value, str) or not value:
        raise place.error(f"must be a text, not {value!r}")
    return value


def integer(value: Any, place: Place) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise place.error(f"must be a whole number, not {value!r}")
    return int(value)


def positive(value: Any, place: Place) -> Fraction:
    """Read a number above 0 as the decimal that is written."""
    try:
        number = exact(value)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if number <= 0:
        raise place.error(f"must be a number above 0, not {value!r}")
    return number


def one_of(*allowed: str) -> Reader:
    """Read one of a few words."""

    def read(value: Any, place: Place) -> Any:
        if value not in allowed:
            raise place.error(f"{value!r} is not known{meant(str(value), allowed)}")
        return value

    return read


def several(kind: type, cast: Callable[[Any], Any], count: int | None = None) -> Reader:
    """Read a list of `count` values, by default of any number."""

    def read(value: Any, place: Place) -> tuple[Any, ...]:
        sound = isinstance(value, list | tuple) and len(value) == (count or len(value))
        if not sound or not all(isinstance(v, kind) and not isinstance(v, bool) for v in value):
            many = "" if count is None else f"{count} "
            raise place.error(f"must be a list of {many}{_WORDS[kind]}, not {value!r}")
        return tuple(cast(item) for item in value)

    return read
