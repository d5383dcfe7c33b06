"""Alpha of WebM through the façade, against the planes that the ffmpeg program decodes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

import genlock as gl

pytestmark = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg program")

FRAMES, HEIGHT, WIDTH = 40, 48, 64
DECODERS = {"vp9": "libvpx-vp9", "vp8": "libvpx"}


def moving(k: int) -> av.VideoFrame:
    """A gradient in which a bar of alpha k * 6 wanders."""
    frame = av.VideoFrame(WIDTH, HEIGHT, "yuva420p")
    x = np.arange(WIDTH) + np.zeros((HEIGHT, 1), np.int64)
    alpha = np.full((HEIGHT, WIDTH), 255)
    alpha[:, k : k + 16] = 6 * k
    planes = (40 + 2 * x + k, np.full((24, 32), 100 + k), np.full((24, 32), 160 - k), alpha)
    for plane, values in zip(frame.planes, planes, strict=True):
        lines = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, -1)
        lines[:, : plane.width] = values
    return frame


@pytest.fixture(scope="module", params=list(DECODERS))
def clip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    codec = request.param
    path = tmp_path_factory.mktemp("alpha") / f"{codec}.webm"
    with av.open(str(path), "w") as file:
        stream = file.add_stream(DECODERS[codec], rate=25)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuva420p"
        stream.codec_context.gop_size = 8
        stream.options = {"auto-alt-ref": "0", "crf": "30", "b": "200k"}
        for k in range(FRAMES):
            file.mux(stream.encode(moving(k)))
        file.mux(stream.encode(None))
    return path


def decoded(path: Path, decoder: str, pixels: str, bytes_each: int) -> NDArray[np.uint8]:
    """Every frame as the ffmpeg program gives it, uint8 [N, bytes_each]."""
    command = ["ffmpeg", "-v", "error", "-c:v", decoder, "-i", str(path)]
    command += ["-f", "rawvideo", "-pix_fmt", pixels, "-"]
    out = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(out, np.uint8).reshape(-1, bytes_each)


@pytest.fixture(scope="module")
def alpha(clip: Path) -> NDArray[np.uint8]:
    """[N, H, W]: the fourth plane."""
    size = WIDTH * HEIGHT
    planes = decoded(clip, DECODERS[clip.stem], "yuva420p", size * 5 // 2)
    return planes[:, size * 3 // 2 :].reshape(-1, HEIGHT, WIDTH)


def without_alpha(path: Path, folder: Path) -> Path:
    """The same pictures in MP4 or IVF, which have no place for alpha."""
    plain = folder / ("plain.mp4" if path.stem == "vp9" else "plain.ivf")
    with av.open(str(path)) as file, av.open(str(plain), "w") as out:
        track = out.add_stream_from_template(file.streams.video[0])
        for packet in file.demux(file.streams.video[0]):
            if packet.size:
                copy = av.Packet(bytes(packet))
                copy.pts, copy.dts, copy.time_base = packet.pts, packet.dts, packet.time_base
                copy.duration, copy.is_keyframe, copy.stream = 40, packet.is_keyframe, track
                out.mux(copy)
    return plain


def read(path: Path, color: str, start_ns: int = 0, count: int = FRAMES) -> NDArray[np.uint8]:
    with gl.open(path) as recording:
        field = gl.Video("video", color=color)  # type: ignore[arg-type]
        return np.asarray(recording.read({"x": field}, start_ns, f"{count / 25}")["x"])


def test_alpha_is_what_ffmpeg_decodes(clip: Path, alpha: NDArray[np.uint8]) -> None:
    rgba = read(clip, "rgba")
    assert rgba.shape == (FRAMES, 4, HEIGHT, WIDTH)
    np.testing.assert_array_equal(rgba[:, 3], alpha)
    assert np.abs(alpha[20, 8:40, 24:32].astype(int) - 120).mean() < 12  # it is the bar's
    assert (alpha[20, :, 45:] > 240).all()


def test_colour_does_not_know_of_alpha(clip: Path, tmp_path: Path) -> None:
    rgb, rgba, gray = (read(clip, color) for color in ("rgb", "rgba", "gray"))
    np.testing.assert_array_equal(rgb, read(without_alpha(clip, tmp_path), "rgb"))
    np.testing.assert_allclose(rgba[:, :3], rgb.astype(int), atol=3)  # another converter
    size = WIDTH * HEIGHT
    opaque = decoded(clip, clip.stem, "yuv420p", size * 3 // 2)  # FFmpeg's own decoder
    np.testing.assert_array_equal(gray[:, 0].reshape(FRAMES, -1), opaque[:, :size])


def test_any_order_gives_the_same(clip: Path, alpha: NDArray[np.uint8]) -> None:
    field = gl.Video("video", color="rgba")
    whole = read(clip, "rgba")
    with gl.open(clip) as recording:
        for row in np.random.default_rng(0).permutation(FRAMES).tolist():
            sample = recording.read({"x": field}, row * 40_000_000, 0.04)
            np.testing.assert_array_equal(sample["x"], whole[row : row + 1])
            np.testing.assert_array_equal(sample["x"][0, 3], alpha[row])
