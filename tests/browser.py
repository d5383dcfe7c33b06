"""A real browser for tests: headless Chromium that reports errors and network requests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,1000",
    "--autoplay-policy=no-user-gesture-required",
)
PATIENCE_S = 30


def missing() -> str:
    """Why there is no browser to test in, or an empty text."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed (the extra 'test')"
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        return "no chromium (apt-get install chromium chromium-driver)"
    return ""


class Browser:
    """Pages opened from files, and what they did."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path | str) -> None:
        """Open a page from a file, or a URL, and forget what was logged before."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(page if isinstance(page, str) else page.resolve().as_uri())

    def run(self, script: str, *arguments: object) -> Any:
        """What a script returns; `done(value)` ends one that has to wait."""
        return self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];" + script, *arguments
        )

    def wait(self, condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
        """Until a condition holds. Raises TimeoutException."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, seconds, 0.05).until(lambda _: condition())

    def click(self, selector: str) -> None:
        """Click the first visible element of a CSS selector."""
        found = self.driver.find_elements("css selector", selector)
        next(element for element in found if element.is_displayed()).click()

    def complaints(self) -> list[str]:
        """Errors and warnings of the console since `open`."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """URLs asked for since `open`, other than files, data and the browser's own."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        urls = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith(("file:", "data:", "about:", "chrome:"))]


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile in a folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    driver.set_script_timeout(PATIENCE_S)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
