"""The player in a real browser: cursor, shown frame and highlighted rows agree."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import browser as real_browser
import genlock as gl
from browser import Browser
from genlock import samples
from genlock.batch import Sample

pytestmark = [
    pytest.mark.skipif(bool(real_browser.missing()), reason=real_browser.missing()),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

RATE, SECONDS = 10, 2.0
STATE = """
const section = document.querySelector(".window:not([hidden])");
const video = section.querySelector("video");
const over = section.querySelector(".over").getBoundingClientRect();
const cursor = section.querySelector(".cursor").getBoundingClientRect();
const rows = {};
for (const track of section.querySelectorAll(".track"))
  rows[track.querySelector("b").textContent] = Number(track.dataset.row);
const canvas = document.createElement("canvas");
canvas.width = video.videoWidth; canvas.height = video.videoHeight;
canvas.getContext("2d").drawImage(video, 0, 0);
done({time: video.currentTime, paused: video.paused, rate: video.playbackRate,
      shown: Number(section.dataset.frame), at: Number(section.dataset.time),
      cursor: (cursor.left - over.left) / over.width, rows: rows,
      picture: canvas.toDataURL("image/png")});
"""
SEEK = """
const section = document.querySelector(".window:not([hidden])");
section.querySelector("video").addEventListener("seeked", () =>
  requestAnimationFrame(() => requestAnimationFrame(() => done(true))), {once: true});
"""
SEEK_TO = SEEK + "section.player.seek(arguments[0]);"
STEP_BY = SEEK + "section.querySelector(arguments[0]).click();"


@pytest.fixture(scope="module")
def recording(sample: Path) -> Iterator[gl.Recording]:
    with gl.open(sample) as opened:
        yield opened


@pytest.fixture(scope="module")
def window(recording: gl.Recording) -> Sample:
    fields = {
        "rgb": gl.Video("camera-rgb", rate=RATE, size=(240, 320)),
        "audio": gl.Audio("audio", rate=16_000, channels=1),
        "imu": gl.Sensor("imu", rate=200),
        "gaze": gl.Sensor("gaze", rate=60, max_gap=0.05),
        "pose": gl.Pose("pose", at="rgb", relative_to="first"),
        "what": gl.Labels("labels"),
    }
    return recording.read(fields, recording.start_ns + 4_000_000_000, SECONDS)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with real_browser.chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def player(browser: Browser, window: Sample, tmp_path: Path) -> Iterator[Browser]:
    browser.open(window.play().save(tmp_path / "player.html"))
    browser.wait(lambda: browser.run("done(document.querySelector('video').readyState > 3)"))
    yield browser
    assert browser.complaints() == []
    assert browser.requests() == []


def frame_on_screen(state: dict[str, str], window: Sample) -> int:
    """Which of the window's frames the browser shows, by the index painted into it."""
    png = base64.b64decode(state["picture"].split(",")[1])
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    index = samples.frame_index(picture.repeat(2, axis=0).repeat(2, axis=1))
    sources = samples.seconds_after_zero(window.source_times["rgb"])
    first = samples.stamps_ns("camera-rgb", 10.0)[0]
    offset = samples.seconds_after_zero(np.array([first]))[0]
    return int(np.abs(sources - (offset + index / 30)).argmin())


def check_agreement(state: dict[str, object], window: Sample) -> None:
    """Cursor, picture and rows stand at one time, within one frame."""
    time = state["at"]
    assert isinstance(time, float | int)
    assert state["cursor"] == pytest.approx(time / SECONDS, abs=0.002)
    assert abs(frame_on_screen(state, window) - time * RATE) <= 1 + 1e-6
    assert state["shown"] == int(time * RATE + 1e-3)
    for name, row in state["rows"].items():
        if name not in ("audio", "what"):
            grid = (window.times[name] - window.window.start_ns) / 1e9
            assert row == int(np.abs(grid - time).argmin()), name


@pytest.mark.parametrize("time", [0.0005, 0.31, 0.75, 1.234, 1.98])
def test_seeking(player: Browser, window: Sample, time: float) -> None:
    player.run(SEEK_TO, time)
    state = player.run(STATE)
    assert state["at"] == pytest.approx(time, abs=0.002)
    assert frame_on_screen(state, window) == int(time * RATE)
    check_agreement(state, window)


def test_stepping_shows_each_frame_in_turn(player: Browser, window: Sample) -> None:
    player.run(SEEK_TO, 0.65)
    shown = []
    for button in (".forward", ".forward", ".back", ".back", ".back"):
        player.run(STEP_BY, button)
        state = player.run(STATE)
        check_agreement(state, window)
        shown.append((state["shown"], frame_on_screen(state, window)))
    assert shown == [(7, 7), (8, 8), (7, 7), (6, 6), (5, 5)]


