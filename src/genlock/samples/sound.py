"""What the microphones hear: a chirp at each whole second, then a tone that tells which second.

Seconds count from the recording's zero. In the left channel the chirp rises from 1 to 6 kHz, in
the right one it falls, so that swapped channels show, and a mix of both holds either.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Channel = Literal["left", "right"]

_LOW, _HIGH, _LENGTH = 1000.0, 6000.0, 0.02  # hertz, hertz, seconds
_TONE_START, _TONE_LENGTH = 0.1, 0.1
_TONE_LOW, _TONE_STEP, _TONES = 500.0, 100.0, 64
_LEVEL, _TONE_LEVEL, _NOISE_LEVEL = 0.6, 0.2, 0.002


def soundtrack(first: int, count: int, rate: int, seed: int) -> NDArray[np.float32]:
    """Samples `[2, count]` (left, right) of the sound, within -1 and 1.

    first: position of the first sample, counted at `rate` from the recording's zero.
    """
    second, within = np.divmod(first + np.arange(count), rate)
    since = within / rate
    noise = np.random.default_rng(seed).standard_normal((2, count)) * _NOISE_LEVEL
    tone = _TONE_LEVEL * _tone(since - _TONE_START, second)
    chirps = np.stack([_chirp(since, "left"), _chirp(since, "right")])
    return (noise + tone + _LEVEL * chirps).astype(np.float32)


def chirp(rate: int, channel: Channel = "left") -> NDArray[np.float64]:
    """One chirp `[N]` at `rate`, 20 ms long, amplitude 1 before its window."""
    return _chirp(np.arange(round(_LENGTH * rate)) / rate, channel)


def chirp_starts(
    x: ArrayLike, rate: int, channel: Channel = "left", threshold: float = 0.5
) -> list[int]:
    """Positions at which a channel's chirps start, found by a matched filter.

    x: `[N]` samples of one channel, or of the mean of both, at `rate`, which is at least 16 kHz.
    threshold: least correlation with the chirp, 0 to 1; a mean of both channels reaches 0.7.
    """
    x = np.asarray(x, np.float64)
    template = chirp(rate, channel)
    if len(x) < len(template):
        return []
    size = 1 << (len(x) + len(template)).bit_length()
    spectrum = np.fft.rfft(x, size) * np.conj(np.fft.rfft(template, size))
    count = len(x) - len(template) + 1
    match = np.fft.irfft(spectrum, size)[:count]
    energy = np.concatenate([[0.0], np.cumsum(x**2)])
    local = energy[len(template) :] - energy[:count]
    silence = 1e-6 * len(template)  # keeps rounding errors of silent stretches from correlating
    score = match / np.sqrt((template**2).sum() * np.maximum(local, silence))
    starts: list[int] = []
    for candidate in np.flatnonzero(score > threshold).tolist():
        if not starts or candidate >= starts[-1] + len(template):
            starts.append(candidate + int(np.argmax(score[candidate : candidate + len(template)])))
    return starts


def chirp_second(x: ArrayLike, start: int, rate: int) -> int | None:
    """Which second, modulo 64, the chirp at sample `start` of `x` `[N]` begins.

    None where `x` ends before the tone that tells.
    """
    first = start + round(_TONE_START * rate)
    piece = np.asarray(x, np.float64)[first : first + round(_TONE_LENGTH * rate)]
    if len(piece) < round(_TONE_LENGTH * rate):
        return None
    spectrum = np.abs(np.fft.rfft(piece))
    hertz = float(np.argmax(spectrum)) / _TONE_LENGTH
    return round((hertz - _TONE_LOW) / _TONE_STEP) % _TONES


def _chirp(since: NDArray[np.float64], channel: Channel) -> NDArray[np.float64]:
    """The chirp's formula at times `since` its start: a linear sweep under a Hann window."""
    low, high = (_LOW, _HIGH) if channel == "left" else (_HIGH, _LOW)
    phase = 2 * np.pi * (low * since + (high - low) / (2 * _LENGTH) * since**2)
    return _window(since, _LENGTH) * np.sin(phase)


def _tone(since: NDArray[np.float64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    hertz = _TONE_LOW + _TONE_STEP * (second % _TONES)
    return _window(since, _TONE_LENGTH) * np.sin(2 * np.pi * hertz * since)


def _window(since: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    inside = (since >= 0) & (since < length)
    return np.where(inside, np.sin(np.pi * since / length) ** 2, 0.0)
