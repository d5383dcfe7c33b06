"""libswscale writing into memory of ours: what PyAV gives, and not one byte beyond."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from genlock.decoders import _libswscale
from genlock.decoders._conversion import PictureWriter
from genlock.decoders._libswscale import BLOCK_BYTES, plane_for_blocks, takes_blocks
from genlock.decoders._scaler import Scaler, rows_of
from genlock.interfaces import FrameFormat
from genlock.stream import StreamInfo

SOURCES = ("yuv420p", "yuv422p10le", "nv12", "gray", "rgb24", "pal8", "gbrp", "yuva420p")
FORMATS = (
    FrameFormat(),
    FrameFormat(layout="HWC"),
    FrameFormat(color="gray"),
    FrameFormat(color="rgba"),
    FrameFormat(dtype="uint16"),
)
GUARD = 0xA5
MARGIN = 512


def noise(pixels: str, height: int, width: int) -> VideoFrame:
    """A frame of random values, tagged BT.709, limited."""
    dice = np.random.default_rng(height * 1000 + width)
    frame = VideoFrame(width, height, pixels)
    for plane in frame.planes:
        values = dice.integers(0, 256, plane.buffer_size, np.uint8)
        if pixels.endswith("10le"):
            values = (values.view("<u2") % 1024).view(np.uint8)
        plane.update(values.tobytes())
    frame.colorspace, frame.color_range = 1, 1
    return frame


def guarded(shape: tuple[int, ...], dtype: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """(memory, a picture inside of it) whose rows start at a block; all bytes are guards."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(size + 2 * MARGIN + BLOCK_BYTES, GUARD, np.uint8)
    start = MARGIN + -(memory.ctypes.data + MARGIN) % BLOCK_BYTES
    return memory, memory[start : start + size].view(dtype).reshape(shape)


def written(writer: PictureWriter, frame: VideoFrame, format: FrameFormat) -> NDArray[np.uint8]:
    memory, out = guarded(format.frame_shape((frame.height, frame.width)), format.dtype)
    start = out.ctypes.data - memory.ctypes.data
    writer.write(frame, out)
    assert (memory[:start] == GUARD).all()
    assert (memory[start + out.nbytes :] == GUARD).all()
    return out


def stream(height: int, width: int) -> StreamInfo:
    return StreamInfo("video", encoding="packets", codec="h264", shape=(height, width, 3))


def through_pyav(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genlock.decoders._scaler.library", lambda: None)


@pytest.mark.parametrize("pixels", SOURCES)
def test_no_byte_beyond_the_picture_at_any_width(
    pixels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (*range(2, 201), 256, 320):
        for height in (2, 5, 18):
            frame = noise(pixels, height, width)
            for format in FORMATS if width % 32 == 0 else FORMATS[:1]:
                ours = written(PictureWriter(format, stream(height, width)), frame, format)
                with monkeypatch.context() as patch:
                    through_pyav(patch)
                    theirs = written(PictureWriter(format, stream(height, width)), frame, format)
                np.testing.assert_array_equal(ours, theirs, f"{pixels} {width}x{height} {format}")


@pytest.mark.parametrize("pixels", SOURCES)
@pytest.mark.parametrize("size", [(64, 64), (18, 128), (36, 320), (30, 50)])
@pytest.mark.parametrize("color", ["rgb", "gray", "yuv420p"])
def test_scaled_as_pyav_scales(
    pixels: str, size: tuple[int, int], color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = noise(pixels, 48, 130)
    for matrix, range_ in ((1, 1), (5, 1), (2, 0), (9, 2)):
        frame.colorspace, frame.color_range = matrix, range_
        format = FrameFormat(size, color=color)
        ours = written(PictureWriter(format, stream(48, 130)), frame, format)
        assert (frame.colorspace, frame.color_range) == (matrix, range_)
        with monkeypatch.context() as patch:
            through_pyav(patch)
            theirs = written(PictureWriter(format, stream(48, 130)), frame, format)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("color", ["rgb", "yuv420p"])
def test_chroma_lies_where_the_decoder_says(
    color: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H.264 puts it at the left, and only FFmpeg's own frame carries that."""
    path = tmp_path / "left.mp4"
    with av.open(str(path), "w") as file:
        track = file.add_stream("libx264", rate=25)
        assert isinstance(track, av.VideoStream)
        track.width, track.height, track.pix_fmt = 192, 64, "yuv420p"
        file.mux(track.encode(noise("yuv420p", 64, 192)))
        file.mux(track.encode(None))
    format = FrameFormat((32, 128), color=color)
    with av.open(str(path)) as file:
        (frame,) = file.decode(video=0)
        ours = written(PictureWriter(format, stream(64, 192)), frame, format)
        through_pyav(monkeypatch)
        theirs = written(PictureWriter(format, stream(64, 192)), frame, format)
    np.testing.assert_array_equal(ours, theirs)


def test_whole_blocks_are_written_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the target can take them, no memory of the writer's own is used."""
    if _libswscale.library() is None:
        pytest.skip("this PyAV does not let libswscale be found")
    made: list[tuple[int, ...]] = []
    monkeypatch.setattr(
        "genlock.decoders._conversion.plane_for_blocks",
        lambda *shape: made.append(shape) or plane_for_blocks(*shape),
    )
    writer = PictureWriter(FrameFormat(), stream(16, 128))
    frame = noise("yuv420p", 16, 128)
    _, out = guarded((3, 16, 128), "uint8")
    writer.write(frame, out)
    assert not made
    writer.write(frame, np.zeros((16, 128, 3), np.uint8).transpose(2, 0, 1))
    assert made


def test_what_takes_blocks() -> None:
    plane = plane_for_blocks(6, 64, np.dtype(np.uint8))
    assert takes_blocks(plane)
    assert not takes_blocks(plane[:5])  # an odd row
    assert not takes_blocks(plane[:, :32])  # half a block
    assert not takes_blocks(plane[:, ::-1])
    assert not takes_blocks(plane[::2])  # what lies between belongs to others
    flat = plane_for_blocks(1, 6 * 64 + 64, np.dtype(np.uint8)).reshape(-1)
    assert not takes_blocks(flat[1 : 1 + 6 * 64].reshape(6, 64))  # not aligned


def test_planes_with_room() -> None:
    """A plane's rows end before the next one's begin, and the last has memory below."""
    for width in range(1, 130):
        plane = plane_for_blocks(3, width, np.dtype("<u2"))
        assert plane.shape == (3, width)
        assert plane.strides[0] % BLOCK_BYTES == 0
        assert plane.strides[0] >= 2 * width
        assert plane.ctypes.data % BLOCK_BYTES == 0


def test_a_frame_that_is_as_wanted_already() -> None:
    frame = noise("gbrp", 5, 50)
    planes = [plane_for_blocks(5, 50, np.dtype(np.uint8)) for _ in range(3)]
    frame.colorspace, frame.color_range = 0, 2
    Scaler().write(frame, "gbrp", planes)
    for source, plane in zip(frame.planes, planes, strict=True):
        np.testing.assert_array_equal(plane, rows_of(source, 1))


def test_frames_laid_out_otherwise_are_left_to_pyav(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _libswscale.library.__wrapped__
    if library() is None:
        pytest.skip("this PyAV does not let libswscale be found")
    monkeypatch.setattr(_libswscale, "_FRAME_BYTES", _libswscale._FRAME_BYTES + 8)
    assert library() is None
