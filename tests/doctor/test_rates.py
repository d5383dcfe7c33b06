"""Rates and clocks that drift by known amounts are found, with the clock map that mends them."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest

import genlock as gl
from genlock import doctor
from genlock.doctor import Finding, rates
from genlock.doctor.rates import measured_pace
from genlock.stream import Stream, StreamInfo

SECONDS = 600
EPOCH_NS = 1_700_000_000_123_456_789
TOML = """
[recording]
clock = "device"
[streams.imu]
kind = "sensor"
path = "imu.csv"
time = { column = "t", unit = "ns" }
clock = "imu clock"
[streams.gaze]
kind = "sensor"
path = "gaze.csv"
time = { column = "t", unit = "ns" }
[clocks."imu clock"]
offset_ns = 0
"""


def found(path: Path, *checks: str) -> list[Finding]:
    return [f for f in doctor.check_path(path, "none") if f.check in checks]


def stamps_ns(rate: float, seconds: float = SECONDS, jitter_s: float = 0.0) -> np.ndarray:
    steps = np.arange(round(rate * seconds)) / rate
    noise = np.random.default_rng(1).uniform(-jitter_s, jitter_s, len(steps))
    return np.sort(np.rint((steps + noise) * 1e9).astype(np.int64))


def write_table(path: Path, elapsed_ns: np.ndarray) -> None:
    rows = (f"{EPOCH_NS + t},{i % 7}\n" for i, t in enumerate(elapsed_ns.tolist()))
    path.write_text("t,x\n" + "".join(rows))


def folder(path: Path, imu: np.ndarray, gaze: np.ndarray) -> Path:
    (path / "recording.toml").write_text(TOML)
    write_table(path / "imu.csv", imu)
    write_table(path / "gaze.csv", gaze)
    return path


@pytest.mark.parametrize("ppm", [500, -500, 2000])
def test_a_sensor_whose_clock_drifts(tmp_path: Path, ppm: int) -> None:
    drifting = np.rint(stamps_ns(100) * (1 + ppm * 1e-6)).astype(np.int64)
    path = folder(tmp_path, drifting, stamps_ns(60, jitter_s=0.002))
    (finding,) = found(path, "rate", "drift")
    assert (finding.check, finding.stream, finding.severity) == ("drift", "imu", "warning")
    assert "begins with 'gaze'" in finding.problem
    measured = float(re.search(r"\(([+-]\d+) ppm\)", finding.problem)[1])  # type: ignore[index]
    assert measured == pytest.approx(ppm, abs=2)


def test_the_clock_map_that_is_advised_mends_it(tmp_path: Path) -> None:
    true = stamps_ns(100)
    path = folder(tmp_path, np.rint(true * 1.0005).astype(np.int64), stamps_ns(60))
    (finding,) = found(path, "drift")
    head, offset, scale = re.fullmatch(  # type: ignore[union-attr]
        r'.*(\[clocks\."imu clock"\]) offset_ns = (-?\d+) scale = (\S+)', finding.advice
    ).groups()
    toml = TOML.split("[clocks")[0] + f"{head}\noffset_ns = {offset}\nscale = {scale}\n"
    (path / "recording.toml").write_text(toml)
    assert not found(path, "rate", "drift")
    with gl.open(path) as recording:
        mended = recording.streams["imu"].timeline.ns
    assert np.abs(mended - EPOCH_NS - true).max() < 2_000  # of 300 ms


def test_a_stream_on_a_clock_of_others_is_given_its_own(tmp_path: Path) -> None:
    path = folder(tmp_path, stamps_ns(100), np.rint(stamps_ns(60) * 1.0005).astype(np.int64))
    (finding,) = found(path, "drift")
    assert finding.stream == "gaze"
    assert '[streams.gaze] clock = "gaze"' in finding.advice
    assert "[clocks.gaze] offset_ns = " in finding.advice


@pytest.mark.parametrize(
    ("imu", "gaze"),
    [
        (stamps_ns(100), stamps_ns(60, jitter_s=0.004)),
        (stamps_ns(100.3), stamps_ns(60)),  # off its nominal rate, with stamps that are right
        (stamps_ns(100, SECONDS + 0.3), stamps_ns(60)),  # stopped later
        (stamps_ns(29.97), stamps_ns(60)),
        (np.delete(stamps_ns(100), np.arange(7, 60_000, 50)), stamps_ns(60)),
    ],
    ids=["jitter", "rate", "stopped later", "NTSC", "lost rows"],
)
def test_what_is_no_drift(tmp_path: Path, imu: np.ndarray, gaze: np.ndarray) -> None:
    assert not found(folder(tmp_path, imu, gaze), "rate", "drift")


def write_media(path: Path, sound_scale: float = 1.0, picture_scale: float = 1.0) -> Path:
    """A minute of pictures at 10 Hz and of sound in blocks of 50 ms, in ticks of ms."""
    with av.open(path, "w") as container:
        video = container.add_stream("mpeg4", rate=10, width=32, height=32, pix_fmt="yuv420p")
        audio = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        video.codec_context.time_base = Fraction(1, 10)
        for i in range(600):
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), i % 256, np.uint8), "rgb24")
            frame.pts, frame.time_base = i, Fraction(1, 10)
            for packet in video.encode(frame):
                _restamp(packet, i * 100 * picture_scale)
                container.mux(packet)
        for i in range(1200):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 400), np.int16), "s16", "mono")
            frame.sample_rate, frame.pts = 8000, 400 * i
            for packet in audio.encode(frame):
                _restamp(packet, i * 50 * sound_scale)
                container.mux(packet)
    return path


def _restamp(packet: av.Packet, milliseconds: float) -> None:
    packet.time_base = Fraction(1, 1000)
    packet.pts = packet.dts = round(milliseconds)


@pytest.mark.parametrize("ppm", [500, -500])
def test_sound_whose_stamps_run_at_another_rate(tmp_path: Path, ppm: int) -> None:
    path = write_media(tmp_path / "sound.mkv", sound_scale=1 + ppm * 1e-6)
    (finding,) = found(path, "rate")
    assert (finding.stream, finding.severity) == ("audio", "warning")
    measured = float(re.search(r"\(([+-]\d+) ppm\)", finding.problem)[1])  # type: ignore[index]
    assert measured == pytest.approx(ppm, abs=60)


def test_sound_that_a_clock_map_has_put_right(tmp_path: Path) -> None:
    write_media(tmp_path / "sound.mkv", sound_scale=1.0005)
    streams = {"kind": "audio", "path": "sound.mkv", "clock": "mic"}
    for scale, checks in (("1", ["rate"]), (str(1 / 1.0005), [])):
        keys = "\n".join(f'{key} = "{value}"' for key, value in streams.items())
        toml = f"[streams.sound]\n{keys}\n[clocks.mic]\nscale = {scale}\n"
        (tmp_path / "recording.toml").write_text(toml)
        assert [finding.check for finding in found(tmp_path, "rate", "drift")] == checks


def test_pictures_whose_stamps_run_at_another_rate(tmp_path: Path) -> None:
    path = write_media(tmp_path / "pictures.mkv", picture_scale=1.005)
    (finding,) = found(path, "rate")
    assert (finding.stream, finding.severity) == ("video", "warning")
    assert "and it states 10 (" in finding.problem
    assert float(finding.problem.split()[4]) == pytest.approx(10 / 1.005, rel=1e-5)


def test_media_at_the_rates_it_states(tmp_path: Path) -> None:
    assert not found(write_media(tmp_path / "fine.mkv"), "rate", "drift")


def opened_with(stream: Stream) -> Any:
    """An open recording of one stream, whose clock is the recording's."""
    streams, clock = {stream.name: stream}, stream.info.clock
    source = SimpleNamespace(streams=streams, clock=clock, clocks={})
    return SimpleNamespace(streams=streams, clock_of={stream.name: clock}, clocks={}, source=source)


