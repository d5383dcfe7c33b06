"""Take the pictures of docs/images/ from the sample recording, in headless Chromium.

    python scripts/screenshots.py [FOLDER]

Needs the extra `test` and Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

import genlock as gl
from genlock import notebook, samples

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

from browser import Browser, chromium  # noqa: E402

FIELDS = {
    "rgb": gl.Video("camera-rgb", rate=10, size=(240, 320)),
    "depth": gl.Depth("depth", at="rgb", size=(240, 320)),
    "audio": gl.Audio("audio", rate=16_000, channels=1),
    "imu": gl.Sensor("imu", rate=200),
    "gaze": gl.Sensor("gaze", rate=60, max_gap=0.05),
    "pose": gl.Pose("pose", at="rgb", relative_to="first"),
    "what": gl.Labels("labels"),
}
MOST_BYTES = 150_000
COLOURS = 255
SEEK_S = 1.234
READY = "done(document.querySelector('video').readyState > 3)"
SHOWN = """
const video = document.querySelector(".window video");
video.addEventListener("seeked", () =>
  requestAnimationFrame(() => requestAnimationFrame(() => done(true))), {once: true});
document.querySelector(".window").player.seek(arguments[0]);
"""


def main(folder: Path) -> None:
    """Write every picture and say how large it is."""
    folder.mkdir(parents=True, exist_ok=True)
    with gl.open(samples.sample_folder(progress=True)) as recording:
        sample = recording.read(FIELDS, recording.start_ns + 4_000_000_000, 2.0)
        windows = recording.browse(FIELDS, duration=2.0, limit=4)
        overview = notebook.recording_page(recording).replace(recording.uri, "session")
    with tempfile.TemporaryDirectory() as scratch, chromium(Path(scratch) / "profile") as browser:
        page = Path(scratch) / "page.html"
        page.write_text(overview, encoding="utf-8")
        browser.open(page)
        save(folder / "recording.png", shot(browser))
        for name, player in (("player", sample.play()), ("browse", windows)):
            browser.open(player.save(page))
            browser.wait(
                lambda: browser.run("done(document.querySelector('video').readyState > 3)")
            )
            browser.run(SHOWN, SEEK_S)
            save(folder / f"{name}.png", shot(browser))
    picture = cv2.imdecode(np.frombuffer(notebook.plot_png(sample), np.uint8), cv2.IMREAD_COLOR)
    save(folder / "sample.png", picture)


def shot(browser: Browser) -> NDArray[np.uint8]:
    """The page as it is on screen, without the empty space below it."""
    png = browser.driver.get_screenshot_as_png()
    picture = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR)
    height = browser.run("done(document.body.getBoundingClientRect().height)")
    return picture[: round(height) + 8]


def save(path: Path, picture: NDArray[np.uint8]) -> None:
    """As a PNG with a palette, which is a third of the size. Raises if it is still large."""
    from PIL import Image

    image = Image.fromarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path}: {size / 1000:.0f} kB, {image.width}x{image.height}")
    if size > MOST_BYTES:
        raise SystemExit(f"{path} is larger than {MOST_BYTES} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
