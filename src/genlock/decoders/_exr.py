"""OpenEXR pictures, through the optional package OpenEXR."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock.errors import DecodeError, MissingExtraError

_COLORS = (("R", "G", "B", "A"), ("R", "G", "B"), ("Y",))


def read_exr(data: bytes, depth: bool) -> NDArray[Any]:
    """The colour channels [H, W, C] in RGB(A) order, or the depth or luma channel [H, W].

    The frame is the display window, zero where nothing is stored. depth: take the channel `Z`,
    or the only one ending in `.Z`, or the only one. Values are as stored: linear light, metres.
    Raises MissingExtraError, and DecodeError if there is no such channel.
    """
    try:
        import OpenEXR
    except ImportError as error:
        raise MissingExtraError("OpenEXR", "exr", "reading .exr pictures") from error
    with OpenEXR.File(io.BytesIO(data), separate_channels=True, num_threads=0) as file:
        if not file.parts:
            raise DecodeError("this exr is damaged or cut short")
        channels = file.channels()
        names = _depth_channel(channels) if depth else _color_channels(channels)
        stored = np.dstack([channels[name].pixels for name in names])
        return _on_display(stored, file.header())


def _color_channels(names: Iterable[str]) -> tuple[str, ...]:
    names = set(names)
    for wanted in _COLORS:
        if names.issuperset(wanted):
            return wanted
    raise DecodeError(f"this exr has no channels R, G, B or Y, only {', '.join(sorted(names))}")


def _depth_channel(names: Iterable[str]) -> tuple[str, ...]:
    names = sorted(names)
    for found in (
        [name for name in names if name == "Z"],
        [name for name in names if name.endswith(".Z")],
        names,
    ):
        if len(found) == 1:
            return (found[0],)
    raise DecodeError(f"which channel of this exr is depth? none is named Z: {', '.join(names)}")


def _on_display(stored: NDArray[Any], header: Mapping[str, Any]) -> NDArray[Any]:
    (data_from, _), (show_from, show_to) = header["dataWindow"], header["displayWindow"]
    left, top = (int(a) - int(b) for a, b in zip(data_from, show_from, strict=True))
    width, height = (int(b) - int(a) + 1 for a, b in zip(show_from, show_to, strict=True))
    if (left, top) == (0, 0) and stored.shape[:2] == (height, width):
        return stored
    canvas = np.zeros((height, width, stored.shape[2]), stored.dtype)
    visible = canvas[max(top, 0) : top + len(stored), max(left, 0) : left + stored.shape[1]]
    inner = stored[max(-top, 0) :, max(-left, 0) :]
    visible[...] = inner[: visible.shape[0], : visible.shape[1]]
    return canvas
