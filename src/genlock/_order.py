"""How windows are ordered: `Shuffling` and `Mixing` hold the options, `Order` is the result.

An ordering gives, for a window set and an epoch, the permutation that takes positions to window
indices: a pure function of (seed, epoch, position). Immutable, picklable, thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlock._numbers import whole_number
from genlock._permutation import Blocked, Interleaved, Permutation, Shuffled, Straight
from genlock._window_set import Window, WindowSet
from genlock.errors import WindowError

Shuffle = bool | Literal["blocks"]

MOST_LANES = 2**16
LONGEST_BLOCK = 2**20
CHUNK = 4096
"""Positions that iterating looks up at a time."""


class Ordering(Protocol):
    """What `Windows` asks of an ordering.

    lanes: positions p and p + lanes lie in one lane, and the world size divides `lanes`; None
    where positions have no lanes and any world size will do.
    """

    @property
    def shuffle(self) -> Shuffle: ...

    @property
    def seed(self) -> int: ...

    @property
    def lanes(self) -> int | None: ...

    def permutation(self, windows: WindowSet, epoch: int) -> Permutation:
        """Positions of an epoch to indices of windows."""

    def identity(self) -> dict[str, Any]:
        """What sets this ordering apart, as JSON has it."""


@dataclass(frozen=True)
class Shuffling:
    """One set: as listed (False), fully shuffled (True), or shuffled in blocks of neighbours.

    lanes: blocks side by side. block: windows in each. Both become None without blocks.
    """

    shuffle: Shuffle
    seed: int
    lanes: int | None
    block: int | None

    def __post_init__(self) -> None:
        if self.shuffle not in (True, False, "blocks"):
            raise WindowError(f"shuffle is True, False or 'blocks', not {self.shuffle!r}")
        in_blocks = self.shuffle == "blocks"
        lanes = whole_number("lanes", self.lanes, 1, MOST_LANES)
        block = whole_number("block", self.block, 1, LONGEST_BLOCK)
        settled = {
            "shuffle": "blocks" if in_blocks else bool(self.shuffle),
            "seed": whole_number("seed", self.seed, 0),
            "lanes": lanes if in_blocks else None,
            "block": block if in_blocks else None,
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def permutation(self, windows: WindowSet, epoch: int) -> Permutation:
        if self.lanes and self.block:
            return Blocked(len(windows), self.lanes, self.block, self.seed, epoch)
        if self.shuffle:
            return Shuffled(len(windows), self.seed, epoch)
        return Straight(len(windows))

    def identity(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Mixing:
    """Several sets in turn, each in an order of its own, until one has no more.

    weights: shares of the positions, or None for the sizes of the sets. seed: of what else a
    loader draws; the turns need none.
    """

    orderings: tuple[Ordering, ...]
    weights: tuple[Fraction, ...] | None
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))
        if self.weights is not None and len(self.weights) != len(self.orderings):
            raise WindowError(f"{len(self.weights)} weights for {len(self.orderings)} windows")
        if self.weights is not None and min(self.weights) <= 0:
            raise WindowError("weights must be positive: leave the other windows out of the mix")
        if len(self._all_lanes()) > 1:
            raise WindowError(f"windows to mix differ in lanes: {sorted(self._all_lanes())}")

    def _all_lanes(self) -> set[int]:
        return {ordering.lanes for ordering in self.orderings if ordering.lanes is not None}

    @property
    def lanes(self) -> int | None:
        return next(iter(self._all_lanes()), None)

    @property
    def shuffle(self) -> Shuffle:
        return "blocks" if self.lanes else any(ordering.shuffle for ordering in self.orderings)

    def permutation(self, windows: WindowSet, epoch: int) -> Permutation:
        pairs = zip(self.orderings, windows.parts, strict=True)
        orders = [ordering.permutation(part, epoch) for ordering, part in pairs]
        lanes = self.lanes or 1
        for number, order in enumerate(orders):
            if order.size < lanes:
                problem = f"number {number} of the mix has {order.size} windows"
                raise WindowError(f"{problem}, but a mix with {lanes} lanes needs as many of each")
        weights = self.weights or [Fraction(order.size) for order in orders]
        return Interleaved(orders, weights, lanes)

    def identity(self) -> dict[str, Any]:
        return {
            "orderings": [ordering.identity() for ordering in self.orderings],
            "weights": self.weights and [str(weight) for weight in self.weights],
            "seed": self.seed,
        }


class Order(Sequence[Window]):
    """Windows by position: a view that computes each when asked.

    A slice is another view. Immutable, picklable, thread-safe.
    """

    def __init__(self, windows: WindowSet, permutation: Permutation, positions: range) -> None:
        self._windows = windows
        self._permutation = permutation
        self._positions = positions

    @property
    def positions(self) -> range:
        """Positions in the epoch, counted over all ranks, that this view shows."""
        return self._positions

    def indices(self, positions: ArrayLike) -> NDArray[np.int64]:
        """Window indices at an array of positions of this view: int64, same shape.

        Raises IndexError unless 0 <= position < len.
        """
        return self._ask(self._permutation.index, positions)

    def blocks(self, positions: ArrayLike) -> NDArray[np.int64]:
        """Which block of neighbours each position belongs to: int64, same shape.

        Without `shuffle="blocks"` every window is a block of its own.
        """
        return self._ask(self._permutation.block, positions)

    def _ask(
        self, permutation: Callable[[NDArray[np.int64]], NDArray[np.int64]], positions: ArrayLike
    ) -> NDArray[np.int64]:
        local = np.asarray(positions)
        if local.size and local.dtype.kind not in "iu":
            raise IndexError(f"positions are whole numbers, not {local.dtype}")
        if local.size and not 0 <= local.min() <= local.max() < len(self):
            raise IndexError(f"positions must lie in 0 … {len(self) - 1}")
        flat = local.astype(np.int64).ravel()
        return permutation(self._positions.start + self._positions.step * flat).reshape(local.shape)

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> Window: ...
    @overload
    def __getitem__(self, index: slice) -> Order: ...
    def __getitem__(self, index: int | slice) -> Window | Order:
        if isinstance(index, slice):
            return Order(self._windows, self._permutation, self._positions[index])
        try:
            position = self._positions[index]
        except IndexError:
            raise IndexError(f"position {index} of {len(self)} windows") from None
        return self._windows.window(self._permutation.index(position))

    def __iter__(self) -> Iterator[Window]:
        for first in range(0, len(self), CHUNK):
            positions = np.arange(first, min(first + CHUNK, len(self)))
            yield from map(self._windows.window, self.indices(positions).tolist())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} of {self._permutation.size} windows)"
