"""`Player`: windows as clips with sound over their sensor traces, in one self-contained page."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path

from genlock._nanoseconds import SECOND_NS
from genlock.batch import Sample
from genlock.errors import FieldError
from genlock.notebook._clip import frame_ms, webm
from genlock.notebook._page import asset, element, framed, page
from genlock.notebook._series import Series, series_of
from genlock.notebook._tracks import tracks

RATES = (0.1, 0.25, 0.5, 1, 2)
CHROME_PX, TRACK_PX, PICTURE_PX = 84, 59, 270
"""Heights in CSS pixels, as in player.css."""
DEFAULT_STEP_S = 1 / 30


class Player:
    """A page that plays one window, or one of several at a time; shows itself in a notebook.

    Clips are WebM (VP8, Vorbis) inside the page; nothing is loaded from elsewhere.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        if not samples:
            raise FieldError("there is no window to play")
        clips = [_Clip(sample) for sample in samples]
        self.clips = [clip.webm for clip in clips]
        choices = _choices(samples) if len(samples) > 1 else ""
        sections = "".join(clip.section() for clip in clips)
        title = f"{samples[0].window.recording} at {samples[0].window.start_ns} ns"
        self.html = page(title, choices + sections, asset("player.css"), asset("player.js"))
        self._height = (40 if choices else 0) + max(clip.height for clip in clips)

    def _repr_html_(self) -> str:
        return framed(self.html, self._height)

    def __repr__(self) -> str:
        size = sum(map(len, self.clips)) / 1e6
        return f"Player({len(self.clips)} windows, {size:.1f} MB of clips)"

    def save(self, path: str | Path) -> Path:
        """Write the page, or with the suffix .webm the first clip alone."""
        target = Path(path)
        if target.suffix == ".webm":
            target.write_bytes(self.clips[0])
        else:
            target.write_text(self.html, encoding="utf-8")
        return target


def _choices(samples: Sequence[Sample]) -> str:
    first_ns = min(sample.window.start_ns for sample in samples)
    buttons = [
        element("button", f"{(s.window.start_ns - first_ns) / SECOND_NS:.1f} s", class_="choice")
        for s in samples
    ]
    back = element("button", "Earlier", class_="previous", title="Page up")
    forward = element("button", "Later", class_="next", title="Page down")
    return element("nav", back + "".join(buttons) + forward)


class _Clip:
    """One window of the page."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._seconds = sample.window.duration_ns / SECOND_NS
        series = series_of(sample)
        self._pictures = [s for s in series if s.kind in ("pictures", "depth") and len(s.mask)]
        sound = next((s for s in series if s.kind == "audio"), None)
        self._tracks = tracks(sample)
        self.webm = webm(self._pictures, sound, self._seconds)
        picture = PICTURE_PX if self._pictures else 0
        self.height = CHROME_PX + picture + TRACK_PX * len(self._tracks)

    def section(self) -> str:
        """The window's HTML."""
        data = base64.b64encode(self.webm).decode()
        video = element(
            "video",
            src=f"data:video/webm;base64,{data}",
            preload="auto",
            class_=None if self._pictures else "sound",
        )
        rows = "".join(html for html, _ in self._tracks)
        over = element("div", element("div", class_="cursor"), class_="over")
        window = self._sample.window
        where = f"{window.recording} at {window.start_ns} ns"
        body = video + _bar() + element("div", rows + over, class_="tracks")
        body += element("script", self._facts(), type="application/json")
        return element("section", body, class_="window", title=where)

    def _facts(self) -> str:
        facts = {
            "seconds": self._seconds,
            "start": str(self._sample.window.start_ns),
            "frames": _frame_seconds(self._pictures, self._seconds),
            "tracks": [track for _, track in self._tracks],
        }
        return json.dumps(facts, separators=(",", ":")).replace("<", "\\u003c")


def _frame_seconds(pictures: Sequence[Series], seconds: float) -> list[float]:
    if pictures:
        return [stamp / 1000 for stamp in frame_ms(pictures[0])]
    return [i * DEFAULT_STEP_S for i in range(max(1, round(seconds / DEFAULT_STEP_S)))]


def _bar() -> str:
    options = [
        element("option", f"{rate:g}×", value=rate, **({"selected": ""} if rate == 1 else {}))
        for rate in RATES
    ]
    return element(
        "div",
        element("button", "Play", class_="play", title="space")
        + element("button", "‹ frame", class_="back", title="left arrow")
        + element("button", "frame ›", class_="forward", title="right arrow")
        + element("select", "".join(options), class_="rate", title="playback rate")
        + element("span", class_="clock"),
        class_="bar",
    )
