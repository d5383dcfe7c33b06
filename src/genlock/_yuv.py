"""From YUV codes to RGB: the affine map that a stream's colour tags mean.

Matrices follow from Kr and Kb of ITU-T H.273, table 4; ranges from its equations (22) to (30).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from genlock.stream import ColorTags

KR_KB = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
}
HD_HEIGHT = 720


def rgb_coefficients(tags: ColorTags, height: int) -> NDArray[np.float64]:
    """The affine map from 8-bit Y, U, V codes to R, G, B from 0 to 255: float64 [3, 4].

    tags: of the stream; an unknown matrix is BT.709 from 720 lines on, else BT.601, an unknown
    range is limited. height: lines of the stream's frames.
    """
    default = "bt709" if height >= HD_HEIGHT else "smpte170m"
    kr, kb = KR_KB.get(tags.matrix, KR_KB[default])
    kg = 1 - kr - kb
    full = tags.range in ("pc", "full", "jpeg")
    luma, chroma, black = (1.0, 1.0, 0.0) if full else (255 / 219, 255 / 224, 16.0)
    red, blue = 2 * (1 - kr) * chroma, 2 * (1 - kb) * chroma
    matrix = np.array(
        [
            [luma, 0.0, red],
            [luma, -blue * kb / kg, -red * kr / kg],
            [luma, blue, 0.0],
        ]
    )
    return np.concatenate([matrix, -matrix @ [[black], [128.0], [128.0]]], axis=1)
