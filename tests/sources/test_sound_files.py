"""WAV and FLAC files, every sample by value, whatever their headers claim."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import fsspec
import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from genlock.errors import ClosedError, DecodeError, LimitError, OpenError, StreamError
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources import media, sound
from genlock.stream import StreamInfo
from genlock.timeline import SampledTimeline
from made_audio import Coding, as_float, encode, opened, read, read_all, sweep

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
RATE = 16_000


def wav(
    samples: bytes,
    tag: int = PCM,
    channels: int = 1,
    width: int = 2,
    claimed: int | None = None,
    riff: bytes = b"RIFF",
    before: bytes = b"",
    after: bytes = b"",
    whole: int | None = None,
) -> bytes:
    """A WAV file; `claimed` is the size that its data chunk states, `whole` that of the file."""
    format = struct.pack(
        "<HHIIHH", tag, channels, RATE, RATE * channels * width, channels * width, 8 * width
    )
    if tag == EXTENSIBLE:
        format += struct.pack("<HHIH", 22, 8 * width, 0, PCM) + bytes(14)
    body = b"WAVE" + before + b"fmt " + struct.pack("<I", len(format)) + format + after
    body += b"data" + struct.pack("<I", len(samples) if claimed is None else claimed) + samples
    return riff + struct.pack("<I", len(body) if whole is None else whole) + body


def info(source: Source) -> StreamInfo:
    return source.streams["audio"].info


def as_int24(values: NDArray[np.int32]) -> bytes:
    return values.astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3].tobytes()


NUMBERS = (
    np.random.default_rng(1).integers(-(2**31), 2**31, 30_011, dtype=np.int64).astype(np.int32)
)
FLOATS = NUMBERS / 2.0**30
LAYOUTS = {
    "pcm_u8": (PCM, (NUMBERS >> 24).astype(np.int16) + 128, 1),
    "pcm_s16le": (PCM, NUMBERS >> 16, 2),
    "pcm_s24le": (PCM, NUMBERS >> 8, 3),
    "pcm_s32le": (PCM, NUMBERS, 4),
    "pcm_f32le": (FLOAT, FLOATS.astype("<f4"), 4),
    "pcm_f64le": (FLOAT, FLOATS.astype("<f8"), 8),
}


def stored(layout: str) -> tuple[bytes, NDArray[np.float32]]:
    """A file of each layout, and its values by definition."""
    tag, values, width = LAYOUTS[layout]
    if tag == FLOAT:
        return wav(values.tobytes(), tag, width=width), values.astype(np.float32)
    if width == 3:
        return wav(as_int24(values), width=3), (values / 2.0**23).astype(np.float32)
    dtype = {1: "u1", 2: "<i2", 4: "<i4"}[width]
    return wav(values.astype(dtype).tobytes(), width=width), as_float(values.astype(dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("where", ["path", "memory", "url"])
def test_each_layout_by_value(layout: str, where: str, tmp_path: Path) -> None:
    data, values = stored(layout)
    path = tmp_path / "sound.bin"
    path.write_bytes(data)
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/sound.bin", data)
    location = {"path": str(path), "memory": data, "url": "memory://sound.bin"}[where]
    source = opened(location)
    assert info(source).codec == layout
    assert info(source).rate == RATE
    assert np.array_equal(read_all(source)[0], values)
    for first, count in ((29_000, 3000), (5, 1), (15_999, 2), (-7, 20)):
        window, valid = read(source, first, count)
        at = np.arange(first, first + count)
        inside = (at >= 0) & (at < len(values))
        assert np.array_equal(valid, inside)
        assert np.array_equal(window[0, inside], values[at[inside]])
        assert not window[0, ~inside].any()


def test_a_header_may_be_long_and_start_samples_anywhere() -> None:
    values = np.arange(-300, 300, dtype="<i2")
    note = b"LIST" + struct.pack("<I", 5) + b"odd!!\0"
    junk = b"JUNK" + struct.pack("<I", 9000) + bytes(9000)
    source = opened(wav(values.tobytes(), before=junk, after=note))
    assert np.array_equal(read_all(source)[0], as_float(values))


def test_extensible_with_channels() -> None:
    values = np.arange(12, dtype="<i2").reshape(-1, 3)
    source = opened(wav(values.tobytes(), EXTENSIBLE, channels=3))
    assert np.array_equal(read_all(source), as_float(values.T))


@pytest.mark.parametrize("claimed", [0xFFFFFFFF, 0x7FFFFFFF, 5000])
def test_claims_beyond_the_file_are_cut_to_it(claimed: int) -> None:
    values = np.arange(100, dtype="<i2")
    source = opened(wav(values.tobytes() + b"\1", claimed=claimed))
    assert np.array_equal(read_all(source)[0], as_float(values))


def test_claims_of_much_in_a_second_take_no_memory() -> None:
    data = bytearray(wav(bytes(60_000), channels=30_000, width=1))
    data[24:28] = struct.pack("<I", 2**31)
    with pytest.raises(LimitError, match="30000 channels at 2147483648 Hz"):
        read(opened(bytes(data)), 0, 1, rate=16_000)


def test_a_stated_rate_of_nothing_makes_no_table() -> None:
    data = bytearray(wav(bytes(2_000_000), width=1))
    data[24:28] = struct.pack("<I", 1)
    source = opened(bytes(data))
    table = source.units("audio").spec.table
    assert table is not None and len(table.pts) < 100
    assert len(source.streams["audio"].timeline) == 2_000_000


def test_what_a_crashed_recorder_left_is_read() -> None:
    values = np.arange(1, 100, dtype="<i2")
    assert read_all(opened(wav(values.tobytes(), claimed=0, whole=0))).shape == (1, 99)
    # while an empty file that says so is empty, whatever follows its samples
    assert read_all(opened(wav(b"LIST\4\0\0\0abcd", claimed=0))).shape == (1, 0)


@pytest.mark.parametrize("riff", [b"RF64", b"BW64"])
def test_sizes_of_64_bits(riff: bytes) -> None:
    values = np.arange(100, dtype="<i2")
    sizes = b"ds64" + struct.pack("<IQQQI", 28, 2**33, 150, 75, 0)
    source = opened(wav(values.tobytes(), claimed=0xFFFFFFFF, riff=riff, before=sizes))
    assert np.array_equal(read_all(source)[0], as_float(values[:75]))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (wav(b"\0\0", channels=0), "0 channels"),
        (wav(b"", width=0), "0 bytes"),
        (b"RIFF\0\0\0\0WAVEfmt \4\0\0\0\1\0\1\0data\0\0\0\0", "cut off"),
        (b"RIFF\0\0\0\0WAVE", "no format and data"),
        (b"RIFF\0\0\0\0WAVEdata\2\0\0\0\0\0", "no format and data"),
        (b"RIFF\0\0\0\0WAVE" + b"junk\0\0\0\0" * 9999, "no format and data"),
    ],
    ids=["channels", "width", "cut format", "no chunks", "data first", "endless chunks"],
)
def test_damaged_headers_are_named(data: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.wav"
    path.write_bytes(data)
    with pytest.raises(OpenError, match=rf"broken\.wav.*{why}"):
        opened(path)


def test_a_file_that_shrinks_while_open_is_masked() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/shrinks.wav", wav(np.ones(200_000, "<i2").tobytes()))
    source = opened("memory://shrinks.wav")
    memory.pipe_file("/shrinks.wav", wav(np.ones(100_000, "<i2").tobytes()))
    samples, valid = read(source, 0, 200_000)
    # the unit that is no longer whole is lost
    assert valid[: 2**16].all() and not valid[2**16 :].any()
    assert np.array_equal(samples[0], valid / np.float32(2**15))


@given(st.integers(1, 3), st.lists(st.tuples(st.integers(-50, 400), st.integers(0, 200))))
def test_windows_equal_slices(channels: int, windows: list[tuple[int, int]]) -> None:
    values = np.arange(300 * channels, dtype="<i2").reshape(-1, channels)
    padded = np.zeros((channels, 1000), np.float32)
    padded[:, 100:400] = as_float(values.T)
    source = opened(wav(values.tobytes(), channels=channels))
    for first, count in windows:
        window, valid = read(source, first, count)
        assert np.array_equal(window, padded[:, first + 100 : first + 100 + count])
        assert valid.sum() == max(0, min(300, first + count) - max(0, first))


def flac(values: NDArray[np.int32], subtype: str = "PCM_16") -> bytes:
    file = io.BytesIO()
    soundfile.write(file, values, RATE, format="FLAC", subtype=subtype)
    return file.getvalue()


def music(count: int = 60_000) -> NDArray[np.int32]:
    return (sweep(count, rate=RATE).T * 2.0**31).astype(np.int32)


@pytest.mark.parametrize(("subtype", "bits"), [("PCM_S8", 8), ("PCM_16", 16), ("PCM_24", 24)])
def test_flac_is_exact(subtype: str, bits: int) -> None:
    values = music()
    source = opened(flac(values, subtype))
    assert (info(source).codec, info(source).bits) == ("flac", bits)
    expected = as_float((values >> (32 - bits) << (32 - bits)).T)
    assert np.array_equal(read_all(source), expected)
    for first in (59_990, 0, 31_234, 4095):
        window, _ = read(source, first, 10)
        assert np.array_equal(window, expected[:, first : first + 10])


def test_damaged_flac_is_masked_where_it_is() -> None:
    data = bytearray(flac(music()))
    middle = len(data) // 2
    data[middle : middle + 50] = bytes(50)
    expected = as_float((music() >> 16 << 16).T)
    source = opened(bytes(data))
    whole, valid = read(source, 0, 60_000)
    assert 4096 <= (~valid).sum() <= 3 * 4096
    assert np.array_equal(whole[:, valid], expected[:, valid])
    assert not whole[:, ~valid].any()
    again, still = read(source, 20_000, 30_000)
    assert np.array_equal(again, whole[:, 20_000:50_000])
    assert np.array_equal(still, valid[20_000:50_000])


def test_flac_that_is_cut_off_ends_where_it_can_be_decoded() -> None:
    data = flac(music())
    expected = as_float((music() >> 16 << 16).T)
    whole = read_all(opened(data[: len(data) // 2]))
    # nine frames of 4096 are whole; libsndfile does not give the last sample before damage
    assert whole.shape[1] == 9 * 4096 - 1
    assert np.array_equal(whole, expected[:, : whole.shape[1]])


def test_flac_of_which_nothing_can_be_decoded() -> None:
    data = flac(music())
    with pytest.raises(OpenError, match="none of its 60000 samples"):
        opened(data[:200])


def test_flac_of_unknown_length_is_counted() -> None:
    data = bytearray(flac(music()))
    data[21] &= 0xF0
    data[22:26] = bytes(4)
    assert not sound.claims(Location.of(bytes(data)), bytes(data[:4096]))
    assert np.array_equal(read_all(opened(bytes(data))), as_float((music() >> 16 << 16).T))


@pytest.mark.parametrize(
    ("subtype", "codec"),
    [
        ("ULAW", "pcm_mulaw"),
        ("ALAW", "pcm_alaw"),
        ("IMA_ADPCM", "adpcm_ima_wav"),
        ("MS_ADPCM", "adpcm_ms"),
    ],
)
def test_coded_wav(subtype: str, codec: str) -> None:
    file = io.BytesIO()
    soundfile.write(file, music(), RATE, format="WAV", subtype=subtype)
    source = opened(file.getvalue())
    assert (info(source).codec, info(source).dtype) == (codec, "int16")
    file.seek(0)
    expected = as_float(soundfile.read(file, dtype="int16")[0].T)
    assert np.array_equal(read_all(source), expected)
    window, valid = read(source, 41_234, 5)
    assert valid.all() and np.array_equal(window, expected[:, 41_234:41_239])


def test_who_opens_what() -> None:
    def claimed(data: bytes) -> bool:
        return sound.claims(Location.of(data), data[:4096])

    assert claimed(wav(b"")) and claimed(flac(music(10)))
    assert not claimed(b"") and not claimed(b"RIFF\0\0\0\0AVI ") and not claimed(b"hello")
    # coded in a way that only FFmpeg knows
    assert not claimed(wav(b"", tag=0x55)) and not claimed(
        encode(Coding("mp2", "wav"), sweep(9999))
    )
    assert not claimed(encode(Coding("flac", "ogg"), sweep(9999)))
    for data in (wav(b"", tag=0x55), b"fLaC" + bytes(60)):
        assert media.claims(Location.of(data), data)


def test_cases(cases: Path) -> None:
    over, _ = read(opened(cases / "inputs" / "a08_float_over1.wav"), 0, 4800)
    assert (over[0, 25], over[0, 75]) == (2.5, -2.5)

    source = opened(cases / "inputs" / "a09_ext24_4ch.wav")
    n, c = np.arange(2400), np.arange(4)[:, None]
    values = ((4099 * n + 1_000_003 * c) % 2**24 - 2**23) / 2.0**23
    assert info(source).rate == 96_000
    assert np.array_equal(read_all(source), values.astype(np.float32))

    source = opened(cases / "inputs" / "a10_pipe_size.wav")
    expected = (np.arange(9600) % 200 - 100) * 100 / 2**15
    assert np.array_equal(read_all(source)[0], expected.astype(np.float32))

    source = opened(cases / "inputs" / "a14_zero_samples.wav")
    timeline = source.streams["audio"].timeline
    assert isinstance(timeline, SampledTimeline)
    assert (len(timeline), timeline.rate) == (0, 16_000)
    nothing, valid = read(source, 0, 10)
    assert not nothing.any() and not valid.any()


@pytest.mark.parametrize(
    ("file", "count"),
    [
        ("sample_ima_adpcm.wav", 44_902),
        ("reproduce_seek_bug.wav", 48_001),
        ("sine_mono_u8.wav", 64_000),
        ("sample_rf64.wav", 16_734),
    ],
)
def test_real_files(real: Path, file: str, count: int) -> None:
    path = real / "audio" / file
    expected = soundfile.read(path, dtype="float32", always_2d=True)[0].T
    whole = read_all(opened(path))
    assert whole.shape[1] == count
    assert np.array_equal(whole, expected)


def test_misuse_is_refused() -> None:
    source = opened(wav(bytes(200)))
    with pytest.raises(StreamError, match="no stream 'video'"):
        source.units("video")
    for data in (wav(bytes(200)), flac(music(100))):
        units = opened(data).units("audio")
        assert [index for index, _ in units.units(0)] == [0]
        units.close()
        units.close()
        with pytest.raises((ClosedError, DecodeError)):
            units.unit(0)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gone.wav"
    path.write_bytes(wav(bytes(200)))
    source = sound.open_source(Location(path), OpenOptions(), lambda *_: pytest.fail("no children"))
    path.unlink()
    with pytest.raises(OpenError, match=r"gone\.wav"):
        source.units("audio")
