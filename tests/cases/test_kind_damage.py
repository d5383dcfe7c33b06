"""Damage: what can be decoded keeps its time and index, what cannot is masked or raised.

Every test compares with the same file before it was damaged: a picture is either that picture or
masked, whichever order it is read in.
"""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest
from whole_streams import read_all

import genlock as gl
from media_clips import encode

LENGTH, GOP = 40, 12
LUMA = gl.Video("video", color="gray")


def make(folder: Path, codec: str, suffix: str, b_frames: int, **muxing: str) -> Path:
    options = {
        "libx264": {"preset": "veryfast", "x264-params": "scenecut=0"},
        "libx265": {"preset": "ultrafast", "x265-params": "log-level=none:scenecut=0:open-gop=0"},
    }.get(codec, {})
    pixels = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    path = folder / f"clip.{suffix}"
    return encode(
        path, codec, LENGTH, options=options, b_frames=b_frames, gop=GOP, pixels=pixels,
        muxing=muxing,
    )  # fmt: skip


def pictures(target: Path | bytes) -> dict[int, np.ndarray | None]:
    """All pictures by time in ns, None where masked; and the same read backward, one by one."""
    with gl.open(target) as recording:
        sample = read_all(recording, LUMA)
        found = {
            ns: picture if valid else None
            for ns, picture, valid in zip(
                sample.times["x"].tolist(), sample["x"], sample.mask["x"], strict=True
            )
        }
    with gl.open(target) as recording:
        field = gl.Video("video", offsets=[0], color="gray", tolerance=0)
        for ns in reversed(found):
            alone = recording.read({"x": field}, ns, 1)
            assert same(found[ns], alone["x"][0] if alone.mask["x"][0] else None), ns
    return found


def same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def payloads(path: Path) -> list[bytes]:
    with av.open(str(path)) as file:
        return [bytes(packet) for packet in file.demux(video=0) if packet.size]


def without(path: Path, *lost: int) -> bytes:
    """The same file without some packets, as a recorder that dropped them leaves it."""
    file = io.BytesIO()
    container = {".ts": "mpegts", ".mkv": "matroska"}.get(path.suffix, path.suffix[1:])
    with av.open(str(path)) as source, av.open(file, "w", format=container) as target:
        copy = target.add_stream_from_template(source.streams.video[0])
        for index, packet in enumerate(p for p in source.demux(video=0) if p.size):
            if index not in lost:
                packet.stream = copy
                target.mux(packet)
    return file.getvalue()


KINDS = [
    ("libx264", "mp4", 0),
    ("libx264", "mkv", 3),
    ("libx264", "ts", 0),
    ("libx264", "avi", 0),
    ("libx265", "mp4", 0),
    ("libx265", "ts", 3),
]


