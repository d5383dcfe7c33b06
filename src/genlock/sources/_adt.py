"""Aria Digital Twin: ground truth beside a recording, as VRS files and JSON of its own.

`depth_images.vrs` holds depth in millimetres. `segmentations.vrs` holds 64-bit numbers of object
instances, stored as if they were float64; `instances.json` says what they are. Pixels of that size
fit into no batch, so each instance gets a small code: its place, from 1, among all numbers sorted.
Source: projects/AriaDigitalTwinDatasetTools of github.com/facebookresearch/projectaria_tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock.errors import OpenError
from genlock.interfaces import CodecSpec
from genlock.location import Location
from genlock.sources._vrs_track import Track
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

INSTANCE_STREAM = "segmentation-instances"


class Instances:
    """What the numbers in segmentations mean. ids: uint64 [K], sorted. Immutable."""

    def __init__(self, location: Location) -> None:
        try:
            stated: Mapping[str, Mapping[str, Any]] = json.loads(location.read())
            found = {int(one["instance_id"]): dict(one) for one in stated.values()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OpenError(
                f"cannot read {location.uri}: {error}", recording=location.uri
            ) from error
        self.ids: NDArray[np.uint64] = np.array(sorted(found), np.uint64)
        self._found = found

    def codes(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint16]:
        """Small codes of instance numbers; 0 for one that is not listed."""
        place = np.searchsorted(self.ids, numbers)
        known = self.ids[np.minimum(place, len(self.ids) - 1)] == numbers
        return np.where(known, place + 1, 0).astype(np.uint16)

    def track(self, start_ns: int, end_ns: int, clock: str) -> Track:
        """A stream of labels over a time: each instance as its JSON says, with its `code`."""
        values = np.empty(len(self.ids), object)
        for place, number in enumerate(self.ids.tolist()):
            values[place] = {"code": place + 1, **self._found[number]}
        times = np.full(len(values), start_ns, np.int64)
        timeline = Timeline(times, np.full(len(values), end_ns - start_ns, np.int64))
        info = StreamInfo("labels", "columns", clock=clock, columns=("value",))
        return Track(Stream(INSTANCE_STREAM, info, timeline), lambda: _Labels(values))


class _Labels:
    """All labels as one unit. Thread-safe."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values
        self.spec = CodecSpec("columns")

    def unit(self, index: int) -> Mapping[str, NDArray[Any]]:
        return {"value": self._values}

    def units(self, first: int) -> Iterator[tuple[int, Mapping[str, NDArray[Any]]]]:
        yield 0, self.unit(0)

    def close(self) -> None:
        """There is nothing to release."""
