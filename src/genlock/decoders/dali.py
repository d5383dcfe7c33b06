"""JPEG pictures by NVIDIA DALI: on the GPU that batches go to, or on the CPU where there is none.

Whole runs of pictures are decoded at once, at full size, then cropped, resized and converted as
`ImageDecoder` does. On the CPU the decoded pixels are those of `ImageDecoder` to the bit (libjpeg-
turbo is under both); GPUs round in other places. Other formats, and JPEGs of four channels, are
not offered.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._pictures import PictureHeader
from genlock.decoders._picture import Picture, Values
from genlock.decoders._rendering import FrameRenderer
from genlock.errors import ClosedError, DecodeError, FieldError, MissingExtraError
from genlock.interfaces import FrameFormat, Units
from genlock.stream import Stream

RUN_PIXELS = 2**25
"""Pixels of the pictures that are decoded together, 100 MB of RGB, unless one alone has more."""


class DaliDecoder(FrameRenderer):
    """Frames of a stream of JPEGs. One thread at a time.

    gpu: index of the CUDA device that decodes, None for the CPU. Other arguments and errors: see
    `FrameRenderer`; FieldError for a picture that is no JPEG of one or three channels,
    MissingExtraError where DALI is absent.
    """

    def __init__(
        self, units: Units, stream: Stream, max_pixels: int | None = None, gpu: int | None = None
    ) -> None:
        super().__init__(units, stream, max_pixels)
        self._dali = _Dali(gpu)
        self._ahead: dict[int, tuple[PictureHeader, Values]] = {}

    def read(
        self, rows: NDArray[np.int64], format: FrameFormat, out: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Decode rows [R] (ascending, repeats allowed) into out[i]; see `PictureDecoder.read`."""
        sound = np.ones(len(rows), np.bool_)
        try:
            for run in self._runs(rows, format.color == "gray"):
                sound[run] = super().read(rows[run], format, out[run])
        finally:
            self._ahead.clear()
        return sound

    def close(self) -> None:
        super().close()
        self._dali.close()

    def _runs(self, rows: NDArray[np.int64], gray: bool) -> Iterator[slice]:
        """Runs of rows; each is given when its pictures are decoded."""
        if self._closed:
            raise ClosedError("this decoder is closed", stream=self.stream.name)
        listed = self.stream.timeline.valid
        units: dict[int, tuple[bytes, PictureHeader]] = {}
        begin = pixels = 0
        for i, row in enumerate(map(int, rows)):
            if row in units or (listed is not None and not listed[row]):
                continue
            with self._errors(row):
                unit, header = self._jpeg(row)
            area = header.height * header.width
            if units and pixels + area > RUN_PIXELS:
                self._decode(units, gray)
                yield slice(begin, i)
                units, begin, pixels = {}, i, 0
            units[row] = unit, header
            pixels += area
        self._decode(units, gray)
        yield slice(begin, len(rows))

    def _jpeg(self, row: int) -> tuple[bytes, PictureHeader]:
        unit, header = self._unit(row)
        if header.codec != "jpeg" or header.channels not in (1, 3):
            raise FieldError(
                "decoder='dali' decodes JPEG of one or three channels; this is "
                f"{header.codec} of {header.channels}: leave decoder= out for this stream"
            )
        data = bytes(unit)
        header.check_whole(data)
        return data, header

    def _decode(self, units: dict[int, tuple[bytes, PictureHeader]], gray: bool) -> None:
        """Decode units together, by whether they have one channel; one by one if that fails."""
        self._ahead.clear()
        for one_channel in (False, True):
            chosen = {
                row: (unit, header)
                for row, (unit, header) in units.items()
                if (gray or header.channels == 1) == one_channel
            }
            try:
                decoded = self._dali.decode([unit for unit, _ in chosen.values()], one_channel)
            except RuntimeError:
                decoded = [self._alone(row, unit, one_channel) for row, (unit, _) in chosen.items()]
            for (row, (_, header)), values in zip(chosen.items(), decoded, strict=True):
                self._ahead[row] = header, values

    def _alone(self, row: int, unit: bytes, one_channel: bool) -> Values:
        with self._errors(row):
            try:
                return self._dali.decode([unit], one_channel)[0]
            except RuntimeError as error:
                raise DecodeError(f"DALI cannot decode this jpeg: {error}") from error

    def _read_one(self, row: int, format: FrameFormat, out: NDArray[Any]) -> None:
        header, values = self._ahead[row]
        self._render(values, header, format, out)

    def _picture(
        self, unit: bytes | Values, header: PictureHeader, format: FrameFormat, shrink: int
    ) -> Picture:
        assert isinstance(unit, np.ndarray)  # decoded ahead
        if unit.shape[:2] != (header.height, header.width):
            stated = (header.height, header.width)
            raise DecodeError(f"this jpeg has {unit.shape[:2]} pixels, its header {stated}")
        order = "GRAY" if unit.ndim == 2 else "RGB"
        return Picture(header.orientation.upright(unit), order, header.white)


class _Dali:
    """DALI's image decoder with one thread of its own, or a GPU. One thread at a time."""

    def __init__(self, gpu: int | None) -> None:
        require()
        import nvidia.dali.experimental.dynamic as dynamic
        from nvidia.dali import types

        self._dynamic, self._types = dynamic, types
        self._device = "cpu" if gpu is None else "gpu"
        self._context: Any = dynamic.EvalContext(num_threads=1, device_id=gpu)

    def decode(self, pictures: list[bytes], one_channel: bool) -> list[Values]:
        """Pictures as uint8 [H, W] or [H, W, 3] in RGB order, as stored.

        Raises RuntimeError, as DALI does, if one of them is damaged.
        """
        if not pictures:
            return []
        dynamic, kinds = self._dynamic, self._types
        with dynamic.EvalMode.sync_full, self._context:
            units = [dynamic.tensor(np.frombuffer(data, np.uint8)) for data in pictures]
            decoded = dynamic.decoders.image(
                dynamic.batch(units),
                device=self._device,
                output_type=kinds.GRAY if one_channel else kinds.RGB,
                adjust_orientation=False,
                jpeg_fancy_upsampling=True,  # as libjpeg scales chroma
            )
            values = [np.array(decoded.select(i).cpu()) for i in range(len(pictures))]
        return [value[..., 0] if one_channel else value for value in values]

    def close(self) -> None:
        """Let go of DALI's threads and memory. Harmless if done before."""
        self._context = None


def require() -> None:
    """Raise MissingExtraError unless DALI is installed."""
    try:
        found = find_spec("nvidia.dali")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise MissingExtraError("nvidia-dali-cuda120 (or -cuda130)", "dali", "decoder='dali'")
