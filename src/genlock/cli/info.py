"""`genlock info`: what a recording holds, without decoding anything."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import typer

from genlock._nanoseconds import SECOND_NS
from genlock.cli._output import RecordingPath, as_json, heading, say, table
from genlock.clock import ClockMap
from genlock.interfaces import UnitTable
from genlock.recording import Recording
from genlock.recording import open as open_recording
from genlock.stream import Stream

Row = dict[str, Any]


def info(
    path: RecordingPath,
    packets: Annotated[
        bool, typer.Option("--packets", help="Also key frames, GOPs and sizes of packets.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Streams, clocks, spans, codecs and calibration of a recording."""
    with open_recording(path) as recording:
        streams = [describe(recording, stream) for stream in recording.streams.values()]
        found = packet_tables(recording) if packets else {}
        clocks = {name: _clock(clock) for name, clock in recording.opened.source.clocks.items()}
        calibration = {
            name: {
                "intrinsics": None if c.intrinsics is None else asdict(c.intrinsics),
                "extrinsics": None if c.extrinsics is None else asdict(c.extrinsics),
            }
            for name, c in recording.calibration.items()
        }
        whole: Row = {"recording": recording.uri, "clock": recording.clock, "streams": streams}
        whole |= {"clocks": clocks, "calibration": calibration}
        if packets:
            whole["packets"] = found
    if json:
        as_json(whole)
    else:
        _show(whole)


def describe(recording: Recording, stream: Stream) -> Row:
    """What is known of a stream, as plain values."""
    info, timeline = stream.info, stream.timeline
    timed = stream.problem is None and len(timeline) > 0
    return {
        "name": stream.name,
        "modality": info.modality,
        "codec": info.codec,
        "shape": list(info.shape),
        "dtype": info.dtype,
        "rate_hz": info.rate,
        "rows": len(timeline),
        "start_ns": timeline.start_ns if timed else None,
        "end_ns": timeline.end_ns if timed else None,
        "clock": recording.opened.clock_of[stream.name],
        "own_clock": info.clock or recording.clock,
        "stamp": info.stamp,
        "columns": list(info.columns),
        "units": dict(info.units),
        "rotation": info.rotation,
        "report": asdict(info.report),
        "problem": None if stream.problem is None else str(stream.problem),
    }


def packet_tables(recording: Recording) -> dict[str, Row]:
    """What the packet table of each inter-coded stream says."""
    found = {}
    for name, stream in recording.streams.items():
        if stream.info.encoding == "packets" and stream.problem is None:
            with closing(recording.opened.source.units(name)) as units:
                if units.spec.table is not None:
                    found[name] = summary(units.spec.table, stream)
    return found


def summary(units: UnitTable, stream: Stream) -> Row:
    """Counts, GOP lengths and sizes of a packet table.

    A GOP is counted in packets, from one key packet to before the next, in decode order.
    """
    keys = np.flatnonzero(units.key)
    gops = np.diff([*keys.tolist(), len(units.key)])
    timeline = stream.timeline
    span_s = (timeline.end_ns - timeline.start_ns) / SECOND_NS if len(timeline) else 0.0
    sizes = units.size
    total = 0 if sizes is None else int(sizes.sum())
    return {
        "packets": len(units.key),
        "rows": len(units.row_unit),
        "key_packets": len(keys),
        "gop_min": int(gops.min(initial=len(units.key))),
        "gop_median": float(np.median(gops)) if len(gops) else 0.0,
        "gop_max": int(gops.max(initial=0)),
        "disposable": int(units.disposable.sum()),
        "bytes": total,
        "largest_bytes": 0 if sizes is None else int(sizes.max(initial=0)),
        "bits_per_second": round(8 * total / span_s) if span_s else 0,
    }


def _clock(clock: ClockMap) -> Row:
    stated = {"offset_ns": clock.offset_ns, "scale": float(clock.scale)}
    return stated | {"knots": len(clock.knots)} if clock.knots else stated


def _show(whole: Row) -> None:
    streams: list[Row] = whole["streams"]
    starts = [s["start_ns"] for s in streams if s["start_ns"] is not None]
    zero = min(starts, default=0)
    say(f"{heading(whole['recording'])}, clock {whole['clock']!r}, times from {zero} ns")
    say()
    headers = "stream", "modality", "codec", "shape", "dtype", "Hz", "rows", "start s", "end s"
    table([*headers, "clock"], [_stream_row(stream, zero) for stream in streams])
    for stream in streams:
        if stream["problem"]:
            say(f"{stream['name']}: {stream['problem']}")
    for name, clock in whole["clocks"].items():
        if name != whole["clock"]:
            rest = ", ".join(f"{key} {value}" for key, value in clock.items())
            say(f"\nclock {name!r} to {whole['clock']!r}: {rest}")
    _show_calibration(whole["calibration"])
    if whole.get("packets"):
        _show_packets(whole["packets"])


def _stream_row(stream: Row, zero: int) -> list[str]:
    shape = "x".join(map(str, stream["shape"]))
    rate = f"{stream['rate_hz']:g}" if stream["rate_hz"] else ""
    ends = [
        "" if stream[key] is None else f"{(stream[key] - zero) / SECOND_NS:.3f}"
        for key in ("start_ns", "end_ns")
    ]
    names = [stream[key] for key in ("name", "modality", "codec")]
    return [*names, shape, stream["dtype"], rate, str(stream["rows"]), *ends, stream["own_clock"]]


def _show_calibration(calibration: dict[str, Row]) -> None:
    if not calibration:
        return
    say()
    rows = []
    for name, parts in calibration.items():
        camera, place = parts["intrinsics"], parts["extrinsics"]
        model = "" if camera is None else camera["model"]
        focal = "" if camera is None else " ".join(f"{value:g}" for value in camera["focal"])
        center = "" if camera is None else " ".join(f"{value:g}" for value in camera["center"])
        parent = "" if place is None else place["parent"]
        position = "" if place is None else " ".join(f"{value:g}" for value in place["position"])
        rows.append([name, model, focal, center, parent, position])
    table(["calibration", "model", "focal px", "center px", "parent", "position m"], rows)


def _show_packets(packets: dict[str, Row]) -> None:
    say()
    rows = [
        [
            name,
            str(row["packets"]),
            str(row["key_packets"]),
            f"{row['gop_min']} {row['gop_median']:g} {row['gop_max']}",
            f"{row['disposable'] / max(1, row['packets']):.0%}",
            f"{row['bytes'] / max(1, row['packets']) / 1000:.1f}",
            f"{row['largest_bytes'] / 1000:.1f}",
            f"{row['bits_per_second'] / 1e6:.2f}",
        ]
        for name, row in packets.items()
    ]
    sizes = "mean kB", "largest kB", "Mbit/s"
    table(["packets", "count", "key", "GOP min/median/max", "disposable", *sizes], rows)
