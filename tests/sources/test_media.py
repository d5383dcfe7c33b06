"""Media files: which tracks they have, when their pictures are, and what cannot be opened."""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from genlock._nanoseconds import SECOND_NS
from genlock.errors import LimitError, OpenError, StreamError
from genlock.interfaces import OpenOptions
from genlock.location import Location
from genlock.sources import media
from media_clips import encode, open_media, picture

# pictures that ffprobe -count_frames finds, time base, ticks of the first and the last, and
# (height, width) upright; corrupted.mp4 lists one packet more than decodes
REAL = {
    "video-timing/corrupted.mp4": (50, 10240, 0, 50176, (720, 1280)),
    "video-timing/discard_first_keyframe.mp4": (25, 12800, 0, 12288, (64, 64)),
    "video-timing/edit_list_positive_shift.mp4": (270, 15360, 15360, 153088, (1080, 1920)),
    "video-timing/edts.mp4": (225, 12800, 0, 114688, (480, 854)),
    "video-timing/sample_fragmented.mp4": (30, 30000, 2002, 31031, (720, 1080)),
    "video-timing/sample_h265.ts": (30, 90000, 132000, 219000, (480, 854)),
    "video-timing/sar_2x1.mp4": (150, 15360, 0, 76288, (360, 640)),
    "video-timing/test_multires.mkv": (96, 1000, 23, 3190, (464, 848)),
    "video-timing/test_non_zero_start.mp4": (12, 15360, 127995, 133627, (112, 200)),
    "video-codecs/bbb_642x642_768kbps_30fps_vp9.webm": (90, 10**9, 0, 2966666666, (642, 642)),
    "video-codecs/bt601_limited_range.mp4": (60, 15360, 0, 30208, (240, 320)),
    "video-codecs/flipping_a_pancake.mkv": (310, 1000, 0, 10300, (240, 426)),
    "video-codecs/h264_10bits.mp4": (30, 15360, 0, 14848, (200, 200)),
    "video-codecs/nasa_13013.mp4": (325, 12800, 0, 165888, (180, 320)),
    "video-codecs/sample_av1.mp4": (30, 30000, 0, 29029, (720, 1080)),
    "video-codecs/testsrc2_odd_height_and_width_vp9.mp4": (25, 12800, 0, 12288, (241, 321)),
    "video-rotated/nasa_13013_rotated.mp4": (17, 30000, 0, 16016, (480, 270)),
    "video-rotated/sample_rotate_and_reflect.mp4": (30, 30000, 0, 29029, (1080, 720)),
    "video-rotated/video_90.mov": (3, 19200, 0, 1280, (568, 320)),
    "video-vfr/cursed-vfr.mp4": (63, 57600, 0, 412157, (1386, 3026)),
    "video-vfr/sample_android_slow_motion.mp4": (7, 90000, 0, 44281, (720, 1280)),
    "video-hdr/bt2020_10bit.mp4": (60, 15360, 0, 30208, (240, 320)),
    "video-hdr/hlg10-color-test.mp4": (9, 90000, 0, 24008, (1080, 1920)),
    "video-mvhevc/water_180_mvhevc_5frames.mov": (5, 11520, 0, 512, (2160, 1934)),
    "gopro-gpmf/karma.mp4": (362, 90000, 0, 1084083, (480, 854)),
}


def in_ns(tick: int, rate: int) -> int:
    return (2 * tick * SECOND_NS + rate) // (2 * rate)


@pytest.mark.parametrize("name", REAL)
def test_lists_the_pictures_of_real_files(real: Path, name: str) -> None:
    count, rate, first, last, shape = REAL[name]
    stream = open_media(real / name).streams["video"]
    assert len(stream.timeline) == count
    assert stream.timeline.ns[0] == in_ns(first, rate)
    assert stream.timeline.ns[-1] == in_ns(last, rate)
    assert (np.diff(stream.timeline.ns) > 0).all()
    assert stream.info.shape == shape


def test_names_every_track_and_leaves_out_cover_art_and_data(real: Path, cases: Path) -> None:
    several = open_media(real / "video-codecs/nasa_13013.mp4").streams
    assert [name for name in several if name.startswith("video")] == ["video", "video1"]
    assert several["video1"].info.shape == (270, 480)
    assert len(several["video1"].timeline) == 390
    for name in ("v17_cover_video.mp4", "v18_tmcd.mov"):
        streams = open_media(cases / "inputs" / name).streams
        assert [n for n in streams if n.startswith("video")] == ["video"]
        assert len(streams["video"].timeline) == 75
        assert streams["video"].info.shape == (64, 128)


