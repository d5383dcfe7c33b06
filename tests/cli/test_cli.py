"""The program: what each command prints, writes and exits with."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from tqdm import tqdm
from typer.testing import CliRunner, Result

import genlock as gl
from genlock import samples
from genlock.cli import app

ANSI = "\x1b["


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def printed(*arguments: object) -> Any:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def program(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it as a user does, in a process of its own."""
    command = [sys.executable, "-m", "genlock.cli", *map(str, arguments)]
    env = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)


class TestInfo:
    def test_streams_as_json(self, sample: Path) -> None:
        told = printed("info", sample, "--json")
        assert told["recording"] == str(sample)
        assert told["clock"] == "device"
        streams = {stream["name"]: stream for stream in told["streams"]}
        for name in samples.TRACKS:
            stamps = samples.stamps_ns(name)
            assert streams[name]["rows"] == len(stamps)
            assert streams[name]["start_ns"] == stamps[0]
        assert streams["camera-rgb"]["shape"] == list(samples.CAMERAS["camera-rgb"].size)
        assert (streams["camera-rgb"]["codec"], streams["camera-rgb"]["rate_hz"]) == ("h264", 30)
        assert (streams["imu"]["clock"], streams["imu"]["own_clock"]) == ("device", "imu")
        assert streams["imu"]["columns"] == ["gx", "gy", "gz", "ax", "ay", "az"]
        assert told["clocks"]["imu"] == {
            "offset_ns": samples.rig.IMU_CLOCK_OFFSET_NS,
            "scale": float(samples.rig.IMU_CLOCK_SCALE),
        }
        camera = samples.CAMERAS["depth"]
        assert told["calibration"]["depth"]["intrinsics"]["focal"] == list(camera.focal)
        assert told["calibration"]["depth"]["extrinsics"]["position"] == list(camera.position)
        assert "packets" not in told

    def test_packets(self, sample: Path) -> None:
        """The sample's video has a key frame every 60 frames, at 30 Hz."""
        (row,) = printed("info", sample, "--packets", "--json")["packets"].values()
        frames = len(samples.stamps_ns("camera-rgb"))
        assert (row["packets"], row["rows"]) == (frames, frames)
        assert row["key_packets"] == -(-frames // 60)
        assert (row["gop_median"], row["gop_max"]) == (60, 60)
        assert row["gop_min"] == frames - 60 * (row["key_packets"] - 1)
        assert 0 < row["disposable"] < frames
        assert 0 < row["bytes"] < (sample / "camera-rgb.mp4").stat().st_size
        assert row["bits_per_second"] == pytest.approx(8 * row["bytes"] * 30 / frames, rel=1e-3)

    def test_as_text(self, sample: Path) -> None:
        result = run("info", sample, "--packets")
        assert result.exit_code == 0
        lines = result.stdout.splitlines()
        (row,) = (line.split() for line in lines if line.startswith("pose"))
        assert " ".join(row) == "pose pose parquet 7 float64 100 999 0.012 10.002 device"
        assert "59 60 60" in result.stdout
        assert ANSI not in result.stdout

    def test_a_stream_that_cannot_be_read_says_why(self, real: Path) -> None:
        told = printed("info", real / "euroc-micro", "--json")
        problems = {stream["name"]: stream["problem"] for stream in told["streams"]}
        assert "data.csv" in problems["state_groundtruth_estimate0"]
        assert problems["cam0"] is None


class TestCheck:
    def test_a_sound_recording(self, sample: Path) -> None:
        result = run("check", sample, "--decode", "none")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[0] == f"{sample}: 1 note"

    def test_errors_exit_with_1_and_keep_their_order(self, sample: Path, real: Path) -> None:
        damaged = real / "video-timing" / "corrupted.mp4"
        result = run("check", damaged, sample, damaged, "--json", "--threads", 3)
        assert result.exit_code == 1
        found = json.loads(result.stdout)
        assert [finding["recording"] for finding in found] == [
            str(damaged),
            str(sample),
            str(damaged),
        ]
        first = found[0]
        assert (first["check"], first["severity"]) == ("unreadable", "error")
        assert first["stream"] == "video"
        assert first == found[2]

    def test_warnings_count_when_strict(self, real: Path) -> None:
        shifted = real / "video-timing" / "edit_list_positive_shift.mp4"
        assert run("check", shifted, "--decode", "none").exit_code == 0
        assert run("check", shifted, "--decode", "none", "--strict").exit_code == 1

    def test_what_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        result = run("check", tmp_path / "absent")
        assert result.exit_code == 1
        assert "does not exist" in result.stdout

    def test_a_folder_stands_for_what_is_in_it(self, sample: Path, tmp_path: Path) -> None:
        for name in ("b", "a"):
            copy = tmp_path / name
            copy.mkdir()
            (copy / "gaze.csv").write_bytes((sample / "gaze.csv").read_bytes())
        (tmp_path / "a" / "gaze.csv").write_text("t_ms,x\n")
        result = run("check", tmp_path, "--json")
        found = [finding["recording"] for finding in json.loads(result.stdout)]
        assert found == [str(tmp_path / name / "gaze.csv") for name in ("a", "b")]


class TestIndex:
    def test_recordings_are_kept(
        self, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GENLOCK_CACHE", str(tmp_path))
        monkeypatch.setenv("GENLOCK_INDEX", "1")
        told = printed("index", sample, "--json")
        assert told == {
            "folder": str(tmp_path / "index"),
            "recordings": [str(sample)],
            "failed": [],
        }
        assert [entry for entry in (tmp_path / "index").rglob("*") if entry.is_file()]

    def test_one_that_does_not_open_exits_with_3(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GENLOCK_CACHE", str(tmp_path))
        monkeypatch.setenv("GENLOCK_INDEX", "1")
        bad = tmp_path / "bad.wav"
        bad.write_bytes(b"RIFF")
        result = run("index", bad)
        assert result.exit_code == 3
        assert "0 of 1 recordings are in" in result.stdout
        assert "bad.wav" in result.stderr


class TestPreview:
    def test_a_page_of_its_own(self, sample: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.html"
        result = run("preview", sample, "-o", out, "--duration", 0.5)
        assert (result.exit_code, result.stdout.strip()) == (0, str(out))
        assert result.stderr == ""  # no bar where there is no terminal
        page = out.read_text()
        assert page.count('src="data:image/png;base64,') == 2
        assert "http" not in page
        for name in samples.TRACKS:
            assert f"<td>{name}<td>" in page
        assert "rows hold no usable value" in page

    def test_a_picture(self, sample: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.png"
        assert run("preview", sample, "-o", out, "--start", 1, "--duration", 0.5).exit_code == 0
        picture = imread(out)
        assert picture.shape[0] > 500
        assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 1000

    def test_a_bar_counts_its_steps(
        self, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shown = io.StringIO()

        def on_a_terminal(*arguments: Any, **options: Any) -> Any:
            assert (options["disable"], options["delay"]) == (None, 1)
            options |= {"disable": False, "delay": 0, "mininterval": 0, "file": shown}
            return tqdm(*arguments, **options)

        monkeypatch.setattr("genlock.cli.preview.tqdm", on_a_terminal)
        assert run("preview", sample, "-o", tmp_path / "out.png", "--duration", 0.5).exit_code == 0
        bars = shown.getvalue().split("\r")
        assert [any(f"{n}/3" in bar for bar in bars) for n in (1, 2, 3)] == [True] * 3
        assert any("checked" in bar for bar in bars)

    def test_another_kind_of_file_is_wrong_usage(self, sample: Path, tmp_path: Path) -> None:
        result = run("preview", sample, "-o", tmp_path / "out.gif")
        assert result.exit_code == 2
        assert ".html, .png" in result.output


class TestBench:
    def test_as_json(self, sample: Path) -> None:
        told = printed("bench", sample, "--seconds", 0.1, "--json")
        assert told["windows"] == 18  # 9.856 s of common time, windows of 1 s every 0.5 s
        assert told["one_thread"]["windows"] >= 4
        assert {stage["threads"] for stage in told["one_thread"]["stages"]} == {1}
        names = {stage["name"] for stage in told["threads"]["stages"]}
        assert names == {"plan", "video", "image", "audio", "table"}
        assert ("process" in told) == (sys.platform == "linux")
        assert all(told[run]["step_speed"] > 0 for run in ("one_thread", "threads"))
        assert told["bottleneck"].startswith("The bottleneck is ")
        (cost,) = told["decoding"]
        assert (cost["stream"], cost["wanted"]) == ("camera-rgb", 10)

    def test_as_text(self, sample: Path) -> None:
        result = run("bench", sample, "--seconds", 0.1)
        assert result.exit_code == 0
        assert "windows/s" in result.stdout
        assert "The bottleneck is " in result.stdout

    def test_a_recording_that_is_too_short(self, sample: Path) -> None:
        result = run("bench", sample, "--duration", 60)
        assert isinstance(result.exception, gl.WindowError)


def test_demo(sample: Path, tmp_path: Path) -> None:
    done = program("demo", "--data", sample, "--out", tmp_path, "--epochs", 1)
    assert done.returncode == 0, done.stderr
    assert "windows/s" in done.stdout
    assert (tmp_path / "demo.png").is_file()


def test_demo_of_a_recording_without_a_window_says_so(tmp_path: Path) -> None:
    (tmp_path / "imu.csv").write_text("t_ms,gx\n0,1\n100,2\n200,3\n")
    done = program("demo", "--data", tmp_path / "imu.csv", "--out", tmp_path)
    assert done.returncode == 3
    assert "its streams share 0.3 s, less than one window of 1 s" in done.stderr


def test_demo_of_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    absent = tmp_path / "absent.mp4"
    done = subprocess.run(
        [sys.executable, "-m", "genlock.demo", "--data", absent], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.strip()) == (3, f"error: {absent} does not exist")


def test_failures_exit_with_3_and_name_the_place(tmp_path: Path) -> None:
    done = program("info", tmp_path / "absent.mp4")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.strip() == f"error: {tmp_path / 'absent.mp4'} does not exist"


def test_wrong_usage_exits_with_2() -> None:
    done = program("info")
    assert done.returncode == 2
    assert "PATH" in done.stderr


def test_completion_is_offered() -> None:
    done = program("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0, done.stderr
    assert "complete" in done.stdout.lower()


def test_colours_are_for_terminals_alone(sample: Path) -> None:
    """Through a pseudo-terminal there are colours, with NO_COLOR or a pipe there are none."""
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-m", "genlock.cli", "info", str(sample)]

    def shown(**environment: str) -> str:
        ours, theirs = pty.openpty()
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | environment
        process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(ours)
        assert process.wait(timeout=60) == 0
        return b"".join(parts).decode()

    assert ANSI in shown()
    assert ANSI not in shown(NO_COLOR="1")
    assert ANSI not in program("info", sample).stdout
