"""What the names of a table's columns say: units, and which hold times, intervals and poses.

Names and kinds may be guessed from these; a unit of time comes from a name or a declaration only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from genlock._checked import meant

POSITION = ("tx", "ty", "tz")
QUATERNION = ("qx", "qy", "qz", "qw")
POSE = (*POSITION, *QUATERNION)

_TIME_UNITS = {
    "ns": ("ns", "nsec", "nsecs", "nanos", "nanosec", "nanosecs", "nanosecond", "nanoseconds"),
    "us": ("us", "µs", "μs", "usec", "usecs", "micros", "microsec", "microsecond", "microseconds"),
    "ms": ("ms", "msec", "msecs", "millis", "millisec", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
}
_UNIT_OF = {alias: unit for unit, aliases in _TIME_UNITS.items() for alias in aliases}

_UNITS = "|".join(sorted(_UNIT_OF, key=len, reverse=True))
_CAPITAL_UNITS = "|".join(alias.capitalize() for alias in _UNIT_OF if len(alias) > 1)

# "a [m]", "a[m]", "a (m)" hold a unit; "f(a)" is a name, save for units of time: "t(ms)"
_BRACKETED = re.compile(
    rf"^(?P<name>.*?\S)(?:\s*\[(?P<a>[^\]]*)\]|\s+\((?P<b>[^)]*)\)|\((?P<c>{_UNITS})\))$"
)
_UNIT_SUFFIX = re.compile(
    rf"^(?P<name>.+?)(?:[_.](?P<snake>(?i:{_UNITS}))|(?<=[a-z])(?P<camel>{_CAPITAL_UNITS}))$"
)

_TIMES = ("t", "ts", "time", "times", "timestamp", "timestamps", "stamp")
_OWNERS = "device|capture|host|utc|unix|epoch|sensor|log|recording|system|frame"
_LONG_TIME = re.compile(
    rf".*timestamp|.*[ ._](?:stamp|ts)|(?:.*[ ._])?(?:{_OWNERS})[ ._]?time", re.IGNORECASE
)
_INTERVAL_END = r"[ ._]?(?:time|timestamp|ts|stamp|t)?"
_STARTS = re.compile(rf"(?:start|begin|onset){_INTERVAL_END}")
_ENDS = re.compile(rf"(?:end|stop|finish){_INTERVAL_END}")

_POSE_PART = re.compile(
    r"""(?P<what>t|p|pos|position|trans|translation|q|quat|quaternion|orientation|rot|rotation)
        (?:[._](?P<group>[^.]+?))?[._]?(?P<axis>[xyzw])(?:_(?P<tail>.+))?""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Column:
    """One column: its header as written, its place, its name without the unit, and its unit."""

    header: str
    index: int
    name: str
    unit: str = ""

    @property
    def time_unit(self) -> str | None:
        """Unit of time, "s", "ms", "us" or "ns", where a bracket or a suffix says so."""
        suffix = _UNIT_SUFFIX.match(self.name)
        said = self.unit or (suffix and (suffix["snake"] or suffix["camel"])) or ""
        return _UNIT_OF.get(said.lower())

    @property
    def bare(self) -> str:
        """The name in lower case without a unit of time."""
        suffix = _UNIT_SUFFIX.match(self.name)
        return (suffix["name"] if suffix else self.name).lower()


def read_columns(headers: Sequence[str]) -> tuple[Column, ...]:
    """Split each header into a name and a unit.

    A name that would come twice keeps its unit, or gets its place; one without text is "columnN".
    """
    columns = [_read_column(header, index) for index, header in enumerate(headers)]
    for attribute in ("header", "place"):
        counts = Counter(column.name for column in columns)
        columns = [
            column if counts[column.name] == 1 else _renamed(column, attribute)
            for column in columns
        ]
    return tuple(columns)


def _read_column(header: str, index: int) -> Column:
    text = header.strip()
    match = _BRACKETED.match(text)
    if match is None:
        return Column(header, index, text or f"column{index}")
    unit = next(filter(None, match.group("a", "b", "c")), "")
    return Column(header, index, match["name"], unit.strip())


