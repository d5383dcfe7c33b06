"""What recordings, samples and batch rows show of themselves."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import genlock as gl
from genlock import notebook
from genlock.batch import Sample
from genlock.notebook._series import series_of, shortened
from genlock.stream import Label
from genlock.windows import Window


@pytest.fixture(scope="module")
def recording(sample: Path) -> Iterator[gl.Recording]:
    with gl.open(sample) as opened:
        yield opened


FIELDS: dict[str, Any] = {
    "rgb": gl.Video("camera-rgb", rate=10, size=(60, 80)),
    "depth": gl.Depth("depth", at="rgb", size=(60, 80)),
    "audio": gl.Audio("audio", rate=8000, channels=1),
    "imu": gl.Sensor("imu", rate=100),
    "gaze": gl.Sensor("gaze"),
    "pose": gl.Pose("pose", at="rgb"),
    "what": gl.Labels("labels"),
}


def test_traces_are_named_by_their_columns(recording: gl.Recording) -> None:
    picked = gl.Sensor("imu", rate=10, columns=["az", "gx"])
    fields = FIELDS | {"picked": picked, "pose as numbers": gl.Sensor("pose", rate=10)}
    names = {
        "imu": ("gx", "gy", "gz", "ax", "ay", "az"),
        "picked": ("az", "gx"),
        "gaze": ("yaw", "pitch"),
        "pose": ("tx", "ty", "tz", "qx", "qy", "qz", "qw"),
    }
    windows = gl.Windows(recording, duration=1.0, stride=1.7)
    with gl.Loader(windows, fields, batch_size=2) as loader:
        row = next(iter(loader)).sample(1)
    for window in (row, recording.read(fields, recording.start_ns, 1.0)):
        series = {s.name: s for s in series_of(window)}
        assert {name: series[name].labels for name in names} == names
        assert {name: window.columns[name] for name in names} == names
        page = window.play().html
        assert '"names":["az","gx"]' in page


def test_values_that_a_transform_made_have_no_names(recording: gl.Recording) -> None:
    def norm(sample: Sample, rng: np.random.Generator) -> Sample:
        sample["imu"] = np.linalg.norm(sample["imu"][:, :3], axis=1, keepdims=True)
        return sample

    windows = gl.Windows(recording, duration=1.0)
    with gl.Loader(windows, FIELDS, batch_size=2, transform=norm) as loader:
        row = next(iter(loader)).sample(0)
    series = {s.name: s for s in series_of(row)}
    assert "imu" not in row.columns and series["imu"].labels == ("0",)
    assert row.columns["gaze"] == series["gaze"].labels


def test_kinds_are_told_by_shape(recording: gl.Recording) -> None:
    window = recording.read(FIELDS, recording.start_ns + 2_000_000_000, 1.0)
    series = {s.name: s for s in series_of(window)}
    assert {name: s.kind for name, s in series.items()} == {
        "rgb": "pictures",
        "depth": "depth",
        "audio": "audio",
        "imu": "sensor",
        "gaze": "sensor",
        "pose": "pose",
    }
    assert all(len(s.seconds) == len(s.mask) for s in series.values())
    assert series["audio"].seconds[4000] == pytest.approx(0.5, abs=1e-3)
    masked = ~window.mask["gaze"]
    assert np.isnan(series["gaze"].traces[:, masked]).all()


def test_a_batch_row_is_the_window_read_alone(recording: gl.Recording) -> None:
    windows = gl.Windows(recording, duration=1.0, stride=1.7)
    with gl.Loader(windows, FIELDS, batch_size=3) as loader:
        batch = next(iter(loader))
    for i, window in enumerate(batch.windows):
        row, alone = batch.sample(i), recording.read(FIELDS, window.start_ns, 1.0)
        assert list(row) == list(alone) and row.window == window
        for name in FIELDS:
            if name == "what":
                assert row[name] == alone[name]
                continue
            np.testing.assert_array_equal(row[name], alone[name])
            for part in ("mask", "times", "source_times", "lengths", "intrinsics"):
                pair = getattr(row, part).get(name), getattr(alone, part).get(name)
                np.testing.assert_array_equal(*pair)


def test_a_recording_shows_every_stream_with_its_numbers(recording: gl.Recording) -> None:
    page = notebook.recording_page(recording)
    for name in recording.streams:
        assert f"<b>{name}</b>" in page
    assert "48,000 Hz · 473,088 rows" in page
    assert page.count("<img ") == 2
    assert f"from {recording.start_ns} ns" in page
    assert not re.search(r"https?://", page)
    assert recording._repr_html_().startswith("<iframe srcdoc=")


def test_names_from_files_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "a<b>.csv").write_text("t_ns,x\n" + "".join(f"{i}000000,1\n" for i in range(9)))
    with gl.open(tmp_path / "a<b>.csv") as recording:
        page = notebook.recording_page(recording)
        shown = recording.browse(duration=0.005, limit=1).html
    for html in (page, shown):
        assert "<b>.csv" not in html and "a&lt;b&gt;" in html


def test_a_stream_with_a_problem_is_listed_with_it(tmp_path: Path) -> None:
    (tmp_path / "imu.csv").write_text("t,x\n1,2\n2,3\n3,4\n")
    with gl.open(tmp_path / "imu.csv") as recording:
        problem = recording.streams["imu"].problem
        page = notebook.recording_page(recording)
    assert problem is not None and "<em title=" in page and "no rows with times" in page


@pytest.mark.parametrize("name", ["aria-mps", "euroc-micro", "gopro-gpmf", "hot3d-quest3", "neon"])
def test_real_recordings_are_shown_and_browsed(real: Path, name: str) -> None:
    with gl.open(real / name) as recording:
        page = notebook.recording_page(recording)
        shown = recording.browse(duration=0.4, limit=1)
        usable = [s for s in recording.streams.values() if s.problem is None and len(s.timeline)]
    assert page.count('class="stream"') == len(recording.streams)
    assert page.count("<svg") == len(usable)
    assert page.count('class="marks"') == 1
    assert shown.html.count('class="track"') >= 1


def test_unrelated_clocks_have_axes_of_their_own(real: Path) -> None:
    with gl.open(real / "video-vfr") as recording:
        page = notebook.recording_page(recording)
    assert "2 unrelated clocks" in page and 'class="marks"' not in page


def test_the_plot_of_a_sample_shows_masks_grid_and_path(recording: gl.Recording) -> None:
    window = recording.read(FIELDS, recording.start_ns + 4_000_000_000, 2.0)
    figure = notebook.plot(window)
    names = [axis.get_ylabel() for axis in figure.axes if axis.get_ylabel() in FIELDS]
    assert names == ["rgb", "depth", "audio", "imu", "gaze", "pose", "what"]
    flat = [axis for axis in figure.axes if axis.name != "3d"]
    assert {axis.get_xlim() for axis in flat if axis.get_ylabel() in FIELDS} == {(0.0, 2.0)}
    gaze = next(axis for axis in figure.axes if axis.get_ylabel() == "gaze")
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in gaze.patches]
    grid = (window.times["gaze"] - window.window.start_ns) / 1e9
    masked = grid[~window.mask["gaze"]]
    assert len(masked) and spans[0][0] == masked[0] and spans[-1][1] > masked[-1]
    path = next(axis for axis in figure.axes if axis.name == "3d")
    np.testing.assert_allclose(path.lines[0].get_data_3d(), window["pose"][:, :3].T, rtol=1e-6)
    picture = Image.open(io.BytesIO(notebook.plot_png(window)))
    assert picture.size[0] == 880
    assert "data:image/png;base64," in (window._repr_html_() or "")


def test_streams_are_plotted_in_seconds(recording: gl.Recording) -> None:
    axis = notebook.plot_streams(recording).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == list(recording.streams)


def test_browsing_spreads_windows_over_the_recording(recording: gl.Recording) -> None:
    fields = {"imu": gl.Sensor("imu", rate=20)}
    shown = recording.browse(fields, duration=1.0, limit=3)
    starts = [int(start) for start in re.findall(r'"start":"(\d+)"', shown.html)]
    assert starts[0] == recording.start_ns and len(starts) == 3
    assert recording.end_ns - 1_000_000_003 <= starts[-1] <= recording.end_ns - 1_000_000_000
    assert len(recording.browse(fields, duration=4.0).clips) == 2


def test_default_fields_take_every_stream(recording: gl.Recording) -> None:
    fields = notebook.default_fields(recording, height=120)
    assert list(fields) == list(recording.streams)
    video = fields["camera-rgb"]
    assert isinstance(video, gl.Video) and video.size == (120, 160) and video.rate == 15
    window = recording.read(fields, recording.start_ns + 1_000_000_000, 0.5)
    assert window["camera-rgb"].shape == (8, 3, 120, 160)


def test_a_sample_of_labels_alone_and_an_empty_one_can_be_shown() -> None:
    window = Window("made", 5_000, 10**9, 0)
    labels = Sample(window, {"what": [Label(5_000, 10**9, "<i>x</i>")]})
    assert "\\u003ci>x" in labels.play().html and "<i>x" not in labels.play().html
    for one in (labels, Sample(window)):
        assert one.plot().axes
        assert one._repr_html_()


def test_clip_and_page_are_saved(recording: gl.Recording, tmp_path: Path) -> None:
    player = recording.read({"imu": FIELDS["imu"]}, recording.start_ns, 1.0).play()
    assert player.save(tmp_path / "clip.webm").read_bytes() == player.clips[0]
    assert player.save(tmp_path / "page.html").read_text() == player.html
    assert repr(player) == "Player(1 windows, 0.0 MB of clips)"


def test_importing_genlock_leaves_drawing_alone() -> None:
    code = (
        "import sys, genlock; "
        "assert not {'matplotlib', 'genlock.notebook', 'IPython'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_long_names_do_not_widen_a_plot_and_dollars_are_no_formula(tmp_path: Path) -> None:
    names = ["$\\q$", *(f"Accelerometer, up/down {'and so on ' * 9}{i}" for i in range(3))]
    header = ",".join(f'"{name}"' for name in ("t_ms", *names))
    path = tmp_path / f"{'observation.' * 12}state.csv"
    path.write_text(header + "\n" + "".join(f"{10 * i},{i},1,2,3\n" for i in range(200)))
    with gl.open(path) as recording:
        (stream,) = recording.streams
        sample = recording.read({"$\\q$" * 20: gl.Sensor(stream, rate=50)}, 0, 1.0)
        for figure in (notebook.plot(sample), notebook.plot_streams(recording)):
            file = io.BytesIO()
            figure.savefig(file, format="png", dpi=100, bbox_inches="tight")
            assert Image.open(file).width < 1150  # 11 inches, and little around them


def test_a_shortened_name_keeps_both_ends() -> None:
    assert shortened("imu", 12) == "imu"
    assert shortened("observation.images.ego_view", 12) == "observ…_view"
    assert shortened("twelve chars", 12) == "twelve chars"
    assert shortened("$x$", 12) == r"\$x\$"
