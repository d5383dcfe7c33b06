"""`Windows` over recordings named by path: opened once for their spans, and again when loaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from tqdm.auto import tqdm

from genlock import windows as pure
from genlock._field_order import check_fields
from genlock._nanoseconds import Seconds
from genlock._pool import SharedPool
from genlock.clock import ClockMap
from genlock.collection import expanded
from genlock.errors import GenlockError, WindowError
from genlock.fetch import plan_window
from genlock.fields import Fields
from genlock.index import Index
from genlock.interfaces import OpenOptions
from genlock.location import Location
from genlock.opened import Opened, span_of
from genlock.recording import Recording
from genlock.stream import Span

Reference = tuple[Location, OpenOptions, Mapping[str, ClockMap]]
"""How a recording was opened, so that a loader opens it the same way."""
PLAIN = OpenOptions()


class Windows(pure.Windows):
    """Windows over recordings: `genlock.windows.Windows` that takes paths, URLs and recordings.

    recordings: one or several; a folder of many stands for all of them (see `recordings`). over:
    names of the streams whose common span is tiled (default all but labels). on_error: "raise", or
    "skip" leaves unreadable recordings out and lists them in `skipped` as (recording, error).
    Other arguments: see `genlock.windows.Windows`.
    """

    skipped: Sequence[tuple[str, GenlockError]] = ()
    references: Mapping[str, Reference] = MappingProxyType({})

    def __init__(
        self,
        recordings: Any,
        *,
        duration: Seconds,
        over: Iterable[str] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        **options: Any,
    ) -> None:
        found = _Spans(over, on_error)
        super().__init__(found.read(recordings), duration=duration, **options)
        self.skipped, self.references = found.skipped, found.references

    @classmethod
    def at(
        cls,
        table: Iterable[Sequence[Any]],
        *,
        over: Iterable[str] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        **options: Any,
    ) -> Self:
        """Annotated clips: one window for each (recording, start_ns, duration, label) row.

        recording: a path, URL or open recording. duration: seconds; None takes the span that the
        streams of `over` have in common. The label may be left out.
        """
        found = _Spans(over, on_error)
        clips = [found.clip(number, row) for number, row in enumerate(table)]
        whole = {uri: target for uri, target, *rest in clips if len(rest) > 1 and rest[1] is None}
        spans = list(found.read(whole.values(), expand=False))
        rows = [(uri, *rest) for uri, _, *rest in clips]
        made = super().at(rows, spans=spans, **options)
        made.skipped, made.references = found.skipped, found.references
        return made

    @classmethod
    def mix(cls, windows: Sequence[pure.Windows], *args: Any, **options: Any) -> pure.Windows:
        mixed = super().mix(windows, *args, **options)
        if isinstance(mixed, cls):
            parts = [part for part in windows if isinstance(part, cls)]
            mixed.references = _joined_references(parts)
            mixed.skipped = [failure for part in parts for failure in part.skipped]
        return mixed

    def where(self, fields: Fields, min_valid: float = 1.0) -> Self:
        """Only windows in which every field has at least this share of valid grid entries.

        Decided by plans alone: nothing is decoded, but tables are read. With a progress bar.
        """
        order = check_fields(fields)
        fine = np.zeros(len(self.by_index), np.bool_)
        open_recording = recording_opener(self)
        with closing(SharedPool(1, open_recording)) as recordings:
            bar = tqdm(self.by_index, "where", unit="", delay=1, disable=None, leave=False)
            for i, window in enumerate(bar):
                with recordings.lease(window.recording) as opened:
                    jobs = plan_window(opened, fields, order, window)
                fine[i] = all(job.valid_share >= min_valid for job in jobs.values())
        return self.select(fine)


class _Spans:
    """Reads the spans of recordings, with a progress bar if it takes over a second."""

    def __init__(self, over: Iterable[str] | None, on_error: str) -> None:
        if on_error not in ("raise", "skip"):
            raise WindowError(f"on_error of windows is 'raise' or 'skip', not {on_error!r}")
        if not isinstance(over, Iterable | None):
            raise WindowError(f"over is a list of streams' names, not {over!r}")
        self.over = None if over is None else [over] if isinstance(over, str) else list(over)
        self.on_error = on_error
        self._seen: dict[str, Reference | None] = {}
        self._index = Index.of_user()
        self.skipped: list[tuple[str, GenlockError]] = []
        self.references: dict[str, Reference] = {}

    def read(self, recordings: Any, expand: bool = True) -> Iterator[Span]:
        """The spans, in order. expand: a folder of many recordings stands for all of them."""
        if isinstance(recordings, str | os.PathLike | bytes | Recording | Span):
            recordings = [recordings]
        bar = tqdm(recordings, "recordings", unit="", delay=1, disable=None, leave=False)
        for target in chain.from_iterable(map(self._expanded, bar)) if expand else bar:
            try:
                yield target if isinstance(target, Span) else self._span(target)
            except GenlockError as error:
                if self.on_error != "skip":
                    raise
                uri = target.uri if isinstance(target, Recording) else str(target)
                self.skipped.append((uri, error))

    def _expanded(self, target: Any) -> Iterable[Any]:
        try:
            return expanded(target) or (target,)
        except GenlockError:  # it is raised, or noted, when this is opened
            return (target,)

    def clip(self, number: int, row: Any) -> list[Any]:
        """A row of annotated clips with the recording's uri in front."""
        try:
            recording, *rest = row
        except (TypeError, ValueError) as error:
            raise WindowError(
                "clips are rows of (recording, start_ns, duration, label); "
                f"row {number} is {row!r:.80}"
            ) from error
        return [self.uri(recording), recording, *rest]

    def uri(self, target: Any) -> str:
        """The name of a recording, by which it can be opened again.

        Raises WindowError where one name would stand for a recording opened in two ways.
        """
        if isinstance(target, Recording):
            opened = target.opened
            reference = (opened.location, opened.options, opened.clocks)
        else:
            location = Location.of(target)
            reference = (location, PLAIN, {})
        uri = reference[0].uri
        special = None if reference == _plain(uri) else reference
        if self._seen.setdefault(uri, special) != special:
            raise _two_ways(uri)
        if special is not None:
            self.references[uri] = special
        return uri

    def _span(self, target: Any) -> Span:
        uri = self.uri(target)
        if isinstance(target, Recording):
            return target.opened.span(self.over)
        return span_of(*(self.references.get(uri) or _plain(uri)), self.over, self._index)


def recording_opener(windows: pure.Windows) -> Callable[[str], Opened]:
    """How a loader opens the recordings of these windows, with the options they came with."""
    references: Mapping[str, Reference] = getattr(windows, "references", {})
    return partial(_open_reference, references)


def _open_reference(references: Mapping[str, Reference], uri: str) -> Opened:
    location, options, clocks = references.get(uri) or _plain(uri)
    return Opened(location, options, clocks)


def _plain(uri: str) -> Reference:
    """How a recording is opened that is named by its path alone."""
    return Location(uri), PLAIN, {}


def _two_ways(uri: str) -> WindowError:
    return WindowError(
        f"{uri} is here twice, opened in different ways (options, clocks or content): windows "
        "name a recording by its path, so give it once, or through links of different names",
        recording=uri,
    )


def _joined_references(parts: Sequence[Windows]) -> dict[str, Reference]:
    """The references of all parts. Raises WindowError where two parts differ about a recording."""
    joined = {uri: reference for part in parts for uri, reference in part.references.items()}
    for part in parts if joined else ():
        for uri in joined.keys() & set(part.recordings):
            if part.references.get(uri) != joined[uri]:
                raise _two_ways(uri)
    return joined
