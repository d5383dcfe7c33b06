"""What a user asks of a stream: `Video`, `Depth`, `Audio`, `Sensor`, `Pose`, `Points`, `Labels`.

A field names a stream, the grid it is sampled at, how rows are chosen or blended for each grid
time, and the form of the values. The grid is one of

    rate=r          start + round(k * 10**9 / r) for every k with k * 10**9 / r < duration
    at="other"      the times of the rows that another field used
    offsets=[…]     seconds from the window's start
    none of them    every native row in the window: `batch.lengths` says how many

Fields are immutable and checked when made: a contradiction raises FieldError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from genlock._field import Field, GridField, Method
from genlock.interfaces import FrameFormat
from genlock.stream import Modality

Crop = tuple[int, int, int, int]


@dataclass(frozen=True)
class PictureField(GridField):
    """What `Video` and `Depth` share: size and crop.

    size: (height, width) in pixels, or None for the stream's own. crop: (top, left, height,
    width) in upright pixels of the stream, taken before resizing.
    """

    size: tuple[int, int] | None = None
    crop: Crop | None = None

    methods: ClassVar[tuple[Method, ...]] = ("nearest", "previous", "next")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, length in (("size", 2), ("crop", 4)):
            value = getattr(self, name)
            if value is None:
                continue
            value = tuple(self._whole(f"each of {name}", v) for v in self._listed(name, value))
            if len(value) != length or min(value[-2:]) < 1 or min(value) < 0:
                raise self._fail(f"{name} must be {length} positive integers, not {value}")
            object.__setattr__(self, name, value)


Channels3 = tuple[float, float, float]
DecoderName = Literal["auto", "ffmpeg", "dali", "nvdec"]


@dataclass(frozen=True)
class Video(PictureField):
    """Frames of a video or image stream: [T, C, H, W], upright, scaled while converting.

    layout: "TCHW" or "THWC". dtype: "uint8"; "uint16" (rgb scaled to 16 bits, gray as stored);
    "float32" (0 to 1). color: "rgb", "gray" (luma), "rgba", or "device": the frames cross to the
    device as YUV, half the bytes, and become RGB there. Only then dtype may be "float16" or
    "bfloat16" too, normalize = (mean, std) per channel of values from 0 to 1, flip mirrors
    horizontally, channels_last stores the channels of TCHW next to each other, and a transform
    sees the planes: uint8 [T, H * 3 / 2, W], Y above U and V. decoder: "auto"; "ffmpeg" for coded
    video in software; "nvdec" for the same in a GPU's decoder; "dali" for JPEG pictures by NVIDIA
    DALI; see docs/gpu.md for what each is offered for. Other arguments: see `GridField`.
    """

    layout: Literal["TCHW", "THWC"] = "TCHW"
    dtype: Literal["uint8", "uint16", "float32", "float16", "bfloat16"] = "uint8"
    color: Literal["rgb", "gray", "rgba", "device"] = "rgb"
    normalize: tuple[Channels3, Channels3] | None = None
    flip: bool = False
    channels_last: bool = False
    decoder: DecoderName = "auto"

    modalities: ClassVar[tuple[Modality, ...]] = ("video",)

    def __post_init__(self) -> None:
        super().__post_init__()
        on_device = self.color == "device"
        dtypes = ("uint8", "float32", "float16", "bfloat16") if on_device else HOST_DTYPES
        for name, allowed in (
            ("layout", ("TCHW", "THWC")),
            ("color", ("rgb", "gray", "rgba", "device")),
            ("dtype", dtypes),
            ("decoder", get_args(DecoderName)),
        ):
            if getattr(self, name) not in allowed:
                raise self._fail(f"{name} {getattr(self, name)!r} is not one of {allowed}")
        if on_device:
            self._check_device_options()
        elif self.normalize is not None or self.flip or self.channels_last:
            raise self._fail("normalize, flip and channels_last need color='device'")

    def _check_device_options(self) -> None:
        if self.size is not None and (self.size[0] % 2 or self.size[1] % 2):
            raise self._fail(f"color='device' needs an even size, not {self.size}")
        if self.normalize is None:
            return
        parts = [self._listed("normalize", p) for p in self._listed("normalize", self.normalize)]
        numbers = [tuple(float(self._number("normalize", v)) for v in part) for part in parts]
        if list(map(len, numbers)) != [3, 3] or 0 in numbers[1]:
            raise self._fail("normalize is (mean, std) of three channels each, std not 0")
        mean, std = numbers
        if self.dtype == "uint8":
            raise self._fail("normalize gives fractions: ask for a float dtype")
        object.__setattr__(self, "normalize", (mean, std))

    @property
    def format(self) -> FrameFormat:
        """The form of one frame as it is decoded."""
        if self.color == "device":
            return FrameFormat(self.size, self.crop, "yuv420p")
        return FrameFormat(self.size, self.crop, self.color, self.dtype, self.layout[1:])


HOST_DTYPES = ("uint8", "uint16", "float32")


@dataclass(frozen=True)
class Depth(PictureField):
    """Depth maps: float32 [T, H, W] metres, 0 where a pixel is invalid; never blended.

    Resizing takes the nearest pixel. Other arguments: see `GridField`.
    """

    modalities: ClassVar[tuple[Modality, ...]] = ("depth", "video")

    @property
    def format(self) -> FrameFormat:
        """The form of one frame."""
        return FrameFormat(self.size, self.crop, "gray", "float32")


@dataclass(frozen=True)
class Audio(Field):
    """Sound: float32 [C, N], the N samples of the window at `rate` (default the stream's own).

    rate: Hz, a whole number. channels: 1 mixes all channels to their mean; n keeps the stream's n
    channels and raises if it has another number, except that mono is repeated; None keeps them.
    """

    rate: int | None = None
    channels: int | None = None

    modalities: ClassVar[tuple[Modality, ...]] = ("audio",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rate", "channels"):
            value = getattr(self, name)
            if value is None:
                continue
            if (number := self._whole(name, value)) < 1:
                raise self._fail(f"{name} must be a positive whole number, not {value}")
            object.__setattr__(self, name, number)


DTypeName = Literal["float32", "float64", "int64", "int32", "uint8", "bool"]


@dataclass(frozen=True)
class Sensor(GridField):
    """Columns of a table: [T, D], linearly interpolated by default.

    columns: which, in which order (default all). dtype: of the result; integers are never blended,
    so they need method "nearest", "previous" or "next".
    """

    method: Method = "linear"
    columns: Sequence[str] | None = None
    dtype: DTypeName = "float32"

    methods: ClassVar[tuple[Method, ...]] = ("nearest", "previous", "next", "linear")
    modalities: ClassVar[tuple[Modality, ...]] = ("sensor", "pose")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns is not None:
            object.__setattr__(self, "columns", self._names("columns", self.columns))
        if self.dtype not in get_args(DTypeName):
            raise self._fail(f"dtype {self.dtype!r} is not one of {get_args(DTypeName)}")
        if self.method == "linear" and not np.issubdtype(np.dtype(self.dtype), np.floating):
            raise self._fail(f"{self.dtype} values cannot be interpolated: use method='nearest'")


@dataclass(frozen=True)
class Pose(GridField):
    """Rigid poses: [T, 7] as tx ty tz qx qy qz qw; translation linear, rotation shortest-arc slerp.

    Values are T_parent_child of the stream: they take points of the child frame to the parent's.
    of: name of a stream with extrinsics in the child frame, such as a camera: gives T_parent_of.
    relative_to: "first" relative to the first valid pose of the window (inverse(first) * pose),
    "previous" to the valid pose before (identity for the first), or the name of another `Pose`
    field with the same parent: gives T_other_child, the other sampled at this field's grid times by
    its own method, masked where either is. dtype: "float32" or "float64". Quaternions have norm 1.
    """

    method: Method = "slerp"
    relative_to: str | None = None
    of: str | None = None
    dtype: Literal["float32", "float64"] = "float32"

    methods: ClassVar[tuple[Method, ...]] = ("nearest", "previous", "next", "slerp")
    modalities: ClassVar[tuple[Modality, ...]] = ("pose",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype not in ("float32", "float64"):
            raise self._fail(f"dtype {self.dtype!r} is not 'float32' or 'float64'")
        for name in ("relative_to", "of"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise self._fail(f"{name} is a name, not {value!r}")

    @property
    def reference(self) -> str | None:
        """The field that the poses are relative to, if it is another one."""
        return None if self.relative_to in (None, "first", "previous") else self.relative_to


@dataclass(frozen=True)
class Points(GridField):
    """Point clouds: float [T, P, D], the points of each row, then zeros; never blended.

    columns: which values of a point, in which order; those of a field of k values are `name.0` to
    `name.(k-1)`. P is `max_points`, else what the largest row of the batch stores. `counts` [T]
    says how many points are there. Points with a value that is not finite in one of the columns
    are left out. Of a row with more than `max_points` others, n, those at i * n // max_points are
    kept. dtype: "float32" or "float64", which holds integers up to 2**53. Other arguments: see
    `GridField`.
    """

    columns: Sequence[str] = ("x", "y", "z")
    max_points: int | None = None
    dtype: Literal["float32", "float64"] = "float32"

    methods: ClassVar[tuple[Method, ...]] = ("nearest", "previous", "next")
    modalities: ClassVar[tuple[Modality, ...]] = ("points",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", self._names("columns", self.columns))
        if self.max_points is not None:
            number = self._whole("max_points", self.max_points)
            if number < 1:
                raise self._fail(f"max_points is a positive whole number, not {number}")
            object.__setattr__(self, "max_points", number)
        if self.dtype not in ("float32", "float64"):
            raise self._fail(f"dtype {self.dtype!r} is not 'float32' or 'float64'")


@dataclass(frozen=True)
class Labels(Field):
    """Annotations: per sample, the list of `Label(start_ns, end_ns, value)` that overlap it."""

    modalities: ClassVar[tuple[Modality, ...]] = ("labels",)


Fields = Mapping[str, Field]
