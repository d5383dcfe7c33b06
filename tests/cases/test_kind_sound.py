"""Sound through the façade: windows are spans of the whole, at any rate, in whatever file."""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from whole_streams import read_all

import genlock as gl
from genlock._nanoseconds import SECOND_NS
from made_audio import RATE, Coding, best_lag, encode, sweep

COUNT = RATE * 16 // 10
CODINGS = [
    Coding("aac", "mp4"),
    Coding("aac", "adts"),
    Coding("aac", "mpegts"),
    Coding("libmp3lame", "mp3"),
    Coding("libmp3lame", "avi"),
    Coding("mp2", "mpegts"),
    Coding("libopus", "ogg"),
    Coding("libopus", "webm"),
    Coding("vorbis", "ogg"),
    Coding("flac", "flac"),
    Coding("flac", "matroska"),
    Coding("alac", "mov"),
    Coding("ac3", "mpegts"),
    Coding("eac3", "mp4"),
    Coding("pcm_s16le", "wav"),
    Coding("pcm_s24be", "aiff"),
    Coding("pcm_f64le", "matroska"),
    Coding("pcm_mulaw", "wav"),
    Coding("adpcm_ms", "wav"),
    Coding("wavpack", "matroska"),
    Coding("tta", "tta"),
]


def read(recording: gl.Recording, first: int, count: int, rate: int) -> gl.Sample:
    """Samples first … first + count of the stream at a rate, by asking for their time."""
    timeline = recording.streams["audio"].timeline
    start_ns = timeline.start_ns + round(Fraction(first * SECOND_NS, rate))
    field = gl.Audio("audio", rate=rate)
    return recording.read({"x": field}, start_ns, Fraction(count, rate))


