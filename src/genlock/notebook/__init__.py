"""Look at data: pictures of recordings and samples for notebooks and files.

| module         | holds                                                                 |
|----------------|-----------------------------------------------------------------------|
| `_facts.py`    | what a stream's times say: rate, jitter, gaps, lost rows              |
| `_overview.py` | a recording's streams on one time axis, as HTML                       |
| `_choice.py`   | fields for a first look                                               |
| `_series.py`   | a sample's fields as series on one time axis                          |
| `_panels.py`   | how each kind of series is plotted; `_plot.py` puts them together     |
| `_tracks.py`   | series as SVG; `_clip.py`: pictures and sound as WebM                 |
| `_player.py`   | the page that plays windows; `player.js` and `player.css` are its own |
| `_pictures.py` | frames as RGB and JPEG; `_page.py`: pieces of HTML                    |

Pages are self-contained: they work in Jupyter, in exported HTML and from a file. Only the plots
need matplotlib (`pip install 'genlock[notebook]'`).
"""

from __future__ import annotations

import base64

from tqdm.auto import tqdm

from genlock._nanoseconds import Seconds, to_ns
from genlock.batch import Sample
from genlock.errors import MissingExtraError
from genlock.fields import Fields
from genlock.notebook._choice import default_fields
from genlock.notebook._overview import recording_html, recording_page
from genlock.notebook._page import element
from genlock.notebook._player import Player
from genlock.notebook._plot import plot, plot_png, plot_streams
from genlock.recording import Recording

__all__ = [
    "Player",
    "browse",
    "default_fields",
    "play",
    "plot",
    "plot_png",
    "plot_streams",
    "recording_html",
    "recording_page",
    "sample_html",
]


def play(sample: Sample) -> Player:
    """A player for a sample: its pictures side by side, its first sound, all its traces."""
    return Player([sample])


def browse(
    recording: Recording,
    fields: Fields | None = None,
    *,
    duration: Seconds = 2.0,
    stride: Seconds | None = None,
    start_ns: int | None = None,
    limit: int = 12,
) -> Player:
    """A player for several windows of a recording, made in advance, with buttons between them.

    fields: default `default_fields(recording)`. duration: seconds of each window. stride: seconds
    between their starts; by default `limit` windows are spread over the recording, back to back
    where they fit. start_ns: of the first window. limit: most windows, since each adds its clip
    to the page.
    """
    fields = default_fields(recording) if fields is None else fields
    first = recording.start_ns if start_ns is None else int(start_ns)
    room, length = recording.end_ns - first, to_ns(duration)
    spread = max(length, (room - length) // max(1, limit - 1))
    step = max(1, spread if stride is None else to_ns(stride))
    count = max(1, min(limit, 1 + (room - length) // step))
    bar = tqdm(range(count), "windows", unit="", delay=1, disable=None, leave=False)
    return Player([recording.read(fields, first + i * step, duration) for i in bar])


def sample_html(sample: Sample) -> str | None:
    """The plot of a sample as an HTML image, or None without matplotlib."""
    try:
        png = plot_png(sample)
    except MissingExtraError:
        return None
    data = base64.b64encode(png).decode()
    name = f"{sample.window.recording} at {sample.window.start_ns} ns"
    return element("img", src=f"data:image/png;base64,{data}", alt=name, style="max-width:100%")
