"""HOT3D sequences: the real Quest 3 sample by value, and files that it lacks."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

import genlock as gl
from genlock.clock import ClockMap
from genlock.errors import LayoutError, OpenError
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources import open_source
from vrs_writer import Layout, Track, write_vrs

ARIA = "device/aria"
POSE = ("tx", "ty", "tz", "qx", "qy", "qz", "qw")
# cut -d, -f2 headset_trajectory.csv
TIMES = [
    *(43124400000000, 43124433333333, 43124466666666, 43124500000000, 43124533333333),
    *(43124566666666, 43124600000000, 43124633333333, 43124666666666, 43124700000000),
    *(43124733333333, 43124766666666, 43124800000000, 43124833333333, 43124866666666),
]


@pytest.fixture
def sample(real: Path) -> Path:
    return real / "hot3d-quest3"


@pytest.fixture
def source(sample: Path) -> Source:
    return open_source(Location(sample))


def test_every_stream_is_at_the_times_of_the_file(source):
    # cut -d, -f1 dynamic_objects.csv | sort | uniq -c: six objects, 15 rows each; boxes alike
    assert len(source.streams) == 1 + 6 + 2 * 2 + 4 + 4 + 2
    for stream in source.streams.values():
        assert stream.timeline.ns.tolist() == TIMES
        assert stream.info.clock == source.clock == "hot3d"


def pose(source: Source, stream: str, row: int) -> list[float]:
    columns = source.units(stream).unit(0)
    return [columns[name][row] for name in POSE]


def test_the_headset(source):
    # sed -n 8p headset_trajectory.csv, the quaternion w x y z
    assert pose(source, "headset", 6) == [
        *(0.0117266950607299, 1.17530908203125, -0.0723647766113281),
        *(-0.3221045891567564, 0.6317995644221015, -0.2944225906376572, 0.6406194519076133),
    ]
    info = source.streams["headset"].info
    assert (info.modality, info.quaternion, info.frames) == ("pose", "wxyz", ("world", "headset"))


def test_an_object(source):
    # awk -F, '$1==265826671143948' dynamic_objects.csv | sed -n 8p
    assert pose(source, "object-265826671143948", 7) == [
        *(0.1102392546562992, 0.7464054430967754, -0.339778856230623),
        *(-0.042523612459457, 0.2270955813867491, 0.0090994607128743, 0.9729010942088344),
    ]


def test_hands(source):
    # sed -n 8p of the .jsonl files
    assert pose(source, "umetrack-left", 7) == [
        *(-0.12963739013671874, 0.754239013671875, -0.13096907043457032),
        *(-0.16593614847199759, 0.546954431517939, 0.12620690430596787, 0.810788419859751),
    ]
    assert pose(source, "mano-right", 7)[:4] == [
        *(0.06177181005477905, 0.7434424757957458, -0.2186010330915451),
        0.02891728923992485,
    ]
    mano = source.units("mano-right-joints").unit(0)
    assert (mano["pose"].shape, mano["betas"].shape) == ((15, 15), (15, 10))
    assert mano["pose"][7, 14] == 0.006962846033275127
    umetrack = source.units("umetrack-right-joints").unit(0)
    assert umetrack["joint_angles"][7, 1] == 0.17722256481647491
    assert umetrack["hand_confidence"].tolist() == [1.0] * 15
    assert source.streams["umetrack-right-joints"].info.shape == (23,)


def test_boxes(source):
    # awk -F, '$1=="1201-2" && $2==1' box2d_hands.csv | sed -n 5p
    columns = source.units("box2d_hands-1201-2-right").unit(0)
    assert {name: values[4] for name, values in columns.items()} == {
        "x_min": 379,
        "x_max": 562,
        "y_min": 348,
        "y_max": 510,
        "visibility_ratio": 0.9988917962987468,
    }
    units = source.streams["box2d_hands-1201-2-right"].info.units
    assert (units["x_min"], units["visibility_ratio"]) == ("pixel", "1")


def test_masks_are_booleans(source):
    mask = source.units("mask_headset_pose_available-1201-1").unit(0)["mask"]
    assert (mask.dtype, mask.all()) == (bool, True)


@pytest.fixture
def copy(sample: Path, tmp_path: Path) -> Path:
    for name in ("headset_trajectory.csv", "mano_hand_pose_trajectory.jsonl"):
        shutil.copy(sample / name, tmp_path)
    return tmp_path


def test_masks_in_their_own_folder_and_boxes_of_objects(copy):
    (copy / "masks").mkdir()
    (copy / "masks" / "mask_qa_pass.csv").write_text(
        "timestamp[ns],stream_id,mask\n5,214-1,True\n6,214-1,False\n"
    )
    (copy / "box2d_objects.csv").write_text(
        "stream_id,object_uid,timestamp[ns],x_min[pixel],x_max[pixel],y_min[pixel],y_max[pixel],"
        "visibility_ratio[%]\n214-1,37787722328019,5,1.5,2,3,4,0.5\n"
    )
    source = open_source(Location(copy))
    assert source.units("mask_qa_pass-214-1").unit(0)["mask"].tolist() == [True, False]
    boxes = source.units("box2d_objects-214-1-37787722328019").unit(0)
    assert boxes["x_min"].tolist() == [1.5]


def test_a_hand_that_is_not_seen_has_no_row(copy):
    lines = (copy / "mano_hand_pose_trajectory.jsonl").read_text().splitlines()
    row = json.loads(lines[3])
    del row["hand_poses"]["0"]
    lines[3] = json.dumps(row)
    (copy / "mano_hand_pose_trajectory.jsonl").write_text("\n".join(lines))
    streams = open_source(Location(copy)).streams
    assert streams["mano-left"].timeline.ns.tolist() == TIMES[:3] + TIMES[4:]
    assert streams["mano-right"].timeline.ns.tolist() == TIMES


@pytest.mark.parametrize(("headset", "related"), [("Quest3", True), ("Aria", False)])
def test_the_recording_inside_is_on_the_same_clock_for_quest_alone(copy, headset, related):
    # what it is is found by content: here a video stands in for the VRS file
    with av.open(str(copy / "recording.vrs"), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 16, "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.full((24, 32), 99, np.uint8), "yuv420p")
        frame.pts, frame.time_base = 0, Fraction(1, 10)
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    (copy / "metadata.json").write_text(json.dumps({"headset": headset}))
    source = open_source(Location(copy))
    assert source.streams["video"].info.clock == "media"
    assert source.streams["headset"].info.clock == "hot3d"
    assert ("media" in source.clocks) == related
    assert source.clocks.get("media", ClockMap()).is_identity


STAMPS = Layout({"monotonic_timestamp_ns": "int64_t", "real_timestamp_ns": "int64_t"})
BARO = Layout({"capture_timestamp_ns": "int64_t", "pressure": "double"})
MS = 1_000_000


def aria(mode: str) -> list[Track]:
    """An Aria's recording: at 100 ms of its own it was TIMES[0], and its clock is slow by 1/3."""
    sync = Track((285, 1), layout=STAMPS, configuration=Layout({"mode": "string"}), flavor=ARIA)
    sync.configure(mode=mode)
    for k in range(3):
        sync.add(
            k,
            monotonic_timestamp_ns=(100 + 100 * k) * MS,
            real_timestamp_ns=TIMES[0] + 150 * k * MS,
        )
    barometer = Track((247, 1), layout=BARO, flavor=ARIA)
    for k in range(4):
        barometer.add(k, capture_timestamp_ns=(100 + 50 * k) * MS, pressure=float(k))
    return [sync, barometer]