@pytest.mark.parametrize("coding", CODINGS, ids=str)
@pytest.mark.parametrize("rate", [RATE, 16_000, 44_100])
def test_chunks_equal_the_whole(coding: Coding, rate: int) -> None:
    data = encode(coding, sweep(COUNT))
    with gl.open(data) as recording:
        whole = read_all(recording, gl.Audio("audio", rate=rate))
        total = int(whole.mask["x"].sum())
        assert whole.mask["x"][:total].all()
        assert total > 0.99 * COUNT * rate // RATE  # E-AC-3 loses its last, incomplete packet
    with gl.open(data) as recording:
        # backward, so that nothing was read before what is compared
        for first in range(total - 1, -1, -rate // 7):
            count = min(rate // 5, total - first)
            sample = read(recording, first, count, rate)
            # a duration of whole ns may reach one sample further
            found, mask = sample["x"][:, :count], sample.mask["x"][:count]
            expected = whole["x"][:, first : first + count]
            assert mask.all() and found.shape == expected.shape
            assert np.abs(found - expected).max() <= (1e-6 if rate != RATE else 0), first


@pytest.mark.parametrize(
    ("coding", "rate"),
    [
        (Coding("libopencore_amrnb", "mov"), 8_000),
        (Coding("g722", "wav"), 16_000),
        (Coding("nellymoser", "mov"), 22_050),
        (Coding("real_144", "matroska"), 8_000),
        (Coding("adpcm_swf", "wav"), 44_100),
    ],
    ids=str,
)
def test_speech_codecs_that_remember(coding: Coding, rate: int) -> None:
    """Their predictors reach back without end: each window is as if nothing had been read."""
    data = encode(coding, sweep(rate * 5 // 2, 1, rate), rate)
    with gl.open(data) as recording:
        timeline = recording.streams["audio"].timeline
        whole = read_all(recording, gl.Audio("audio"))["x"][:, : len(timeline)]
        again = read(recording, 0, rate, timeline.rate)["x"]
        assert np.array_equal(again, whole[:, : again.shape[1]])
    with gl.open(data) as recording:
        for first in range(len(timeline) - 1, -1, -timeline.rate // 3):
            count = min(timeline.rate // 5, len(timeline) - first)
            found = read(recording, first, count, timeline.rate)["x"][:, :count]
            assert np.array_equal(found, whole[:, first : first + count])


@pytest.mark.parametrize(
    ("coding", "audible"),
    [
        (Coding("libmp3lame", "mp3"), 0.4),
        (Coding("vorbis", "ogg"), 0.2),
        (Coding("flac", "flac"), 0.3),
        (Coding("aac", "adts"), 0.4),
        (Coding("aac", "mpegts"), 0.3),
        (Coding("pcm_s16le", "wav"), 0.4),
        (Coding("libopus", "webm"), 0.3),
        (Coding("pcm_s16le", "avi"), 0.3),
    ],
    ids=str,
)
def test_files_that_were_cut_off(coding: Coding, audible: float) -> None:
    """What is left plays as it did; the rest is not there, or is masked."""
    data = encode(coding, sweep(COUNT))
    with gl.open(data) as recording:
        whole = read_all(recording, gl.Audio("audio"))["x"]
    with gl.open(data[: len(data) // 2]) as recording:
        part = read_all(recording, gl.Audio("audio"))
        valid = part.mask["x"]
        assert audible * COUNT < valid.sum() < 0.75 * COUNT
        heard = np.flatnonzero(valid)[:-2_048]  # the last packet's overlap may miss its second half
        assert np.array_equal(part["x"][:, heard], whole[:, heard])
        assert not part["x"][:, ~valid].any()


WAV_DEPTHS = {"PCM_U8": 2**-7, "PCM_16": 2**-15, "PCM_24": 2**-23, "PCM_32": 2**-24, "FLOAT": 1e-7}


@pytest.mark.parametrize("subtype", WAV_DEPTHS)
@pytest.mark.parametrize("format", ["WAV", "WAVEX", "RF64", "AIFF", "CAF", "W64"])
def test_sound_files_of_every_depth(subtype: str, format: str, tmp_path: Path) -> None:
    if not soundfile.check_format(format, subtype):
        pytest.skip(f"no {subtype} in {format}")
    samples = sweep(4_000, 2)
    path = tmp_path / f"sound.{format.lower()}"
    soundfile.write(path, samples.T, RATE, subtype, format=format)
    with gl.open(path) as recording:
        found = read_all(recording, gl.Audio("audio"))["x"]
        assert found.shape == (2, 4_000)
        assert np.abs(found - samples).max() <= WAV_DEPTHS[subtype]


@pytest.mark.parametrize("claimed", [0, 2**32 - 1, 2**31, 10**9])
def test_data_sizes_that_cannot_be(claimed: int) -> None:
    samples = np.arange(-500, 500, dtype="<i2")
    form = struct.pack("<HHIIHH", 1, 1, 8_000, 16_000, 2, 16)
    riff = struct.pack("<4sI4s", b"RIFF", min(claimed, 2**32 - 1), b"WAVE")
    chunks = struct.pack("<4sI", b"fmt ", len(form)) + form + struct.pack("<4sI", b"data", claimed)
    with gl.open(riff + chunks + samples.tobytes()) as recording:
        found = read_all(recording, gl.Audio("audio"))["x"] if claimed else None
        length = len(recording.streams["audio"].timeline)
        assert length == 1_000
        if found is not None:
            assert (found[0] * 2**15 == samples).all()


def test_a_late_start_and_a_hole_stay_on_the_clock(tmp_path: Path) -> None:
    """Two pieces of PCM with half a second between them, starting at 0.25 s."""
    import av

    path = tmp_path / "hole.mkv"
    samples = sweep(RATE, 1)
    with av.open(str(path), "w") as file:
        stream = file.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for first, at in ((0, RATE // 4), (RATE // 2, RATE // 4 + RATE)):
            piece = np.rint(samples[:, first : first + RATE // 2] * 2**15).astype(np.int16)
            for offset in range(0, RATE // 2, 1_200):
                frame = av.AudioFrame.from_ndarray(piece[:, offset : offset + 1_200], "s16", "mono")
                frame.sample_rate, frame.pts = RATE, at + offset
                frame.time_base = Fraction(1, RATE)
                file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    with gl.open(path) as recording:
        assert recording.streams["audio"].timeline.start_ns == SECOND_NS // 4
        sample = recording.read({"x": gl.Audio("audio")}, 0, 2)
        expected = np.zeros(2 * RATE, np.bool_)
        expected[RATE // 4 : RATE * 3 // 4] = expected[RATE * 5 // 4 : RATE * 7 // 4] = True
        assert np.array_equal(sample.mask["x"], expected)
        assert not sample["x"][0, ~expected].any()
        assert np.abs(sample["x"][0, expected] - samples[0]).max() < 1e-4
        half = recording.read({"x": gl.Audio("audio", rate=RATE // 2)}, 0, 2)
        assert np.array_equal(half.mask["x"], expected[::2])


def test_channels_that_change(tmp_path: Path) -> None:
    """The first packet's layout is the stream's; packets of another are masked."""
    parts = [encode(Coding("aac", "adts"), sweep(RATE // 2, channels)) for channels in (2, 1, 2)]
    with gl.open(b"".join(parts)) as recording:
        sample = read_all(recording, gl.Audio("audio"))
        mask = sample.mask["x"]
        assert sample["x"].shape[0] == 2
        edges = np.flatnonzero(np.diff(mask.astype(int)))
        assert len(edges) == 2 and mask[0] and mask[-1]
        assert not sample["x"][:, ~mask].any()
        first = read_all_of(parts[0])
        assert np.array_equal(sample["x"][:, : edges[0] + 1], first[:, : edges[0] + 1])


def read_all_of(data: bytes) -> Any:
    with gl.open(data) as recording:
        return read_all(recording, gl.Audio("audio"))["x"]


def test_mono_is_repeated_and_stereo_is_mixed() -> None:
    samples = sweep(4_800, 2)
    file = io.BytesIO()
    soundfile.write(file, samples.T, RATE, "FLOAT", format="WAV")
    with gl.open(file.getvalue()) as recording:
        mixed = read_all(recording, gl.Audio("audio", channels=1))["x"]
        assert np.allclose(mixed[0], samples.mean(0), atol=1e-7)
    file = io.BytesIO()
    soundfile.write(file, samples[0], RATE, "FLOAT", format="WAV")
    with gl.open(file.getvalue()) as recording:
        both = read_all(recording, gl.Audio("audio", channels=2))["x"]
        assert (both == samples[:1]).all()


def test_sound_between_other_rates_is_where_it_was() -> None:
    samples = sweep(RATE, 1)
    file = io.BytesIO()
    soundfile.write(file, samples.T, RATE, "FLOAT", format="WAV")
    with gl.open(file.getvalue()) as recording:
        lower = read_all(recording, gl.Audio("audio", rate=RATE // 2))["x"][0]
        assert best_lag(lower, samples[0, ::2], range(-20, 20)) == 0
