"""libswscale writing into memory that exists: PyAV's reformatter gives frames of its own only.

It is the library that PyAV's extension module is linked with, and reached through that module, so
the same code makes the same pixels. PyAV's frames begin as `av/frame.pxd` declares for extension
modules, and FFmpeg's as `libavutil/frame.h` does. Both are checked before the first use; where
they do not hold, or the functions are not to be found (Windows), `library` gives None.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_void_p
from functools import cache
from typing import Any, NamedTuple

import av.video.reformatter
import numpy as np
from av.frame import Frame
from av.video.frame import VideoFrame
from numpy.typing import NDArray

BLOCK_ROWS, BLOCK_BYTES = 2, 64
"""libswscale may write whole blocks: pairs of rows, and the widest registers of a CPU."""
FUNCTIONS = {
    "av_frame_alloc": (c_void_p,),
    "av_frame_copy_props": (c_int, c_void_p, c_void_p),
    "av_frame_free": (None, POINTER(c_void_p)),
    "av_frame_unref": (None, c_void_p),
    "av_get_pix_fmt": (c_int, c_char_p),
    "av_opt_set_int": (c_int, c_void_p, c_char_p, c_int64, c_int),
    "sws_alloc_context": (c_void_p,),
    "sws_free_context": (None, POINTER(c_void_p)),
    "sws_is_noop": (c_int, c_void_p, c_void_p),
    "sws_scale_frame": (c_int, c_void_p, c_void_p, c_void_p),
}
"""What each gives, and its arguments."""


class Tags(NamedTuple):
    """How a frame's values are to be read, as numbers of ITU-T H.273; 2 is unspecified."""

    colorspace: int
    color_range: int
    color_trc: int = 2
    color_primaries: int = 2

    @classmethod
    def of(cls, frame: VideoFrame) -> Tags:
        return cls(frame.colorspace, frame.color_range, frame.color_trc, frame.color_primaries)

    def put_on(self, frame: VideoFrame) -> None:
        frame.colorspace, frame.color_range = self.colorspace, self.color_range
        frame.color_trc, frame.color_primaries = self.color_trc, self.color_primaries


class _AVFrame(ctypes.Structure):
    """The start of FFmpeg's AVFrame."""

    _fields_ = (
        ("data", c_void_p * 8),
        ("linesize", c_int * 8),
        ("extended_data", c_void_p),
        ("width", c_int),
        ("height", c_int),
        ("nb_samples", c_int),
        ("format", c_int),
    )


class DirectScaler:
    """Scales and converts frames into arrays. One thread at a time; the GIL is released."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._context = c_void_p(library.sws_alloc_context())
        self._target = c_void_p(library.av_frame_alloc())
        if not self._context or not self._target:
            raise MemoryError("FFmpeg has no memory for a scaler")
        self._view = _AVFrame.from_address(self._target.value or 0)
        library.av_opt_set_int(self._context, b"threads", 1, 0)
        free = weakref.finalize(self, _free, library, self._context, self._target)
        free.atexit = False

    def write(
        self,
        frame: VideoFrame,
        pixels: str,
        flags: int,
        read: Tags,
        written: Tags,
        planes: Sequence[NDArray[Any]],
    ) -> bool:
        """Write a frame into the planes of a picture, [H, W] each, in pixel format `pixels`.

        read, written: how the frame's values are to be taken, and how the picture's are meant.
        planes: of memory that takes blocks. False, and nothing written, where the frame is as
        wanted already, or libswscale refuses.
        """
        library, target, view, own = self._library, self._target, self._view, Tags.of(frame)
        source = _address(frame)
        try:
            written.put_on(frame)
            library.av_frame_copy_props(target, source)
            read.put_on(frame)
            view.height, view.width = planes[0].shape
            view.format = library.av_get_pix_fmt(pixels.encode())
            for index, plane in enumerate(planes):
                view.data[index] = plane.__array_interface__["data"][0]
                view.linesize[index] = plane.strides[0]
            if library.sws_is_noop(target, source):
                return False
            library.av_opt_set_int(self._context, b"sws_flags", flags, 0)
            return bool(library.sws_scale_frame(self._context, target, source) >= 0)
        finally:
            own.put_on(frame)
            library.av_frame_unref(target)


def takes_blocks(plane: NDArray[Any]) -> bool:
    """Whether libswscale writes into a plane, [H, W], and nowhere else, whatever it does at once:
    its rows are whole blocks, aligned, one after another.
    """
    row = plane.shape[1] * plane.itemsize
    whole = not plane.shape[0] % BLOCK_ROWS and not row % BLOCK_BYTES
    aligned = not plane.__array_interface__["data"][0] % BLOCK_BYTES
    return whole and aligned and plane.strides == (row, plane.itemsize)


def plane_for_blocks(height: int, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A plane, [H, W], with room behind its rows, and below, for what is written at once."""
    row = -(-width * dtype.itemsize // BLOCK_BYTES) * BLOCK_BYTES
    memory = np.zeros((height + BLOCK_ROWS) * row + BLOCK_BYTES, np.uint8)
    start = -memory.__array_interface__["data"][0] % BLOCK_BYTES
    lines = memory[start : start + (height + BLOCK_ROWS) * row].view(dtype)
    return lines.reshape(height + BLOCK_ROWS, -1)[:height, :width]


@cache
def library() -> Any:
    """FFmpeg's functions, if frames are as declared here; else None."""
    try:
        found = ctypes.CDLL(av.video.reformatter.__file__)
        for name, (result, *arguments) in FUNCTIONS.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
    except (AttributeError, OSError):
        return None
    return found if _as_declared(found) else None


def _address(frame: VideoFrame) -> int | None:
    """Where FFmpeg's frame is, which a PyAV frame holds after its type's table of methods."""
    return c_void_p.from_address(id(frame) + _POINTER_AT).value


_POINTER_AT = object.__basicsize__ + ctypes.sizeof(c_void_p)
_FRAME_BYTES = _POINTER_AT + 8 + 2 * ctypes.sizeof(c_void_p)
"""After that pointer a time base of two ints, and one more pointer."""


def _as_declared(found: Any) -> bool:
    """Whether a frame that PyAV made is what its pointer leads to."""
    if Frame.__basicsize__ != _FRAME_BYTES:
        return False
    frame = VideoFrame(66, 34, "yuv422p")
    address = _address(frame)
    if not address:
        return False
    seen = _AVFrame.from_address(address)
    same = [(plane.buffer_ptr, plane.line_size) for plane in frame.planes]
    return (
        [*zip(seen.data[:3], seen.linesize[:3], strict=True)] == same
        and (seen.width, seen.height) == (66, 34)
        and seen.format == found.av_get_pix_fmt(b"yuv422p")
    )


def _free(found: Any, context: c_void_p, frame: c_void_p) -> None:
    found.sws_free_context(byref(context))
    found.av_frame_free(byref(frame))
