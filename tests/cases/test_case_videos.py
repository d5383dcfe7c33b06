"""The shared cases of video: time, seeking, pictures, damage."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from whole_streams import indices, read_all, sound

import genlock as gl
from genlock._nanoseconds import SECOND_NS

GRAY = gl.Video("video", color="gray")


def shown(recording: gl.Recording, truth: ModuleType) -> list[int | None]:
    return indices(read_all(recording, GRAY), truth)


def corners(frame: np.ndarray) -> list[str]:
    """Colours of the corners of [3, H, W]: top left, top right, bottom left, bottom right."""
    names = {(1, 1, 1): "white", (0, 0, 1): "blue", (0, 1, 0): "green", (1, 0, 0): "red"}
    found = frame[:, [6, 6, -7, -7], [6, -7, 6, -7]] > 128
    return [names[tuple(map(int, pixel))] for pixel in found.T]


@pytest.mark.case("V01")
def test_an_edit_list_cuts_picture_and_sound_alike(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v01_cut_editlist.mp4") as recording:
        assert shown(recording, truth) == list(range(13, 75))
        ns = recording.streams["video"].timeline.ns
        assert ns.tolist() == [n * 40_000_000 for n in range(62)]
        assert truth.chirp_starts(sound(recording)[0]) == [23_040, 71_040]
        assert recording.start_ns == 0


@pytest.mark.case("V03")
def test_variable_rate_is_as_the_file_says(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v03_vfr.mp4") as recording:
        assert shown(recording, truth) == list(range(70))
        seconds = recording.streams["video"].timeline.ns / SECOND_NS
        assert seconds[[20, 35, 45]] == pytest.approx([0.666667, 2.0, 3.083333], abs=2e-5)
        for method in ("nearest", "previous"):
            field = gl.Video("video", offsets=[2.5, 0.5], color="gray", method=method)
            assert indices(recording.read({"x": field}, 0, 1), truth) == [37, 15]


@pytest.mark.parametrize(
    ("file", "shape", "expected"),
    [
        pytest.param(
            "v04_rot180.mp4",
            (64, 128),
            ["white", "blue", "green", "red"],
            marks=pytest.mark.case("V04b"),
        ),
        pytest.param(
            "v04_rot270.mp4",
            (128, 64),
            ["blue", "red", "white", "green"],
            marks=pytest.mark.case("V04c"),
        ),
    ],
)
def test_rotation(inputs: Path, file: str, shape: tuple[int, int], expected: list[str]) -> None:
    with gl.open(inputs / file) as recording:
        assert recording.streams["video"].info.shape == shape
        frames = read_all(recording, gl.Video("video"))["x"]
        assert frames.shape == (10, 3, *shape)
        assert all(corners(frame) == expected for frame in frames)


@pytest.mark.case("V05")
def test_a_header_that_counts_too_many_pictures(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v05_overcount.avi") as recording:
        assert shown(recording, truth) == list(range(50))
        beyond = gl.Video("video", offsets=[2.0, 3.16, 1.96], color="gray", tolerance=0.01)
        assert indices(recording.read({"x": beyond}, 0, 1), truth) == [None, None, 49]


@pytest.mark.case("V07")
def test_leading_pictures_and_steps_backward(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v07_hevc_opengop.mp4") as recording:
        ns = recording.streams["video"].timeline.ns
        assert len(ns) == 120
        field = gl.Video("video", offsets=[0.366667], color="gray")
        assert indices(recording.read({"x": field}, 0, 1), truth) == [11]
        for index in (118, 35, 11, 119):
            field = gl.Video("video", offsets=[0], color="gray")
            sample = recording.read({"x": field}, int(ns[index]), 1)
            assert indices(sample, truth) == [index]
        assert shown(recording, truth) == list(range(120))


@pytest.mark.case("V08")
def test_pictures_that_come_out_of_the_flushed_decoder(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v08_drain7.mp4") as recording:
        assert shown(recording, truth) == list(range(7))
        assert recording.streams["video"].timeline.ns[-1] == 240_000_000


@pytest.mark.parametrize(
    ("file", "matrix"),
    [
        pytest.param("v10_col_709tv.mp4", "bt709", marks=pytest.mark.case("V10a")),
        pytest.param("v10_col_601tv.mp4", "smpte170m", marks=pytest.mark.case("V10c")),
    ],
)
def test_colours_by_their_tags(inputs: Path, file: str, matrix: str) -> None:
    expected = np.array([(200, 30, 40), (30, 180, 60), (40, 60, 200), (220, 200, 60)])
    with gl.open(inputs / file) as recording:
        assert recording.streams["video"].info.color.matrix in (matrix, "bt470bg")
        frames = read_all(recording, gl.Video("video", layout="THWC"))["x"].astype(int)
        assert np.abs(frames[:, 32, [16, 48, 80, 112]] - expected).max() <= 3


@pytest.mark.case("V11")
def test_ten_bits_keep_their_codes(inputs: Path) -> None:
    with gl.open(inputs / "v11_10bit_pq.mp4") as recording:
        info = recording.streams["video"].info
        assert (info.bits, info.color.transfer, info.color.primaries) == (10, "smpte2084", "bt2020")
        luma = read_all(recording, gl.Video("video", color="gray", dtype="uint16"))["x"]
        assert (luma == 64 + 6 * np.arange(128)).all()
        rgb = read_all(recording, gl.Video("video"))["x"].astype(int)
        expected = np.array([0, 112, 222])
        assert np.abs(rgb[:, :, 32, [0, 64, 127]] - expected).max() <= 2


@pytest.mark.case("V12")
def test_odd_sizes_without_their_padding(inputs: Path) -> None:
    k, y, x = np.ogrid[:4, :67, :131]
    red, green, blue = np.broadcast_arrays((x + y + 20 * k) % 256, 5 * y % 256, 3 * x % 256)
    with gl.open(inputs / "v12_odd131x67.mkv") as recording:
        frames = read_all(recording, gl.Video("video"))["x"]
        assert (frames == np.stack([red, green, blue], 1)).all()


@pytest.mark.case("V12b")
def test_what_the_codec_crops_is_not_shown(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v12b_134x70.mp4") as recording:
        frames = read_all(recording, GRAY)
        assert frames["x"].shape == (8, 1, 70, 134)
        assert indices(frames, truth) == list(range(8))
        rgb = read_all(recording, gl.Video("video"))["x"]
        assert rgb[..., -1].min() >= 250 and rgb[..., -1, :].min() >= 250


@pytest.mark.case("V13")
def test_pictures_stored_bottom_up(inputs: Path) -> None:
    with gl.open(inputs / "v13_bottomup_bgr24.avi") as recording:
        frames = read_all(recording, gl.Video("video", layout="THWC"))["x"]
        assert frames.shape == (6, 48, 64, 3)
        for k, frame in enumerate(frames):
            for (x, y), channel in (((2, 2), 1), ((40, 2), 0), ((40, 45), 2)):
                assert frame[y, x].argmax() == channel and frame[y, x].min() < 60
            assert (frame[20:28, 8 * k : 8 * k + 8] >= 250).all()


@pytest.mark.case("V15")
def test_damage_is_masked_and_nothing_renumbered(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v15_corrupt.mkv") as recording:
        ns = recording.streams["video"].timeline.ns
        assert ns.tolist() == [n * 40_000_000 for n in range(60)]
        found = shown(recording, truth)
        assert found == [*range(25), *[None] * 5, *range(30, 60)]
        for index in (29, 12, 59, 25, 24, 30):
            field = gl.Video("video", offsets=[0], color="gray")
            sample = recording.read({"x": field}, int(ns[index]), 1)
            assert indices(sample, truth) == [None if 25 <= index < 30 else index]


REFUSED = [
    pytest.param("v16_moov_missing.mp4", "moov", marks=pytest.mark.case("V16")),
    pytest.param("v16b_zero_byte.mp4", "empty", marks=pytest.mark.case("V16b")),
    pytest.param("v16d_text.mp4", "HTML", marks=pytest.mark.case("V16d")),
]


@pytest.mark.parametrize(("file", "why"), REFUSED)
def test_files_that_are_no_recordings(inputs: Path, truth: ModuleType, file: str, why: str) -> None:
    bad, good = inputs / file, inputs / "v21b_faststart.mp4"
    with pytest.raises(gl.OpenError, match=why) as raised:
        gl.open(bad)
    assert file in str(raised.value)
    fields = {"x": gl.Video("video", rate=10, color="gray")}
    clips = gl.Windows.at([(good, 0, 0.5), (bad, 0, 0.5), (good, 500_000_000, 0.5)])
    with gl.Loader(clips, fields, batch_size=3, on_error="skip", device="cpu") as loader:
        (batch,) = list(loader)
        assert [[truth.frame_index(f[0]) for f in clip] for clip in batch["x"].numpy()] == [
            [0, 3, 6, 9, 12],
            [15, 18, 21, 24, 27],
        ]
        (failure,) = loader.failures
        assert file in str(failure)
    with gl.Loader(clips, fields, batch_size=3, on_error="mask", device="cpu") as loader:
        (batch,) = list(loader)
        assert batch["x"].shape == (3, 5, 1, 64, 128)
        assert batch.mask["x"].numpy().tolist() == [[True] * 5, [False] * 5, [True] * 5]
    with (
        gl.Loader(clips, fields, batch_size=3, device="cpu") as loader,
        pytest.raises(gl.OpenError, match=why),
    ):
        list(loader)
    windows = gl.Windows([good, bad], duration=0.5, on_error="skip")
    assert len(windows) == 2
    ((uri, error),) = windows.skipped
    assert file in uri and why in str(error)


@pytest.mark.case("V17", "V18")
@pytest.mark.parametrize("file", ["v17_cover_video.mp4", "v18_tmcd.mov"])
def test_tracks_that_do_not_play_are_left_out(inputs: Path, truth: ModuleType, file: str) -> None:
    with gl.open(inputs / file) as recording:
        assert sorted(recording.streams) == ["audio", "video"]
        assert recording.streams["video"].info.shape == (64, 128)
        assert shown(recording, truth) == list(range(75))
        assert truth.chirp_starts(sound(recording)[0]) == [0, 48_000, 96_000]


@pytest.mark.case("V17b")
def test_a_cover_picture_is_no_video(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v17b_cover_audio.m4a") as recording:
        assert list(recording.streams) == ["audio"]
        with pytest.raises(gl.StreamError, match=r"v17b_cover_audio.m4a has no stream 'video'"):
            recording.read({"x": GRAY}, 0, 1)
        assert truth.chirp_starts(sound(recording)[0]) == [0, 48_000, 96_000]


@pytest.mark.case("V20")
def test_depth_as_video_keeps_16_bits(inputs: Path) -> None:
    path = inputs / "v20_depth_gray16.mkv"
    k, y, x = np.ogrid[:5, :48, :64]
    codes = 500 + 3 * x + 7 * y + 1000 * k
    with gl.open(path) as recording:
        assert recording.streams["video"].info.dtype == "uint16"
        stored = read_all(recording, gl.Video("video", color="gray", dtype="uint16"))["x"]
        assert stored.dtype == np.uint16 and (stored[:, 0] == codes).all()
        assert (stored[:, 0] > 255).all()
    with gl.open(path, streams={"video": {"kind": "depth", "depth": {"scale": 0.001}}}) as depth:
        metres = read_all(depth, gl.Depth("video"))["x"]
        assert np.allclose(metres, codes * 0.001, rtol=1e-6, atol=0)


class OneWay(io.RawIOBase):
    """A reader that only goes forward, as of a pipe."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(buffer)


