"""Limits: claims of gigabytes are refused before memory is taken, other files are not followed."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import genlock as gl
from media_clips import encode


def png_of(height: int, width: int) -> bytes:
    """A PNG file that claims a size and holds next to nothing."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"0")) + chunk(b"IEND", b"")


def gif_of(height: int, width: int) -> bytes:
    screen = struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    image = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x4c\x01\x00"
    return b"GIF89a" + screen + image + b";"


def bmp_of(height: int, width: int) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + info


def pnm_of(height: int, width: int) -> bytes:
    return b"P6\n%d %d\n255\n" % (width, height) + bytes(30)


def npy_of(height: int, width: int) -> bytes:
    head = repr({"descr": "<u2", "fortran_order": False, "shape": (height, width)}).encode()
    head = head.ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


@pytest.mark.parametrize("make", [png_of, gif_of, bmp_of, pnm_of, npy_of])
def test_picture_bombs(make: Callable[[int, int], bytes], tmp_path: Path) -> None:
    suffix = make.__name__.removesuffix("_of")
    path = tmp_path / "depth" / f"bomb.{suffix}"
    path.parent.mkdir()
    path.write_bytes(make(60_000, 60_000))
    tracemalloc.start()
    try:
        with pytest.raises(gl.GenlockError, match=path.name), gl.open(path) as recording:
            (name,) = recording.streams
            kind = gl.Depth if recording.streams[name].info.modality == "depth" else gl.Video
            recording.read({"x": kind(name, size=(8, 8))}, 0, 1)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_the_limit_can_be_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "picture.png"
    clip = encode(tmp_path / "clip.mp4", "libx264", 5)
    picture.write_bytes(png_of(100, 100))
    for path in (picture, clip):
        with (
            pytest.raises(gl.LimitError, match="GENLOCK_MAX_PIXELS") as raised,
            gl.open(path, max_pixels=64 * 128 - 1) as recording,
        ):
            (name,) = recording.streams
            recording.read({"x": gl.Video(name)}, 0, 1)
        assert path.name in str(raised.value)
        monkeypatch.setenv("GENLOCK_MAX_PIXELS", "1000")
        with pytest.raises(gl.LimitError), gl.open(path) as recording:
            (name,) = recording.streams
            recording.read({"x": gl.Video(name)}, 0, 1)
        monkeypatch.delenv("GENLOCK_MAX_PIXELS")
    with gl.open(clip, max_pixels=64 * 128) as recording:
        assert recording.read({"x": gl.Video("video")}, 0, 1).mask["x"].all()


@pytest.mark.parametrize("channels", [1, 65_535])
@pytest.mark.parametrize("rate", [1, 2**32 - 1])
def test_audio_headers_that_claim_gigabytes(channels: int, rate: int) -> None:
    width = 2 * channels % 2**16 or 2
    form = struct.pack("<HHIIHH", 1, channels, rate, 2**32 - 1, width, 16)
    data = b"RIFF" + struct.pack("<I", 2**32 - 1) + b"WAVE"
    data += b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", 2**32 - 1)
    tracemalloc.start()
    try:
        try:
            with gl.open(data + bytes(4_000)) as recording:
                recording.read({"x": gl.Audio("audio")}, 0, "0.000001")
        except gl.GenlockError:
            pass
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


REFERRERS = {
    "playlist.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
    "script.ffconcat": "ffconcat version 1.0\nfile secret.ts\n",
    "script.txt": "ffconcat version 1.0\nfile secret.ts\n",
    "disguised.mp4": "ffconcat version 1.0\nfile secret.ts\n",
    "disguised.avi": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
    "picture.svg": '<svg xmlns="http://www.w3.org/2000/svg"><image href="secret.ts"/></svg>',
    "session.sdp": "v=0\nm=video 5004 RTP/AVP 96\n",
    "manifest.mpd": '<?xml version="1.0"?><MPD><Period><BaseURL>secret.ts</BaseURL></Period></MPD>',
    "list.pls": "[playlist]\nFile1=secret.ts\n",
}


@pytest.mark.parametrize("name", REFERRERS)
def test_files_that_point_to_others_are_not_followed(name: str, tmp_path: Path) -> None:
    encode(tmp_path / "secret.ts", "libx264", 5)
    path = tmp_path / name
    path.write_text(REFERRERS[name])
    with pytest.raises(gl.OpenError, match=name.replace(".", r"\.")):
        gl.open(path)
    with pytest.raises(gl.GenlockError):  # some of them are tables that say nothing
        gl.open(path.read_bytes())


def test_media_that_lies_in_another_file_is_not_followed(tmp_path: Path) -> None:
    """A MOV file whose data reference names a neighbour gives nothing of it."""
    path = encode(tmp_path / "clip.mov", "libx264", 10)
    secret = tmp_path / "secret.mov"
    secret.write_bytes(path.read_bytes())
    data = path.read_bytes()
    at = data.index(b"alis") if b"alis" in data else data.index(b"url ")
    local = data[:at] + b"url " + data[at + 4 : at + 7] + b"\x00" + data[at + 8 :]
    path.write_bytes(local)  # the flag "in this file" is gone: the reference points outside
    for target in (path, local):
        with gl.open(target) as recording:
            stream = recording.streams["video"]
            sample = recording.read({"x": gl.Video("video", offsets=[0])}, 0, 1)
            assert len(stream.timeline) == 10 and sample["x"].shape == (1, 3, 64, 128)


def test_numbers_of_rows_come_from_rows(tmp_path: Path) -> None:
    """A Parquet or NumPy header that claims rows it does not hold is refused."""
    head = repr({"descr": "<f8", "fortran_order": False, "shape": (10**12,)}).encode()
    head = head.ljust(118) + b"\n"
    path = tmp_path / "huge.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(80))
    tracemalloc.start()
    try:
        streams = {"huge": {"columns": ["t_ns"]}}
        with pytest.raises(gl.OpenError, match="huge"):
            gl.open(path, streams=streams)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()
