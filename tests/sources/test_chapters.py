"""GoPro chapters: files made here and cut by packets, against the same recording in one file."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import genlock as gl
from genlock.sources import media
from genlock.sources._chapters import without_later_chapters
from gpmf_writer import device, entry, number, text
from media_clips import HEIGHT, WIDTH, encode, number_in, picture

FRAMES, RATE, GOP = 90, 30, 15
SOUND = 48_000
GYRO = 50


def payload(second: int, first: int, count: int) -> bytes:
    """Samples first … first + count of a gyroscope: (k, -k, 2 k)."""
    rows = [struct.pack(">3h", k, -k, 2 * k) for k in range(first, first + count)]
    stamp = number("STMP", "J", 1_000_000 * second)
    total = number("TSMP", "L", first + count)
    return device((stamp, total, text("ORIN", "XYZ"), entry("GYRO", "s", 6, b"".join(rows))))


def record(path: Path, b_frames: int = 0) -> Path:
    """Three seconds of numbered pictures, sound and a gyroscope, as one file."""
    rng = np.random.default_rng(0)
    with av.open(str(path), "w") as file:
        video = file.add_stream("libx264", rate=RATE)
        assert isinstance(video, av.VideoStream)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        video.codec_context.gop_size, video.codec_context.max_b_frames = GOP, b_frames
        video.options = {"sc_threshold": "0", "x264-params": "open-gop=0", "crf": "12"}
        audio = file.add_stream("aac", rate=SOUND)
        assert isinstance(audio, av.AudioStream)
        audio.layout, audio.options = "stereo", {"aac_pns": "0"}  # noise that is made up anew
        telemetry = file.add_data_stream("bin_data")
        for k in range(FRAMES):
            gray = av.VideoFrame.from_ndarray(picture(k), format="gray")
            file.mux(video.encode(gray.reformat(format="yuv420p")))
        file.mux(video.encode(None))
        noise = rng.normal(0, 0.1, (2, SOUND * FRAMES // RATE)).astype(np.float32)
        for start in range(0, noise.shape[1], 1024):
            block = np.ascontiguousarray(noise[:, start : start + 1024])
            sound = av.AudioFrame.from_ndarray(block, format="fltp", layout="stereo")
            sound.sample_rate, sound.pts = SOUND, start
            file.mux(audio.encode(sound))
        file.mux(audio.encode(None))
        for second in range(FRAMES // RATE):
            packet = av.Packet(payload(second, second * GYRO, GYRO))
            packet.stream, packet.time_base = telemetry, Fraction(1, 1000)
            packet.pts = packet.dts = 1000 * second
            packet.duration = 1001 if second < 2 else 5000  # the last claims more than there is
            file.mux(packet)
    return path


def cut(path: Path, names: Sequence[str], starts_s: Sequence[Fraction], zeroed: bool) -> list[Path]:
    """Cut a recording by packets, each file from its start on.

    zeroed: whether every track of a file starts at 0, as cameras write; else sound and telemetry
    keep their distance to the pictures.
    """
    files = [path.with_name(name) for name in names]
    with av.open(str(path)) as source:
        packets = [p for p in source.demux() if p.size and p.pts is not None]
        chapter_of = dict(chapters(packets, starts_s))
        for k, file in enumerate(files):
            with av.open(str(file), "w") as out:
                tracks = {s.index: out.add_stream_from_template(s) for s in source.streams}
                first: dict[int, int] = {}
                for old in (p for p in packets if chapter_of[id(p)] == k):
                    begin = first.setdefault(old.stream_index, old.pts)
                    shift = begin if zeroed and k else round(starts_s[k] / old.time_base)
                    packet = av.Packet(bytes(old))
                    packet.stream, packet.time_base = tracks[old.stream_index], old.time_base
                    packet.pts, packet.dts = old.pts - shift, old.dts - shift
                    packet.duration, packet.is_keyframe = old.duration, old.is_keyframe
                    out.mux(packet)
    return files


def chapters(packets: Sequence[Any], starts_s: Sequence[Fraction]) -> Iterator[tuple[int, int]]:
    """The file of each packet: a group of pictures goes with its key picture."""
    group = Fraction(0)
    for packet in packets:
        at = packet.pts * packet.time_base
        if packet.stream.type == "video":
            group = at if packet.is_keyframe else group
            at = group
        yield id(packet), max(sum(start <= at for start in starts_s) - 1, 0)


NAMES = ["GX010042.MP4", "GX020042.MP4", "GX030042.MP4"]
STARTS = [Fraction(0), Fraction(1), Fraction(2)]


AGED_NS = 1_700_000_000 * 10**9
"""A time of change so long ago that the index trusts it."""


@pytest.fixture(
    scope="module", params=[(0, False), (2, False), (0, True), (2, True)], ids=lambda p: f"{p}"
)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a whole recording in whole/, and the same in three chapters."""
    b_frames, zeroed = request.param
    folder = tmp_path_factory.mktemp("gopro")
    whole = record(folder / "take.mp4", b_frames)
    cut(whole, NAMES, STARTS, zeroed)
    (folder / "whole").mkdir()
    whole.rename(folder / "whole" / "take.mp4")
    for path in (*folder.rglob("*"), folder):
        os.utime(path, ns=(AGED_NS, AGED_NS))
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three chapters alone."""
    folder = tmp_path_factory.mktemp("plain")
    whole = record(folder / "take.mp4")
    cut(whole, NAMES, STARTS, zeroed=True)
    whole.unlink()
    return folder


@pytest.fixture
def copy(plain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(plain, tmp_path / "card"))


FIELDS = {
    "rgb": gl.Video("video"),
    "native": gl.Audio("audio"),
    "sound": gl.Audio("audio", rate=16_000),
    "gyro": gl.Sensor("GYRO"),
}


def windows_of(recording: gl.Recording) -> Iterator[gl.Sample]:
    """All of it, and a window over each joint and inside of each file, back and forth."""
    for start_s, duration in ((0, 3), (1.9, 0.3), (0.8, 0.5), (2.4, 0.2), (0.2, 0.1), (1.5, 1.2)):
        yield recording.read(FIELDS, int(start_s * 1e9), duration)


def assert_equal(whole: gl.Recording, cut: gl.Recording) -> None:
    for expected, got in zip(windows_of(whole), windows_of(cut), strict=True):
        for field in FIELDS:
            np.testing.assert_array_equal(got[field], expected[field], err_msg=field)
            np.testing.assert_array_equal(got.mask[field], expected.mask[field])
            assert got.mask[field].any()


def test_chapters_equal_the_unsplit_file(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gl.open(session / "whole" / "take.mp4") as whole, gl.open(session / NAMES[0]) as cut:
        assert list(cut.streams) == ["video", "audio", "GYRO"]
        for name, stream in cut.streams.items():
            np.testing.assert_array_equal(stream.timeline.ns, whole.streams[name].timeline.ns)
        assert_equal(whole, cut)
    monkeypatch.setattr(media, "scan", lambda *_: pytest.fail("the index knows them"))
    with gl.open(session / "whole" / "take.mp4") as whole, gl.open(session / NAMES[0]) as again:
        assert_equal(whole, again)


def numbers(sample: gl.Sample) -> list[int]:
    return [number_in(frame[0]) for frame in np.asarray(sample["rgb"])]


def test_values_follow_the_formula_across_the_joint(plain: Path) -> None:
    with gl.open(plain / NAMES[0]) as recording:
        sample = recording.read(FIELDS, 900_000_000, 0.2)
        assert numbers(sample) == [27, 28, 29, 30, 31, 32]
        k = np.arange(45, 55)
        np.testing.assert_array_equal(sample["gyro"], np.stack([k, -k, 2 * k], 1))
        np.testing.assert_array_equal(sample.times["gyro"], k * 20_000_000)


def test_the_report_says_where_files_meet(plain: Path) -> None:
    with gl.open(plain / NAMES[0]) as recording:
        for stream in recording.streams.values():
            notes = " ".join(stream.info.report.notes)
            assert "GX020042.MP4 goes on at 1.000000 s" in notes
            assert "GX030042.MP4 goes on at 2.000000 s" in notes


def test_the_folder_is_one_recording(plain: Path) -> None:
    with gl.open(plain) as recording:
        found = {name: len(stream.timeline) for name, stream in recording.streams.items()}
    assert found["GX010042-video"] == FRAMES
    assert not any(name.startswith("GX02") for name in found)
    assert gl.recordings(plain) == [str(plain / NAMES[0])]
    assert len(gl.Windows(plain, duration=0.5, over=["video"])) == 6


@pytest.mark.parametrize("name", NAMES)
def test_one_chapter_alone(plain: Path, name: str) -> None:
    chapter = NAMES.index(name)
    for path in (
        f"{plain / name}#chapter={chapter + 1}",
        f"{plain / NAMES[0]}#chapter={chapter + 1}",
    ):
        with gl.open(path) as recording:
            assert len(recording.streams["video"].timeline) == 30
            sample = recording.read(FIELDS, 0, 0.1)
            assert numbers(sample) == [30 * chapter + k for k in range(3)]
            assert sample["gyro"][0, 0] == GYRO * chapter
        with gl.open(path) as again:
            assert numbers(again.read(FIELDS, 0, 0.1))[0] == 30 * chapter


def test_a_later_chapter_says_what_to_open(plain: Path) -> None:
    with pytest.raises(gl.OpenError, match=r"open GX010042.MP4; .*GX020042.MP4#chapter=2 is"):
        gl.open(plain / NAMES[1])


def test_a_missing_chapter_is_an_error(copy: Path) -> None:
    (copy / NAMES[1]).unlink()
    with pytest.raises(gl.OpenError, match="chapter 2 of 1 to 3 is not there"):
        gl.open(copy / NAMES[0])
    with gl.open(f"{copy / NAMES[2]}#chapter=3") as recording:
        assert len(recording.streams["video"].timeline) == 30


def test_what_is_left_starts_with_its_first_chapter(copy: Path) -> None:
    (copy / NAMES[0]).unlink()
    with gl.open(copy / NAMES[1]) as recording:
        assert numbers(recording.read(FIELDS, 0, 2))[::30] == [30, 60]


def test_a_chapter_that_comes_later_is_found(copy: Path) -> None:
    last = (copy / NAMES[2]).read_bytes()
    (copy / NAMES[2]).unlink()
    with gl.open(copy / NAMES[0]) as recording:
        assert len(recording.streams["video"].timeline) == 60
    (copy / NAMES[2]).write_bytes(last)
    with gl.open(copy / NAMES[0]) as recording:
        assert len(recording.streams["video"].timeline) == 90


def test_chapters_of_another_coding_are_refused(copy: Path) -> None:
    encode(copy / NAMES[1], "mpeg4", 30)
    with pytest.raises(gl.OpenError, match=r"GX020042.MP4 is coded in another way than GX01"):
        gl.open(copy / NAMES[0])


def test_a_damaged_chapter_is_named(copy: Path) -> None:
    data = (copy / NAMES[1]).read_bytes()
    (copy / NAMES[1]).write_bytes(data[: len(data) // 2])
    with pytest.raises(gl.OpenError, match=r"GX020042.MP4"):
        gl.open(copy / NAMES[0])


def test_lost_sound_is_a_hole_not_a_shift(copy: Path, tmp_path: Path) -> None:
    with gl.open(copy / NAMES[0]) as recording:
        whole = recording.read(FIELDS, 0, 3)
    short = tmp_path / "short.mp4"
    with av.open(str(copy / NAMES[0])) as source, av.open(str(short), "w") as out:
        tracks = {s.index: out.add_stream_from_template(s) for s in source.streams}
        for packet in source.demux():
            if packet.size and (packet.stream.type != "audio" or packet.pts < 24_000):
                packet.stream = tracks[packet.stream_index]
                out.mux(packet)
    short.replace(copy / NAMES[0])
    with gl.open(copy / NAMES[0]) as recording:
        sample = recording.read(FIELDS, 0, 3)
    lost = np.flatnonzero(~np.asarray(sample.mask["native"][:60_000]))
    assert 24_000 <= lost[0] < 26_000
    assert lost.tolist() == list(range(lost[0], 48_000))
    # of packets of 1024 samples the first of chapter 2 was at 48128; its file says 0, which is 1 s,
    # and its first two packets lack the one before, as after any loss
    np.testing.assert_allclose(
        sample["native"][:, 48_000 + 2048 : 90_000],
        whole["native"][:, 48_128 + 2048 : 90_128],
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("files", "recording"),
    [
        (["GH010001.MP4", "GH020001.MP4"], ["GH010001.MP4"]),
        (["GP010001.MP4", "GP020001.MP4", "GOPR0001.MP4"], ["GOPR0001.MP4"]),
        (["GXAA0003.MP4", "GXAA0004.MP4", "GXAB0005.MP4"], ["GXAA0003.MP4", "GXAB0005.MP4"]),
        (["gs010001.360", "gs020001.360"], ["gs010001.360"]),
        (["GX010001.MP4", "GX010002.MP4"], ["GX010001.MP4", "GX010002.MP4"]),
        (["GX010001.MP4", "GH020001.MP4"], ["GX010001.MP4", "GH020001.MP4"]),
        (["GX010001.MP4", "GX020001.LRV"], ["GX010001.MP4", "GX020001.LRV"]),
        (["GPAA0001.JPG", "GPAA0002.JPG"], ["GPAA0001.JPG", "GPAA0002.JPG"]),
        (["G0010001.MP4", "take.MP4"], ["G0010001.MP4", "take.MP4"]),
    ],
)
def test_names(files: list[str], recording: list[str]) -> None:
    assert without_later_chapters(files) == recording


def test_a_name_alone_is_no_reason_for_a_fragment(tmp_path: Path) -> None:
    path = encode(tmp_path / "take.mp4", "libx264", 3)
    with pytest.raises(gl.OpenError, match="is no chapter of a GoPro recording"):
        gl.open(f"{path}#chapter=1")
    encode(tmp_path / NAMES[0], "libx264", 3)
    with pytest.raises(gl.OpenError, match="the chapters that are there are 1"):
        gl.open(f"{tmp_path / NAMES[0]}#chapter=2")


def test_the_cameras_own_clip_in_chapters(real: Path, tmp_path: Path) -> None:
    # karma.mp4: a key frame every 8 of 30000/1001 a second, 30 pictures for each payload
    source = real / "gopro-gpmf" / "karma.mp4"
    whole = tmp_path / "take.mp4"
    with av.open(str(source)) as clip, av.open(str(whole), "w") as out:
        wanted = [clip.streams[number] for number in (0, 1, 3)]
        tracks = {s.index: out.add_stream_from_template(s) for s in wanted}
        for packet in clip.demux(wanted):
            if packet.size:
                packet.stream = tracks[packet.stream_index]
                out.mux(packet)
    starts = [Fraction(0), Fraction(4004, 1000), Fraction(8008, 1000)]
    cut(whole, ["GOPR0007.MP4", "GP010007.MP4", "GP020007.MP4"], starts, zeroed=True)
    fields = {
        "rgb": gl.Video("video", size=(48, 64)),
        "sound": gl.Audio("audio"),
        "acceleration": gl.Sensor("ACCL", dtype="float64"),
        "exposure": gl.Sensor("SHUT"),
    }
    with gl.open(source) as one, gl.open(tmp_path / "GOPR0007.MP4") as other:
        for name, stream in one.streams.items():
            ns = other.streams[name].timeline.ns
            np.testing.assert_allclose(ns, stream.timeline.ns, atol=1, err_msg=name)
        for start_ns in (3_900_000_000, 0, 7_950_000_000, 11_500_000_000):
            expected, got = (r.read(fields, start_ns, 0.3) for r in (one, other))
            for field in fields:
                np.testing.assert_array_equal(got[field], expected[field], err_msg=field)
