"""The shared cases of audio."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from whole_streams import read_all, sound

import genlock as gl

AUDIO = gl.Audio("audio")


@pytest.mark.case("A01")
def test_priming_is_what_the_file_says(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "a01_aac_priming.m4a") as recording:
        assert recording.start_ns == 0
        samples = sound(recording)
        assert samples.shape == (1, 144_000)
        starts = truth.chirp_starts(samples[0])
        assert np.abs(np.array(starts) - [0, 48_000, 96_000]).max() <= 1


@pytest.mark.case("A01b")
def test_priming_is_never_guessed(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "a01b_adts_no_priming_info.aac") as recording:
        samples = sound(recording)
        assert samples.shape == (1, 145_408)
        assert truth.chirp_starts(samples[0]) == [1_024, 49_024, 97_024]


@pytest.mark.case("A02")
def test_audio_that_starts_later(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "a02_audio_late.mkv") as recording:
        assert recording.streams["audio"].timeline.start_ns == 500_000_000
        click = recording.read({"x": AUDIO}, 1_500_000_000, 0.1)
        assert truth.chirp_starts(click["x"][0]) == [0] and click.mask["x"].all()
        before = recording.read({"x": AUDIO}, 0, 0.5)
        assert before["x"].shape == (1, 24_000)
        assert not before.mask["x"].any() and not before["x"].any()


@pytest.mark.case("A04")
def test_audio_that_outlasts_video(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "a04_audio_longer.mp4") as recording:
        assert len(recording.streams["video"].timeline) == 25
        fields = {"video": gl.Video("video", rate=25), "x": AUDIO}
        late = recording.read(fields, 2_500_000_000, 0.4)
        assert not late.mask["video"].any() and not late["video"].any()
        assert late.mask["x"].all()
        assert truth.chirp_starts(sound(recording)[0]) == [0, 48_000, 96_000]
        assert gl.Windows(recording, duration=0.5, over=["audio"]).__len__() == 6
        assert len(gl.Windows(recording, duration=0.5)) == 2


@pytest.mark.case("A06")
def test_opus_pre_skip_and_seek(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "a06_opus.ogg") as recording:
        second = recording.read({"x": AUDIO}, 1_000_000_000, 0.5)
        assert abs(truth.chirp_starts(second["x"][0])[0]) <= 2
        samples = sound(recording)
        assert samples.shape == (1, 144_000)
        starts = truth.chirp_starts(samples[0])
        assert np.abs(np.array(starts) - [0, 48_000, 96_000]).max() <= 2
        assert np.abs(second["x"][0] - samples[0, 48_000:72_000]).max() <= 1e-4


@pytest.mark.case("A08")
def test_floats_above_one(inputs: Path) -> None:
    with gl.open(inputs / "a08_float_over1.wav") as recording:
        (samples,) = sound(recording)
        assert len(samples) == 4_800
        assert samples[25] == np.float32(2.5) and samples[75] == np.float32(-2.5)


@pytest.mark.case("A09")
def test_extensible_24_bits(inputs: Path) -> None:
    n, c = np.ogrid[:2_400, :4]
    expected = ((4_099 * n + 1_000_003 * c) % 2**24 - 2**23) / 2**23
    with gl.open(inputs / "a09_ext24_4ch.wav") as recording:
        assert recording.streams["audio"].info.rate == 96_000
        samples = sound(recording)
        assert (samples == expected.T.astype(np.float32)).all()
        assert samples[2, 5] == np.float32(-0.759137511)


@pytest.mark.case("A10")
def test_sizes_that_a_pipe_left_open(inputs: Path) -> None:
    with gl.open(inputs / "a10_pipe_size.wav") as recording:
        (samples,) = sound(recording)
        assert (samples * 2**15 == (np.arange(9_600) % 200 - 100) * 100).all()


@pytest.mark.case("A13")
def test_asking_for_audio_that_is_not_there(inputs: Path) -> None:
    with gl.open(inputs / "a13_no_audio.mp4") as recording:
        assert len(recording.streams["video"].timeline) == 10
        with pytest.raises(gl.StreamError, match=r"a13_no_audio.mp4 has no stream 'audio'"):
            recording.read({"x": AUDIO}, 0, 1)


@pytest.mark.case("A14")
def test_no_samples_at_all(inputs: Path) -> None:
    with gl.open(inputs / "a14_zero_samples.wav") as recording:
        stream = recording.streams["audio"]
        assert (len(stream.timeline), stream.info.rate) == (0, 16_000)
        nothing = recording.read({"x": AUDIO}, 0, 0)
        assert nothing["x"].shape == (1, 0)
        silent = recording.read({"x": AUDIO}, 0, 0.5)
        assert silent["x"].shape == (1, 8_000)
        assert not silent.mask["x"].any() and not silent["x"].any()
        with pytest.raises(gl.WindowError, match="a14_zero_samples"):
            _ = recording.start_ns


def test_stereo_comes_as_it_is_or_mixed(inputs: Path) -> None:
    with gl.open(inputs / "a09_ext24_4ch.wav") as recording:
        four = sound(recording)
        one = read_all(recording, gl.Audio("audio", channels=1))["x"]
        assert np.allclose(one[0], four.mean(0), atol=1e-7)
        with pytest.raises(gl.FieldError, match="4 channels"):
            read_all(recording, gl.Audio("audio", channels=2))
