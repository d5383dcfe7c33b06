"""NVDEC itself against FFmpeg in software: the same frames. Run with `make test-gpu`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import genlock as gl
from genlock.decoders import _cuda, nvdec
from genlock.decoders.nvdec import NvdecDecoder
from genlock.decoders.video import VideoDecoder
from genlock.errors import GenlockError
from genlock.interfaces import FrameFormat
from media_clips import encode, open_media

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.timeout(300),
]

CLIPS = [
    "v01_cut_editlist.mp4",
    "v03_vfr.mp4",
    "v04_rot270.mp4",
    "v07_hevc_opengop.mp4",
    "v10_col_601tv.mp4",
    "v10_col_709tv.mp4",
    "v11_10bit_pq.mp4",
]


@pytest.fixture(scope="module", autouse=True)
def needed() -> None:
    try:
        nvdec.require()
    except GenlockError as error:
        pytest.skip(str(error))


def read(kind: type[Any], path: Path, format: FrameFormat) -> tuple[np.ndarray, np.ndarray]:
    source = open_media(path)
    stream = source.streams["video"]
    rows = np.arange(len(stream.timeline))
    with closing(kind(source.units("video"), stream)) as decoder:
        out = np.zeros((len(rows), *format.frame_shape(stream.info.shape)), format.dtype)
        return out, decoder.read(rows, format, out)


def same(path: Path, format: FrameFormat) -> None:
    expected, sound = read(VideoDecoder, path, format)
    got, valid = read(NvdecDecoder, path, format)
    assert sound.any()
    np.testing.assert_array_equal(valid, sound)
    np.testing.assert_array_equal(got, expected)


# GPUs refuse pictures below a size of their own (144 pixels or so), so these are made larger
@pytest.mark.parametrize(
    ("codec", "pixels"),
    [
        ("libx264", "yuv420p"),
        ("libx265", "yuv420p"),
        ("libx265", "yuv420p10le"),
        ("libvpx-vp9", "yuv420p"),
    ],
)
def test_frames_are_those_of_software(tmp_path: Path, codec: str, pixels: str) -> None:
    pictures = [_noise(i) for i in range(30)]
    path = encode(tmp_path / "c.mkv", codec, pictures, pixels=pixels)
    for format in (FrameFormat(), FrameFormat(size=(64, 96)), FrameFormat(color="yuv420p")):
        same(path, format)


def _noise(number: int) -> np.ndarray:
    random = np.random.default_rng(number)
    return np.kron(random.integers(0, 256, (24, 32), np.uint8), np.ones((16, 16), np.uint8))


@pytest.mark.parametrize("name", CLIPS)
def test_shared_clips(cases: Path, name: str) -> None:
    """A clip that this GPU refuses says so; what it decodes is the same."""
    try:
        same(cases / "inputs" / name, FrameFormat())
    except GenlockError as error:
        assert "this GPU does not decode them" in str(error)
        pytest.skip(str(error))


def test_batches_are_the_same_in_threads_and_beside_torch(sample: Path) -> None:
    torch.ones(1, device="cuda")  # torch has made the primary context, with its own flags
    windows = gl.Windows(sample, over=["camera-rgb"], duration=0.5, stride=0.25, shuffle=True)
    batches = {}
    for name in ("ffmpeg", "nvdec"):
        field = gl.Video("camera-rgb", rate=8, size=(96, 96), color="device", decoder=name)
        with gl.Loader(windows, {"rgb": field}, batch_size=4, device="cuda", threads=3) as loader:
            batches[name] = [batch["rgb"].cpu() for batch in loader]
    assert len(batches["nvdec"]) == len(batches["ffmpeg"]) > 1
    assert all(map(torch.equal, batches["nvdec"], batches["ffmpeg"]))


def test_the_threads_own_context_is_as_before() -> None:
    before = torch.cuda.current_device()
    with _cuda.primary_context(torch.cuda.device_count() - 1):
        pass
    assert torch.cuda.current_device() == before
    assert torch.ones(2, device="cuda").sum().item() == 2
