"""When the pictures of a folder are: by their names, a listing, a rate, or times that are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from genlock._checked import toml_key
from genlock._nanoseconds import SECOND_NS, UNIT_NS, Nanoseconds, exact, ticks_to_ns, to_ns
from genlock.errors import LayoutError, TimeUnitError
from genlock.location import Location
from genlock.sources._listing import read_listing


@dataclass(frozen=True)
class PictureTimes:
    """Times of picture files, in any order.

    names: of the files, relative to the folder; a listing may name absent ones. raw_ns: int64
    [len(names)] as stated; None if unknown, and then problem says what to add.
    """

    names: Sequence[str]
    raw_ns: Nanoseconds | None = None
    problem: TimeUnitError | None = None
    rate: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Query:
    """One stream's files, and what is declared about their times."""

    stream: str
    location: Location
    names: Sequence[str]
    time: Mapping[str, Any]
    default_unit: str | None

    def fail(self, problem: str) -> LayoutError:
        message = f"stream {self.stream!r}: {problem}"
        return LayoutError(message, recording=self.location.uri, stream=self.stream)

    def unknown(self, problem: str, line: str) -> PictureTimes:
        message = (
            f"{problem}: add {line}, with the value that is right, to "
            f"[streams.{toml_key(self.stream)}] of a recording.toml, or to the streams= of open()"
        )
        error = TimeUnitError(message, recording=self.location.uri, stream=self.stream)
        return PictureTimes(self.names, problem=error)

    def without_unit(self, what: str, line: str) -> PictureTimes:
        return self.unknown(f"{what} does not say in which unit its time is", line)

    @property
    def unit(self) -> str | None:
        unit = self.time.get("unit") or self.default_unit
        if unit is not None and unit not in UNIT_NS:
            raise self.fail(f"unit = {unit!r} is not one of {', '.join(UNIT_NS)}")
        return unit

    def to_ns(self, numbers: Sequence[str], unit: str) -> Nanoseconds:
        """Decimal numbers → ns, exactly; what is finer than 1 ns is rounded."""
        unit_s = Fraction(UNIT_NS[unit], SECOND_NS)
        try:
            return np.array([to_ns(exact(n) * unit_s) for n in numbers], np.int64)
        except (ValueError, ArithmeticError) as error:
            raise self.fail(f"these are not times in {unit} ({error})") from error


def picture_times(
    stream: str,
    location: Location,
    names: Sequence[str],
    time: Mapping[str, Any] | None = None,
    unit: str | None = None,
) -> PictureTimes:
    """Times of the files `names` of a folder, by the declaration `time`:

    { from = "name", unit = "ns" }: the longest number in each name. { path = "times.csv", column,
    unit }: a table, see `read_listing`. { rate = 15.0, first = 0 }: file number n is at
    (n - first) / rate; `first` is the first file's number unless given. { ns = [...] }: a time
    for each of `names`. None: names that are decimal numbers with a point are seconds, a lone
    file is at 0. unit: where the declaration says none. Raises LayoutError for a declaration that
    cannot be.
    """
    query = _Query(stream, location, names, time or {}, unit)
    if not time:
        return _from_evidence(query)
    for key, read in _FORMS.items():
        if key in time:
            return read(query)
    raise query.fail(f"time = {dict(time)!r} has none of {', '.join(_FORMS)}")


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key by which frame2 comes before frame10."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts if part]


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _stem(name: str) -> str:
    return _base(name).rpartition(".")[0]


def _number(name: str) -> str:
    """The longest number in a file's name, the last of equally long ones; "" if there is none."""
    found = re.findall(r"\d+(?:\.\d+)?", _stem(name))
    return max(reversed(found), key=len, default="")