def test_times_are_the_files_own(cases: Path) -> None:
    timeline = open_media(cases / "inputs/v03_vfr.mp4").streams["video"].timeline
    assert len(timeline) == 70
    one_tick = SECOND_NS // 90_000 + 1
    expected = [666_666_667, 2_000_000_000, 3_083_333_333]
    np.testing.assert_allclose(timeline.ns[[20, 35, 45]], expected, rtol=0, atol=one_tick)
    # a picture lasts until the next: the one that is shown at a time is the one around it
    for time_ns, row in ((2_500_000_000, 37), (500_000_000, 15)):
        assert timeline.ns[row] <= time_ns < timeline.ns[row] + timeline.durations_ns[row]


def test_edit_list_hides_pictures(cases: Path) -> None:
    timeline = open_media(cases / "inputs/v01_cut_editlist.mp4").streams["video"].timeline
    np.testing.assert_array_equal(timeline.ns, np.arange(62) * 40_000_000)
    assert timeline.end_ns == 62 * 40_000_000


def test_header_that_promises_too_much_is_not_believed(cases: Path) -> None:
    assert len(open_media(cases / "inputs/v05_overcount.avi").streams["video"].timeline) == 50


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("v16_moov_missing.mp4", "moov"),
        ("v16b_zero_byte.mp4", "empty"),
        ("v16d_text.mp4", "HTML"),
        ("not there.mp4", "no such file"),
    ],
)
def test_what_cannot_be_opened_is_named(cases: Path, name: str, hint: str) -> None:
    with pytest.raises(OpenError, match=hint) as caught:
        open_media(cases / "inputs" / name)
    assert name in str(caught.value)


