"""`Job`: one field of one window, planned; knows its arrays, and decodes straight into them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from genlock._field import Field
from genlock._memory import ArraySpec
from genlock._row_cache import RowCache
from genlock._yuv import rgb_coefficients
from genlock.align import (
    AudioPlan,
    Plan,
    apply,
    apply_pose,
)
from genlock.decoders.depth import depth_encoding, resize_depth, to_metres
from genlock.errors import FieldError, error_context
from genlock.fields import Depth, Pose, Sensor, Video
from genlock.interfaces import FrameFormat
from genlock.opened import POSE_COLUMNS, Opened
from genlock.slots import Slot, SlotSpec
from genlock.stream import Label, Stream


class Decoders(Protocol):
    """Where jobs get decoders, one lease per use, and rows that were decoded before.

    lease takes the first row that is wanted, so that a decoder which stands there is lent, and
    the name of the decoder that the field asks for.
    """

    rows: RowCache

    def lease(
        self,
        opened: Opened,
        stream: str,
        depth: bool,
        row: int | None = None,
        name: str = "auto",
    ) -> AbstractContextManager[Any]: ...


class Planned(Protocol):
    """One field of one window that is ready to be filled: decoded by a `Job`, or remembered.

    spec: what arrays `fill` needs; None for labels. pool: whose threads fill it. place: its
    recording and stream. constants: what belongs to its values besides them, by kind.
    """

    @property
    def field(self) -> Any: ...

    @property
    def constants(self) -> Mapping[str, NDArray[np.float32]]: ...

    @property
    def spec(self) -> SlotSpec | None: ...

    @property
    def pool(self) -> str: ...

    @property
    def place(self) -> tuple[str, str]: ...

    def fill(self, slot: Slot, decoders: Decoders) -> None: ...


@dataclass
class Job:
    """One field of one window: planned, to be filled."""

    opened: Opened
    stream: Stream
    field: Any
    plan: Any

    pool: ClassVar[str] = ""

    @property
    def spec(self) -> SlotSpec | None:
        """What arrays `fill` needs; None for labels."""
        raise NotImplementedError

    @property
    def place(self) -> tuple[str, str]:
        return self.opened.uri, self.stream.name

    @property
    def valid_share(self) -> float:
        """Share of the grid that the plan serves, before anything is decoded."""
        return float(self.plan.mask.mean()) if len(self.plan.mask) else 0.0

    @cached_property
    def constants(self) -> Mapping[str, NDArray[np.float32]]:
        """What belongs to the field's values in this window besides them, by kind."""
        return {}

    def fill(self, slot: Slot, decoders: Decoders) -> None:
        """Decode into the slot. Errors name recording, stream and time."""
        start_ns = int(self.plan.grid_ns[0]) if len(self.plan.grid_ns) else None
        slot.times[...] = self.plan.grid_ns
        slot.source_times[...] = self.plan.source_ns
        slot.mask[...] = self.plan.mask
        with error_context(self.opened.uri, self.stream.name, start_ns):
            self._values(slot, decoders)

    def _values(self, slot: Slot, decoders: Decoders) -> None:
        raise NotImplementedError


