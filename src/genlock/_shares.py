"""How a number of things is parted: by shares, and among the processes of a training job."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from fractions import Fraction

from genlock.errors import WindowError


def apportion(count: int, shares: Sequence[Fraction]) -> list[int]:
    """Part a count by shares with whole numbers: the method of largest remainders."""
    quotas = [share * count / sum(shares) for share in shares]
    sizes = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(sizes)), key=lambda part: sizes[part] - quotas[part])
    for part in by_remainder[: count - sum(sizes)]:
        sizes[part] += 1
    return sizes


def place_among_processes() -> tuple[int, int]:
    """Rank and world size of this process; torch is asked only if something else imported it."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    place = [os.environ.get(name) for name in ("RANK", "WORLD_SIZE")]
    if None in place:
        return 0, 1
    try:
        rank, world_size = (int(text or "") for text in place)
    except ValueError as error:
        raise WindowError(f"RANK and WORLD_SIZE are whole numbers, not {place}") from error
    return rank, world_size
