"""Pictures and depth: the right way up, the right colours, the right size, all bits."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from PIL import Image
from whole_streams import read_all

import genlock as gl
from media_clips import encode, number_in, picture

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "white": (255,) * 3}


def quarters(height: int = 32, width: int = 48) -> np.ndarray:
    """Red, green, blue and white quarters: [H, W, 3]."""
    whole = np.zeros((height, width, 3), np.uint8)
    half, middle = height // 2, width // 2
    for (y, x), rgb in zip(((0, 0), (0, 1), (1, 0), (1, 1)), COLOURS.values(), strict=True):
        whole[y * half :, x * middle :] = rgb
    return whole


def seen(frame: np.ndarray) -> list[str]:
    """Names of the colours in the corners of [H, W, 3]."""
    corners = frame[[3, 3, -4, -4], [3, -4, 3, -4]].astype(int)
    values = np.array(list(COLOURS.values()))
    nearest = np.abs(corners[:, None] - values).sum(-1).argmin(1)
    return [list(COLOURS)[i] for i in nearest]


def only(target: Any, field: Any = gl.Video, max_pixels: int | None = None, **options: Any) -> Any:
    with gl.open(target, max_pixels=max_pixels) as recording:
        (name,) = recording.streams
        sample = recording.read({"x": field(name, **options)}, 0, 1)
        assert sample.mask["x"].tolist() == [True]
        return sample["x"][0]


TURNED = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, 1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a, -1),
}
"""What a camera stores of an upright picture, by EXIF orientation."""


@pytest.mark.parametrize("orientation", TURNED)
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_every_orientation_in_every_format(orientation: int, format: str, tmp_path: Path) -> None:
    stored = np.ascontiguousarray(TURNED[orientation](quarters()))
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"turned.{format.lower()}"
    Image.fromarray(stored).save(path, format, exif=exif, quality=95)
    upright = only(path, layout="THWC")
    assert upright.shape == (32, 48, 3)
    assert seen(upright) == list(COLOURS)
    small = only(path, layout="THWC", size=(16, 24))
    assert seen(small) == list(COLOURS)
    cut = only(path, layout="THWC", crop=(0, 24, 16, 24))
    assert seen(cut) == ["green"] * 4


DISPLAY = {
    (0, False): (1, 0, 0, 1),
    (90, False): (0, 1, -1, 0),
    (180, False): (-1, 0, 0, -1),
    (270, False): (0, -1, 1, 0),
    (0, True): (-1, 0, 0, 1),
    (180, True): (1, 0, 0, -1),
    (90, True): (0, -1, -1, 0),
    (270, True): (0, 1, 1, 0),
}
"""a, b, c, d of the display matrix, by the clockwise turn that follows a horizontal flip."""


def with_matrix(path: Path, matrix: tuple[int, int, int, int]) -> Path:
    """Write a display matrix into the only track header (tkhd, version 0) of an MP4 file."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    a, b, c, d = (value << 16 for value in matrix)
    struct.pack_into(">9i", data, at, a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(data)
    return path


def coloured(pixels: str, number: int = 4) -> list[av.VideoFrame]:
    frames = []
    for _ in range(number):
        frame = av.VideoFrame.from_ndarray(quarters(64, 128), format="rgb24")
        frames.append(frame.reformat(format=pixels))
    return frames


@pytest.mark.parametrize(("turn", "matrix"), DISPLAY.items(), ids=str)
def test_every_display_matrix(
    turn: tuple[int, bool], matrix: tuple[int, int, int, int], tmp_path: Path
) -> None:
    rotation, flipped = turn
    path = encode(tmp_path / "turned.mp4", "libx264", coloured("yuv420p"))
    with gl.open(with_matrix(path, matrix)) as recording:
        info = recording.streams["video"].info
        expected = quarters(64, 128)
        expected = expected[:, ::-1] if flipped else expected
        expected = np.rot90(expected, -rotation // 90)
        assert info.shape == expected.shape[:2]
        for options in ({}, {"size": (50, 70)}, {"dtype": "float32"}):
            frames = read_all(recording, gl.Video("video", layout="THWC", **options))["x"]
            scale = 255 if "dtype" in options else 1
            assert seen(frames[1] * scale) == seen(expected)
        top, left = 8, 24
        crop = gl.Video("video", layout="THWC", crop=(top, left, 32, 16))
        cut = read_all(recording, crop)["x"][0].astype(int)
        assert np.abs(cut - expected[top : top + 32, left : left + 16]).mean() < 12


MATRICES = {
    "bt709": (1, (0.2126, 0.0722)),
    "bt470bg": (5, (0.299, 0.114)),
    "smpte170m": (6, (0.299, 0.114)),
    "bt2020nc": (9, (0.2627, 0.0593)),
    "unknown": (2, None),
}


def yuv_of(rgb: tuple[int, int, int], weights: tuple[float, float], full: bool) -> list[int]:
    """Y, Cb, Cr codes of 8 bits by ITU-R BT.709 or its kin."""
    red, green, blue = (v / 255 for v in rgb)
    kr, kb = weights
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    chroma = ((blue - luma) / (2 - 2 * kb), (red - luma) / (2 - 2 * kr))
    if full:
        return [round(255 * luma), *(round(255 * c + 128) for c in chroma)]
    return [round(219 * luma + 16), *(round(224 * c + 128) for c in chroma)]


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("range", [1, 2, 0])
@pytest.mark.parametrize(("height", "width"), [(64, 134), (720, 160)])
@pytest.mark.parametrize("codec", ["libx264", "libvpx-vp9"])
def test_colours_by_matrix_range_and_height(
    matrix: str, range: int, height: int, width: int, codec: str, tmp_path: Path
) -> None:
    number, weights = MATRICES[matrix]
    if weights is None:  # the stated default: by height
        weights = MATRICES["bt709" if height >= 720 else "bt470bg"][1]
    rgb = (200, 60, 90)
    codes = yuv_of(rgb, weights, full=range == 2)
    frames = []
    for _ in (0, 1):
        frame = av.VideoFrame(width, height, "yuv420p")
        for plane, code in zip(frame.planes, codes, strict=True):
            plane.update(bytes([code]) * (plane.line_size * plane.height))
        frame.colorspace, frame.color_range = number, range
        frames.append(frame)
    options = {
        "libx264": {"qp": "1", "preset": "ultrafast"},
        "libvpx-vp9": {"lossless": "1", "deadline": "realtime", "cpu-used": "8"},
    }[codec]
    tags = {"colorspace": number, "color_range": range}
    path = tmp_path / ("c.webm" if "vp9" in codec else "c.mp4")
    encode(path, codec, frames, options=options, tags=tags)
    with gl.open(path) as recording:
        colour = recording.streams["video"].info.color
        # VP9 has one name for both BT.601 systems
        assert colour.matrix in (matrix, "smpte170m", "bt470bg")
        for layout in ("TCHW", "THWC"):
            pictures = read_all(recording, gl.Video("video", layout=layout))["x"]
            pixels = pictures if layout == "THWC" else pictures.transpose(0, 2, 3, 1)
            assert np.abs(pixels.astype(int) - rgb).max() <= 4
        gray = read_all(recording, gl.Video("video", color="gray"))["x"]
        assert np.abs(gray.astype(int) - codes[0]).max() <= 2  # the stored luma


@pytest.mark.parametrize(("codec", "bits"), [("libx264", 10), ("ffv1", 10), ("ffv1", 12)])
def test_deep_luma_keeps_its_codes(codec: str, bits: int, tmp_path: Path) -> None:
    name = f"yuv420p{bits}le"
    ramp = np.broadcast_to(np.linspace(64, 2**bits - 64, 128).astype(np.uint16), (64, 128))
    frames = []
    for _ in (0, 1):
        frame = av.VideoFrame(128, 64, name)
        for index, plane in enumerate(frame.planes):
            rows = np.frombuffer(memoryview(plane), np.uint16).reshape(plane.height, -1)
            rows[:] = 2 ** (bits - 1)
            if not index:
                rows[:, :128] = ramp
        frames.append(frame)
    options = {"qp": "0", "preset": "ultrafast"} if codec == "libx264" else {}
    path = encode(tmp_path / "deep.mkv", codec, frames, pixels=name, options=options)
    with gl.open(path) as recording:
        info = recording.streams["video"].info
        assert (info.bits, info.dtype) == (bits, "uint16")
        codes = read_all(recording, gl.Video("video", color="gray", dtype="uint16"))["x"]
        assert (codes[:, 0] == ramp).all()
        share = read_all(recording, gl.Video("video", color="gray", dtype="float32"))["x"]
        assert np.allclose(share[:, 0], ramp / (2**bits - 1), atol=1e-6)
        coarse = read_all(recording, gl.Video("video"))["x"][0].astype(int)
        limited = (ramp / 2 ** (bits - 8) - 16) * 255 / 219
        assert np.abs(coarse - np.clip(limited, 0, 255)).max() <= 3


@pytest.mark.parametrize("width", [*range(4, 70, 2), 854, 1080])
def test_every_width_to_its_last_column(width: int, tmp_path: Path) -> None:
    gray = av.VideoFrame.from_ndarray(np.full((16, width), 180, np.uint8), format="gray")
    path = encode(tmp_path / "w.mkv", "ffv1", [gray.reformat(format="yuv420p")])
    with gl.open(path) as recording:
        for options in ({"layout": "THWC"}, {}, {"color": "rgba"}, {"size": (16, width + 3)}):
            values = read_all(recording, gl.Video("video", **options))["x"]
            assert len(np.unique(values)) <= 1 + (options.get("color") == "rgba")


def test_size_change_inside_a_stream(tmp_path: Path) -> None:
    """Pictures of another size: resized if the field says a size, else an error that names it."""
    parts = []
    for index, (height, width) in enumerate(((64, 128), (96, 160))):
        pictures = [picture(20 * index + n, height, width) for n in range(20)]
        part = encode(tmp_path / f"part{index}.h264", "libx264", pictures, b_frames=0)
        parts.append(part.read_bytes())
    path = tmp_path / "two_sizes.h264"
    path.write_bytes(b"".join(parts))
    with gl.open(path) as recording:
        stream = recording.streams["video"]
        assert len(stream.timeline) == 40 and stream.info.shape == (64, 128)
        sized = read_all(recording, gl.Video("video", size=(64, 128), color="gray"))
        assert sized.mask["x"].all()
        assert [number_in(frame[0]) for frame in sized["x"][:20]] == list(range(20))
        start_ns, twentieth_ns = int(stream.timeline.ns[0]), int(stream.timeline.ns[20])
        first = recording.read({"x": gl.Video("video", color="gray")}, start_ns, "0.8")
        assert [number_in(frame[0]) for frame in first["x"]] == list(range(20))
        with pytest.raises(gl.DecodeError, match="96x160") as raised:
            read_all(recording, gl.Video("video"))
        assert path.name in str(raised.value) and raised.value.time_ns == twentieth_ns


def test_sample_aspect_is_stated_and_pixels_are_never_stretched(tmp_path: Path) -> None:
    tags = {"sample_aspect_ratio": Fraction(4, 3)}
    path = encode(tmp_path / "sar.mp4", "libx264", 4, tags=tags)
    with gl.open(path) as recording:
        info = recording.streams["video"].info
        assert info.sample_aspect == pytest.approx(4 / 3)
        assert info.shape == (64, 128)


def test_alpha_of_video(tmp_path: Path) -> None:
    frames = []
    for n in range(4):
        rgba = np.zeros((64, 128, 4), np.uint8)
        rgba[..., 0], rgba[..., 3] = 200, 10 * n
        rgba[:32, :, 3] = 255
        frames.append(av.VideoFrame.from_ndarray(rgba, format="rgba"))
    path = encode(
        tmp_path / "alpha.mov", "qtrle", [f.reformat(format="argb") for f in frames], pixels="argb"
    )
    with gl.open(path) as recording:
        values = read_all(recording, gl.Video("video", color="rgba", layout="THWC"))["x"]
        assert values[:, 0, 0].tolist() == [[200, 0, 0, 255]] * 4
        assert values[:, -1, 0, 3].tolist() == [0, 10, 20, 30]


def test_cmyk_with_adobes_inversion(tmp_path: Path) -> None:
    path = tmp_path / "print.jpg"  # Pillow writes Adobe's marker and inverts, as Photoshop does
    inks = Image.fromarray(quarters()).convert("CMYK")
    inks.save(path, "JPEG", quality=98, subsampling=0)
    assert seen(only(path, layout="THWC")) == list(COLOURS)


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp", "txt", "mp4", "bin"])
@pytest.mark.parametrize("content", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_content_decides_not_the_suffix(suffix: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / f"misnamed.{suffix}"
    Image.fromarray(quarters()).save(path, content)
    assert seen(only(path, layout="THWC")) == list(COLOURS)


@pytest.mark.parametrize("suffix", ["avi", "jpg", "csv", "wav", "dat"])
def test_video_by_any_name(suffix: str, tmp_path: Path) -> None:
    source = encode(tmp_path / "clip.mp4", "libx264", 10)
    path = source.rename(tmp_path / f"clip.{suffix}")
    with gl.open(path) as recording:
        frames = read_all(recording, gl.Video("video", color="gray"))["x"]
        assert [number_in(frame[0]) for frame in frames] == list(range(10))


@pytest.mark.parametrize("dtype", ["uint16", "float32", "float16", "float64"])
@pytest.mark.parametrize("suffix", ["png", "tiff", "npy"])
def test_one_depth_map_in_every_encoding(dtype: str, suffix: str, tmp_path: Path) -> None:
    if (suffix == "png" and dtype != "uint16") or (suffix == "tiff" and dtype == "float16"):
        pytest.skip(f"no {dtype} in {suffix}")
    y, x = np.ogrid[:24, :32]
    metres = 0.5 + 0.01 * x + 0.02 * y
    holes = (x + y) % 5 == 0
    for index, (scale, declared) in enumerate(
        (
            (1000, {"encoding": "mm"}),
            (5000, {"encoding": "tum5000"}),
            (1, {"encoding": "metres"}),
            (250, {"scale": 0.004}),
        )
    ):
        if dtype == "uint16" and scale == 1:
            continue
        stored = metres * scale
        if dtype == "uint16":
            stored = np.round(stored)
        stored = stored.astype(dtype)
        stored[holes] = 0
        if dtype != "uint16":
            stored[::7, ::3] = np.nan
            stored[1::7, ::3] = np.inf
        expected = np.isfinite(stored) & (stored > 0)
        path = tmp_path / f"depth_{index}.{suffix}"
        if suffix == "npy":
            np.save(path, stored)
        else:
            assert cv2.imwrite(str(path), stored)
        with gl.open(path, streams={path.stem: {"kind": "depth", "depth": declared}}) as recording:
            for size in ((24, 32), (12, 16), (48, 64)):
                sample = recording.read({"x": gl.Depth(path.stem, size=size)}, 0, 1)
                depth = sample["x"][0]
                assert np.isfinite(depth).all()
                rows = ((np.arange(size[0]) + 0.5) * 24 / size[0]).astype(int)
                columns = ((np.arange(size[1]) + 0.5) * 32 / size[1]).astype(int)
                picked = np.ix_(rows, columns)
                tolerance = {"uint16": 0.6 / scale, "float16": 2e-3}.get(dtype, 1e-5)
                assert ((depth > 0) == expected[picked]).all()
                right = np.where(expected, metres, 0)[picked]
                assert np.abs(depth - right).max() <= tolerance