@dataclass
class FrameJob(Job):
    """Video and depth: rows are decoded in ascending order, straight into the slot."""

    plan: Plan

    @property
    def pool(self) -> str:  # type: ignore[override]
        return "video" if self.stream.info.encoding == "packets" else "image"

    @cached_property
    def constants(self) -> Mapping[str, NDArray[np.float32]]:
        found: dict[str, NDArray[np.float32]] = {}
        camera = self.stream.camera(self.field.crop, self.field.size)
        if camera is not None:
            found["intrinsics"] = camera.matrix.astype(np.float32)
            found["distortion"] = np.array(camera.distortion, np.float32)
        if self.field.format.color == "yuv420p":
            info = self.stream.info
            lines = info.shape[1 if info.rotation % 180 else 0]
            found["color"] = rgb_coefficients(info.color, lines).astype(np.float32)
        return found

    @cached_property
    def spec(self) -> SlotSpec:
        steps = len(self.plan.grid_ns)
        native = self.stream.info.shape
        if self.field.format.color == "yuv420p":
            self._require_planes(native)
        shape = self.field.format.frame_shape(native)
        if isinstance(self.field, Depth):
            shape = shape[1:]
        dtype = np.dtype(self.field.format.dtype)
        return SlotSpec(ArraySpec((steps, *shape), dtype), steps, steps)

    @property
    def _decoder_name(self) -> str:
        return self.field.decoder if isinstance(self.field, Video) else "auto"

    def _require_planes(self, native: tuple[int, ...]) -> None:
        size = self.field.size or (self.field.crop or (0, 0, *native[:2]))[2:]
        if self.stream.info.encoding != "packets" or size[0] % 2 or size[1] % 2:
            raise FieldError(
                f"color='device' needs a coded video and an even size: {self.stream.name!r} has "
                f"{self.stream.info.encoding!r} units, and frames of {size[0]}x{size[1]} are asked",
                recording=self.opened.uri,
                stream=self.stream.name,
            )

    def _values(self, slot: Slot, decoders: Decoders) -> None:
        wanted = np.flatnonzero(self.plan.mask)
        if len(wanted) < len(self.plan.mask):
            slot.values[...] = 0
        if not len(wanted):
            return
        rows = self.plan.rows[wanted, 0]
        in_place = wanted[-1] - wanted[0] == len(wanted) - 1 and (np.diff(rows) >= 0).all()
        if in_place:
            out = slot.values[wanted[0] : wanted[-1] + 1]
            valid = self._read(rows, out, decoders)
        else:
            order = np.argsort(rows, kind="stable")
            wanted, rows = wanted[order], rows[order]
            out = np.empty((len(rows), *slot.values.shape[1:]), slot.values.dtype)
            valid = self._read(rows, out, decoders)
            slot.values[wanted] = out
        damaged = wanted[~valid]
        slot.mask[damaged] = False
        slot.source_times[damaged] = slot.times[damaged]
        slot.values[damaged] = 0

    def _read(
        self, rows: NDArray[np.int64], out: NDArray[Any], decoders: Decoders
    ) -> NDArray[np.bool_]:
        """Rows from the cache, else from a decoder."""
        field = self.field
        place = self.opened.uri, self.stream.name
        series = (*place, type(field), field.format, self._decoder_name)
        return decoders.rows.read(series, rows, out, partial(self._decode, decoders))

    def _decode(
        self, decoders: Decoders, rows: NDArray[np.int64], out: NDArray[Any]
    ) -> NDArray[np.bool_]:
        depth = isinstance(self.field, Depth)
        coded_depth = depth and self.stream.info.encoding == "packets"
        name, first = self._decoder_name, int(rows[0])
        with decoders.lease(self.opened, self.stream.name, depth, first, name) as decoder:
            if not coded_depth:
                valid: NDArray[np.bool_] = decoder.read(rows, self.field.format, out)
                return valid
            encoding = depth_encoding(self.stream)
            codes = np.empty((len(rows), *self.stream.info.shape[:2], 1), np.uint16)
            valid = decoder.read(rows, FrameFormat(None, None, "gray", "uint16", "HWC"), codes)
        for i, frame in enumerate(codes[..., 0]):
            metres = to_metres(frame, encoding)
            out[i] = resize_depth(metres, self.field.size, self.field.crop)
        return valid


@dataclass
class AudioJob(Job):
    """Audio: a run of samples, channels mixed or kept."""

    plan: AudioPlan

    pool: ClassVar[str] = "audio"

    @cached_property
    def spec(self) -> SlotSpec:
        channels = self.field.channels or self.stream.info.shape[0]
        values = ArraySpec((channels, self.plan.count), np.dtype(np.float32))
        return SlotSpec(values, self.plan.count, 1, axes=(1,))

    def _values(self, slot: Slot, decoders: Decoders) -> None:
        stored, wanted = self.stream.info.shape[0], slot.values.shape[0]
        if wanted not in (1, stored) and stored != 1:
            raise FieldError(
                f"{self.stream.name!r} has {stored} channels, not {wanted}: "
                "ask for channels=1 (their mean) or leave channels out"
            )
        direct = wanted == stored
        out = slot.values if direct else np.empty((stored, self.plan.count), np.float32)
        with decoders.lease(self.opened, self.stream.name, False) as decoder:
            slot.mask[...] &= decoder.read(self.plan.first, self.plan.rate, out)
        if not direct:
            slot.values[...] = out.mean(axis=0, dtype=np.float32) if wanted == 1 else out
        if not slot.mask.all():
            slot.values[:, ~slot.mask] = 0


