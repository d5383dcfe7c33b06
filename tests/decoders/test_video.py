"""Video pictures, against what is drawn into them and against plain sequential decoding."""

from __future__ import annotations

import gc
import random
import struct
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from genlock.decoders.video import VideoDecoder
from genlock.errors import ClosedError, DecodeError, LimitError
from genlock.interfaces import CodecSpec, FrameFormat, OpenOptions, Units
from genlock.stream import Stream
from media_clips import LUMA, encode, number_in, open_media, picture

HWC = FrameFormat(layout="HWC")


class CountedUnits:
    """Another cursor's units, counted: how often decoding started anew and what was read."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self.starts: list[int] = []
        self.read: list[int] = []

    @property
    def spec(self) -> CodecSpec:
        return self._units.spec

    def unit(self, index: int) -> Any:
        return self._units.unit(index)

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        self.starts.append(first)
        for index, unit in self._units.units(first):
            self.read.append(index)
            yield index, unit

    def close(self) -> None:
        self._units.close()


def decoder(target: Any, name: str = "video", **options: Any) -> VideoDecoder:
    source = open_media(target)
    return VideoDecoder(source.units(name), source.streams[name], **options)


def read(
    target: Any, rows: Any = None, format: FrameFormat = LUMA, name: str = "video"
) -> tuple[np.ndarray, np.ndarray, Stream]:
    """Read rows (default all) with a decoder of their own."""
    source = open_media(target)
    stream = source.streams[name]
    with closing(VideoDecoder(source.units(name), stream)) as video:
        chosen = range(len(stream.timeline)) if rows is None else rows
        return *read_rows(video, stream, chosen, format), stream


def read_rows(
    video: VideoDecoder, stream: Stream, rows: Any, format: FrameFormat = LUMA
) -> tuple[np.ndarray, np.ndarray]:
    shape = format.frame_shape(stream.info.shape)
    out = np.full((len(rows), *shape), 77, format.dtype)
    valid = video.read(np.array(rows, np.int64), format, out)
    return out, valid


def numbers(luma: np.ndarray) -> list[int]:
    return [number_in(frame[0]) for frame in luma]


# ------------------------------------------------------------------ truth drawn into shared cases


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("v01_cut_editlist.mp4", range(13, 75)),
        ("v03_vfr.mp4", range(70)),
        ("v05_overcount.avi", range(50)),
        ("v07_hevc_opengop.mp4", range(120)),
        ("v08_drain7.mp4", range(7)),
        ("v12b_134x70.mp4", range(8)),
        ("v17_cover_video.mp4", range(75)),
        ("v18_tmcd.mov", range(75)),
        ("v21b_faststart.mp4", range(30)),
        ("v22 dir ü 映像/clip 100%03d #1 [x].mp4", range(30)),
        ("v24_oneframe.mp4", [77]),
    ],
)
def test_every_row_is_its_picture(cases: Path, name: str, expected: Any) -> None:
    luma, valid, _ = read(cases / "inputs" / name)
    assert valid.all()
    assert numbers(luma) == list(expected)


def test_open_gop_in_any_order(cases: Path) -> None:
    source = open_media(cases / "inputs/v07_hevc_opengop.mp4")
    stream = source.streams["video"]
    with closing(VideoDecoder(source.units("video"), stream)) as video:
        for row in (118, 35, 11, 119, 0, 12, 11):
            luma, valid = read_rows(video, stream, [row])
            assert valid.all()
            assert numbers(luma) == [row]


def test_damage_is_masked_up_to_the_next_key_frame_and_nothing_is_renumbered(cases: Path) -> None:
    path = cases / "inputs/v15_corrupt.mkv"
    luma, valid, stream = read(path)
    np.testing.assert_array_equal(np.flatnonzero(~valid), [25, 26, 27, 28, 29])
    np.testing.assert_array_equal(stream.timeline.ns, np.arange(60) * 40_000_000)
    assert [number for number, ok in zip(numbers(luma), valid, strict=True) if ok] == [
        *range(25),
        *range(30, 60),
    ]
    assert (luma[~valid] == 0).all()
    # the same however the rows are come by
    with closing(decoder(path)) as video:
        for row in (27, 58, 25, 24, 29, 30, 26):
            _, alone = read_rows(video, stream, [row])
            assert alone == [valid[row]]


@pytest.mark.parametrize(
    ("name", "corners"), [("v04_rot180.mp4", "wbgr"), ("v04_rot270.mp4", "brwg")]
)
def test_pictures_are_upright(cases: Path, name: str, corners: str) -> None:
    """corners: colours top left, top right, bottom left, bottom right."""
    rgb, _, stream = read(cases / "inputs" / name, [0], HWC)
    height, width = stream.info.shape
    assert (height, width) == ((64, 128) if "180" in name else (128, 64))
    colors = {"w": (255, 255, 255), "r": (255, 0, 0), "g": (0, 255, 0), "b": (0, 0, 255)}
    places = [(y, x) for y in (6, height - 7) for x in (6, width - 7)]
    for place, color in zip(places, corners, strict=True):
        np.testing.assert_allclose(rgb[0][place], colors[color], atol=40)


@pytest.mark.parametrize("name", ["v10_col_709tv.mp4", "v10_col_601tv.mp4"])
@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_colors_follow_the_tags(cases: Path, name: str, layout: str) -> None:
    rgb, _, _ = read(cases / "inputs" / name, [0], FrameFormat(layout=layout))
    rgb = rgb[0] if layout == "HWC" else rgb[0].transpose(1, 2, 0)
    expected = [(200, 30, 40), (30, 180, 60), (40, 60, 200), (220, 200, 60)]
    np.testing.assert_allclose(rgb[32, [16, 48, 80, 112]], expected, atol=3)


def test_ten_bits_keep_their_codes_and_are_not_tone_mapped(cases: Path) -> None:
    path = cases / "inputs/v11_10bit_pq.mp4"
    codes, _, _ = read(path, [0], FrameFormat(color="gray", dtype="uint16"))
    np.testing.assert_array_equal(codes[0, 0, 32], 64 + 6 * np.arange(128))
    rgb, _, _ = read(path, [0], HWC)
    for column, gray in ((0, 0), (64, 112), (127, 222)):
        np.testing.assert_allclose(rgb[0, 32, column], gray, atol=2)
    deep, _, _ = read(path, [0], FrameFormat(layout="HWC", dtype="uint16"))
    np.testing.assert_allclose(deep[0, 32] / 257, rgb[0, 32], atol=2)
    unit, _, _ = read(path, [0], FrameFormat(dtype="float32"))
    np.testing.assert_allclose(unit[0, :, 32].T * 65535, deep[0, 32], atol=1)
    luma, _, _ = read(path, [0], FrameFormat(color="gray", dtype="float32"))
    np.testing.assert_allclose(luma[0, 0] * 1023, codes[0, 0], atol=0.01)


@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_odd_sizes_and_padding(cases: Path, layout: str) -> None:
    rgb, valid, _ = read(cases / "inputs/v12_odd131x67.mkv", None, FrameFormat(layout=layout))
    assert valid.all()
    k, y, x = np.ogrid[:4, :67, :131]
    channels = [
        (x + y + 20 * k) % 256,
        (5 * y + 0 * x + 0 * k) % 256,
        (3 * x + 0 * y + 0 * k) % 256,
    ]
    np.testing.assert_array_equal(rgb, np.stack(channels, -1 if layout == "HWC" else 1))


def test_cropped_edges_of_h264(cases: Path) -> None:
    luma, _, stream = read(cases / "inputs/v12b_134x70.mp4")
    assert stream.info.shape == (70, 134)
    assert luma[:, 0, -1].min() >= 230
    assert luma[:, 0, :, -1].min() >= 230
    rgb, _, _ = read(cases / "inputs/v12b_134x70.mp4", None, HWC)
    assert min(rgb[:, -1].min(), rgb[:, :, -1].min()) >= 250


def test_bottom_up_rows(cases: Path) -> None:
    rgb, _, _ = read(cases / "inputs/v13_bottomup_bgr24.avi", None, HWC)
    for k, frame in enumerate(rgb):
        assert frame[2, 2].tolist() == [0, 255, 0]
        assert frame[2, 40].tolist() == [255, 0, 0]
        assert frame[40, 45].tolist() == [0, 0, 255]
        assert (frame[20:28, 8 * k : 8 * k + 8] == 255).all()


def test_depth_in_gray16_is_exact(cases: Path) -> None:
    codes, valid, _ = read(
        cases / "inputs/v20_depth_gray16.mkv", None, FrameFormat(color="gray", dtype="uint16")
    )
    assert valid.all()
    k, y, x = np.ogrid[:5, :48, :64]
    np.testing.assert_array_equal(codes[:, 0], 500 + 3 * x + 7 * y + 1000 * k)


# --------------------------------------------------------------- any order equals sequential order

OPEN_GOP = "open-gop=1:bframes=3:b-adapt=0:b-pyramid=normal:keyint=12:min-keyint=12:scenecut=0"
X265 = {"x265-params": "log-level=none:pools=1:frame-threads=1:keyint=12:min-keyint=12:bframes=3"}
OPEN_X265 = {"x265-params": X265["x265-params"] + ":open-gop=1:temporal-layers=2"}
CLIPS: dict[str, dict[str, Any]] = {
    "closed.mp4": {"codec": "libx264", "b_frames": 3},
    "plain.mkv": {"codec": "libx264", "b_frames": 0},
    "open.mp4": {"codec": "libx264", "options": {"x264-params": OPEN_GOP}},
    "open.mkv": {"codec": "libx264", "options": {"x264-params": OPEN_GOP}},
    "open.ts": {"codec": "libx264", "options": {"x264-params": OPEN_GOP}},
    "refresh.mp4": {"codec": "libx264", "options": {"x264-params": "intra-refresh=1:bframes=0"}},
    "fragments.mp4": {"codec": "libx264", "muxing": {"movflags": "frag_keyframe+empty_moov"}},
    "slots.avi": {"codec": "libx264", "b_frames": 2},
    "raw.h264": {"codec": "libx264", "b_frames": 2},
    "hevc.mp4": {"codec": "libx265", "options": X265},
    "hevc.ts": {"codec": "libx265", "options": OPEN_X265},
    "hevc.mkv": {"codec": "libx265", "options": OPEN_X265},
    "raw.hevc": {"codec": "libx265", "options": OPEN_X265},
    "vp8.webm": {"codec": "libvpx", "options": {"auto-alt-ref": "1", "lag-in-frames": "16"}},
    "vp9.webm": {"codec": "libvpx-vp9", "options": {"auto-alt-ref": "1", "cpu-used": "8"}},
    "vp9.mp4": {"codec": "libvpx-vp9", "options": {"cpu-used": "8"}},
    "av1.mp4": {"codec": "libsvtav1", "options": {"preset": "12", "svtav1-params": "lp=1"}},
    "av1.mkv": {"codec": "libsvtav1", "options": {"preset": "12", "svtav1-params": "lp=1"}},
    "mpeg4.mp4": {"codec": "mpeg4", "b_frames": 2},
    "mpeg4.avi": {"codec": "mpeg4", "b_frames": 2},
    "mpeg2.ts": {"codec": "mpeg2video", "b_frames": 2},
    "mpeg2.mpg": {"codec": "mpeg2video", "b_frames": 2},
    "intra.mov": {"codec": "mjpeg", "pixels": "yuvj420p"},
    "intra.avi": {"codec": "mjpeg", "pixels": "yuvj420p"},
    "ffv1.mkv": {"codec": "ffv1"},
    "all.gif": {"codec": "gif", "pixels": "gray"},
}


def sequential(path: Path) -> list[np.ndarray]:
    """Luma of each frame that FFmpeg gives when it simply decodes the file."""
    frames = []
    with av.open(str(path)) as file:
        file.streams.video[0].codec_context.thread_count = 1
        for frame in file.decode(video=0):
            if frame.format.name != "bgra":
                lines = np.frombuffer(memoryview(frame.planes[0]), np.uint8)
                frames.append(lines.reshape(frame.height, -1)[:, : frame.width].copy())
            else:
                frames.append(frame.to_ndarray()[..., 0])
    return frames


def some_rows(dice: random.Random, count: int) -> list[int]:
    first, step = dice.randrange(count), dice.choice([1, 1, 2, 3])
    return dice.choice(
        [
            [first],
            list(range(first, min(count, first + 8 * step), step)),
            sorted(dice.randrange(count) for _ in range(5)),
        ]
    )


@pytest.mark.parametrize("name", CLIPS)
def test_any_order_gives_what_sequential_decoding_gives(tmp_path: Path, name: str) -> None:
    path = encode(tmp_path / name, **{"pictures": 50, **CLIPS[name]})
    expected = np.stack(sequential(path))
    source = open_media(path)
    stream = source.streams["video"]
    assert len(stream.timeline) == len(expected) == 50
    dice = random.Random(name)
    with closing(VideoDecoder(source.units("video"), stream)) as video:
        for _ in range(40):
            rows = some_rows(dice, 50)
            video.leaps = dice.random() < 0.5
            luma, valid = read_rows(video, stream, rows)
            assert valid.all()
            np.testing.assert_array_equal(luma[:, 0], expected[rows])
            assert numbers(luma) == rows


@pytest.mark.parametrize("suffix", [".mp4", ".ts"])
def test_reading_on_costs_no_second_start(tmp_path: Path, suffix: str) -> None:
    path = encode(tmp_path / f"b{suffix}", "libx264", 50, b_frames=3)
    source = open_media(path)
    stream = source.streams["video"]
    units = CountedUnits(source.units("video"))
    with closing(VideoDecoder(units, stream)) as video:
        for row in range(50):
            assert numbers(read_rows(video, stream, [row])[0]) == [row]
        assert units.starts == [0]
        assert units.read == list(range(50))
        read_rows(video, stream, [40, 44])
        assert units.starts == [0, 35]  # the key unit before, not the start
        assert len(units.read) < 50 + 14 + 6  # and not much further than row 44


def test_a_container_that_breaks_gives_what_came_before_first(tmp_path: Path) -> None:
    class Breaking(CountedUnits):
        def units(self, first: int) -> Iterator[tuple[int, Any]]:
            for index, unit in super().units(first):
                if index == 20:
                    raise DecodeError("the container is damaged here")
                yield index, unit

    source = open_media(encode(tmp_path / "a.mp4", "mpeg4", 50, gop=50, b_frames=0))
    stream = source.streams["video"]
    with closing(VideoDecoder(Breaking(source.units("video")), stream)) as video:
        assert numbers(read_rows(video, stream, range(10))[0]) == list(range(10))
        out = np.full((40, *LUMA.frame_shape(stream.info.shape)), 255, np.uint8)
        with pytest.raises(DecodeError, match="damaged here"):
            video.read(np.arange(10, 50), LUMA, out)
        assert numbers(out[:9]) == list(range(10, 19))  # the last one is still inside
        assert (out[20:] == 255).all()


def test_far_apart_rows_are_sought(tmp_path: Path) -> None:
    path = encode(tmp_path / "b.mp4", "libx264", 120, b_frames=2)
    source = open_media(path)
    units = CountedUnits(source.units("video"))
    with closing(VideoDecoder(units, source.streams["video"])) as video:
        assert numbers(read_rows(video, source.streams["video"], [1, 50, 100])[0]) == [1, 50, 100]
    assert units.starts == [0, 47, 95]


@pytest.mark.parametrize("codec", ["libx264", "libx265", "mpeg4", "libvpx-vp9"])
@pytest.mark.parametrize("b_frames", [0, 3])
def test_who_leaps_decodes_no_more_than_is_wanted(
    tmp_path: Path, codec: str, b_frames: int
) -> None:
    quiet = {"x265-params": "log-level=none"} if codec == "libx265" else {}
    path = encode(tmp_path / "b.mkv", codec, 80, gop=20, b_frames=b_frames, options=quiet)
    source = open_media(path)
    stream = source.streams["video"]
    expected, _, _ = read(path)
    units = CountedUnits(source.units("video"))
    table = units.spec.table
    assert table is not None
    with closing(VideoDecoder(units, stream)) as video:
        video.leaps = True
        for rows in ([50, 52, 54], [7], [78, 79], [33, 34, 35, 38]):
            before = len(units.read)
            luma, valid = read_rows(video, stream, rows)
            assert valid.all()
            np.testing.assert_array_equal(luma, expected[rows])
            last = int(table.row_unit[rows].max())
            assert units.read[before:] == list(range(units.starts[-1], last + 1))
        assert len(units.starts) == 4


def test_who_leaps_without_need_gets_the_same_pictures(tmp_path: Path) -> None:
    path = encode(tmp_path / "b.mp4", "libx264", 60, b_frames=3)
    source = open_media(path)
    stream = source.streams["video"]
    with closing(VideoDecoder(source.units("video"), stream)) as video:
        for row in range(60):
            video.leaps = row % 3 == 0
            assert numbers(read_rows(video, stream, [row])[0]) == [row]
        video.leaps = True
        assert numbers(read_rows(video, stream, [10, 11])[0]) == [10, 11]
        assert video.distance(12) is not None  # it would have gone on
        assert video.distance(3) is None


def test_repeated_rows_are_decoded_once(cases: Path) -> None:
    source = open_media(cases / "inputs/v21b_faststart.mp4")
    stream = source.streams["video"]
    units = CountedUnits(source.units("video"))
    with closing(VideoDecoder(units, stream)) as video:
        luma, valid = read_rows(video, stream, [3, 3, 3, 7, 7])
        assert numbers(luma) == [3, 3, 3, 7, 7]
        assert valid.all()
        assert len(set(units.read)) == len(units.read)
        empty, none = read_rows(video, stream, [])
        assert len(empty) == len(none) == 0


def test_encoded_bytes_serve_as_units(tmp_path: Path) -> None:
    """A container of another kind hands out bytes and no codec context."""
    source = open_media(encode(tmp_path / "b.mp4", "libx264", 40, b_frames=2))

    class Bytes(CountedUnits):
        @property
        def spec(self) -> CodecSpec:
            spec = super().spec
            return CodecSpec("packets", "h264", extradata=spec.extradata, table=spec.table)

        def units(self, first: int) -> Iterator[tuple[int, bytes]]:
            return ((index, bytes(packet)) for index, packet in super().units(first))

    stream = source.streams["video"]
    with closing(VideoDecoder(Bytes(source.units("video")), stream)) as video:
        for rows in ([30, 31], [2, 4, 6], [39], [0]):
            assert numbers(read_rows(video, stream, rows)[0]) == rows


# -------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("name", ["open.mkv", "closed.mp4", "hevc.ts", "mpeg2.ts", "mpeg4.mp4"])
def test_damage_does_not_depend_on_how_rows_are_come_by(tmp_path: Path, name: str) -> None:
    clip = {"pictures": 50, **CLIPS[name]}
    data = bytearray(encode(tmp_path / name, **clip).read_bytes())
    intact, _, intact_stream = read(bytes(data))
    dice = random.Random(name)
    with av.open(str(tmp_path / name)) as file:
        places = [(p.pos, p.size) for p in file.demux(video=0) if p.size > 60 and p.pos]
    for at, size in dice.sample(places, 4):
        for _ in range(30):
            data[at + 20 + dice.randrange(size - 30)] ^= 1 << dice.randrange(8)
    luma, valid, stream = read(bytes(data))
    assert 0 < valid.sum() < len(valid)
    if name in ("mpeg2.ts", "mpeg4.mp4"):  # these notice whatever is done to them here
        same = np.isin(intact_stream.timeline.ns, stream.timeline.ns)
        np.testing.assert_array_equal(luma[valid], intact[same][valid])
    for _ in range(5):
        with closing(decoder(bytes(data))) as video:
            for _ in range(8):
                rows = some_rows(dice, len(stream.timeline))
                video.leaps = dice.random() < 0.5
                again, alone = read_rows(video, stream, rows)
                np.testing.assert_array_equal(alone, valid[rows])
                np.testing.assert_array_equal(again, luma[rows])


def test_damage_of_real_h264(real: Path) -> None:
    _, valid, _ = read(real / "video-timing/corrupted.mp4", format=FrameFormat(size=(72, 128)))
    # its packet 30 does not decode and nothing after it can start anew: one key frame in all
    assert valid[:29].all()
    assert not valid[29:].any()


def test_a_stream_that_never_decodes_raises(tmp_path: Path) -> None:
    path = encode(tmp_path / "v.mkv", "libx264", 12)
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as file:
        for packet in file.demux(video=0):
            if packet.size:
                data[packet.pos + 4 : packet.pos + 4 + packet.size - 4] = bytes(packet.size - 4)
    with pytest.raises(DecodeError, match="no picture of this stream can be decoded") as caught:
        read(bytes(data), [0])
    assert caught.value.stream == "video"


def test_pictures_above_the_limit_are_refused(tmp_path: Path, cases: Path) -> None:
    with pytest.raises(LimitError, match="8191"):
        decoder(cases / "inputs/v21b_faststart.mp4", max_pixels=8191)
    # a picture may claim more than its container does: a VP8 key frame's size, RFC 6386 9.1
    data = bytearray(encode(tmp_path / "v.webm", "libvpx", 5).read_bytes())
    at = data.index(b"\x9d\x01\x2a")
    data[at + 3 : at + 7] = struct.pack("<HH", 16000, 16000)
    source = open_media(bytes(data), OpenOptions(max_pixels=1_000_000))
    with (
        closing(VideoDecoder(source.units("video"), source.streams["video"])) as video,
        pytest.raises(DecodeError, match="above the limit of 1000000 pixels"),
    ):
        read_rows(video, source.streams["video"], [0])


def test_what_is_dropped_leaves_nothing_open(cases: Path) -> None:
    path = cases / "inputs/v07_hevc_opengop.mp4"
    stream = open_media(path).streams["video"]

    def held() -> tuple[int, int]:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    read_rows(decoder(path), stream, [50])
    before = held()
    for _ in range(30):
        assert numbers(read_rows(decoder(path), stream, [50])[0]) == [50]
    assert held() == before


def test_a_closed_decoder_says_so(cases: Path) -> None:
    source = open_media(cases / "inputs/v21b_faststart.mp4")
    video = VideoDecoder(source.units("video"), source.streams["video"])
    video.close()
    video.close()
    with pytest.raises(ClosedError):
        read_rows(video, source.streams["video"], [0])


# ------------------------------------------------------------------------------------- pictures


def colored(
    pixels: str, height: int = 64, width: int = 64, seed: int = 0
) -> tuple[av.VideoFrame, list[np.ndarray]]:
    """A frame of smooth random planes, and its planes."""
    frame = av.VideoFrame(width, height, pixels)
    deep = frame.format.components[0].bits > 8
    scale = 2 ** (frame.format.components[0].bits - 8)
    dice = np.random.default_rng(seed)
    planes = []
    for plane in frame.planes:
        y, x = np.mgrid[: plane.height, : plane.width] / max(plane.height, plane.width)
        a, b, c = dice.uniform(-1, 1, 3)
        values = (128 + 60 * np.sin(3 * (a * x + b * y) + 3 * c)) * scale
        lines = np.frombuffer(memoryview(plane), "<u2" if deep else "u1")
        lines = lines.reshape(plane.height, -1)
        lines[:, : plane.width] = values
        planes.append(lines[:, : plane.width].astype(float))
    return frame, planes


def to_rgb(planes: list[np.ndarray], kr: float, kb: float, full: bool, bits: int) -> np.ndarray:
    """8-bit R'G'B' [H, W, 3] from Y'CbCr codes (ITU-R BT.709 3, BT.601 2.5, full: JFIF)."""
    luma, cb, cr = (plane / 2 ** (bits - 8) for plane in planes)
    if cb.shape != luma.shape:
        cb, cr = (np.kron(plane, np.ones((2, 2))) for plane in (cb, cr))
    luma = luma if full else (luma - 16) * 255 / 219
    cb, cr = ((plane - 128) * (1 if full else 255 / 224) for plane in (cb, cr))
    red, blue = luma + 2 * (1 - kr) * cr, luma + 2 * (1 - kb) * cb
    green = (luma - kr * red - kb * blue) / (1 - kr - kb)
    return np.clip(np.stack([red, green, blue], -1), 0, 255)


@pytest.mark.parametrize(
    ("pixels", "matrix", "range", "height", "weights"),
    [
        ("yuv444p", 2, 0, 64, (0.299, 0.114)),  # untagged, standard definition
        ("yuv444p", 2, 0, 720, (0.2126, 0.0722)),  # untagged, high definition
        ("yuv444p", 1, 1, 64, (0.2126, 0.0722)),
        ("yuv444p", 5, 1, 720, (0.299, 0.114)),
        ("yuv444p", 1, 2, 64, (0.2126, 0.0722)),
        ("yuv444p", 6, 2, 64, (0.299, 0.114)),
        ("yuv420p", 9, 1, 64, (0.2627, 0.0593)),
        ("yuv420p10le", 9, 1, 64, (0.2627, 0.0593)),
        ("yuv420p10le", 1, 2, 64, (0.2126, 0.0722)),
    ],
)
def test_matrix_and_range(
    tmp_path: Path,
    pixels: str,
    matrix: int,
    range: int,
    height: int,
    weights: tuple[float, float],
) -> None:
    frame, planes = colored(pixels, height)
    frame.colorspace, frame.color_range = matrix, range
    tags = {"colorspace": matrix, "color_range": range}
    path = encode(tmp_path / "c.mkv", "ffv1", [frame], pixels=pixels, tags=tags)
    bits = frame.format.components[0].bits
    expected = to_rgb(planes, *weights, range == 2, bits)
    near = 4 if pixels == "yuv444p" else 8  # chroma between samples is a matter of taste
    packed, _, stream = read(path, [0], HWC)
    np.testing.assert_allclose(packed[0], expected, atol=near)
    planar, _, _ = read(path, [0], FrameFormat())
    np.testing.assert_array_equal(planar[0].transpose(1, 2, 0), packed[0])
    unit, _, _ = read(path, [0], FrameFormat(dtype="float32"))
    np.testing.assert_allclose(unit[0].transpose(1, 2, 0) * 255, expected, atol=near)
    deep, _, _ = read(path, [0], FrameFormat(dtype="uint16"))
    np.testing.assert_allclose(deep[0].transpose(1, 2, 0) / 257, expected, atol=near)
    gray, _, _ = read(path, [0], FrameFormat(color="gray", dtype="uint16"))
    np.testing.assert_array_equal(gray[0, 0], planes[0])
    assert stream.info.bits == bits


def test_gray_is_luma_as_stored(tmp_path: Path) -> None:
    frame, planes = colored("yuv420p")
    frame.colorspace = 1
    path = encode(tmp_path / "c.mkv", "ffv1", [frame], tags={"colorspace": 1, "color_range": 1})
    for layout in ("CHW", "HWC"):
        for dtype, scale in (("uint8", 1), ("uint16", 1), ("float32", 255)):
            format = FrameFormat(color="gray", dtype=dtype, layout=layout)
            gray, _, _ = read(path, [0], format)
            np.testing.assert_allclose(np.squeeze(gray) * scale, planes[0], atol=1e-4)


@pytest.mark.parametrize("matrix", [(1, 0, 0, 1), (0, 1, -1, 0)])
def test_yuv_planes_are_as_stored(tmp_path: Path, matrix: tuple[int, int, int, int]) -> None:
    frame, planes = colored("yuv420p", 32, 48)
    path = encode(tmp_path / "c.mp4", "libx264", [frame], options={"qp": "0"})
    a, b, c, d = matrix
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    struct.pack_into(">9i", data, at, a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    stored, _, stream = read(bytes(data), [0], FrameFormat(color="yuv420p"))
    height, width = stream.info.shape
    assert stored.shape == (1, height * 3 // 2, width)
    upright = [plane if a else np.rot90(plane, -1) for plane in planes]
    assert stored.tobytes() == b"".join(p.astype(np.uint8).tobytes() for p in upright)


def test_gray_of_rgb_is_its_luma(tmp_path: Path) -> None:
    frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), (200, 100, 50), np.uint8))
    path = encode(tmp_path / "c.avi", "rawvideo", [frame.reformat(format="bgr24")], pixels="bgr24")
    gray, _, _ = read(path, [0])
    np.testing.assert_allclose(gray, 0.299 * 200 + 0.587 * 100 + 0.114 * 50, atol=1)


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le"])
@pytest.mark.parametrize("width", [33, 48, 56, 57, 63, 64])
def test_every_column_is_written(tmp_path: Path, pixels: str, width: int) -> None:
    frame, _ = colored("gray", 18, width)
    codes = np.frombuffer(memoryview(frame.planes[0]), np.uint8).reshape(18, -1)[:, :width]
    full = frame.reformat(format=pixels, dst_color_range=2)
    path = encode(tmp_path / "w.mkv", "ffv1", [full], pixels=pixels, tags={"color_range": 2})
    for color in ("rgb", "rgba"):
        for dtype, scale in (("uint8", 1), ("uint16", 257)):
            out, _, _ = read(path, [0], FrameFormat(color=color, dtype=dtype))
            np.testing.assert_allclose(out[0, :3] / scale, np.stack([codes] * 3), atol=3)


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_alpha_of_webm(tmp_path: Path, layout: str) -> None:
    frame, planes = colored("yuva420p", 32, 64)
    path = encode(
        tmp_path / "a.webm",
        "libvpx-vp9",
        [frame] * 3,
        pixels="yuva420p",
        options={"lossless": "1", "auto-alt-ref": "0"},
    )
    rgba, valid, _ = read(path, None, FrameFormat(color="rgba", layout=layout))
    assert valid.all()
    alpha = rgba[:, 3] if layout == "CHW" else rgba[..., 3]
    np.testing.assert_array_equal(alpha[2], planes[3])
    opaque, _, _ = read(encode(tmp_path / "o.mkv", "ffv1", 1), [0], FrameFormat(color="rgba"))
    assert (opaque[:, 3] == 255).all()
    deep, _, _ = read(tmp_path / "o.mkv", [0], FrameFormat(color="rgba", dtype="uint16"))
    assert (deep[:, 3] == 65535).all()


ORIENTATIONS = [matrix for p in (1, -1) for q in (1, -1) for matrix in ((p, 0, 0, q), (0, p, q, 0))]


@pytest.mark.parametrize("matrix", ORIENTATIONS)
def test_display_matrices(tmp_path: Path, matrix: tuple[int, int, int, int]) -> None:
    """All eight: where the matrix takes each pixel is where it is seen (ISO/IEC 14496-12 6.2.2)."""
    a, b, c, d = matrix
    data = bytearray(encode(tmp_path / "m.mp4", "libx264", [picture(5, 48, 128)]).read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    struct.pack_into(">9i", data, at, a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    plain, _, _ = read(tmp_path / "m.mp4", [0], HWC)
    turned, _, stream = read(bytes(data), [0], HWC)
    y, x = np.mgrid[:48, :128]
    seen_x, seen_y = a * x + c * y, b * x + d * y
    expected = np.zeros_like(turned[0])
    expected[seen_y - seen_y.min(), seen_x - seen_x.min()] = plain[0]
    np.testing.assert_array_equal(turned[0], expected)
    assert stream.info.shape == expected.shape[:2]
    assert stream.info.flipped == (a * d - b * c < 0)
    # a crop is in upright pixels, whatever the size and the layout
    top, left, height, width = 3, 5, 20, 31
    crop = FrameFormat(crop=(top, left, height, width), layout="HWC")
    cropped, _, _ = read(bytes(data), [0], crop)
    np.testing.assert_array_equal(cropped[0], expected[top : top + height, left : left + width])


@pytest.mark.parametrize("crop", [(16, 8, 32, 64), (7, 5, 31, 33), (0, 0, 64, 128)])
@pytest.mark.parametrize("color", ["rgb", "gray", "rgba"])
def test_crop_is_taken_before_resizing(
    tmp_path: Path, crop: tuple[int, int, int, int], color: str
) -> None:
    frame, _ = colored("yuv420p", 64, 128)
    path = encode(tmp_path / "c.mkv", "ffv1", [frame])
    top, left, height, width = crop
    whole, _, _ = read(path, [0], FrameFormat(color=color, layout="HWC"))
    piece, _, _ = read(path, [0], FrameFormat(color=color, layout="HWC", crop=crop))
    np.testing.assert_allclose(
        piece[0], whole[0, top : top + height, left : left + width].astype(int), atol=2
    )
    half, _, _ = read(path, [0], FrameFormat((16, 20), crop, color, layout="HWC"))
    assert half.shape[1:3] == (16, 20)
    # smooth pictures: a small pixel is the picture around its centre
    y = (top + (np.arange(16) + 0.5) * height / 16).astype(int)
    x = (left + (np.arange(20) + 0.5) * width / 20).astype(int)
    np.testing.assert_allclose(half[0], whole[0][np.ix_(y, x)].astype(int), atol=16)


def test_sizes_scale_by_area(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (48, 96), np.uint8)
    path = encode(tmp_path / "c.mkv", "ffv1", [noise], pixels="gray")
    for height, width in ((8, 16), (32, 40)):
        small, _, _ = read(path, [0], FrameFormat(size=(height, width), color="gray"))
        exact = _shares(48, height) @ noise @ _shares(96, width).T
        np.testing.assert_allclose(small[0, 0], exact, atol=2)


def _shares(count: int, wanted: int) -> np.ndarray:
    """How much each of `count` lines has in each of `wanted` that share their length evenly."""
    edges = np.linspace(0, count, wanted + 1)
    first, last = (
        np.maximum.outer(edges[:-1], range(count)),
        np.minimum.outer(edges[1:], range(1, count + 1)),
    )
    return np.clip(last - first, 0, None) * wanted / count


def test_a_change_of_size_needs_a_stated_size(tmp_path: Path) -> None:
    path = change_of_size(tmp_path / "r.h264")
    sized, valid, stream = read(path, None, FrameFormat(size=(32, 64), color="gray"))
    assert valid.all()
    assert stream.info.shape == (64, 128)
    assert len(sized) == 20
    with pytest.raises(DecodeError, match="32x64 in a stream of 64x128") as caught:
        read(path, [15])
    assert caught.value.stream == "video"
    assert caught.value.time_ns == 600_000_000
    assert str(path) in str(caught.value)
    first, _, _ = read(path, [5])
    assert numbers(first) == [5]


def change_of_size(path: Path) -> Path:
    """Two raw H.264 clips in a row, the second of half the size."""
    large = encode(path.with_suffix(".a.h264"), "libx264", 10)
    small = encode(
        path.with_suffix(".b.h264"), "libx264", [picture(n)[::2, ::2] for n in range(10)]
    )
    path.write_bytes(large.read_bytes() + small.read_bytes())
    return path


def test_out_must_fit(cases: Path) -> None:
    with closing(decoder(cases / "inputs/v21b_faststart.mp4")) as video:
        for shape, dtype in (((1, 3, 64, 128), "uint16"), ((1, 64, 128, 3), "uint8")):
            with pytest.raises(ValueError, match="not uint8"):
                video.read(np.array([0]), FrameFormat(), np.zeros(shape, dtype))
