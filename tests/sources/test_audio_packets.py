"""What is known of a container's audio track before it is decoded."""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest

from genlock._audio_codec import AudioCodec
from genlock.errors import DecodeError
from genlock.interfaces import CodecSpec, Source
from genlock.sources._audio_packets import opus_samples
from genlock.stream import Stream
from genlock.timeline import SampledTimeline
from made_audio import RATE, Coding, edited, encode, opened, sweep

COUNT = RATE * 6 // 5


def audio(source: Source, name: str = "audio") -> tuple[Stream, SampledTimeline]:
    stream = source.streams[name]
    assert isinstance(stream.timeline, SampledTimeline)
    return stream, stream.timeline


def test_what_a_stream_says_of_itself() -> None:
    stream, timeline = audio(opened(encode(Coding("libmp3lame", "mp4"), sweep(COUNT))))
    info = stream.info
    assert (info.modality, info.encoding, info.codec) == ("audio", "samples", "mp3")
    assert (info.shape, info.dtype, info.rate, info.bits) == ((2,), "float32", 48_000.0, 32)
    assert (timeline.rate, timeline.first_ns, timeline.valid) == (RATE, 0, None)
    assert info.report.notes == ()


def test_tracks_are_numbered(real: Path) -> None:
    source = opened(real / "video-codecs" / "nasa_13013.mp4")
    names = [n for n, s in source.streams.items() if s.info.modality == "audio"]
    assert names == ["audio", "audio1"]
    assert [source.streams[n].info.rate for n in names] == [8_000.0, 16_000.0]


def test_a_phone_s_first_long_packet_is_a_hole(real: Path) -> None:
    # the first packet lasts 1574 ticks and holds 1024 samples
    stream, timeline = audio(opened(real / "video-hdr" / "hlg10-color-test.mp4"))
    assert timeline.segments == ((0, 1024), (1574, 13_862))
    assert stream.info.report.missing == 550


def test_a_track_that_starts_late_by_its_edit_list(real: Path) -> None:
    _, timeline = audio(opened(real / "video-codecs" / "sample_av1.mp4"))
    assert timeline.first_ns == round(1896 * 10**9 / 44_100)
    assert timeline.count == 46_080


def test_broadcast_time_is_kept() -> None:
    data = encode(Coding("ac3", "mpegts"), sweep(COUNT))
    late = edited(data, "mpegts", delay_s=lambda index: 1000)
    with av.open(io.BytesIO(late)) as container:
        packet = next(container.demux(audio=0))
        first = packet.pts * packet.time_base
    _, timeline = audio(opened(late))
    assert timeline.first_ns == round(first * 10**9) >= 1000 * 10**9


@pytest.mark.parametrize("frame_ms", ["2.5", "5", "10", "20", "40", "60"])
@pytest.mark.parametrize("application", ["voip", "audio", "lowdelay"])
def test_opus_packets_say_how_long_they_are(frame_ms: str, application: str) -> None:
    options = {"frame_duration": frame_ms, "application": application}
    if application == "lowdelay" and float(frame_ms) > 20:
        pytest.skip("this mode has no long frames")
    data = encode(Coding("libopus", "webm", options=options), sweep(COUNT))
    with av.open(io.BytesIO(data)) as container:
        track = container.streams.audio[0]
        codec = AudioCodec(CodecSpec("samples", "opus", context=track.codec_context))
        packets = [packet for packet in container.demux(track) if packet.size]
        for packet in packets:
            decoded = codec.decode(packet)
            assert decoded is not None
            assert opus_samples(memoryview(packet)[:2]) == decoded.samples.shape[1]
    assert len(packets) >= COUNT // (48 * 60)


def test_opus_packets_of_any_number_of_frames() -> None:
    # RFC 6716, 3.2: code 3 counts its frames in the low six bits of the second byte
    assert opus_samples(memoryview(bytes([0b11111_0_00]))) == 960
    assert opus_samples(memoryview(bytes([0b11111_0_01]))) == 2 * 960
    assert opus_samples(memoryview(bytes([0b11111_0_10]))) == 2 * 960
    assert opus_samples(memoryview(bytes([0b10000_0_11, 0b10_000111]))) == 7 * 120
    assert opus_samples(memoryview(bytes([0b01110_0_00]))) == 480
    assert opus_samples(memoryview(bytes([0b00011_0_00]))) == 2880
    assert opus_samples(memoryview(bytes([0b11111_0_11]))) == -1
    assert opus_samples(memoryview(b"")) == -1


def test_a_first_packet_that_is_damaged_counts_like_the_others() -> None:
    data = encode(Coding("aac", "matroska"), sweep(COUNT))

    def spoil(index: int, payload: bytes) -> bytes:
        return b"\0" * len(payload) if index in (1, 2) else payload

    _, intact = audio(opened(edited(data, "matroska")))
    _, damaged = audio(opened(edited(data, "matroska", spoil)))
    assert damaged.count == intact.count


def test_an_empty_track_is_an_empty_stream() -> None:
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        spoken, _ = (container.add_stream("pcm_s16le", RATE, layout="stereo") for _ in "ab")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 2000), np.int16), layout="stereo")
        frame.sample_rate, frame.pts = RATE, 0
        container.mux(spoken.encode(frame))
    source = opened(file.getvalue())
    assert audio(source)[1].count == 1000
    stream, timeline = audio(source, "audio1")
    assert (timeline.count, timeline.segments, stream.problem) == (0, (), None)
    assert stream.info.shape == (2,)


def test_a_track_that_cannot_be_decoded_is_named() -> None:
    data = encode(Coding("alac", "mov"), sweep(COUNT))
    stream, timeline = audio(opened(edited(data, "mov", lambda i, p: bytes(len(p)))))
    assert isinstance(stream.problem, DecodeError)
    assert "'audio' can be decoded as alac" in str(stream.problem)
    assert timeline.count == COUNT


def test_the_table_tells_which_samples_each_packet_holds() -> None:
    source = opened(encode(Coding("aac", "mp4"), sweep(COUNT)))
    _, timeline = audio(source)
    units = source.units("audio")
    table = units.spec.table
    assert table is not None and table.samples is not None
    samples = table.samples
    assert samples.count[0] == 0 and samples.skip[0] == 1024
    assert samples.first[1:4].tolist() == [0, 1024, 2048]
    assert int(samples.count.sum()) == timeline.count == COUNT
    assert (np.diff(samples.first) >= 0).all()
    assert (np.diff(samples.first + samples.count) >= 0).all()
    units.close()