def _renamed(column: Column, by: str) -> Column:
    name = column.header.strip() if by == "header" else f"{column.name}#{column.index}"
    return Column(column.header, column.index, name or column.name, column.unit)


def find(columns: Iterable[Column], wanted: str) -> Column:
    """The column of that name, or with that header. Raises LookupError with what was meant."""
    known = {column.header.strip(): column for column in columns}
    known |= {column.name: column for column in known.values()}
    if wanted not in known:
        names = [column.name for column in known.values()]
        raise LookupError(f"there is no column {wanted!r}{meant(wanted, dict.fromkeys(names))}")
    return known[wanted]


def time_column(columns: Sequence[Column]) -> Column | None:
    """The column that is named as a time: "t", "time", "timestamp [ns]", "device_time_us", …"""
    plain = [column for column in columns if column.bare in _TIMES]
    long = [column for column in columns if _LONG_TIME.fullmatch(column.bare)]
    return next(iter(plain + long), None)


def interval_columns(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """The columns that are named as the start and the end of an interval."""
    starts = [column for column in columns if _STARTS.fullmatch(column.bare)]
    ends = [column for column in columns if _ENDS.fullmatch(column.bare)]
    return (starts[0], ends[0]) if starts and ends else None


@dataclass(frozen=True)
class PoseColumns:
    """The columns of a pose: position (none: rotations only) and quaternion in x, y, z, w order.

    frames: (parent, child), if the names tell. others: names of further poses in the table.
    """

    position: tuple[Column, ...]
    quaternion: tuple[Column, ...]
    frames: tuple[str, str] | None = None
    others: tuple[str, ...] = ()

    @property
    def stored_order(self) -> str:
        """The order in which the file stores the quaternion, such as "wxyz"."""
        places = zip("xyzw", (column.index for column in self.quaternion), strict=True)
        return "".join(axis for axis, _ in sorted(places, key=lambda place: place[1]))

    @property
    def by_name(self) -> Mapping[str, Column]:
        """The columns by the names that a pose stream gives them."""
        names = POSE if self.position else QUATERNION
        return dict(zip(names, (*self.position, *self.quaternion), strict=True))


def pose_columns(columns: Sequence[Column]) -> PoseColumns | None:
    """The pose that the names spell out: tx … qw, p_RS_R_x … q_RS_w, tx_world_device …

    The first with a position wins, else the first quaternion on its own.
    """
    parts: dict[tuple[str, str], dict[str, Column]] = {}
    for column in columns:
        match = _POSE_PART.fullmatch(column.name)
        if match is not None:
            kind = "q" if match["what"].lower()[0] in "qor" else "t"
            group = match["group"] or match["tail"] or ""
            parts.setdefault((kind, group), {}).setdefault(match["axis"].lower(), column)
    plain = {column.name.lower(): column for column in columns if column.name.lower() in "xyz"}
    parts.setdefault(("t", ""), plain)
    poses = [
        PoseColumns(_position(parts, group), tuple(axes[a] for a in "xyzw"), _frames(group))
        for (kind, group), axes in parts.items()
        if kind == "q" and len(axes) == 4
    ]
    poses.sort(key=lambda pose: not pose.position)
    others = tuple(pose.quaternion[0].name for pose in poses[1:])
    return replace(poses[0], others=others) if poses else None


def _position(parts: Mapping[tuple[str, str], dict[str, Column]], group: str) -> tuple[Column, ...]:
    for (kind, other), axes in parts.items():
        related = other == group or (group and other.startswith(f"{group}_"))
        if kind == "t" and related and {"x", "y", "z"} <= axes.keys():
            return tuple(axes[axis] for axis in "xyz")
    return ()


def _frames(group: str) -> tuple[str, str] | None:
    """EuRoC writes T_RS as "RS"; Aria as "world_device": both parent first."""
    names = group.split("_") if "_" in group else list(group)
    return (names[0], names[1]) if len(names) == 2 else None
