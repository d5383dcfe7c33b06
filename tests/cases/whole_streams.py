"""Streams read whole through the façade, for tests that compare them with what was drawn."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

import genlock as gl
from genlock._nanoseconds import SECOND_NS


def read_all(recording: gl.Recording, field: Any) -> gl.Sample:
    """All of a stream as one sample, whose field is called "x"."""
    timeline = recording.streams[field.stream].timeline
    if not len(timeline):
        return recording.read({"x": field}, 0, 0)
    duration = Fraction(timeline.end_ns - timeline.start_ns, SECOND_NS)
    return recording.read({"x": field}, timeline.start_ns, duration)


def indices(sample: gl.Sample, truth: ModuleType) -> list[int | None]:
    """The index drawn into each picture of field "x"; None where it is masked."""
    return [
        truth.frame_index(picture[0]) if valid else None
        for picture, valid in zip(sample["x"], sample.mask["x"], strict=True)
    ]


def sound(recording: gl.Recording, stream: str = "audio") -> np.ndarray:
    """All samples of a stream, [C, N], and none of them invalid."""
    sample = read_all(recording, gl.Audio(stream))
    assert sample.mask["x"].all()
    return np.asarray(sample["x"])
