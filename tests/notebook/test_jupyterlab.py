"""The notebook `explore` in a JupyterLab that runs: every cell works, views show, clips play.

Needs jupyterlab, which nothing else here does: `make test-lab`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browser as real_browser
from browser import Browser
from genlock.notebook._page import DROPPED

pytestmark = [
    pytest.mark.timeout(600),  # where there is no sample recording yet, the notebook writes one
    pytest.mark.skipif(
        importlib.util.find_spec("jupyterlab") is None, reason="no jupyterlab: make test-lab"
    ),
    pytest.mark.skipif(bool(real_browser.missing()), reason=real_browser.missing()),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

USERS = dict(os.environ)
"""The environment before tests got a cache of their own: the sample recording is in the user's."""
NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "explore.ipynb"
LONGEST_RUN_S = 300
READY = """
const shown = window.jupyterapp?.shell.currentWidget;
done(!!shown?.context?.isReady && !!shown.content.widgets?.length
     && (!arguments[0] || shown.sessionContext?.session?.kernel?.status === "idle"));
"""
COMMAND = """
window.outcome = "";
window.jupyterapp.commands.execute(arguments[0]).then(
    () => { window.outcome = "done"; }, (error) => { window.outcome = String(error); });
done();
"""
OUTPUTS = """
const cells = window.jupyterapp.shell.currentWidget.content.widgets;
done(cells.filter((cell) => cell.model.type === "code")
          .flatMap((cell) => cell.outputArea.model.toJSON()));
"""
PAGES = """
const pages = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument);
const players = pages.map((page) => page.querySelector(".window")?.player).filter(Boolean);
"""
FITS = f"""{PAGES}
done(pages.map(({{documentElement: page}}) => page.scrollHeight - page.clientHeight));
"""
LOADED = f"{PAGES} done(players.length === 2 && players.every((p) => p.video.readyState > 3));"
PLAY = f"""{PAGES}
const [player] = players;
player.video.addEventListener("ended", () => done({{
    time: player.video.currentTime, shown: Number(player.section.dataset.frame),
    count: player.facts.frames.length, cursor: player.cursor.style.left}}));
player.section.scrollIntoView();
player.seek(player.facts.seconds - 0.3);
player.section.querySelector(".play").click();
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server with settings of its own: its address and the folder of its notebooks."""
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    folder.mkdir()
    shutil.copy(NOTEBOOK, folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    own = {f"JUPYTER_{name}": str(home / name) for name in settings} | {"IPYTHONDIR": str(home)}
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": "",
        "LabApp.expose_app_in_browser": True,
        "LabApp.news_url": None,
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *given]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**USERS, **own})
    try:
        yield f"http://127.0.0.1:{port}", folder
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def browser(
    lab: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Browser, str]]:
    """A browser at a server that answers."""
    address, _ = lab

    def answers() -> bool:
        try:
            return bool(urllib.request.urlopen(f"{address}/api").status == 200)
        except OSError:
            return False

    with real_browser.chromium(tmp_path_factory.mktemp("profile")) as opened:
        opened.wait(answers, LONGEST_RUN_S)
        yield opened, address


def show(browser: Browser, address: str, name: str, kernel: bool) -> None:
    browser.open(f"{address}/lab/tree/{name}?reset")
    browser.wait(lambda: browser.run(READY, kernel), LONGEST_RUN_S)


def run_command(browser: Browser, name: str) -> None:
    browser.run(COMMAND, name)
    browser.wait(lambda: browser.run("done(window.outcome)"), LONGEST_RUN_S)
    assert browser.run("done(window.outcome)") == "done"


def test_the_notebook_runs_shows_and_plays(
    browser: tuple[Browser, str], lab: tuple[str, Path]
) -> None:
    page, address = browser
    show(page, address, NOTEBOOK.name, kernel=True)
    run_command(page, "notebook:run-all-cells")
    outputs: list[dict[str, Any]] = page.run(OUTPUTS)
    assert [output for output in outputs if output["output_type"] == "error"] == []
    html = [output.get("data", {}).get("text/html", "") for output in outputs]
    assert sum("<iframe" in "".join(text) for text in html) == 3
    page.wait(lambda: page.run(LOADED), LONGEST_RUN_S)
    assert max(page.run(FITS)) <= 0
    end = page.run(PLAY)
    assert end["shown"] == end["count"] - 1 and end["time"] == pytest.approx(2.0, abs=0.05)
    assert end["cursor"] == "100%"  # also where the last block of sound reaches beyond the window
    elsewhere = [url for url in page.requests() if not url.startswith((address, "blob:", "ws:"))]
    assert elsewhere == []
    run_command(page, "docmanager:save")


def test_a_notebook_that_is_not_trusted_says_what_is_missing(
    browser: tuple[Browser, str], lab: tuple[str, Path]
) -> None:
    """As when somebody sends one: its outputs are not signed here."""
    page, address = browser
    _, folder = lab
    notebook = json.loads((folder / NOTEBOOK.name).read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code[0]["source"] = ["1 + 1"]
    (folder / "sent.ipynb").write_text(json.dumps(notebook))
    show(page, address, "sent.ipynb", kernel=False)
    shown = """done([...document.querySelectorAll(".jp-RenderedHTML")].map(
        (view) => [view.querySelectorAll("iframe").length, view.innerText.trim()]))"""
    page.wait(lambda: page.run(shown), LONGEST_RUN_S)
    views = page.run(shown)
    assert views and all(frames == 0 for frames, _ in views)
    assert [0, DROPPED] in views
