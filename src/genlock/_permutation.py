"""Orders without tables: bijections that take a position to an index.

    Straight      as listed
    Shuffled      any index at any position: a Feistel network
    Blocked       blocks of neighbours in shuffled order, many of them side by side
    Interleaved   several orders in turn, by weights

Each takes a Python int or an int64 array of positions and gives the same numbers for both and on
every platform, since all of it is integer arithmetic. Immutable, picklable, thread-safe, and a
few integers large, whatever the number of positions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Positions = TypeVar("Positions", int, NDArray[np.int64])

WORD = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
ROUNDS = 8
"""Of the Feistel network; with 6 some permutations of five or six indices are visibly favoured."""
FINEST_WEIGHT = 2**16
"""Largest denominator of a weight in an interleaving: 2**40 positions times it fit in int64."""


def _scramble(word: Any) -> Any:
    """Mix 64-bit words (an int or a uint64 array) bijectively.

    The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
    generators", 2014).
    """
    word = (word ^ (word >> 30)) * FIRST & WORD
    word = (word ^ (word >> 27)) * SECOND & WORD
    return word ^ (word >> 31)


def draw(count: int, *entropy: int) -> list[int]:
    """Draw 64-bit words that the entropy (integers below 2**64, in this order) determines."""
    state = 0
    for value in entropy:
        state = _scramble((state ^ value) + GOLDEN & WORD)
    return [_scramble(state + step * GOLDEN & WORD) for step in range(1, count + 1)]


class Permutation(ABC):
    """Takes positions 0 … size - 1 to distinct indices below `bound`."""

    size: int

    @property
    def bound(self) -> int:
        return self.size

    @abstractmethod
    def index(self, position: Positions) -> Positions:
        """The index at each position."""

    def block(self, position: Positions) -> Positions:
        """Which block each position belongs to; by default every index is one of its own."""
        return self.index(position)


class Straight(Permutation):
    """As listed."""

    def __init__(self, size: int) -> None:
        self.size = size

    def index(self, position: Positions) -> Positions:
        return position


class Shuffled(Permutation):
    """A seeded shuffle: a Feistel network over rows x columns, walked until it lands inside.

    Positions are cells of the smallest near-square grid that holds them. Each half round adds a
    scrambled function of one coordinate to the other, which is a bijection of the grid (Black and
    Rogaway, "Ciphers with arbitrary finite domains", 2002); a result in one of the few cells
    beyond `size` is taken through the network again, until it is inside.
    """

    def __init__(self, size: int, *entropy: int) -> None:
        self.size = size
        self._rows = math.isqrt(max(size - 1, 0)) + 1
        self._columns = max(1, -(-size // self._rows))
        self._keys = [key ^ key >> 30 for key in draw(2 * ROUNDS, *entropy)]

    def index(self, position: Positions) -> Positions:
        if isinstance(position, int):
            cell: int = self._rounds(position)
            while cell >= self.size:
                cell = self._rounds(cell)
            return cell
        cells: NDArray[np.uint64] = self._rounds(position.astype(np.uint64))
        while (outside := np.flatnonzero(cells >= self.size)).size:
            cells[outside] = self._rounds(cells[outside])
        return cells.astype(np.int64)

    def _rounds(self, cell: Any, first: int = FIRST, second: int = SECOND, word: int = WORD) -> Any:
        rows, columns = self._rows, self._columns
        changed, other = cell // columns, cell % columns
        for key, size in zip(self._keys, (rows, columns) * ROUNDS, strict=True):
            # `_scramble` of other ^ key, whose first step `_keys` spares; halved, so that the sum
            # stays below 2**64. A call would take as long again
            mixed = (other ^ other >> 30 ^ key) * first & word
            mixed = (mixed ^ mixed >> 27) * second & word
            changed, other = other, (changed + (mixed >> 1 ^ mixed >> 32)) % size
        return changed * columns + other


class Blocked(Permutation):
    """Blocks of neighbouring indices in shuffled order, `lanes` of them side by side.

    Position p is in lane p % lanes, and each lane walks one block after another, forward. What
    does not fill a whole group of `lanes` blocks comes last, shuffled, each index a block of its
    own. So no two of any `lanes` consecutive positions share a block, and every block lies in one
    lane. Indices are rotated by a drawn offset, so that blocks are cut elsewhere each time; one
    block may thus hold both the last index and the first.
    """

    def __init__(self, size: int, lanes: int, block: int, *entropy: int) -> None:
        self.size = size
        self._lanes = lanes
        self._length = block_length(size, lanes, block)
        self._blocks = size // (lanes * self._length) * lanes
        self._singles_at = self._blocks * self._length
        self._shuffled_blocks = Shuffled(self._blocks, *entropy, 1)
        self._shuffled_singles = Shuffled(size - self._singles_at, *entropy, 2)
        self._rotation = draw(1, *entropy, 3)[0] % max(size, 1)

    def index(self, position: Positions) -> Positions:
        index = _piecewise(position, self._singles_at, self._walk, self._single)
        return (index + self._rotation) % self.size

    def block(self, position: Positions) -> Positions:
        return _piecewise(position, self._singles_at, self._block, self._single)

    def _walk(self, position: Positions) -> Positions:
        return self._block(position) * self._length + position // self._lanes % self._length

    def _block(self, position: Positions) -> Positions:
        group = position // (self._lanes * self._length)
        return self._shuffled_blocks.index(group * self._lanes + position % self._lanes)

    def _single(self, position: Positions) -> Positions:
        return self._singles_at + self._shuffled_singles.index(position - self._singles_at)


def block_length(size: int, lanes: int, wanted: int) -> int:
    """Length of block, within a half of the wanted one, that cuts `size` into blocks best.

    Best is the number of blocks nearest to size / wanted, counting what fills no group of `lanes`
    blocks as blocks of one. Blocks are shorter yet if a group of halves needs more than `size`.
    """
    shortest = max(1, min(-(-wanted // 2), size // lanes))
    lengths = np.arange(shortest, max(shortest, wanted * 3 // 2) + 1)
    full = size // (lanes * lengths) * lanes
    excess = np.abs((full + size - full * lengths) * wanted - size)
    return int(lengths[np.lexsort((np.abs(lengths - wanted), excess))[0]])


def _piecewise(
    position: Positions,
    bound: int,
    below: Callable[[Any], Any],
    above: Callable[[Any], Any],
) -> Positions:
    """Apply `below` to positions below the bound and `above` to the others."""
    if isinstance(position, int):
        value: int = below(position) if position < bound else above(position)
        return value
    values = np.empty_like(position)
    low = position < bound
    values[low] = below(position[low])
    values[~low] = above(position[~low])
    return values


class Interleaved(Permutation):
    """Several orders in turn, by weights, until one of them has nothing left.

    Indices of order k follow those of the orders before it. Turns are as even as integers allow:
    of n turns, the first order has floor(n * w), the others share the rest likewise. Row r of
    lane l is turn r + l, so that any row is a stretch of turns and so is any lane. A lane of the
    whole is made of the same lane of each order, which keeps their blocks whole. Every order needs
    at least `lanes` positions. Weights are positive, of any sum.
    """

    def __init__(
        self, orders: Sequence[Permutation], weights: Sequence[Fraction], lanes: int
    ) -> None:
        self._orders = tuple(orders)
        self._lanes = lanes
        *self._starts, self._bound = accumulate((order.bound for order in orders), initial=0)
        rests = [sum(weights[part:], Fraction()) for part in range(len(weights))]
        shares = (weight / rest for weight, rest in zip(weights, rests, strict=True))
        self._shares = [share.limit_denominator(FINEST_WEIGHT) for share in shares]
        self.size = self._count()

    @property
    def bound(self) -> int:
        return self._bound

    def index(self, position: Positions) -> Positions:
        return self._ask(position, lambda order, inner: order.index(inner))

    def block(self, position: Positions) -> Positions:
        return self._ask(position, lambda order, inner: order.block(inner))

    def _ask(self, position: Positions, ask: Callable[[Permutation, Any], Any]) -> Positions:
        row, lane = position // self._lanes, position % self._lanes
        first, before, after = map(self._had, (lane, row + lane, row + lane + 1))
        if isinstance(position, int):
            part = next(part for part, had in enumerate(before) if after[part] > had)
            inner = (before[part] - first[part]) * self._lanes + lane
            value: int = self._starts[part] + ask(self._orders[part], inner)
            return value
        values = np.empty_like(position)
        for part, order in enumerate(self._orders):
            here = after[part] > before[part]
            inner = (before[part] - first[part])[here] * self._lanes + lane[here]
            values[here] = self._starts[part] + ask(order, inner)
        return values

    def _had(self, turns: Any) -> list[Any]:
        """How many of the first turns each order had."""
        had = []
        for share in self._shares:
            had.append(turns * share.numerator // share.denominator)
            turns = turns - had[-1]
        return had

    def _count(self) -> int:
        """Positions until an order has nothing left for the lane whose turn it is."""
        lanes = np.arange(self._lanes)
        stock = [-(-(order.size - lanes) // self._lanes) for order in self._orders]
        first = np.array(self._had(lanes))

        def short(rows: int) -> Any:
            return (np.array(self._had(rows + lanes)) - first > stock).any(axis=0)

        most = sum(order.size for order in self._orders) // self._lanes + len(self._orders) + 1
        rows = bisect_left(range(most), True, key=lambda rows: bool(short(rows).any()))
        return (rows - 1) * self._lanes + int(np.argmax(short(rows)))
