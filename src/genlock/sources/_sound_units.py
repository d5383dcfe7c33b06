"""Cursors over sound files that can be read from any sample on, without decoding what is before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from genlock.errors import ClosedError, DecodeError, OpenError
from genlock.interfaces import CodecSpec, UnitSamples
from genlock.location import Location
from genlock.sources._wav import FLOAT, WavHeader


class ArrayUnits:
    """A cursor whose units are arrays [C, n] of samples as stored. One thread at a time."""

    def __init__(self, spec: CodecSpec, samples: UnitSamples) -> None:
        self.spec = spec
        self._samples = samples

    def unit(self, index: int) -> NDArray[Any]:
        """Raises DecodeError if its samples are damaged or gone, ClosedError."""
        return self._read(int(self._samples.first[index]), int(self._samples.count[index]))

    def units(self, first: int) -> Iterator[tuple[int, NDArray[Any]]]:
        for index in range(first, len(self._samples.first)):
            yield index, self.unit(index)

    def _read(self, first: int, count: int) -> NDArray[Any]:
        raise NotImplementedError


class PlainUnits(ArrayUnits):
    """Samples that a WAV file stores as plain numbers: views of its bytes, mapped if it is local.

    Numbers of 24 bits come as the upper bits of 32.
    """

    def __init__(
        self, location: Location, header: WavHeader, spec: CodecSpec, samples: UnitSamples
    ) -> None:
        super().__init__(spec, samples)
        self._location = location
        self._header = header
        self._file: BinaryIO | None = None
        self._bytes: NDArray[np.uint8] | None = None
        if location.data is not None:
            self._bytes = np.frombuffer(location.data, np.uint8)
        elif location.path is not None and header.size:
            try:
                self._bytes = np.memmap(location.path, np.uint8, "r")
            except (OSError, ValueError) as error:
                raise OpenError(f"cannot open {location.uri}: {error}") from error
        else:
            self._file = location.open()

    def _read(self, first: int, count: int) -> NDArray[Any]:
        header = self._header
        width = header.frame_bytes // header.channels
        # numbers of 3 bytes are read as 4, the lowest of which belongs to what lies before
        spare = 1 if width == 3 else 0
        start = header.offset + first * header.frame_bytes
        raw = self._between(start - spare, start + count * header.frame_bytes)
        if len(raw) < spare + count * header.frame_bytes:
            raise DecodeError(f"{self._location.uri} has become shorter since it was opened")
        kind = "f" if header.tag == FLOAT else "u" if width == 1 else "i"
        shape, strides = (count, header.channels), (header.frame_bytes, width)
        frames = np.ndarray(shape, f"<{kind}{width + spare}", raw.data, strides=strides)
        return (frames & ~np.int32(255) if spare else frames).T

    def _between(self, start: int, stop: int) -> NDArray[np.uint8]:
        if self._bytes is not None:
            return self._bytes[start:stop]
        if self._file is None:
            raise ClosedError(f"a cursor over {self._location.uri} is closed")
        self._file.seek(start)
        return np.frombuffer(self._file.read(stop - start), np.uint8)

    def close(self) -> None:
        self._bytes = None
        if self._file is not None:
            self._file.close()
            self._file = None


class CodedUnits(ArrayUnits):
    """Samples that libsndfile decodes, as dtype "int16" or "int32" at full scale."""

    def __init__(
        self, location: Location, dtype: str, spec: CodecSpec, samples: UnitSamples
    ) -> None:
        super().__init__(spec, samples)
        self._dtype = dtype
        self._sound: SoundFile | None = SoundFile(location)

    def _read(self, first: int, count: int) -> NDArray[Any]:
        if self._sound is None:
            raise ClosedError("a cursor over a sound file is closed")
        return self._sound.read(first, count, self._dtype)

    def close(self) -> None:
        if self._sound is not None:
            self._sound.close()
            self._sound = None


class SoundFile:
    """A file open in libsndfile: the only user of `soundfile`. One thread at a time.

    Raises OpenError naming the location where libsndfile cannot read it.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._open()

    def _open(self) -> None:
        self._under = None if self._location.path is not None else self._location.open()
        try:
            self._file = soundfile.SoundFile(self._under or str(self._location.path))
        except soundfile.LibsndfileError as error:
            self._close_under()
            why = f"cannot open {self._location.uri}: {error.error_string}"
            raise OpenError(why, recording=self._location.uri) from error

    @property
    def rate(self) -> int:
        return int(self._file.samplerate)

    @property
    def channels(self) -> int:
        return int(self._file.channels)

    @property
    def subtype(self) -> str:
        """libsndfile's name of how samples are stored, such as "PCM_24"."""
        return str(self._file.subtype)

    def frames(self) -> int:
        """Samples that can be decoded: fewer than the header claims if the file is cut off."""
        claimed = int(self._file.frames)
        if not claimed or self._readable(claimed - 1):
            return claimed
        low, high = 0, claimed - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._readable(middle) else (low, middle)
        if not low:
            why = f"cannot open {self._location.uri}: none of its {claimed} samples can be decoded"
            raise OpenError(why, recording=self._location.uri)
        return low

    def _readable(self, position: int) -> bool:
        try:
            return len(self.read(position, 1, "int16").T) == 1
        except DecodeError:
            return False

    def read(self, first: int, count: int, dtype: str) -> NDArray[Any]:
        """Samples first … first + count, [C, n]. Raises DecodeError if they are damaged."""
        try:
            if self._file.tell() != first:
                self._file.seek(first)
            samples: NDArray[Any] = self._file.read(count, dtype, always_2d=True).T
        except soundfile.LibsndfileError as error:
            self.close()
            self._open()  # after an error libsndfile no longer knows where it is
            raise DecodeError(
                f"{self._location.uri}: samples {first} to {first + count} are damaged"
                f" ({error.error_string})",
                recording=self._location.uri,
            ) from error
        return samples

    def close(self) -> None:
        self._file.close()
        self._close_under()

    def _close_under(self) -> None:
        if self._under is not None:
            self._under.close()