@dataclass
class TableJob(Job):
    """Sensor and pose: rows picked or blended from columns in memory."""

    plan: Plan

    pool: ClassVar[str] = "table"

    @cached_property
    def spec(self) -> SlotSpec:
        steps = len(self.plan.grid_ns)
        values, _ = self._table()
        spec = ArraySpec((steps, values.shape[1]), np.dtype(self.field.dtype))
        return SlotSpec(spec, steps, steps, columns=self._columns)

    @property
    def _columns(self) -> tuple[str, ...]:
        """Names of the values: as the field picked them, else all of the stream's."""
        if isinstance(self.field, Pose):
            return POSE_COLUMNS
        return tuple(getattr(self.field, "columns", None) or self.stream.info.columns)

    def _table(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return field_table(self.opened, self.field)

    def _values(self, slot: Slot, decoders: Decoders) -> None:
        values, _ = self._table()
        apply(self.plan, values, slot.values)


@dataclass
class PoseJob(TableJob):
    """Poses, seen from elsewhere if the field says so. reference: of what they are relative to."""

    reference: PoseJob | None = None

    def _values(self, slot: Slot, decoders: Decoders) -> None:
        slot.values[...] = self.poses(self.plan, self.field.relative_to)

    def poses(self, plan: Plan, relative_to: str | None = None) -> NDArray[np.float64]:
        """The poses at a plan's grid times, [T, 7]."""
        values, _ = self._table()
        mount = None if self.field.of is None else self._mount(self.field.of)
        if self.reference is None:
            return apply_pose(plan, values, relative_to, mount)
        reference = self.reference.poses(self.reference.plan)
        return apply_pose(plan, values, None, mount, reference)

    def _mount(self, name: str) -> NDArray[np.float64]:
        """T_child_of, by the extrinsics of the stream that `of` names."""
        stream = self.opened.streams.get(name)
        extrinsics = None if stream is None else stream.extrinsics
        child = self.stream.info.frames[1] if self.stream.info.frames else None
        if extrinsics is None or child not in (None, extrinsics.parent):
            streams = self.opened.streams.values()
            known = [f"{s.name} in {s.extrinsics.parent!r}" for s in streams if s.extrinsics]
            raise FieldError(
                f"of={name!r} needs a stream with extrinsics in the frame "
                f"{child or 'of the pose'!r}; stated are: {', '.join(known) or 'none'}"
            )
        return np.array([*extrinsics.position, *extrinsics.quaternion], np.float64)


@dataclass
class LabelJob(Job):
    """Labels: the list of annotations that overlap the window."""

    plan: tuple[int, int]

    pool: ClassVar[str] = "table"

    @property
    def spec(self) -> None:
        return None

    @property
    def valid_share(self) -> float:
        return 1.0

    def fill(self, slot: Slot, decoders: Decoders) -> None:
        start_ns, end_ns = self.plan
        timeline = self.stream.timeline
        durations = timeline.durations_ns
        begins = timeline.ns
        ends = begins if durations is None else begins + durations
        instant = ends == begins
        overlaps = (begins < end_ns) & ((ends > start_ns) | (instant & (begins >= start_ns)))
        with error_context(self.opened.uri, self.stream.name, start_ns):
            values = self.opened.columns(self.stream.name)["value"]
        slot.values.extend(
            Label(int(begins[i]), int(ends[i]), values[i]) for i in np.flatnonzero(overlaps)
        )


def field_table(opened: Opened, field: Field) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The table that a `Sensor` or `Pose` samples, and which of its rows are whole."""
    if isinstance(field, Sensor):
        columns = None if field.columns is None else tuple(field.columns)
        blended = field.method == "linear"
        return opened.table(field.stream, columns, "float64" if blended else field.dtype)
    return opened.table(field.stream, POSE_COLUMNS, "float64")
