"""One decoder for packets of any origin, and always in the same state after a restart."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction

import av
import numpy as np
import pytest
from av.audio.codeccontext import AudioCodecContext
from av.packet import Packet

from genlock._audio_codec import AudioCodec, packet_skip
from genlock.errors import DecodeError
from genlock.interfaces import CodecSpec
from made_audio import RATE, Coding, encode, sweep

COUNT = RATE // 2


@pytest.fixture(params=["aac", "libmp3lame", "libopus", "vorbis", "ac3", "flac"])
def packets(request: pytest.FixtureRequest) -> Iterator[tuple[AudioCodec, list[Packet]]]:
    data = encode(Coding(request.param, "matroska"), sweep(COUNT))
    with av.open(io.BytesIO(data)) as container:
        track = container.streams.audio[0]
        context = track.codec_context
        spec = CodecSpec("samples", context.name, context=context, extradata=context.extradata)
        yield AudioCodec(spec), [packet for packet in container.demux(track) if packet.size]


def test_restarting_repeats_every_bit(packets: tuple[AudioCodec, list[Packet]]) -> None:
    # FFmpeg's own flush does not, for AAC: noise goes on, and half a frame stays
    codec, all_packets = packets
    codec.restart()
    first = [codec.decode(packet) for packet in all_packets]
    codec.restart()
    for packet, before in zip(all_packets, first, strict=True):
        again = codec.decode(packet)
        assert before is not None and again is not None
        assert np.array_equal(again.samples, before.samples)


def test_bytes_are_decoded_like_packets(packets: tuple[AudioCodec, list[Packet]]) -> None:
    codec, all_packets = packets
    codec.restart()
    context = all_packets[0].stream.codec_context
    spec = CodecSpec("samples", codec.name, extradata=context.extradata)
    alone = AudioCodec(spec)
    alone.restart()
    for packet in all_packets:
        expected, decoded = codec.decode(packet), alone.decode(bytes(packet))
        assert expected is not None and decoded is not None
        assert decoded.rate == expected.rate
        assert np.array_equal(decoded.samples, expected.samples)


def test_priming_and_padding_are_told_not_cut() -> None:
    data = encode(Coding("libopus", "ogg"), sweep(COUNT))
    with av.open(io.BytesIO(data)) as container:
        context = container.streams.audio[0].codec_context
        codec = AudioCodec(CodecSpec("samples", "opus", context=context))
        all_packets = [packet for packet in container.demux(audio=0) if packet.size]
        decoded = [codec.decode(packet) for packet in all_packets]
    assert decoded[0] is not None and decoded[-1] is not None
    assert [d.samples.shape[1] for d in decoded if d] == [960] * len(all_packets)
    assert (decoded[0].skip, decoded[0].pad) == packet_skip(all_packets[0]) == (312, 0)
    spare = 960 * len(all_packets) - 312 - COUNT
    assert (decoded[-1].skip, decoded[-1].pad) == packet_skip(all_packets[-1]) == (0, spare)


def test_damage_is_none() -> None:
    codec = AudioCodec(CodecSpec("samples", "mp3"))
    assert codec.decode(b"") is None
    # a frame behind bytes that no frame starts with would come out at the time of those bytes
    data = encode(Coding("libmp3lame", "matroska"), sweep(COUNT))
    with av.open(io.BytesIO(data)) as container:
        frame = bytes(next(container.demux(audio=0)))
    assert codec.decode(frame) is not None
    assert codec.decode(bytes(300) + frame) is None
    assert codec.decode(b"\xff" * 300) is None


@pytest.mark.parametrize("layout", ["7.1", "22.2"])
def test_planes_of_eight_channels_and_more(layout: str) -> None:
    channels = av.AudioLayout(layout).nb_channels
    shape = (channels, 1000)
    samples = np.random.default_rng(0).integers(-3000, 3000, shape).astype(np.int16)
    packed = av.AudioFrame.from_ndarray(samples.T.reshape(1, -1), "s16", layout)
    packed.sample_rate = RATE
    encoder = av.CodecContext.create("wavpack", "w")
    assert isinstance(encoder, AudioCodecContext)
    encoder.sample_rate, encoder.layout, encoder.format = RATE, layout, "s16p"
    encoder.time_base = Fraction(1, RATE)
    [planar] = av.AudioResampler("s16p").resample(packed)
    encoded = [*encoder.encode(planar), *encoder.encode(None)]
    codec = AudioCodec(CodecSpec("samples", "wavpack", extradata=encoder.extradata))
    decoded = [codec.decode(bytes(packet)) for packet in encoded]
    assert np.array_equal(np.concatenate([d.samples for d in decoded if d], 1), samples)


@pytest.mark.parametrize("name", ["no_such_codec", "h264"])
def test_what_is_no_audio_codec_is_named(name: str) -> None:
    with pytest.raises(DecodeError, match=name):
        AudioCodec(CodecSpec("samples", name))


@pytest.mark.parametrize(
    ("name", "samples", "rate", "packets"),
    [
        ("flac", 4608, 48_000, 2),
        ("aac", 1024, 48_000, 2),
        ("aac", 2048, 48_000, 24),
        ("mp3float", 1152, 44_100, 31),
        ("mp3", 576, 8_000, 12),
        ("opus", 120, 48_000, 200),
        ("libopus", 960, 48_000, 25),
        ("pcm_s16le", 0, 48_000, 2),
    ],
)
def test_how_many_packets_settle_a_decoder(
    name: str, samples: int, rate: int, packets: int
) -> None:
    assert AudioCodec(CodecSpec("samples", name)).settling_packets(samples, rate) == packets
