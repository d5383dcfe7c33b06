"""RecordFormat: what a record's payload is made of, as the stream's tags say it.

Such as "data_layout/size=84+image/jpg" or "data_layout+audio/pcm/int32le/channels=7/rate=48000".
What a picture's or sound's block leaves open is in fields with fixed names, of the configuration
or of the record itself. (RecordFormat.cpp, DataLayoutConventions.h)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import numpy as np

_SIZE = re.compile(r"(\d+)x(\d+)")
PIXELS = (
    "undefined", "grey8", "bgr8", "depth32f", "rgb8", "yuv_i420_split", "rgba8", "rgb10", "rgb12",
    "grey10", "grey12", "grey16", "rgb32F", "scalar64F", "yuy2", "rgb_ir_4x4", "rgba32F",
    "bayer8_rggb", "raw10", "raw10_bayer_rggb", "raw10_bayer_bggr", "yuv_420_nv21", "yuv_420_nv12",
    "grey10packed",
)  # fmt: skip
"""Names of pixel formats by their number."""
AUDIO = ("undefined", "pcm", "opus")
SAMPLES = (
    "undefined", "int8", "uint8", "uint8alaw", "uint8mulaw", "int16le", "uint16le", "int16be",
    "uint16be", "int24le", "uint24le", "int24be", "uint24be", "int32le", "uint32le", "int32be",
    "uint32be", "float32le", "float32be", "float64le", "float64be",
)  # fmt: skip
"""Names of sample formats by their number."""


@dataclass(frozen=True)
class ImageSpec:
    """How pictures are coded. format: "raw", "jpg", "png", "jxl" or "video". codec: for video."""

    format: str
    size: tuple[int, int] = (0, 0)
    pixels: str = "undefined"
    stride: int = 0
    stride_2: int = 0
    codec: str = ""

    def completed(self, fields: Mapping[str, Any]) -> ImageSpec:
        """With what a configuration's fields add."""
        number = _numbers(fields)
        size = (number("image_height"), number("image_width"))
        pixels = _name(PIXELS, number("image_pixel_format"))
        return replace(
            self,
            size=self.size if all(self.size) else size,
            pixels=pixels if self.pixels == "undefined" else self.pixels,
            stride=self.stride or number("image_stride"),
            stride_2=self.stride_2 or number("image_stride_2"),
            codec=self.codec or str(fields.get("image_codec_name") or ""),
        )


@dataclass(frozen=True)
class AudioSpec:
    """How sound is coded. format: "pcm" or "opus". frame: bytes from one sample to the next, of
    all channels. pairs: channels that Opus codes two by two, first."""

    format: str
    samples: str = "undefined"
    channels: int = 0
    rate: int = 0
    frame: int = 0
    pairs: int = 0

    def completed(self, fields: Mapping[str, Any]) -> AudioSpec:
        """With what a configuration's fields add."""
        number = _numbers(fields)
        samples = _name(SAMPLES, number("audio_sample_format"))
        return replace(
            self,
            format=_name(AUDIO, number("audio_format"))
            if self.format in ("", "undefined")
            else self.format,
            samples=samples if self.samples == "undefined" else self.samples,
            channels=self.channels or number("audio_channel_count"),
            rate=self.rate or number("audio_sample_rate"),
            pairs=self.pairs or number("audio_stereo_pair_count"),
        )


@dataclass(frozen=True)
class Content:
    """A payload's blocks. layouts: how many data layouts it starts with. image, audio: the block
    after them, if it is one. Anything behind is not looked at."""

    layouts: int
    image: ImageSpec | None = None
    audio: AudioSpec | None = None

    @classmethod
    def parse(cls, text: str) -> Content:
        layouts = 0
        for block in text.split("+"):
            kind, *parts = [part for part in block.split("/") if not part.startswith("size=")]
            if kind == "data_layout":
                layouts += 1
            elif kind == "image":
                return cls(layouts, image=_image(parts))
            elif kind == "audio":
                return cls(layouts, audio=_audio(parts))
            elif kind != "empty":
                break
        return cls(layouts)


def _image(parts: list[str]) -> ImageSpec:
    named = dict(part.partition("=")[::2] for part in parts if "=" in part)
    sizes = [match for part in parts if (match := _SIZE.fullmatch(part))]
    size = (int(sizes[0][2]), int(sizes[0][1])) if sizes else (0, 0)
    return ImageSpec(
        parts[0] if parts else "",
        size,
        named.get("pixel", "undefined"),
        int(named.get("stride", 0)),
        int(named.get("stride_2", 0)),
        unquote(named.get("codec", "")),
    )


def _audio(parts: list[str]) -> AudioSpec:
    named = dict(part.partition("=")[::2] for part in parts if "=" in part)
    samples = [part for part in parts[1:] if part in SAMPLES]
    return AudioSpec(
        parts[0] if parts and parts[0] in AUDIO[1:] else "",
        samples[0] if samples else "undefined",
        int(named.get("channels", 0)),
        int(named.get("rate", 0)),
        int(named.get("stride", 0)),
        int(named.get("stereo_pairs", 0)),
    )


def _numbers(fields: Mapping[str, Any]) -> Callable[[str], int]:
    """Reads fields that are numbers; 0 for one that is absent or anything else."""

    def number(name: str) -> int:
        value = fields.get(name, 0)
        usable = isinstance(value, int | float | np.number) and np.isfinite(value)
        return int(value) if usable else 0

    return number


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else names[0]
