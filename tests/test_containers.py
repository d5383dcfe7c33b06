"""Containers by their first bytes."""

from __future__ import annotations

import io

import av
import pytest

from genlock._containers import is_container


@pytest.mark.parametrize(
    "format", ["mp4", "mov", "matroska", "webm", "avi", "mpegts", "ogg", "flv", "asf", "vob", "ivf"]
)
def test_what_ffmpeg_writes_is_known(format: str) -> None:
    file = io.BytesIO()
    codec = {"webm": "libvpx", "ivf": "libvpx", "ogg": "libvpx", "vob": "mpeg2video", "flv": "flv"}
    with av.open(file, "w", format=format) as container:
        stream = container.add_stream(codec.get(format, "mpeg4"), rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for index in range(3):
            frame = av.VideoFrame(64, 48, "yuv420p")
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert is_container(file.getvalue()[:4096])


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"G",
        b"G" * 100,
        b"t_ns,x\n0,1\n",
        b"RIFF\0\0\0\0WEBPVP8 ",
        b"\xff\xd8\xff\xe0",
        b"\0\0\0\x1cftypheic",
        b"\0\0\0\x1cftypavif",
        b"FORM\0\0\0\0ILBM",
        b"\x89PNG\r\n\x1a\n",
    ],
)
def test_other_files_are_not_taken_for_containers(head: bytes) -> None:
    assert not is_container(head)
