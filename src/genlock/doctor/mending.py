"""What to write in a recording.toml so that a stream's clock is put right."""

from __future__ import annotations

from fractions import Fraction

from genlock._checked import toml_key, toml_text
from genlock._nanoseconds import exact
from genlock.clock import ClockMap
from genlock.opened import Opened
from genlock.stream import Stream


def earlier(opened: Opened, stream: Stream, late_ns: int) -> str:
    """Keys that move all of a stream's times to be earlier."""
    through = clock_map(opened, stream)
    if through.knots or through.first:
        return f"take {late_ns} ns off what its clock's knots lead to"
    scale = exact(through.scale)
    return _written(opened, stream, through.offset_ns - late_ns, f"{float(scale)!r}")


def slowed(opened: Opened, stream: Stream, off: float) -> str:
    """Keys that scale a stream's times about its start, where they take 1 + off as long."""
    through = clock_map(opened, stream)
    if through.knots or through.first:
        return f"scale what its clock's knots lead to by {1 / (1 + off):.9f}"
    scale = f"{float(exact(through.scale)) / (1 + off):.9f}"
    start_ns = stream.timeline.start_ns
    offset_ns = round(start_ns - Fraction(scale) * int(through.backward(start_ns)))
    return _written(opened, stream, offset_ns, scale)


def clock_map(opened: Opened, stream: Stream) -> ClockMap:
    """The map that a stream's own times go through."""
    maps = {**opened.source.clocks, **opened.clocks}
    return maps.get(stream.info.clock or opened.source.clock, ClockMap())


def _written(opened: Opened, stream: Stream, offset_ns: int, scale: str) -> str:
    """The clock's table; after a clock of its own for a stream that shares its clock."""
    clock = stream.info.clock or opened.source.clock
    others = (s.info.clock for s in opened.streams.values() if s.name != stream.name)
    own = ""
    if clock == opened.source.clock or clock in others:
        clock = stream.name
        own = f"[streams.{toml_key(stream.name)}] clock = {toml_text(clock)} and "
    return f"{own}[clocks.{toml_key(clock)}] offset_ns = {offset_ns} scale = {scale}"