def test_odd_names_are_plain_names(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["v22 dir ü 映像/clip 100%03d #1 [x].mp4"]
    timeline = open_media(cases / "inputs" / names[0]).streams["video"].timeline
    data = (cases / "inputs" / names[0]).read_bytes()
    monkeypatch.chdir(tmp_path)
    for name in ("-i.mp4", "a:b.mp4", "concat:x|y.mp4", "pipe:0", "%05d.mp4", "*.mp4", "a\nb.mp4"):
        Path(name).write_bytes(data)
        found = open_media(name).streams["video"].timeline
        np.testing.assert_array_equal(found.ns, timeline.ns)


def test_other_files_are_never_followed(tmp_path: Path) -> None:
    clip = encode(tmp_path / "clip.ts", "libx264", 5)
    scripts = {
        "list.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{clip}\n#EXT-X-ENDLIST\n",
        "list.ffconcat": f"ffconcat version 1.0\nfile {clip.name}\n",
        "list.sdp": "v=0\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(OpenError, match=name):
            open_media(tmp_path / name)
        with pytest.raises(OpenError, match="memory:"):
            open_media(text.encode())


def test_reads_bytes_file_objects_and_urls(cases: Path, tmp_path: Path) -> None:
    path = cases / "inputs/v21b_faststart.mp4"
    expected = open_media(path).streams["video"].timeline.ns
    assert len(expected) == 30
    for target in (path.read_bytes(), io.BytesIO(path.read_bytes()), path.open("rb")):
        source = open_media(target)
        np.testing.assert_array_equal(source.streams["video"].timeline.ns, expected)
        units = source.units("video")
        assert [unit for unit, _ in units.units(0)] == list(range(30))
        units.close()
        if hasattr(target, "close"):
            target.close()
    import fsspec

    with fsspec.open("memory://genlock-test/clip.mp4", "wb") as file:
        file.write(path.read_bytes())
    source = open_media("memory://genlock-test/clip.mp4")
    np.testing.assert_array_equal(source.streams["video"].timeline.ns, expected)


def test_claims_by_content_then_by_suffix(cases: Path, tmp_path: Path) -> None:
    inputs = cases / "inputs"
    for name in ("v07_hevc_opengop.mp4", "v15_corrupt.mkv", "v05_overcount.avi"):
        data = (inputs / name).read_bytes()
        assert media.claims(Location.of(data), data[:4096])
    ts = encode(tmp_path / "clip.ts", "mpeg2video", 5).read_bytes()
    assert media.claims(Location.of(ts), ts[:4096])
    assert media.claims(Location("somewhere/empty.mp4"), b"")
    for name in ("i01_depth16.png", "s01_ns_int64.csv", "i10_truncated.jpg"):
        location = Location.of(inputs / name)
        assert not media.claims(location, location.head())
    assert not media.claims(Location.of(tmp_path), b"")


def test_describes_pictures(real: Path, cases: Path) -> None:
    android = open_media(real / "video-vfr/sample_android_slow_motion.mp4").streams["video"].info
    assert (android.color.range, android.color.matrix) == ("pc", "smpte170m")
    hdr = open_media(real / "video-hdr/hlg10-color-test.mp4").streams["video"].info
    assert (hdr.bits, hdr.dtype, hdr.codec) == (10, "uint16", "hevc")
    assert hdr.color.matrix == "bt2020nc"
    assert hdr.color.primaries == "bt2020"
    assert hdr.color.transfer == "arib-std-b67"
    stretched = open_media(real / "video-timing/sar_2x1.mp4").streams["video"].info
    assert (stretched.sample_aspect, stretched.shape) == (2.0, (360, 640))
    phone = open_media(cases / "inputs/v04_rot270.mp4").streams["video"].info
    assert (phone.rotation, phone.flipped, phone.shape) == (90, False, (128, 64))
    mirrored = open_media(real / "video-rotated/sample_rotate_and_reflect.mp4").streams["video"]
    assert (mirrored.info.rotation, mirrored.info.flipped) == (270, True)
    depth = open_media(cases / "inputs/v20_depth_gray16.mkv").streams["video"].info
    assert (depth.bits, depth.dtype, depth.codec) == (16, "uint16", "ffv1")
    plain = open_media(cases / "inputs/v07_hevc_opengop.mp4").streams["video"].info
    assert (plain.encoding, plain.rate, plain.clock) == ("packets", 30.0, media.CLOCK)
    assert not plain.interlaced


def test_interlaced_is_told(tmp_path: Path) -> None:
    path = encode(tmp_path / "i.ts", "mpeg2video", 6, options={"flags": "+ildct+ilme"})
    assert open_media(path).streams["video"].info.interlaced


def test_claims_above_the_limit_are_refused(cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cases / "inputs/v21b_faststart.mp4"
    with pytest.raises(LimitError, match=r"128x64.*8191 pixels.*v21b_faststart"):
        open_media(path, OpenOptions(max_pixels=8191))
    monkeypatch.setenv("GENLOCK_MAX_PIXELS", "8191")
    with pytest.raises(LimitError, match="8191"):
        open_media(path)
    assert len(open_media(path, OpenOptions(max_pixels=8192)).streams["video"].timeline) == 30


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_disposable_units_are_the_pictures_none_refers_to(
    tmp_path: Path, codec: str, suffix: str
) -> None:
    quiet = "log-level=none:pools=1:frame-threads=1:"
    structure = "bframes=2:b-pyramid=0:b-adapt=0:scenecut=0:keyint=12"
    parameters = {"x264-params": structure, "x265-params": quiet + structure}
    name = codec.removeprefix("lib") + "-params"
    path = encode(tmp_path / f"clip{suffix}", codec, 40, options={name: parameters[name]})
    units = open_media(path).units("video")
    with av.open(str(path)) as file:
        kinds = {frame.pts: frame.pict_type for frame in file.decode(video=0)}
    is_b = [kinds[pts] == av.video.frame.PictureType.B for pts in units.spec.table.pts.tolist()]
    assert 20 < sum(is_b) < 30
    np.testing.assert_array_equal(units.spec.table.disposable, is_b)
    units.close()


def test_a_cut_stream_starts_where_pictures_can_be_decoded(tmp_path: Path) -> None:
    options = {"x264-params": "open-gop=1:bframes=2:b-adapt=0:keyint=12:min-keyint=12:scenecut=0"}
    whole = encode(tmp_path / "whole.ts", "libx264", 60, options=options)
    data = whole.read_bytes()
    cut = len(data) // 188 // 3 * 188
    timeline = open_media(whole).streams["video"].timeline
    stream = open_media(data[cut:]).streams["video"]
    assert stream.info.report.dropped > 0
    assert "before the first key frame" in stream.info.report.notes[0]
    with av.open(io.BytesIO(data[cut:])) as file:
        decoded = [in_ns(frame.pts, 90000) for frame in file.decode(video=0)]
    np.testing.assert_array_equal(stream.timeline.ns, decoded)
    np.testing.assert_array_equal(stream.timeline.ns, timeline.ns[-len(decoded) :])


def test_a_transport_stream_goes_on_where_its_clock_wraps(tmp_path: Path) -> None:
    ticks = 2**33 - 2 * 90_000
    path = encode(
        tmp_path / "wrap.ts",
        "libx264",
        100,
        pts=lambda index: ticks + 3600 * index,
        time_base=Fraction(1, 90_000),
        muxing={"mpegts_copyts": "1"},
    )
    timeline = open_media(path).streams["video"].timeline
    assert len(timeline) == 100
    np.testing.assert_array_equal(np.diff(timeline.ns), 40_000_000)


@pytest.mark.parametrize(
    ("name", "codec", "note"),
    [
        ("b.avi", "mpeg4", "numbers pictures"),
        ("b.avi", "libx264", "numbers pictures"),
        ("b.h264", "libx264", "nominal rate"),
        ("b.mpg", "mpeg2video", "inferred"),
    ],
)
def test_without_stated_times_decoding_finds_them(
    tmp_path: Path, name: str, codec: str, note: str
) -> None:
    path = encode(tmp_path / name, codec, 40, b_frames=2)
    source = open_media(path)
    stream = source.streams["video"]
    assert note in stream.info.report.notes[0]
    assert len(stream.timeline) == 40
    np.testing.assert_array_equal(np.diff(stream.timeline.ns), 40_000_000)
    start = 540_000_000 if name == "b.mpg" else 0  # MPEG-PS does state its first picture's time
    assert stream.timeline.start_ns == start
    rows = source.units("video").spec.table.row_unit
    assert sorted(rows.tolist()) == list(range(40)) != rows.tolist()


def test_ties_and_steps_back_are_kept_in_order_and_counted() -> None:
    """A Matroska file whose pictures 5 and 6 share a time, and whose 9 comes before 8."""
    data = io.BytesIO()
    with av.open(data, "w", format="matroska") as file:
        stream = file.add_stream("mjpeg", rate=25)
        stream.width, stream.height, stream.pix_fmt = 128, 64, "yuvj420p"
        for number in range(12):
            frame = av.VideoFrame.from_ndarray(picture(number), format="gray")
            frame = frame.reformat(format="yuvj420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    raw = bytearray(data.getvalue())
    with av.open(io.BytesIO(raw)) as file:
        at = [packet.pos for packet in file.demux(video=0) if packet.size]
    for number, time_ms in ((6, 200), (8, 360), (9, 320)):
        # a SimpleBlock starts with its track, then the time in its cluster (RFC 9559 10.2)
        track, in_cluster = struct.unpack_from(">Bh", raw, at[number])
        assert track == 0x81
        struct.pack_into(">h", raw, at[number] + 1, in_cluster + time_ms - number * 40)
    stream = open_media(bytes(raw)).streams["video"]
    times = [n * 40_000_000 for n in (0, 1, 2, 3, 4, 5, 5, 7, 8, 9, 10, 11)]
    np.testing.assert_array_equal(stream.timeline.ns, times)
    table = open_media(bytes(raw)).units("video").spec.table
    np.testing.assert_array_equal(table.row_unit, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 10, 11])
    assert (stream.info.report.ties, stream.info.report.reordered) == (1, 1)


CONTAINERS = [
    ("clip.mp4", "libx264", 2),
    ("clip.mkv", "libx264", 2),
    ("clip.ts", "libx264", 2),
    ("clip.flv", "libx264", 2),
    ("clip.avi", "libx264", 2),
    ("clip.mpg", "mpeg2video", 2),
    ("clip.h264", "libx264", 2),
    ("clip.webm", "libvpx-vp9", None),
    ("clip.ivf", "libvpx-vp9", None),
    ("clip.gif", "gif", None),
    ("clip.mjpeg", "mjpeg", None),
]


@pytest.mark.parametrize(("name", "codec", "b_frames"), CONTAINERS)
def test_a_cursor_starts_at_any_key_unit(
    tmp_path: Path, name: str, codec: str, b_frames: int | None
) -> None:
    pixels = {"gif": "gray", "mjpeg": "yuvj420p"}.get(codec, "yuv420p")
    path = encode(tmp_path / name, codec, 40, b_frames=b_frames, pixels=pixels)
    units = open_media(path).units("video")
    whole = {unit: bytes(packet) for unit, packet in units.units(0)}
    assert list(whole) == list(range(40))
    keys = np.flatnonzero(units.spec.table.key).tolist()
    assert keys[0] == 0
    assert len(keys) == 1 if codec == "gif" else len(keys) >= 4
    for key in keys[::-1]:
        found = {unit: bytes(packet) for unit, packet in units.units(key)}
        assert found == {unit: data for unit, data in whole.items() if unit >= key}
    assert bytes(units.unit(keys[-1])) == whole[keys[-1]]
    units.close()


def test_unknown_streams_are_named(cases: Path) -> None:
    source = open_media(cases / "inputs/v21b_faststart.mp4")
    with pytest.raises(StreamError, match="no stream 'depth'"):
        source.units("depth")
    source.close()


def test_a_truncated_file_ends_early(tmp_path: Path) -> None:
    for name in ("cut.mkv", "cut.ts"):
        data = encode(tmp_path / name, "libx264", 60, b_frames=0).read_bytes()
        timeline = open_media(data[: len(data) * 2 // 3]).streams["video"].timeline
        assert 30 < len(timeline) < 50
        np.testing.assert_array_equal(np.diff(timeline.ns), 40_000_000)
