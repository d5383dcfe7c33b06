"""`FrameJob`: the pictures of one window, color or depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._decoder_pool import DecoderPool
from genlock._memory import ArraySpec
from genlock._yuv import rgb_coefficients
from genlock.align import Plan
from genlock.decoders.depth import depth_encoding, resize_depth, to_metres
from genlock.errors import FieldError
from genlock.fields import Depth, Video
from genlock.interfaces import FrameFormat
from genlock.jobs import Job
from genlock.slots import Slot, SlotSpec


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
    def begins_ns(self) -> int | None:
        """Time of the first row that is wanted, if rows are decoded from one another."""
        if self.pool != "video" or not self.plan.mask.any():
            return None
        return int(self.stream.timeline.ns[self.plan.rows[self.plan.mask, 0].min()])

    def key_frame_before(self, time_ns: int) -> int:
        """Time of the last key frame of the stream at or before a time."""
        return self.opened.key_frame_before(self.stream.name, time_ns)

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

    def _values(self, slot: Slot, decoders: DecoderPool) -> None:
        wanted = np.flatnonzero(self.plan.mask)
        if len(wanted) < len(self.plan.mask):
            slot.values[...] = 0
        if not len(wanted):
            return
        rows = self.plan.rows[wanted, 0]
        in_place = wanted[-1] - wanted[0] == len(wanted) - 1 and (rows[1:] >= rows[:-1]).all()
        if in_place:
            out = slot.values[wanted[0] : wanted[-1] + 1]
            valid = self._read(rows, out, decoders)
        else:
            order = np.argsort(rows, kind="stable")
            wanted, rows = wanted[order], rows[order]
            out = np.empty((len(rows), *slot.values.shape[1:]), slot.values.dtype)
            valid = self._read(rows, out, decoders)
            slot.values[wanted] = out
        if not valid.all():
            damaged = wanted[~valid]
            slot.mask[damaged] = False
            slot.source_times[damaged] = slot.times[damaged]
            slot.values[damaged] = 0

    def _read(
        self, rows: NDArray[np.int64], out: NDArray[Any], decoders: DecoderPool
    ) -> NDArray[np.bool_]:
        """Rows from the cache, else from a decoder."""
        field = self.field
        place = self.opened.uri, self.stream.name
        series = (*place, type(field), field.format, self._decoder_name)
        return decoders.rows.read(series, rows, out, partial(self._decode, decoders))

    def _decode(
        self, decoders: DecoderPool, rows: NDArray[np.int64], out: NDArray[Any]
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
