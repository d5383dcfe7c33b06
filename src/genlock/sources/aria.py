"""A folder with one VRS recording, or with results of Aria's Machine Perception Services alone.

One with several of either opens not as a whole: `episodes` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence

from genlock.errors import LayoutError, OpenError
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._aria_folder import AriaFolder
from genlock.sources._mps import CLOCK, holds_results, result_tracks
from genlock.sources._vrs_track import TrackSource


def claims(location: Location, head: bytes) -> bool:
    """Whether this is a folder with a VRS recording in it, or with results."""
    if not location.is_folder():
        return False
    found = AriaFolder.of(location)
    return bool(found.recordings) or holds_results(found.results)


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> Source:
    """Open the recording, or the results. Raises OpenError for a folder with several recordings."""
    found = AriaFolder.of(location)
    if len(several := _alternatives(found)) > 1:
        names = ", ".join(one.name for one in several)
        raise OpenError(
            f"{location.uri} holds {len(several)} recordings: open one of {names}",
            recording=location.uri,
        )
    if found.recordings:
        return open_child(found.recordings[0], options)
    if options.unit is not None:
        message = f"{location.uri}: results state the unit of their times: leave unit= out"
        raise LayoutError(message, recording=location.uri)
    return TrackSource(location, CLOCK, result_tracks(found.results), {})


def episodes(location: Location) -> list[str]:
    """The uris of all recordings in a folder, each of which `open_source` opens."""
    several = _alternatives(AriaFolder.of(location))
    return [one.uri for one in several] if len(several) > 1 else [location.uri]


def _alternatives(found: AriaFolder) -> Sequence[Location]:
    """What in a folder is a recording of its own: VRS files, else folders of results."""
    return found.recordings or found.owned
