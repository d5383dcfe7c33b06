"""`Windows`: from a position in an epoch to a recording and a start, by arithmetic alone.

    position ─► permutation (seed, epoch) ─► window index ─► span and step ─► (recording, start)

Which windows there are is in `_window_set.py`, their order in `_order.py` and
`_permutation.py`. Nothing here opens a recording, and nothing holds the windows themselves.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from genlock._clips import Clips
from genlock._nanoseconds import SECOND_NS, Seconds
from genlock._numbers import fractions_of, positive_ns, whole_number
from genlock._order import Mixing, Order, Ordering, Shuffle, Shuffling
from genlock._permutation import Shuffled, Straight
from genlock._shares import apportion, place_among_processes
from genlock._span_table import Recordings, Spans
from genlock._window_set import Joined, Tail, Tiling, Window, WindowSet, digest
from genlock.errors import WindowError

__all__ = ["Order", "Window", "Windows"]

Snap = Literal["keyframe"]
LANES = 16
BLOCK = 64


class Windows(Order):
    """Windows of one duration over recordings, in a shuffled order that needs no memory.

    spans: the time range of each recording, half-open. duration, stride: seconds, read as exact
    decimals; stride defaults to the duration. A span [s, e) gives the starts s + k * stride:
    tail="drop" keeps windows that end by e, tail="pad" all that start before e.

    The order is a pure function of (seed, epoch, position). shuffle=True is a bijection over all
    windows. shuffle="blocks" keeps neighbours together, so that what overlaps is decoded once:
    blocks of about `block` windows are shuffled, position p is in lane p % lanes, and each lane
    walks one block at a time. No two of any `lanes` consecutive windows share a block: let `lanes`
    be at least the global batch size and a multiple of the world size.

    snap="keyframe" moves each start to the key frame at or before it, of the first video field that
    a loader reads, when the window is loaded: random clips then decode nothing that they do not
    show. The order and the number of windows stay, and `windows[i]` is as if not moved.

    `windows[i]`, slices and iteration follow epoch 0; `order(epoch)` gives the others. Immutable,
    picklable, thread-safe; as large as the spans. Raises WindowError for options that cannot be.
    """

    def __init__(
        self,
        spans: Spans,
        *,
        duration: Seconds,
        stride: Seconds | None = None,
        tail: Tail = "drop",
        shuffle: Shuffle = False,
        seed: int = 0,
        lanes: int = LANES,
        block: int = BLOCK,
        snap: Snap | None = None,
    ) -> None:
        self.snap = _checked_snap(snap)
        duration_ns = positive_ns("duration", duration)
        stride_ns = duration_ns if stride is None else positive_ns("stride", stride)
        windows = Tiling(spans, duration_ns, stride_ns, tail)
        self._settle(windows, Shuffling(shuffle, seed, lanes, block), 0, 1)

    @classmethod
    def at(
        cls,
        table: Iterable[Sequence[Any]],
        *,
        spans: Spans | None = None,
        shuffle: Shuffle = False,
        seed: int = 0,
        lanes: int = LANES,
        block: int = BLOCK,
        snap: Snap | None = None,
    ) -> Self:
        """Annotated clips: one window for each (recording, start_ns, duration, label) row.

        duration: seconds; None takes the whole recording, whatever start_ns says, and needs its
        span among `spans`. The label may be left out. Raises WindowError naming the row.
        """
        made = cls.__new__(cls)
        made.snap = _checked_snap(snap)
        made._settle(Clips(table, spans), Shuffling(shuffle, seed, lanes, block), 0, 1)
        return made

    @classmethod
    def mix(
        cls,
        windows: Sequence[Windows],
        weights: Sequence[Seconds] | None = None,
        seed: int = 0,
    ) -> Windows:
        """Several windows in turn, each in its own order, by weights.

        weights: relative shares of the positions (default: the lengths, so that nearly everything
        is used); of n consecutive positions each gets its share to within a few. Nothing repeats:
        the mix ends when one of them runs out. seed: for what a loader draws; turns need none.
        If some shuffle in blocks, all of those have the same lanes, the mix has them too and ends
        when a lane runs out. Window indices count through the parts. Raises WindowError.
        """
        if not windows or any(part.world_size > 1 for part in windows):
            raise WindowError("a mix is made of at least one whole windows: shard it afterwards")
        if len({part.snap for part in windows}) > 1:
            raise WindowError("windows to mix differ in snap")
        shares = None if weights is None else tuple(fractions_of("weights", weights))
        mixing = Mixing(tuple(part._ordering for part in windows), shares, seed)
        return windows[0]._derived(Joined([part._windows for part in windows]), mixing, 0, 1)

    def _settle(self, windows: WindowSet, ordering: Ordering, rank: int, world_size: int) -> None:
        permutation = ordering.permutation(windows, 0)
        super().__init__(windows, permutation, range(rank, permutation.size, world_size))
        self._ordering = ordering
        self._fingerprint: str | None = None

    def _derived(self, windows: WindowSet, ordering: Ordering, rank: int, world_size: int) -> Self:
        derived = copy.copy(self)  # so that a subclass keeps what it holds besides
        derived._settle(windows, ordering, rank, world_size)
        return derived

    def _with(self, windows: WindowSet) -> Self:
        return self._derived(windows, self._ordering, self.rank, self.world_size)

    def order(self, epoch: int) -> Order:
        """The windows in the order of an epoch: a view, of this rank's positions if sharded."""
        epoch = whole_number("epoch", epoch, 0)
        permutation = self._ordering.permutation(self._windows, epoch)
        return Order(self._windows, permutation, self._positions)

    @property
    def by_index(self) -> Order:
        """The windows of all ranks by `Window.index`, whatever the shuffle."""
        size = len(self._windows)
        return Order(self._windows, Straight(size), range(size))

    def select(self, windows: ArrayLike) -> Self:
        """Only some windows: a bool mask over `by_index`, or indices in the order wanted.

        Takes 8 bytes for each window kept. Raises WindowError for what names no window.
        """
        chosen = np.asarray(windows)
        size = len(self._windows)
        if chosen.dtype == np.bool_ and chosen.shape == (size,):
            chosen = np.flatnonzero(chosen)
        elif chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise WindowError(f"select takes {size} bools, or a list of window indices")
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < size:
            raise WindowError(f"select takes window indices from 0 to {size - 1}")
        return self._with(self._windows.pick(chosen.astype(np.int64)))

    def split(self, fractions: Sequence[Seconds]) -> tuple[Self, ...]:
        """Part the recordings, so that no recording is in two parts and each is in one.

        fractions: shares of the number of recordings, summing to 1, kept as nearly as whole
        recordings allow. Which recording goes where follows from the seed and their paths, not
        from their order. Raises WindowError.
        """
        shares = fractions_of("fractions", fractions)
        if min(shares) < 0 or abs(sum(shares, Fraction()) - 1) > Fraction(1, 10**6):
            raise WindowError(f"fractions must be shares that sum to 1, not {list(fractions)}")
        uris = sorted(set(self.recordings))
        drawn = [uris[i] for i in Shuffled(len(uris), self.seed).index(np.arange(len(uris)))]
        bounds = [0, *accumulate(apportion(len(uris), shares))]
        return tuple(
            self._with(self._windows.keep(set(drawn[start:stop])))
            for start, stop in pairwise(bounds)
        )

    def shard(self, rank: int | None = None, world_size: int | None = None) -> Self:
        """The positions that are ≡ rank modulo world_size.

        By default those of an initialised torch.distributed, else of the environment variables
        RANK and WORLD_SIZE, else all. With shuffle="blocks" the world size divides `lanes`, so
        that each block is one rank's. Raises WindowError, also if sharded otherwise before.
        """
        if (rank is None) != (world_size is None):
            raise WindowError("shard takes both rank and world_size, or neither")
        if rank is None or world_size is None:
            rank, world_size = place_among_processes()
        world_size = whole_number("world_size", world_size, 1)
        rank = whole_number("rank", rank, 0, world_size - 1)
        if self.world_size > 1 and (rank, world_size) != (self.rank, self.world_size):
            raise WindowError(f"these windows are rank {self.rank} of {self.world_size} already")
        if self.lanes and self.lanes % world_size:
            fitting = -(-self.lanes // world_size) * world_size
            problem = f"world_size={world_size} does not divide lanes={self.lanes}"
            raise WindowError(f"{problem}: make the windows with lanes={fitting}")
        return self._derived(self._windows, self._ordering, rank, world_size)

    def identity(self) -> dict[str, Any]:
        """Everything that decides which windows come in which order, as JSON has it.

        The rank and world size are no part of it. Two identities differ where windows do.
        """
        said = {"windows": self._windows.identity(), "order": self._ordering.identity()}
        return said | ({"snap": self.snap} if self.snap else {})

    def fingerprint(self) -> str:
        """A text that two windows share exactly if their identities are equal."""
        if self._fingerprint is None:
            self._fingerprint = digest(json.dumps(self.identity(), sort_keys=True).encode())
        return self._fingerprint

    @property
    def recordings(self) -> Recordings:
        """Paths or URLs of the spans, in their order."""
        return Recordings(self._windows.spans)

    @property
    def total(self) -> int:
        """Windows in an epoch over all ranks."""
        return self._permutation.size

    @property
    def duration_ns(self) -> int | None:
        """Duration of every window in ns; None if they differ."""
        return self._windows.duration_ns

    @property
    def stride_ns(self) -> int | None:
        """Step between the windows of a span in ns; None if there is no such step."""
        return self._windows.stride_ns

    @property
    def overlapping(self) -> bool:
        """Whether windows share times of a recording, as listed before any selection."""
        return self._windows.overlapping

    @property
    def shuffle(self) -> Shuffle:
        return self._ordering.shuffle

    @property
    def seed(self) -> int:
        return self._ordering.seed

    @property
    def lanes(self) -> int | None:
        """How many blocks are walked side by side; None unless shuffled in blocks."""
        return self._ordering.lanes

    @property
    def rank(self) -> int:
        return self._positions.start

    @property
    def world_size(self) -> int:
        return self._positions.step

    def __repr__(self) -> str:
        duration, stride = self.duration_ns, self.stride_ns
        parts = [f"{len(self) or 'no'} windows"]
        if duration is not None:
            parts[0] += f" of {duration / SECOND_NS:g} s"
        if stride is not None:
            parts[0] += f" every {stride / SECOND_NS:g} s"
        parts += [f"shuffle={self.shuffle!r}", f"seed={self.seed}"]
        if self.world_size > 1:
            parts.append(f"rank {self.rank} of {self.world_size}")
        return f"Windows({', '.join(parts)})"


def _checked_snap(snap: Snap | None) -> Snap | None:
    if snap not in (None, *get_args(Snap)):
        raise WindowError(f"snap is None or 'keyframe', not {snap!r}")
    return snap
