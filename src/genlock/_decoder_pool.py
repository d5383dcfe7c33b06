"""`DecoderPool`: open decoders, kept for the next window."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeGuard

from genlock._pool import ExclusivePool
from genlock._recent import Budget
from genlock._row_cache import RowCache
from genlock.interfaces import Decoder, Walker
from genlock.opened import Opened

SOUND_BYTES = 32 << 20
"""Decoded sound that is kept where nobody says how much: 80 s of 48 kHz stereo."""
PATIENCE = 8
"""Reads in a row that had to seek after which the next ones are taken to have to as well."""


class DecoderPool:
    """Keeps decoders of recordings open for the next window; each serves one thread at a time.

    capacity: how many. rows: frames that were decoded before; sounds: the same of sound. lanes:
    whether windows come in lanes, each of which goes on where its last window ended, so that
    decoders are left standing there.
    packets: how many have gone into decoders. gpu: index of the one that batches go to, if any;
    decoders that use a GPU take it.
    """

    def __init__(
        self,
        capacity: int,
        rows: RowCache | None = None,
        sounds: Budget | None = None,
        lanes: bool = False,
    ) -> None:
        self.rows = rows or RowCache(0)
        self.sounds = sounds or Budget(SOUND_BYTES)
        self.packets = 0
        self.gpu: int | None = None
        self._lanes = lanes
        self._leaps = 0
        self._pool: ExclusivePool[Decoder] = ExclusivePool(capacity)
        self._lock = threading.Lock()

    @contextmanager
    def lease(
        self,
        opened: Opened,
        stream: str,
        depth: bool,
        row: int | None = None,
        name: str = "auto",
    ) -> Iterator[Any]:
        """Borrow a decoder of a stream; an error inside closes it instead of keeping it.

        It fills the contract of `interfaces` that the stream's units call for. row: the first one
        wanted; the decoder that stands closest before it is lent. name: which, as `Video.decoder`.
        """
        key = (opened.uri, stream, depth, name)
        distance = None if row is None or not self._lanes else partial(_distance, row)
        make = partial(opened.decoder, stream, depth, self.sounds, name, self.gpu)
        with self._pool.lease(key, make, distance) as decoder:
            if not _walks(decoder):
                yield decoder
                return
            decoder.leaps = self._leap(decoder, row)
            before = decoder.units_decoded
            yield decoder
            if more := decoder.units_decoded - before:
                with self._lock:
                    self.packets += more

    def _leap(self, decoder: Walker, row: int | None) -> bool:
        """Whether what follows this read is likely to be elsewhere: all read of late was."""
        elsewhere = row is None or decoder.distance(row) is None
        with self._lock:
            self._leaps = self._leaps + 1 if elsewhere else 0
            return self._leaps > PATIENCE and not self._lanes

    def close(self) -> None:
        self._pool.close()
        self.rows.clear()
        self.sounds.clear()


def _distance(row: int, decoder: Decoder) -> int | None:
    """How far a decoder of packets is from a row; any other serves as well from anywhere."""
    return decoder.distance(row) if _walks(decoder) else 0


def _walks(decoder: Decoder) -> TypeGuard[Walker]:
    # to ask Python whether it keeps to the protocol takes as long as to read a second of sound
    return hasattr(decoder, "distance")
