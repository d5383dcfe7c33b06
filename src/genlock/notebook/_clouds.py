"""Point clouds as pictures: each row seen from above, coloured by height."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock.notebook._pictures import RGB, rgb_of

PIXELS = 160
BACKGROUND = 16


def top_views(values: NDArray[Any], counts: NDArray[np.int64]) -> RGB:
    """Clouds [T, P, D] as uint8 [T, S, S, 3]: the first column to the right, the second up.

    The third is the colour, low bright to high dark. All rows have one scale, in which every point
    of every row is inside and both axes are equal.
    """
    there = np.arange(values.shape[1]) < counts[:, None]
    row, points = np.nonzero(there)[0], values[there].astype(np.float64)
    pictures = np.full((len(values), PIXELS, PIXELS, 3), BACKGROUND, np.uint8)
    if not len(points):
        return pictures
    axes = [points[:, min(i, points.shape[1] - 1)] for i in range(3)]
    low, high = zip(*((float(axis.min()), float(axis.max())) for axis in axes), strict=True)
    scale = (PIXELS - 1) / max(high[0] - low[0], high[1] - low[1], 1e-9)
    x, y = (np.rint((axes[i] - (low[i] + high[i]) / 2) * scale).astype(int) for i in (0, 1))
    middle = PIXELS // 2
    place = (row, np.clip(middle - y, 0, PIXELS - 1), np.clip(middle + x, 0, PIXELS - 1))
    heights = axes[2] - low[2] + 1  # above 0, which would be no depth
    pictures[place] = rgb_of(heights[None], (1.0, 1.0 + high[2] - low[2]))[0]
    return pictures