def _from_evidence(query: _Query) -> PictureTimes:
    if query.default_unit:
        return _from_names(query)
    stems = [_stem(name) for name in query.names]
    if all(re.fullmatch(r"\d+\.\d+", stem) for stem in stems):
        note = "times are the files' names, read as seconds"
        return PictureTimes(query.names, query.to_ns(stems, "s"), notes=(note,))
    if len(stems) == 1:
        return PictureTimes(query.names, np.zeros(1, np.int64))
    if len(_number(query.names[0])) >= _STAMP_DIGITS:
        return query.without_unit(f"the name {query.names[0]!r}", _NAME_LINE)
    problem = f"the name {query.names[0]!r} does not say when that was"
    return query.unknown(problem, "time = { rate = 30.0 }")


def _from_names(query: _Query) -> PictureTimes:
    if query.time.get("from", "name") != "name":
        raise query.fail(f'time = {{ from = {query.time["from"]!r} }}: only "name" is known')
    unit = query.unit
    numbers = [_number(name) for name in query.names]
    if "" in numbers:
        raise query.fail(f"{query.names[numbers.index('')]!r} holds no number, so no time")
    if unit is None and all("." in number for number in numbers):
        unit = "s"
    if unit is None:
        return query.without_unit(f"the name {query.names[0]!r}", _NAME_LINE)
    return PictureTimes(query.names, query.to_ns(numbers, unit))


def _from_rate(query: _Query) -> PictureTimes:
    rate = exact(query.time["rate"])
    if rate <= 0:
        raise query.fail(f"rate = {query.time['rate']} must be positive")
    names = sorted(query.names, key=natural)
    numbers = [int(text) if text.isdigit() else -1 for text in map(_number, names)]
    if sorted(set(numbers)) != numbers or not 0 <= numbers[0] <= numbers[-1] < _LARGEST_INDEX:
        numbers = list(range(len(names)))  # the names are not numbered, only ordered
    first = int(query.time.get("first", numbers[0]))
    notes = []
    if first == numbers[0] > 0:
        notes.append(f"file number {first} is at the stream's zero")
    if absent := numbers[-1] - numbers[0] + 1 - len(numbers):
        notes.append(f"numbers left out between the first and the last file: {absent}")
    raw_ns = ticks_to_ns(np.array(numbers, np.int64) - first, SECOND_NS / rate)
    return PictureTimes(names, raw_ns, rate=float(rate), notes=tuple(notes))


def _from_array(query: _Query) -> PictureTimes:
    raw_ns: Nanoseconds = np.asarray(query.time["ns"], np.int64)
    if raw_ns.shape != (len(query.names),):
        raise query.fail(f"{raw_ns.size} times for {len(query.names)} files")
    return PictureTimes(query.names, raw_ns)


def _from_listing(query: _Query) -> PictureTimes:
    path = str(query.time["path"])
    names = sorted(query.names, key=natural)
    try:
        text = query.location.child(path).read().decode("utf-8-sig", "replace")
        listing = read_listing(text, names, query.time.get("column"))
    except LayoutError as error:
        raise query.fail(f"the listing {path} {error.message}") from error
    unit = query.unit or listing.unit
    if unit is None:
        line = f'time = {{ path = "{path}", unit = "ns" }}'
        return query.without_unit(f"the listing {path}", line)
    raw_ns = query.to_ns(listing.numbers, unit)
    if listing.files is None:
        if len(raw_ns) != len(names):
            raise query.fail(f"the listing {path} has {len(raw_ns)} times for {len(names)} files")
        return PictureTimes(names, raw_ns)
    unlisted = len(set(names).difference(listing.files))
    notes = (f"files left out, since {path} does not list them: {unlisted}",) if unlisted else ()
    return PictureTimes(listing.files, raw_ns, notes=notes)


_NAME_LINE = 'time = { from = "name", unit = "ns" }'
_STAMP_DIGITS = 10
_LARGEST_INDEX = 10**9
_FORMS: dict[str, Callable[[_Query], PictureTimes]] = {
    "from": _from_names,
    "path": _from_listing,
    "rate": _from_rate,
    "ns": _from_array,
}
