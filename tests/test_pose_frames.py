"""Poses between frames: of a camera on the device, relative to another pose, against matrices."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import RigidTransform, Rotation

import genlock as gl
from genlock import samples

HAND_TOML = """
[streams.hand]
kind = "pose"
path = "hand.csv"
time = { column = "t_ns", unit = "ns" }
position = ["tx", "ty", "tz"]
quaternion = ["qx", "qy", "qz", "qw"]
frames = { parent = "world", child = "hand" }
"""


def transform(pose: NDArray[np.floating]) -> RigidTransform:
    return RigidTransform.from_components(pose[..., :3], Rotation.from_quat(pose[..., 3:]))


def assert_same(poses: NDArray[np.floating], expected: RigidTransform) -> None:
    np.testing.assert_allclose(transform(poses).as_matrix(), expected.as_matrix(), atol=2e-6)


@pytest.fixture(scope="module")
def recording(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[gl.Recording]:
    """The sample with a hand that is tracked at 37 Hz with a pause."""
    folder = tmp_path_factory.mktemp("frames") / "hands"
    shutil.copytree(sample, folder)
    with (folder / "recording.toml").open("a") as file:
        file.write(HAND_TOML)
    rows = ["t_ns,tx,ty,tz,qx,qy,qz,qw"]
    for k in range(370):
        if 100 <= k < 140:
            continue
        t_ns = samples.ZERO_NS + round(k * 1e9 / 37)
        values = hand(np.array([k / 37]))[0]
        rows.append(",".join([str(t_ns), *(repr(float(v)) for v in values)]))
    (folder / "hand.csv").write_text("\n".join(rows))
    with gl.open(folder) as opened:
        yield opened


def hand(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """A hand that turns steadily about one axis and moves on a line: exact under slerp and lerp."""
    rotation = Rotation.from_rotvec(t[:, None] * np.array([0.3, 0.5, -0.2])).as_quat()
    position = np.array([1.0, 2.0, 3.0]) + t[:, None] * np.array([0.1, -0.2, 0.3])
    return np.concatenate([position, rotation], axis=1)


def test_of_gives_the_pose_of_a_camera(recording: gl.Recording) -> None:
    fields = {
        "device": gl.Pose("pose", rate=20, dtype="float64"),
        "camera": gl.Pose("pose", rate=20, dtype="float64", of="camera-rgb"),
        "first": gl.Pose("pose", rate=20, dtype="float64", of="camera-rgb", relative_to="first"),
    }
    sample = recording.read(fields, samples.ZERO_NS + 2_000_000_000, 1.0)
    stated = samples.CAMERAS["camera-rgb"]
    mount = transform(np.array([*stated.position, *stated.quaternion]))
    expected = transform(sample["device"]) * mount
    assert_same(sample["camera"], expected)
    assert_same(sample["first"], expected[0].inv() * expected)


def test_relative_to_another_pose_at_ones_own_times(recording: gl.Recording) -> None:
    fields = {
        "hand": gl.Pose("hand", rate=5, dtype="float64", max_gap=0.1),
        "seen": gl.Pose("pose", rate=30, dtype="float64", relative_to="hand"),
        "device": gl.Pose("pose", rate=30, dtype="float64"),
        "view": gl.Pose("pose", rate=30, dtype="float64", of="camera-rgb", relative_to="hand"),
    }
    start_ns = samples.ZERO_NS + 2_500_000_000  # the hand is lost from 2.68 to 3.78 s
    sample = recording.read(fields, start_ns, 2.0)
    t = samples.seconds_after_zero(sample.times["seen"])
    lost = (t > 99 / 37) & (t < 140 / 37)
    np.testing.assert_array_equal(sample.mask["seen"], ~lost)
    np.testing.assert_array_equal(sample.mask["device"], True)
    assert not sample["seen"][lost].any()
    reference = transform(hand(t[~lost]))
    assert_same(sample["seen"][~lost], reference.inv() * transform(sample["device"][~lost]))
    stated = samples.CAMERAS["camera-rgb"]
    mount = transform(np.array([*stated.position, *stated.quaternion]))
    assert_same(sample["view"][~lost], reference.inv() * transform(sample["device"][~lost]) * mount)


def test_batches_carry_them_too(recording: gl.Recording) -> None:
    fields = {
        "hand": gl.Pose("hand", rate=5),
        "seen": gl.Pose("pose", rate=5, relative_to="hand"),
    }
    windows = gl.Windows(recording, over=["hand", "pose"], duration=1.0)
    with gl.Loader(windows, fields, batch_size=2) as loader:
        for batch in loader:
            for i, window in enumerate(batch.windows):
                one = recording.read(fields, window.start_ns, 1.0)
                np.testing.assert_array_equal(batch["seen"][i].numpy(), one["seen"])
                np.testing.assert_array_equal(batch.mask["seen"][i].numpy(), one.mask["seen"])


@pytest.mark.parametrize("relative_to", ["nobody", "seen", "rgb"])
def test_what_cannot_be_related_is_refused(recording: gl.Recording, relative_to: str) -> None:
    fields = {
        "rgb": gl.Video("camera-rgb", rate=5, size=(64, 64)),
        "seen": gl.Pose("pose", rate=5, relative_to=relative_to),
    }
    with pytest.raises(gl.FieldError, match="relative_to"):
        recording.read(fields, samples.ZERO_NS + 10**9, 0.5)


@pytest.mark.parametrize(
    ("stream", "of"), [("pose", "nothing"), ("pose", "audio"), ("hand", "depth")]
)
def test_an_unknown_mount_is_refused(recording: gl.Recording, stream: str, of: str) -> None:
    with pytest.raises(gl.FieldError, match="extrinsics in the frame"):
        recording.read({"x": gl.Pose(stream, rate=5, of=of)}, samples.ZERO_NS + 10**9, 0.5)
