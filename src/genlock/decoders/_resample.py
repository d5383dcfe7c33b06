"""Audio at another rate, second by second, so that a sample does not depend on the window.

One second is a whole number of samples at any rate, so each second starts at the same phase of
the filter as it would within the whole stream.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import ceil, gcd

import numpy as np
import soxr
from numpy.typing import NDArray

from genlock._recent import Budget, Recent

Samples = NDArray[np.float32]
Valid = NDArray[np.bool_]
Read = Callable[[int, Samples], Valid]
"""Fills samples from a position on, at the stream's own rate, and says which are valid."""

QUALITY = "VHQ"
"""As fast as "HQ" here (0.3 ms for 2 s from 48 to 16 kHz) and symmetric, with a finite reach."""
REACH = 160
"""Samples of the lower rate on either side that matter to a result by more than 1e-9; measured
from 8 to 192 kHz: 128 when going down, 145 when going up."""


class Resampler:
    """Reads a stream at another rate. One thread at a time.

    Equals `soxr.resample` of the whole stream, holes being zero, within 1e-6 (where the rates have
    no small ratio, soxr's own clock drifts by some 1e-6 of a sine each second; here it does not).
    """

    def __init__(
        self, read: Read, channels: int, native: int, budget: Budget, scope: Hashable
    ) -> None:
        self._read = read
        self._channels = channels
        self._native = native
        self._seconds = Recent[tuple[Samples, Valid]](
            budget, (scope, "resampled"), lambda s: s[0].nbytes
        )

    def read(self, first: int, rate: int, out: Samples) -> Valid:
        """Fill out, float32 [C, N], with samples first … first + N at `rate`.

        Returns bool [N]: where the stream has data; elsewhere out is zero.
        """
        valid = np.zeros(out.shape[1], np.bool_)
        stop = first + out.shape[1]
        for second in range(first // rate, -(-stop // rate)):
            samples, sound = self._second(second, rate)
            a, b = max(first, second * rate), min(stop, (second + 1) * rate)
            inside = slice(a - second * rate, b - second * rate)
            out[:, a - first : b - first] = samples[:, inside]
            valid[a - first : b - first] = sound[inside]
        return valid

    def _second(self, second: int, rate: int) -> tuple[Samples, Valid]:
        found = self._seconds.get((second, rate))
        if found is None:
            found = self._made(second, rate)
            self._seconds.put((second, rate), found)
        return found

    def _made(self, second: int, rate: int) -> tuple[Samples, Valid]:
        """One second of output, from as much of the input as the filter reaches."""
        samples = np.zeros((self._channels, rate), np.float32)
        if second < 0:
            return samples, np.zeros(rate, np.bool_)
        native, period = self._native, self._native // gcd(self._native, rate)
        reach = ceil(REACH * max(1, native / rate))
        # soxr starts a stream in a way of its own, which zeros before it would not give
        start = max(second * native - ceil(reach / period) * period, 0)
        lead = second * native - start
        source = np.zeros((self._channels, lead + native + reach), np.float32)
        heard = self._read(start, source)
        sound = heard[lead + np.arange(rate, dtype=np.int64) * native // rate]
        if sound.any():
            skip = lead * rate // native
            samples[:] = soxr.resample(source.T, native, rate, QUALITY)[skip : skip + rate].T
            samples[:, ~sound] = 0
        return samples, sound
