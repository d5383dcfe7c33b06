"""A bar over the loader: it passes batches on, counts them, and is quiet off a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

import genlock as gl
from genlock.stats import StageStats

FIELDS = {"imu": gl.Sensor("imu", rate=100)}


def loader_of(sample: Path) -> gl.Loader:
    windows = gl.Windows([sample], duration=1.0, stride=1.0, shuffle=True)
    return gl.Loader(windows, FIELDS, batch_size=2)


def starts(batches: object) -> list[int]:
    return [window.start_ns for batch in batches for window in batch.windows]  # type: ignore[attr-defined]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_batches_pass_unchanged_under_a_bar(sample: Path) -> None:
    shown = Terminal()
    with loader_of(sample) as loader:
        seen = starts(loader.progress(file=shown, desc="epoch", mininterval=0))
        total, windows = len(loader), loader.windows
        assert seen == [windows.order(0)[i].start_ns for i in range(2 * total)]
        assert starts(loader.progress(disable=True)) != seen  # the next epoch
    last = shown.getvalue().split("\r")[-1]
    assert "epoch: 100%" in last
    assert f"{total}/{total}" in last
    assert "windows/s, waited " in last


def test_a_resumed_epoch_starts_where_it_was(sample: Path) -> None:
    with loader_of(sample) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
    shown = Terminal()
    with loader_of(sample) as loader:
        loader.load_state_dict(state)
        next(loader.progress(file=shown, mininterval=0))
        assert f" 1/{len(loader)} " in shown.getvalue()


def test_it_is_quiet_without_a_terminal(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with loader_of(sample) as loader:
        assert starts(loader.progress())
    assert capsys.readouterr() == ("", "")


def test_statistics_show_as_html(sample: Path) -> None:
    with loader_of(sample) as loader:
        for _ in loader:
            pass
        stats = loader.stats()
    page = stats._repr_html_()
    table = next(stage for stage in stats.stages if stage.name == "table")
    assert f"<tr><td>table<td>{table.threads}<td>{table.items}<td>{table.busy_s:.2f}" in page
    assert page.count("<tr>") == len(stats.stages) + 1
    assert f"{stats.batches} batches, {stats.windows} windows" in page
    assert stats.bottleneck in page


@pytest.mark.parametrize(
    ("waited_s", "load", "said"),
    [
        (0.4, 0.9, "The training loop is the bottleneck"),
        (1.2, 0.45, "No lasting bottleneck"),
        (1.2, 0.9, "The loader is the bottleneck"),
        (6.0, 0.45, "The loader is the bottleneck"),
    ],
)
def test_a_short_wait_for_idle_stages_blames_nobody(
    sample: Path, waited_s: float, load: float, said: str
) -> None:
    with loader_of(sample) as loader:
        blank = loader.stats()
    stage = StageStats("video", 2, 100, 20 * load, 1.0, load)
    stats = replace(blank, stages=(stage,), batches=9, elapsed_s=10.0, waited_s=waited_s)
    assert stats.bottleneck.startswith(said)