@pytest.mark.parametrize(("codec", "suffix", "b_frames"), KINDS)
@pytest.mark.parametrize("lost", [13, 17, 25])
def test_lost_packets(codec: str, suffix: str, b_frames: int, lost: int, tmp_path: Path) -> None:
    path = make(tmp_path, codec, suffix, b_frames)
    clean, damaged = pictures(path), pictures(without(path, lost))
    assert len(damaged) == LENGTH - 1
    # a container that only numbers its pictures says nothing of one that is not there
    assert suffix == "avi" or set(damaged) < set(clean)
    wrong = [
        ns for ns, found in damaged.items() if found is not None and not same(found, clean[ns])
    ]
    assert not wrong
    later = [ns for ns in clean if ns >= list(clean)[GOP * (lost // GOP + 1)]]
    assert suffix == "avi" or all(damaged[ns] is not None for ns in later)


def test_a_splice_before_an_open_group(tmp_path: Path) -> None:
    """Packets up to a key picture that is no IDR are lost: it and what follows it are sound."""
    options = {"preset": "veryfast", "x264-params": "open-gop=1:scenecut=0:bframes=3:b-adapt=0"}
    path = encode(tmp_path / "open.mkv", "libx264", LENGTH, options=options, gop=GOP)
    with av.open(str(path)) as file:
        packets = [packet for packet in file.demux(video=0) if packet.size]
    second = [index for index, packet in enumerate(packets) if packet.is_keyframe][1]
    clean, damaged = pictures(path), pictures(without(path, *range(second - 4, second)))
    key_ns = round(packets[second].pts * packets[second].time_base * 10**9)
    assert sum(ns < key_ns for ns in clean) > second  # it has leading pictures
    assert all(found is None or same(found, clean[ns]) for ns, found in damaged.items())
    assert all(damaged[ns] is not None for ns in clean if ns >= key_ns)


@pytest.mark.parametrize(
    ("codec", "suffix"),
    [("libx264", "mp4"), ("libx264", "mkv"), ("libx265", "mp4"), ("mjpeg", "mkv")],
)
def test_a_damaged_first_picture_is_still_a_row(codec: str, suffix: str, tmp_path: Path) -> None:
    path = make(tmp_path, codec, suffix, 0)
    clean, payload, data = pictures(path), payloads(path)[0], path.read_bytes()
    damaged = pictures(data.replace(payload, payload[:6] + b"\xff" * (len(payload) - 6)))
    assert list(damaged) == list(clean)
    masked = [index for index, found in enumerate(damaged.values()) if found is None]
    assert masked == ([0] if codec == "mjpeg" else list(range(GOP)))
    assert all(found is None or same(found, clean[ns]) for ns, found in damaged.items())


@pytest.mark.parametrize(
    ("codec", "suffix", "b_frames"),
    [
        ("libx264", "mp4", 0),
        ("libx264", "mkv", 0),
        ("libx264", "avi", 0),
        ("mpeg4", "avi", 0),
        ("mpeg4", "mp4", 2),
        ("mjpeg", "avi", 0),
        ("mjpeg", "mkv", 0),
    ],
)
@pytest.mark.parametrize("hit", [14, 20])
def test_overwritten_packets(
    codec: str, suffix: str, b_frames: int, hit: int, tmp_path: Path
) -> None:
    path = make(tmp_path, codec, suffix, b_frames)
    clean = pictures(path)
    payload = payloads(path)[hit]
    ruined = payload[: len(payload) // 3] + bytes(len(payload) - len(payload) // 3)
    data = path.read_bytes()
    assert data.count(payload) == 1
    damaged = pictures(data.replace(payload, ruined))
    assert set(damaged) == set(clean)
    assert all(found is None or same(found, clean[ns]) for ns, found in damaged.items())
    masked = [index for index, found in enumerate(damaged.values()) if found is None]
    assert masked and masked[0] >= hit - 2 and masked[-1] <= 2 * GOP + 2
    if codec == "mjpeg":
        assert masked == [hit]


def test_one_flipped_bit_spoils_all_to_the_next_key_picture(tmp_path: Path) -> None:
    path = make(tmp_path, "libx264", "mkv", 0)
    clean, payload, data = pictures(path), payloads(path)[17], path.read_bytes()
    noticed = 0
    for at in range(12, len(payload), max(1, len(payload) // 12)):
        ruined = bytearray(payload)
        ruined[at] ^= 0x10
        damaged = pictures(data.replace(payload, bytes(ruined)))
        masked = [index for index, found in enumerate(damaged.values()) if found is None]
        if masked:  # FFmpeg noticed it: nothing up to the next key picture is trusted
            noticed += 1
            assert masked == list(range(17, 2 * GOP))
            assert all(found is None or same(found, clean[ns]) for ns, found in damaged.items())
    assert noticed


def test_bytes_lost_from_a_transport_stream(tmp_path: Path) -> None:
    """A packet of 188 bytes that never arrived is seen by its continuity counter."""
    path = make(tmp_path, "libx264", "ts", 0)
    clean, data = pictures(path), path.read_bytes()
    count = len(data) // 188
    for lost in (count // 3, count // 2, 2 * count // 3):
        damaged = pictures(data[: 188 * lost] + data[188 * (lost + 1) :])
        assert set(damaged) <= set(clean) and len(damaged) >= LENGTH - 1
        assert all(found is None or same(found, clean[ns]) for ns, found in damaged.items())


@pytest.mark.parametrize(
    ("codec", "suffix", "b_frames", "movflags"),
    [
        ("libx264", "mp4", 0, "faststart"),
        ("libx264", "mp4", 2, "faststart"),
        ("libx264", "mp4", 0, "frag_keyframe+empty_moov"),
        ("libx264", "mkv", 2, ""),
        ("libx264", "ts", 0, ""),
        ("mpeg4", "avi", 0, ""),
        ("libx265", "mp4", 0, "faststart"),
    ],
)
@pytest.mark.parametrize("share", [0.35, 0.7, 0.97])
def test_files_that_end_early(
    codec: str, suffix: str, b_frames: int, movflags: str, share: float, tmp_path: Path
) -> None:
    path = make(tmp_path, codec, suffix, b_frames, **({"movflags": movflags} if movflags else {}))
    clean, data = pictures(path), path.read_bytes()
    try:
        damaged = pictures(data[: int(len(data) * share)])
    except gl.GenlockError as error:
        assert share == 0.35 and "memory:" in str(error)
        return
    assert set(damaged) <= set(clean)
    assert all(found is None or same(found, clean[ns]) for ns, found in damaged.items())
    assert share < 0.9 or sum(found is not None for found in damaged.values()) > LENGTH // 2


def test_nothing_that_decodes_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = make(tmp_path, "libx264", "mp4", 0)
    data = path.read_bytes()
    for payload in payloads(path):
        data = data.replace(payload, payload[:4] + b"\xff" * (len(payload) - 4))
    path.write_bytes(data)
    with pytest.raises(gl.GenlockError, match=r"clip\.mp4"), gl.open(path) as recording:
        recording.read({"x": LUMA}, 0, 1)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 1_000, b"<!DOCTYPE html><html></html>", b'{"error": "not found"}', b"\xff" * 500],
)
@pytest.mark.parametrize("suffix", ["mp4", "mkv", "wav", "jpg", "png", "flac", "mp3", "npy", "avi"])
def test_files_that_are_something_else(content: bytes, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"download.{suffix}"
    path.write_bytes(content)
    with pytest.raises(gl.OpenError, match=rf"download\.{suffix}"):
        gl.open(path)


def test_damage_under_each_policy(tmp_path: Path) -> None:
    """Masked pictures are no failure; a file that cannot be read is, and the others go on."""
    path = make(tmp_path, "libx264", "mkv", 0)
    payload, data = payloads(path)[17], path.read_bytes()
    path.write_bytes(data.replace(payload, payload[:20] + bytes(len(payload) - 20)))
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(make(tmp_path, "libx264", "mp4", 0).read_bytes()[:200])
    clips = gl.Windows.at([(path, 0, "1.6"), (cut, 0, "1.6"), (path, 0, "1.6")])
    fields = {"x": gl.Video("video", rate=25, color="gray")}
    expected = [not 17 <= index < 24 for index in range(LENGTH)]
    for on_error, masks in (
        ("skip", [expected, expected]),
        ("mask", [expected, [False] * LENGTH, expected]),
    ):
        with gl.Loader(clips, fields, batch_size=3, on_error=on_error, device="cpu") as loader:
            (batch,) = list(loader)
            assert batch.mask["x"].tolist() == masks
            assert not batch["x"][~batch.mask["x"]].any()
            (failure,) = loader.failures
            assert "cut.mp4" in str(failure)