def test_a_headers_rate_that_lost_frames_made_lower_is_no_finding() -> None:
    """Frames at 30 Hz, every tenth lost: a container's average is 27 Hz."""
    ns = np.delete(stamps_ns(30, 60), np.arange(5, 1800, 10))
    info = StreamInfo("video", "packets", rate=27.0)
    stream = Stream("v", info, gl.Timeline(ns))
    assert rates._stated_pace(opened_with(stream), stream) is None


def test_a_rate_of_30_may_mean_30000_by_1001() -> None:
    for true, off in ((30000 / 1001, 0.0), (29.9, 30 / 29.9 - 1)):
        info = StreamInfo("video", "packets", rate=30.0)
        stream = Stream("v", info, gl.Timeline(stamps_ns(true, 60)))
        pace = rates._stated_pace(opened_with(stream), stream)
        assert pace is not None
        assert pace.off == pytest.approx(off, abs=1e-7)


def test_a_sensor_far_from_the_rate_it_states_is_a_note() -> None:
    for true, expected in ((104.0, [("rate", "note")]), (102.0, [])):
        info = StreamInfo("sensor", "columns", rate=100.0, clock="c")
        stream = Stream("imu", info, gl.Timeline(stamps_ns(true, 60)))
        told = list(rates.paces(opened_with(stream)))
        assert [(one.check, one.severity) for one in told] == expected


def test_runs_are_compared_each_about_its_own_mean() -> None:
    counted = np.arange(200) / 10
    stamped = counted * 1.001 + np.where(np.arange(200) < 100, 0, 5.0)
    joined = np.arange(199) != 99
    pace = measured_pace(10, stamped, counted, joined)
    assert pace is not None
    assert pace.off == pytest.approx(0.001)
    assert pace.noise < 1e-9
    assert measured_pace(10, stamped[:10], counted[:10], joined[:9]) is None


def test_the_noise_covers_what_scatter_does_to_the_slope() -> None:
    random = np.random.default_rng(3)
    counted = np.arange(300) / 30
    for _ in range(200):
        stamped = counted + random.normal(0, 0.003, 300)
        pace = measured_pace(30, stamped, counted, np.ones(299, np.bool_))
        assert pace is not None
        assert abs(pace.off) < pace.noise
