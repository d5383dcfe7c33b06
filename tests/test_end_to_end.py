"""Every stream of the sample recording, at random windows: the content's own time is the grid's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import genlock as gl
from genlock import samples

SECONDS = 10.0
WINDOWS = 200


@pytest.fixture(scope="module")
def recording(sample: Path) -> Iterator[gl.Recording]:
    with gl.open(sample) as opened:
        yield opened


def window_starts(recording: gl.Recording, duration: float) -> NDArray[np.int64]:
    """Random starts, some of them before and after the streams' spans."""
    generator = np.random.default_rng(7)
    low = recording.start_ns - 200_000_000
    high = recording.end_ns - int(duration * 1e9) + 200_000_000
    return generator.integers(low, high, WINDOWS)


def nearest_rows(stamps: NDArray[np.int64], grid: NDArray[np.int64]) -> NDArray[np.int64]:
    """Brute force: the row closest to each time, the earlier of two."""
    return np.abs(stamps[None, :] - grid[:, None]).argmin(axis=1)


@pytest.mark.parametrize(
    ("name", "field", "read_index"),
    [
        ("camera-rgb", gl.Video("camera-rgb", rate=7, size=(96, 128)), samples.frame_index),
        ("camera-rgb", gl.Video("camera-rgb", rate=13.7, size=(64, 64)), samples.frame_index),
        ("depth", gl.Depth("depth", rate=9), samples.depth_index),
    ],
)
def test_pictures_are_the_expected_ones(
    recording: gl.Recording, name: str, field: gl.Video | gl.Depth, read_index: object
) -> None:
    stamps = samples.stamps_ns(name, SECONDS)
    period = np.median(np.diff(stamps))
    checked = 0
    for start_ns in window_starts(recording, 0.5):
        sample = recording.read({"x": field}, int(start_ns), 0.5)
        grid = sample.times["x"]
        rows = nearest_rows(stamps, grid)
        distance = stamps[rows] - grid
        inside = np.abs(distance) <= 0.75 * period
        np.testing.assert_array_equal(sample.mask["x"][inside], True)
        np.testing.assert_array_equal(
            sample.source_times["x"][inside], stamps[rows][inside], strict=True
        )
        for frame, row, valid in zip(sample["x"], rows, sample.mask["x"], strict=True):
            if valid:
                assert read_index(frame) == row  # type: ignore[operator]
                checked += 1
            else:
                assert not frame.any()
    assert checked > WINDOWS


def test_every_native_sample_of_sound_is_where_it_belongs(recording: gl.Recording) -> None:
    timeline = recording.streams["audio"].timeline
    stamps = samples.stamps_ns("audio", SECONDS)
    whole = recording.read(
        {"a": gl.Audio("audio")}, timeline.start_ns, (timeline.end_ns - timeline.start_ns) / 1e9
    )
    np.testing.assert_array_equal(timeline.ns, stamps)
    for start_ns in window_starts(recording, 0.3):
        sample = recording.read({"a": gl.Audio("audio")}, int(start_ns), 0.3)
        first = int(nearest_rows(stamps, np.array([start_ns]))[0])
        if start_ns < stamps[0]:
            first = -round((stamps[0] - start_ns) * 48_000 / 1e9)
        elif start_ns > stamps[-1]:
            continue
        assert sample["a"].shape == (2, 14_400)
        position = np.arange(first, first + 14_400)
        inside = (position >= 0) & (position < len(stamps))
        np.testing.assert_array_equal(sample.mask["a"], inside)
        np.testing.assert_array_equal(sample["a"][:, inside], whole["a"][:, position[inside]])
        assert not sample["a"][:, ~inside].any()


@pytest.mark.parametrize("rate", [48_000, 16_000])
def test_chirps_land_on_their_second(recording: gl.Recording, rate: int) -> None:
    found = 0
    for second in range(1, int(SECONDS)):
        start_ns = samples.ZERO_NS + second * 10**9 - 250_000_000
        sample = recording.read({"a": gl.Audio("audio", rate=rate)}, start_ns, 0.5)
        first_ns = int(sample.source_times["a"][0])
        assert abs(first_ns - start_ns) <= 5e8 / rate
        expected = (samples.ZERO_NS + second * 10**9 - first_ns) * rate / 1e9
        starts = samples.chirp_starts(sample["a"][0], rate)
        assert len(starts) == 1
        assert abs(starts[0] - expected) <= (0.5 if rate == 48_000 else 1.0)
        found += 1
    assert found == 9