def test_an_arias_device_times_are_taken_to_the_time_code_of_the_tables(copy):
    write_vrs(copy / "recording.vrs", aria("TIMECODE"), tags={"device_type": "Aria"})
    (copy / "metadata.json").write_text(json.dumps({"headset": "Aria"}))
    with gl.open(copy) as recording:
        assert recording.streams["baro0"].info.clock == "device"
        expected = [TIMES[0] + 75 * k * MS for k in range(4)]
        assert recording.streams["baro0"].timeline.ns.tolist() == expected
        fields = {
            "pose": gl.Pose("headset", at="pressure"),
            "pressure": gl.Sensor("baro0", columns=("pressure",), rate=100),
        }
        sample = recording.read(fields, TIMES[0], 0.1)
    assert sample["pressure"][:, 0].tolist() == pytest.approx([k / 7.5 for k in range(10)])
    assert sample.mask["pose"].all()
    assert set(sample.times["pose"].tolist()) <= set(expected)


def test_without_a_map_of_time_codes_an_arias_recording_stays_apart(copy):
    write_vrs(copy / "recording.vrs", aria("TIC_SYNC"), tags={"device_type": "Aria"})
    (copy / "metadata.json").write_text(json.dumps({"headset": "Aria"}))
    with gl.open(copy) as recording:
        own = [(100 + 50 * k) * MS for k in range(4)]
        assert recording.streams["baro0"].timeline.ns.tolist() == own
        fields = {"pose": gl.Pose("headset"), "pressure": gl.Sensor("baro0")}
        with pytest.raises(gl.ClockError, match="'device'"):
            recording.read(fields, TIMES[0], 0.1)


def test_damage_is_a_problem_of_its_stream(copy):
    (copy / "mano_hand_pose_trajectory.jsonl").write_text('{"timestamp_ns": 1}\n')
    (copy / "dynamic_objects.csv").write_text("object_uid,timestamp[ns],t_wo_x[m]\n1,2\n")
    (copy / "recording.vrs").write_bytes(b"VisionRe" + bytes(100))
    source = open_source(Location(copy))
    assert "hand_poses" in str(source.streams["mano"].problem)
    assert "line 2" in str(source.streams["object"].problem)
    assert "recording.vrs" in str(source.streams["recording"].problem)
    assert source.streams["headset"].problem is None


def test_declarations(copy):
    options = OpenOptions(streams={"headset": {"zero_ns": -43124400000000}})
    assert open_source(Location(copy), options).streams["headset"].timeline.ns[0] == 0
    with pytest.raises(LayoutError, match="the layout says"):
        open_source(Location(copy), OpenOptions(streams={"headset": {"columns": ["a"]}}))


def test_other_tables_of_that_name_are_not_claimed(tmp_path):
    (tmp_path / "dynamic_objects.csv").write_text("t_ns,a\n1,2\n")
    assert list(open_source(Location(tmp_path)).streams) == ["dynamic_objects"]


def test_damaged_metadata_name_the_file(copy):
    (copy / "metadata.json").write_text("{")
    (copy / "recording.vrs").write_bytes(b"")
    with pytest.raises(OpenError, match=r"metadata\.json"):
        open_source(Location(copy))