def test_playing_moves_the_cursor_with_the_picture(player: Browser, window: Sample) -> None:
    player.run(
        "document.querySelector('.rate').value = '0.5';"
        "document.querySelector('.rate').dispatchEvent(new Event('change')); done();"
    )
    player.click(".play")
    player.wait(lambda: player.run("done(document.querySelector('video').currentTime > 0.5)"))
    state = player.run(STATE)
    assert state["rate"] == 0.5 and not state["paused"]
    assert abs(state["time"] - state["at"]) <= 1 / RATE
    check_agreement(state, window)
    player.click(".play")
    player.wait(lambda: player.run(STATE)["paused"])
    check_agreement(player.run(STATE), window)


def test_playing_to_the_end_stops_there(player: Browser) -> None:
    player.run(SEEK_TO, 1.7)
    player.click(".play")
    player.wait(lambda: player.run("done(document.querySelector('video').ended)"))
    state = player.run(STATE)
    assert state["time"] == pytest.approx(SECONDS, abs=0.05)
    assert state["shown"] == RATE * SECONDS - 1


def test_clicking_a_track_seeks(player: Browser) -> None:
    from selenium.webdriver import ActionChains

    svg = player.driver.find_elements("css selector", ".track svg")[2]
    ActionChains(player.driver).move_to_element(svg).click().perform()
    player.wait(lambda: player.run(STATE)["at"] > 0)
    assert player.run(STATE)["at"] == pytest.approx(SECONDS / 2, abs=0.01)


def test_browsing_shows_one_window_at_a_time(
    browser: Browser, recording: gl.Recording, tmp_path: Path
) -> None:
    fields = {"imu": gl.Sensor("imu", rate=50)}
    shown = recording.browse(fields, duration=1.0, stride=2.0, limit=3)
    browser.open(shown.save(tmp_path / "windows.html"))
    starts = """done([...document.querySelectorAll(".window:not([hidden])")].map(
        (section) => section.player.facts.start))"""
    first = recording.start_ns
    assert browser.run(starts) == [str(first)]
    browser.click(".next")
    assert browser.run(starts) == [str(first + 2_000_000_000)]
    browser.click(".choice:nth-of-type(4)")
    browser.click(".next")
    assert browser.run(starts) == [str(first + 4_000_000_000)]
    browser.click(".previous")
    assert browser.run(starts) == [str(first + 2_000_000_000)]
    assert browser.complaints() == [] and browser.requests() == []


def test_two_players_in_one_page_do_not_meet(
    browser: Browser, window: Sample, recording: gl.Recording, tmp_path: Path
) -> None:
    """As in an exported notebook: frames side by side under the page's own styles."""
    views = [window.play(), window.play(), recording]
    frames = "".join(view._repr_html_() for view in views)
    host = tmp_path / "notebook.html"
    style = "<style>.cursor, .name, svg { display: none }</style>"
    icon = "<link rel='icon' href='data:,'>"
    host.write_text(f"<!doctype html>{icon}{style}<p>{escape('a < b')}</p>{frames}")
    browser.open(host)
    inside = "document.querySelectorAll('iframe')[arguments[0]].contentDocument"
    ready = f"done(!!{inside}?.querySelector('.window')?.player)"
    browser.wait(lambda: browser.run(ready, 0) and browser.run(ready, 1))
    seek = f"""
    const section = {inside}.querySelector(".window");
    const video = section.querySelector("video");
    video.addEventListener("seeked", () => done(section.dataset.frame), {{once: true}});
    section.player.seek(1.25);"""
    assert browser.run(seek, 0) == "12"
    time = f"done({inside}.querySelector('.window').dataset.frame)"
    assert browser.run(time, 1) == "0"
    fits = f"""const page = {inside}.documentElement;
    done([page.scrollHeight - page.clientHeight, page.querySelectorAll("img, .window").length])"""
    for i, drawn in enumerate((1, 1, 2)):
        hidden, count = browser.run(fits, i)
        assert hidden <= 0 and count == drawn
    assert browser.complaints() == [] and browser.requests() == []


def test_the_browser_notices_errors_and_requests(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    script = "<script>fetch('http://127.0.0.1:9/x').catch(() => 0); nothing.here;</script>"
    page.write_text(f"<!doctype html><link rel='icon' href='data:,'>{script}")
    browser.open(page)
    assert browser.requests() == ["http://127.0.0.1:9/x"]
    assert any("nothing is not defined" in line for line in browser.complaints())
