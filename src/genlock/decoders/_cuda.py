"""A GPU's primary CUDA context, through the driver's own library: workers never call torch."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from genlock.errors import FieldError

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@contextmanager
def primary_context(gpu: int) -> Iterator[None]:
    """Make a GPU's primary context, which torch uses too, that of this thread for a while.

    A context of one's own would cost some 300 MB of its memory for each decoder. Raises FieldError
    where there is no NVIDIA driver, or no such GPU.
    """
    driver, context = driver_library(), _retained(gpu)
    _check("cuCtxPushCurrent", driver.cuCtxPushCurrent_v2(context))
    try:
        yield
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


@cache
def driver_library() -> Any:
    """NVIDIA's driver, not initialised. Raises FieldError where it is not installed."""
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise FieldError(
            f"this needs an NVIDIA GPU and its driver, and {LIBRARY} is not on this machine: "
            "leave decoder= out"
        ) from error


@cache
def _retained(gpu: int) -> ctypes.c_void_p:
    """The primary context of a GPU, held until the process ends."""
    driver = driver_library()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _check("cuInit", driver.cuInit(0))
    _check(f"cuDeviceGet({gpu})", driver.cuDeviceGet(ctypes.byref(device), gpu))
    retained = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    _check("cuDevicePrimaryCtxRetain", retained)
    return context


def _check(call: str, result: int) -> None:
    if result:
        raise FieldError(f"the NVIDIA driver refuses {call} with error {result}: is there a GPU?")