def interior(recording: gl.Recording, name: str, duration: float) -> Iterator[int]:
    timeline = recording.streams[name].timeline
    for start_ns in window_starts(recording, duration):
        if timeline.start_ns <= start_ns and start_ns + duration * 1e9 < timeline.ns[-1]:
            yield int(start_ns)


def test_the_imu_reads_the_trajectory_with_its_drift_removed(recording: gl.Recording) -> None:
    truth_of = {
        "gyro": samples.trajectory.angular_velocity,
        "accel": samples.trajectory.specific_force,
    }
    columns = recording.streams["imu"].info.columns
    field = gl.Sensor("imu", rate=200, dtype="float64")
    whole = samples.seconds_after_zero(samples.stamps_ns("imu", SECONDS))
    for start_ns in interior(recording, "imu", 0.5):
        sample = recording.read({"imu": field}, start_ns, 0.5)
        assert sample.mask["imu"].all()
        t = samples.seconds_after_zero(sample.times["imu"])
        for part, (kind, truth) in enumerate(truth_of.items()):
            expected = truth(t)
            got = sample["imu"][:, 3 * part : 3 * part + 3]
            spread = np.ptp(truth(whole), axis=0).max()
            assert np.abs(got - expected).max() <= 1e-3 * spread, (kind, columns)


def test_poses_are_the_trajectory(recording: gl.Recording) -> None:
    field = gl.Pose("pose", rate=47, dtype="float64")
    for start_ns in interior(recording, "pose", 0.5):
        sample = recording.read({"pose": field}, start_ns, 0.5)
        assert sample.mask["pose"].all()
        t = samples.seconds_after_zero(sample.times["pose"])
        position, quaternion = samples.trajectory.position(t), samples.trajectory.quaternion(t)
        np.testing.assert_allclose(sample["pose"][:, :3], position, atol=1e-3)
        cosine = np.abs((sample["pose"][:, 3:] * quaternion).sum(axis=1))
        np.testing.assert_allclose(cosine, 1.0, atol=1e-6)


def test_gaze_is_masked_in_blinks_and_never_nan(recording: gl.Recording) -> None:
    stamps = samples.stamps_ns("gaze", SECONDS)
    t = samples.seconds_after_zero(stamps)
    whole = ~samples.blinking(t)
    masked = 0
    for start_ns in window_starts(recording, 0.5):
        sample = recording.read({"gaze": gl.Sensor("gaze", method="nearest")}, int(start_ns), 0.5)
        assert np.isfinite(sample["gaze"]).all()
        rows = np.searchsorted(stamps, sample.times["gaze"])
        np.testing.assert_array_equal(sample.times["gaze"], stamps[rows])
        np.testing.assert_array_equal(sample.mask["gaze"], whole[rows])
        assert sample.lengths["gaze"] == len(rows)
        expected = samples.gaze(t[rows][whole[rows]])
        np.testing.assert_allclose(sample["gaze"][whole[rows]], expected, atol=1e-5)
        masked += int((~whole[rows]).sum())
    assert masked


def test_labels_are_those_that_overlap(recording: gl.Recording) -> None:
    timeline = recording.streams["labels"].timeline
    assert timeline.durations_ns is not None
    ends = timeline.ns + timeline.durations_ns
    for start_ns in window_starts(recording, 0.5):
        end_ns = start_ns + 500_000_000
        sample = recording.read({"what": gl.Labels("labels")}, int(start_ns), 0.5)
        overlaps = (timeline.ns < end_ns) & (ends > start_ns)
        assert [label.start_ns for label in sample["what"]] == timeline.ns[overlaps].tolist()


def test_at_takes_the_times_of_the_rows_that_another_field_used(recording: gl.Recording) -> None:
    fields = {
        "depth": gl.Depth("depth", at="rgb", tolerance=0.02),
        "rgb": gl.Video("camera-rgb", rate=10, size=(96, 128)),
        "pose": gl.Pose("pose", at="rgb", dtype="float64"),
    }
    start_ns = recording.start_ns + 2_000_000_000
    sample = recording.read(fields, start_ns, 1.0)
    assert list(sample) == ["depth", "rgb", "pose"]
    np.testing.assert_array_equal(sample.times["depth"], sample.source_times["rgb"])
    np.testing.assert_array_equal(sample.times["pose"], sample.source_times["rgb"])
    for frame, used_ns in zip(sample["rgb"], sample.source_times["rgb"], strict=True):
        index = samples.frame_index(frame)
        assert samples.stamps_ns("camera-rgb", SECONDS)[index] == used_ns
    t = samples.seconds_after_zero(sample.times["pose"])
    np.testing.assert_allclose(sample["pose"][:, :3], samples.trajectory.position(t), atol=1e-3)
