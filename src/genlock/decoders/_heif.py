"""HEIC pictures, through the optional package pillow-heif."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock.errors import MissingExtraError


def read_heif(data: bytes) -> NDArray[Any]:
    """The primary picture, upright: [H, W] or [H, W, C] in RGB(A) order, codes as stored.

    Raises MissingExtraError, and ValueError if the file is damaged.
    """
    try:
        import pillow_heif
    except ImportError as error:
        raise MissingExtraError("pillow-heif", "heif", "reading .heic pictures") from error
    image = pillow_heif.open_heif(data, convert_hdr_to_8bit=False, hdr_to_16bit=False)
    return np.array(image)  # a copy: a view would outlive the memory that the image frees