@pytest.mark.case("V21b")
@pytest.mark.parametrize(
    "target", [lambda path: path.open("rb"), Path.read_bytes, lambda p: OneWay(p.read_bytes())]
)
def test_file_objects(inputs: Path, truth: ModuleType, target: Callable[[Path], Any]) -> None:
    opened = target(inputs / "v21b_faststart.mp4")
    with gl.open(opened) as recording:
        assert shown(recording, truth) == list(range(30))
    if hasattr(opened, "close"):
        opened.close()


@pytest.mark.case("V22")
def test_paths_with_odd_characters(inputs: Path, truth: ModuleType) -> None:
    path = inputs / "v22 dir ü 映像" / "clip 100%03d #1 [x].mp4"
    for target in (path, str(path)):
        with gl.open(target) as recording:
            assert shown(recording, truth) == list(range(30))


@pytest.mark.case("V24")
def test_a_clip_of_one_picture(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v24_oneframe.mp4") as recording:
        assert recording.streams["video"].timeline.ns.tolist() == [0]
        assert shown(recording, truth) == [77]
        sample = recording.read({"x": gl.Video("video", rate=30, color="gray")}, 0, "0.25")
        assert indices(sample, truth) == [77, *[None] * 7]
        assert not sample["x"][1:].any()
        patient = gl.Video("video", rate=30, color="gray", tolerance=1)
        assert indices(recording.read({"x": patient}, 0, "0.25"), truth) == [77] * 8
