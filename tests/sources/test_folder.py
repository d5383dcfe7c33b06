"""A folder with a recording.toml: its files, clocks and places, by value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from genlock import samples
from genlock.clock import ClockMap
from genlock.declaration import StreamDeclaration
from genlock.decoders.table import TableDecoder
from genlock.errors import LayoutError, OpenError, StreamError, TimeUnitError
from genlock.interfaces import CodecSpec, OpenOptions, Source, UnitTable
from genlock.location import Location
from genlock.samples import rig, trajectory
from genlock.samples.gaze import blinking
from genlock.sources import _composed as composed
from genlock.sources import folder, open_source
from genlock.stream import Extrinsics, Intrinsics, Stream, StreamInfo
from genlock.timeline import SampledTimeline, Timeline

IMU = '[streams.imu]\nkind = "sensor"\npath = "imu.csv"\n'
LOOSE = StreamDeclaration.of("video", {})
RGB = '[streams.rgb]\nkind = "video"\npath = "rgb.mp4"\n'


def write(base: Path, files: Mapping[str, str | bytes]) -> Location:
    for name, content in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Location(base)


def open_toml(base: Path, toml: str, **files: str | bytes) -> Source:
    """Open a recording of the given files; `a__b` stands for "a.b"."""
    named = {name.replace("__", "."): content for name, content in files.items()}
    return open_source(write(base, {"recording.toml": toml, **named}))


def columns(source: Source, name: str) -> dict[str, list[Any]]:
    found = TableDecoder(source.units(name), source.streams[name]).columns()
    return {key: values.tolist() for key, values in found.items()}


# ---------------------------------------------------------------- files that stand in for formats


class Units:
    """Rows that say which they are."""

    def __init__(self, spec: CodecSpec, rows: int) -> None:
        self.spec = spec
        self._rows = rows

    def unit(self, index: int) -> Any:
        return f"unit {index}"

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        return ((index, self.unit(index)) for index in range(first, self._rows))

    def close(self) -> None: ...


class Media:
    """A media file with tracks video, video1 and audio, as `sources.media` would list it."""

    clock = "media"
    clocks: Mapping[str, ClockMap] = {}

    def __init__(self, location: Location, options: OpenOptions) -> None:
        self.location = location
        self.options = options
        self.closed = 0
        frames = Timeline(np.arange(4) * 40, durations_ns=np.full(4, 40))
        info = StreamInfo("video", "packets", "h264", (48, 64), clock="media", rate=25)
        self.streams = {
            "video": Stream("video", info, frames),
            "video1": Stream("video1", replace(info, shape=(24, 32)), frames),
            "audio": Stream(
                "audio",
                StreamInfo("audio", "samples", "aac", (1,), clock="media"),
                SampledTimeline(5, 10**9, 100),
            ),
        }

    def units(self, stream: str) -> Units:
        row_unit = np.array([0, 2, 1, 3])
        table = UnitTable(row_unit, row_unit, row_unit == 0, row_unit < 0, row_unit, Fraction(1))
        return Units(CodecSpec("packets", "h264", table=table), 4)

    def close(self) -> None:
        self.closed += 1


class Pictures(Media):
    """Pictures without a packet table, one for each of the declared `files`."""

    def __init__(self, location: Location, options: OpenOptions) -> None:
        super().__init__(location, options)
        ((name, declared),) = options.streams.items()
        info = StreamInfo(declared["kind"], "image", "png", (4, 4))
        present = np.array([True, False, True])
        self.streams = {name: Stream(name, info, Timeline([0, 1, 2], valid=present))}

    def units(self, stream: str) -> Units:
        return Units(CodecSpec("image", "png"), 3)


class Opener:
    """Stands for the registry: media files and pictures are pretended, tables are real."""

    def __init__(self) -> None:
        self.opened: list[Media] = []

    def __call__(self, location: Location, options: OpenOptions) -> Source:
        listed = any("files" in values for values in options.streams.values())
        if not listed and location.suffix not in (".mp4", ".png"):
            from genlock.sources import table

            return table.open_source(location, options, self)
        kind = Pictures if listed or location.suffix == ".png" else Media
        self.opened.append(kind(location, options))
        return self.opened[-1]


def open_with_media(base: Path, toml: str, **files: str | bytes) -> tuple[Source, Opener]:
    opener = Opener()
    named = {name.replace("__", "."): content for name, content in files.items()}
    place = write(base, {"recording.toml": toml, "rgb.mp4": b"", **named})
    return folder.open_source(place, OpenOptions(), opener), opener


# ---------------------------------------------------------------- whole recordings


def test_the_sample_recording_holds_its_truth(tmp_path: Path) -> None:
    source = open_source(Location(samples.write(tmp_path / "walk", seconds=3)))
    assert list(source.streams) == ["camera-rgb", "depth", "imu", "pose", "gaze", "audio", "labels"]
    assert source.clock == source.streams["pose"].info.clock == "device"

    imu = source.streams["imu"]
    assert imu.info.columns == ("gx", "gy", "gz", "ax", "ay", "az")
    on_device = imu.on_clock(source.clocks[imu.info.clock]).timeline.ns
    assert on_device.tolist() == rig.imu_to_recording_ns(rig.imu_stamps_us(3)).tolist()

    pose = source.streams["pose"]
    assert (pose.info.quaternion, pose.info.frames) == ("wxyz", ("world", "device"))
    assert pose.timeline.ns.tolist() == rig.stamps_ns("pose", 3).tolist()
    t = rig.seconds_after_zero(pose.timeline.ns)
    found = TableDecoder(source.units("pose"), pose).columns()
    stored = np.stack([found[name] for name in pose.info.columns], axis=1)
    np.testing.assert_array_equal(stored[:, :3], trajectory.position(t))
    cosine = (stored[:, 3:] * trajectory.quaternion(t)).sum(axis=1)
    np.testing.assert_allclose(np.abs(cosine), 1, rtol=1e-14)

    gaze = source.streams["gaze"].timeline.ns
    assert gaze.tolist() == rig.stamps_ns("gaze", 3).tolist()
    yaw = np.array(columns(source, "gaze")["yaw"])
    assert np.isnan(yaw).tolist() == blinking(rig.seconds_after_zero(gaze)).tolist()

    labels = source.streams["labels"].timeline
    assert (labels.start_ns, labels.end_ns) == (rig.ZERO_NS, rig.ZERO_NS + 3 * 10**9)
    depth = source.streams["depth"]
    assert depth.timeline.ns.tolist() == rig.stamps_ns("depth", 3).tolist()
    assert (depth.info.depth, depth.info.clock) == ("mm", "device")
    assert depth.intrinsics is not None
    assert depth.intrinsics.size == depth.info.shape == rig.CAMERAS["depth"].size
    assert source.units("depth").unit(3)[1:4] == b"PNG"
    source.close()


def test_euroc_as_a_recording(real: Path, tmp_path: Path) -> None:
    """Another layout's tables, linked into a folder of their own."""
    data = (real / "euroc-micro/mav0/imu0/data.csv").read_bytes()
    toml = """
        [recording]
        clock = "cpu"
        [streams.imu0]
        kind = "sensor"
        path = "imu0/data.csv"
        columns = ["a_RS_S_x", "w_RS_S_z"]
        extrinsics = { parent = "body" }
        [streams.frames]
        kind = "labels"
        path = "cam0/data.csv"
        value = "filename"
    """
    listing = (real / "euroc-micro/mav0/cam0/data.csv").read_bytes()
    files = {"recording.toml": toml, "imu0/data.csv": data, "cam0/data.csv": listing}
    source = open_source(write(tmp_path, files))
    imu, frames = source.streams["imu0"], source.streams["frames"]
    assert columns(source, "imu0")["a_RS_S_x"][0] == 9.0874956666666655
    assert imu.timeline.ns[0] == frames.timeline.ns[0] == 1403715273262142976
    assert imu.info.clock == frames.info.clock == "cpu"
    assert imu.extrinsics == Extrinsics("body")


@pytest.mark.parametrize("target", ["", "/recording.toml"])
def test_a_recording_on_a_remote_file_system(target: str) -> None:
    files = fsspec.filesystem("memory")
    files.pipe("/walk/recording.toml", IMU.encode() + b'times = { path = "t.csv", unit = "us" }\n')
    files.pipe("/walk/imu.csv", b"x\n1\n2\n")
    files.pipe("/walk/t.csv", b"t\n5\n7\n")
    try:
        source = open_source(Location(f"memory://walk{target}"))
        assert source.streams["imu"].timeline.ns.tolist() == [5000, 7000]
        assert columns(source, "imu") == {"x": [1, 2]}
    finally:
        files.rm("/walk", recursive=True)


# ---------------------------------------------------------------- clocks and places


def test_clocks(tmp_path: Path) -> None:
    toml = (
        '[recording]\nclock = "device"\n'
        + IMU
        + 'clock = "imu"\n[streams.gaze]\nkind = "sensor"\npath = "imu.csv"\nclock = "eyes"\n'
        '[streams.other]\nkind = "sensor"\npath = "imu.csv"\nclock = "unknown"\n'
        "[clocks.imu]\noffset_ns = -250_000_000\nscale = 1.00004\n"
        '[clocks.eyes]\nknots = "knots.csv"\n'
    )
    source = open_toml(
        tmp_path,
        toml,
        imu__csv="t_s,x\n1700000000,1\n",
        knots__csv="from_ms,to_ns\n0,5\n10,20000005",
    )
    assert source.clock == "device"
    assert set(source.clocks) == {"device", "imu", "eyes"}
    assert source.clocks["device"].is_identity
    # t_recording = offset_ns + scale * t, in exact decimals
    epoch = 1_700_000_000 * 10**9
    expected = epoch * 100_004 // 100_000 - 250_000_000
    assert source.clocks["imu"].forward(epoch).tolist() == expected
    assert source.clocks["eyes"].forward(np.array([0, 5_000_000])).tolist() == [5, 10_000_005]
    # timelines stay on the streams' own clocks
    assert [stream.timeline.ns[0] for stream in source.streams.values()] == [epoch] * 3
    assert source.streams["other"].info.clock == "unknown"


def test_every_placing_key(tmp_path: Path) -> None:
    toml = (
        RGB
        + """
        zero_ns = 1_000
        clock = "camera"
        stamp = "mid"
        exposure_ns = 8_000_000
        frames = { parent = "world", child = "camera" }
        [streams.rgb.calibration]
        model = "pinhole"
        size = [48, 64]
        focal = [50.0, 51]
        center = [31.5, 23.5]
        distortion = [0.1, -0.2]
        [streams.rgb.extrinsics]
        parent = "device"
        position = [0.01, 0, 0]
        quaternion = [0, 0, 1, 0]
        """
    )
    source, _ = open_with_media(tmp_path, toml)
    stream = source.streams["rgb"]
    assert stream.timeline.ns.tolist() == [1000, 1040, 1080, 1120]
    assert stream.timeline.durations_ns is not None
    assert stream.timeline.durations_ns.tolist() == [40] * 4
    info = stream.info
    assert (info.clock, info.stamp, info.exposure_ns) == ("camera", "mid", 8_000_000)
    assert info.frames == ("world", "camera")
    assert stream.intrinsics == Intrinsics("pinhole", (48, 64), (50, 51), (31.5, 23.5), (0.1, -0.2))
    assert stream.extrinsics == Extrinsics("device", (0.01, 0, 0), (0, 0, 1, 0))


def test_audio_is_placed_by_its_zero(tmp_path: Path) -> None:
    toml = '[streams.mic]\nkind = "audio"\npath = "rgb.mp4"\nzero_ns = 1000\n'
    source, _ = open_with_media(tmp_path, toml)
    assert source.streams["mic"].timeline.ns[:2].tolist() == [1005, 1006]
    later = source.streams["mic"].on_clock(ClockMap(50)).timeline
    assert later.ns[:2].tolist() == [1055, 1056]


def test_a_file_with_clocks_of_its_own_is_taken_to_its_recording_clock(tmp_path: Path) -> None:
    class Clocked(Media):
        clocks: Mapping[str, ClockMap] = {"media": ClockMap(100)}

    place = write(tmp_path, {"recording.toml": RGB + "zero_ns = 1\n", "rgb.mp4": ""})
    source = folder.open_source(place, OpenOptions(), Clocked)
    stream = source.streams["rgb"]
    assert (stream.timeline.start_ns, stream.info.clock) == (101, "recording")
    # by itself the file keeps both its clocks and what relates them
    alone = composed.place(Clocked(place, OpenOptions()), "video", "video", LOOSE, place)
    assert (alone.stream.timeline.start_ns, alone.stream.info.clock) == (0, "media")


# ---------------------------------------------------------------- sidecars


def test_a_sidecar_replaces_the_times(tmp_path: Path) -> None:
    toml = RGB + 'times = { path = "t.csv", column = "stamp", unit = "us" }\n'
    source, _ = open_with_media(tmp_path, toml, t__csv="frame,stamp\n0,1\n1,2.5\n2,4\n3,5\n")
    stream = source.streams["rgb"]
    assert stream.timeline.ns.tolist() == [1000, 2500, 4000, 5000]
    assert stream.timeline.durations_ns is None
    assert stream.info.rate == 10**9 / 1500
    assert source.units("rgb").spec.table is not None


def test_a_sidecar_that_steps_back_moves_the_rows(tmp_path: Path) -> None:
    toml = RGB + 'times = { path = "t.csv", unit = "ns" }\n'
    source, _ = open_with_media(tmp_path, toml, t__csv="t\n30\n10\n-1\n20\n")
    stream = source.streams["rgb"]
    assert stream.timeline.ns.tolist() == [10, 20, 30]
    assert (stream.info.report.dropped, stream.info.report.reordered) == (1, 3)
    table = source.units("rgb").spec.table
    assert table is not None
    # rows 1, 3 and 0 of the file, which are in units 2, 3 and 0
    assert table.row_unit.tolist() == [2, 3, 0]
    assert source.units("rgb").unit(2) == "unit 2"


def test_a_sidecar_moves_pictures_and_what_is_absent(tmp_path: Path) -> None:
    toml = (
        '[streams.depth]\nkind = "depth"\npath = "d/*.png"\ndepth = { scale = 0.001 }\n'
        'times = { path = "t.csv", unit = "ns" }\n'
    )
    write(tmp_path, {f"d/{index}.png": b"" for index in range(3)})
    source, opener = open_with_media(tmp_path, toml, t__csv="t\n30\n10\n20\n")
    stream = source.streams["depth"]
    assert stream.timeline.ns.tolist() == [10, 20, 30]
    assert stream.timeline.valid is not None
    assert stream.timeline.valid.tolist() == [False, True, True]
    assert source.units("depth").unit(0) == "unit 1"
    assert [unit for _, unit in source.units("depth").units(1)] == ["unit 2", "unit 0"]
    assert opener.opened[0].options.streams["depth"]["time"] == {"rate": 1}


def test_a_sidecar_gives_a_table_its_times(tmp_path: Path) -> None:
    toml = IMU + 'times = { path = "t.npy", unit = "ns" }\n'
    np.save(tmp_path / "t.npy", np.array([7, 5]))
    source = open_toml(tmp_path, toml, imu__csv="x,y\n1,2\n3,4\n")
    assert source.streams["imu"].timeline.ns.tolist() == [5, 7]
    assert columns(source, "imu") == {"x": [3, 1], "y": [4, 2]}


@pytest.mark.parametrize(
    ("sidecar", "error", "message"),
    [
        ("t\n1\n2\n", LayoutError, r"times: t\.csv holds 2 times, rgb\.mp4 has 4 rows"),
        ("a,b\n1,2\n", LayoutError, r"which column of t\.csv holds the times"),
        ("t\n1\n2\nx\n4\n", OpenError, r"t\.csv: times in column 't': row 3: 'x'"),
        ("", OpenError, r"t\.csv: it is empty"),
    ],
)
def test_wrong_sidecars(tmp_path: Path, sidecar: str, error: type[Exception], message: str) -> None:
    toml = RGB + 'times = { path = "t.csv", unit = "ns" }\n'
    with pytest.raises(error, match=message):
        open_with_media(tmp_path, toml, t__csv=sidecar)


def test_a_sidecar_without_a_unit_says_the_line_to_add(tmp_path: Path) -> None:
    toml = RGB + 'times = { path = "t.csv" }\n'
    with pytest.raises(TimeUnitError) as caught:
        open_with_media(tmp_path, toml, t__csv="t\n1\n2\n3\n4\n")
    line = 'under [streams.rgb]: times = { path = "t.csv", column = "t", unit = "ns" }'
    assert line in str(caught.value)


def test_audio_takes_no_sidecar(tmp_path: Path) -> None:
    toml = '[streams.mic]\nkind = "audio"\npath = "rgb.mp4"\ntimes = { path = "t.csv" }\n'
    with pytest.raises(LayoutError, match="place them by zero_ns"):
        open_with_media(tmp_path, toml, t__csv="t_ns\n1\n")


# ---------------------------------------------------------------- tracks and files


def test_tracks_of_one_file_open_it_once(tmp_path: Path) -> None:
    toml = (
        RGB
        + '[streams.wide]\nkind = "video"\npath = "rgb.mp4"\ntrack = "video1"\n'
        + '[streams.mic]\nkind = "audio"\npath = "rgb.mp4"\n'
    )
    source, opener = open_with_media(tmp_path, toml)
    assert {name: stream.info.shape for name, stream in source.streams.items()} == {
        "rgb": (48, 64),
        "wide": (24, 32),
        "mic": (1,),
    }
    (media,) = opener.opened
    source.close()
    source.close()
    assert media.closed == 1


def test_a_grey_video_can_be_depth(tmp_path: Path) -> None:
    toml = '[streams.d]\nkind = "depth"\npath = "rgb.mp4"\ndepth = { scale = 0.001, invalid = 0 }\n'
    info = open_with_media(tmp_path, toml)[0].streams["d"].info
    assert (info.modality, info.encoding) == ("depth", "packets")
    assert info.depth == "mm"
    toml = '[streams.d]\nkind = "depth"\npath = "rgb.mp4"\ndepth = { encoding = "sun" }\n'
    assert open_with_media(tmp_path, toml)[0].streams["d"].info.depth == "sun"


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (RGB + 'track = "vidoe"\n', r"track: rgb\.mp4 has no such track; did you mean 'video'"),
        (RGB + 'track = "audio"\n', r"rgb\.mp4 holds no video; it holds video \(video\), "),
        (RGB + "time = { rate = 30 }\n", "times of its own"),
        (RGB.replace("video", "pose"), r"holds no pose"),
    ],
)
def test_tracks_that_cannot_be(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message) as caught:
        open_with_media(tmp_path, toml)
    assert caught.value.stream == "rgb"


def test_patterns_list_files_in_order_below_the_folder(tmp_path: Path) -> None:
    names = ["a/1.png", "a/2.png", "a/.3.png", "a/n.txt", "b/x/4.png", "5.png"]
    base = write(tmp_path, dict.fromkeys(names, b""))

    def found(pattern: str) -> list[str]:
        return list(folder.matching(base, pattern.split("/")))

    assert found("a/*.png") == ["a/1.png", "a/2.png"]
    assert found("*/*.png") == ["a/1.png", "a/2.png"]
    assert found("a/[2-9].png") == ["a/2.png"]
    assert found("?/x/*") == ["b/x/4.png"]
    assert found("**/*.png") == ["5.png", "a/1.png", "a/2.png", "b/x/4.png"]
    assert found("*.jpg") == found("c/*.png") == []


def test_a_name_may_look_like_a_pattern(tmp_path: Path) -> None:
    toml = IMU.replace("imu.csv", "imu [1]*.csv")
    source = open_source(write(tmp_path, {"recording.toml": toml, "imu [1]*.csv": "t_ns,x\n1,2\n"}))
    assert columns(source, "imu") == {"x": [2]}


def test_a_pattern_of_one_file_is_that_file(tmp_path: Path) -> None:
    source = open_toml(tmp_path, IMU.replace("imu.csv", "imu*.csv"), imu_2024__csv="t_ns,x\n1,2\n")
    assert columns(source, "imu") == {"x": [2]}


def test_several_tables_are_not_one_stream(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="matches 2 files: sensor is in a single one"):
        open_toml(tmp_path, IMU.replace("imu.csv", "*.csv"), a__csv="", b__csv="")


def test_files_of_a_pattern_are_handed_on_by_name(tmp_path: Path) -> None:
    toml = (
        '[streams.rgb]\nkind = "video"\npath = "p/*.png"\ntime = { from = "name", unit = "ns" }\n'
    )
    write(tmp_path, {"p/10.png": b"", "p/9.png": b""})
    _, opener = open_with_media(tmp_path, toml)
    assert opener.opened[0].location == Location(tmp_path)
    assert opener.opened[0].options.streams["rgb"] == {
        "kind": "video",
        "time": {"from": "name", "unit": "ns"},
        "files": ["p/10.png", "p/9.png"],
    }


# ---------------------------------------------------------------- what is missing or damaged


def test_a_missing_file_leaves_the_others(tmp_path: Path) -> None:
    toml = IMU + '[streams.gaze]\nkind = "sensor"\npath = "gaze.csv"\nclock = "eyes"\n'
    toml += '[streams.d]\nkind = "depth"\npath = "d/*.png"\n'
    source = open_toml(tmp_path, toml, imu__csv="t_ns,x\n1,2\n")
    assert columns(source, "imu") == {"x": [2]}
    gaze = source.streams["gaze"]
    assert (gaze.info.modality, gaze.info.clock, len(gaze.timeline)) == ("sensor", "eyes", 0)
    for name, message in (
        ("gaze", r"recording\.toml: \[streams\.gaze\] path: there is no file 'gaze\.csv'"),
        ("d", r"recording\.toml: \[streams\.d\] path: there is no file 'd/\*\.png'"),
    ):
        assert isinstance(source.streams[name].problem, OpenError)
        with pytest.raises(OpenError, match=message) as caught:
            source.units(name)
        assert caught.value.stream == name
    with pytest.raises(StreamError, match="no stream 'nothing'"):
        source.units("nothing")


def test_a_recording_without_any_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OpenError, match=r"\[streams\.imu\] path: there is no file 'imu\.csv'"):
        open_toml(tmp_path, IMU)


def test_a_failure_closes_what_was_opened(tmp_path: Path) -> None:
    toml = RGB + IMU + 'columns = ["y"]\n'
    opener = Opener()
    place = write(tmp_path, {"recording.toml": toml, "rgb.mp4": "", "imu.csv": "t_ns,x\n1,2\n"})
    with pytest.raises(LayoutError):
        folder.open_source(place, OpenOptions(), opener)
    assert [media.closed for media in opener.opened] == [1]


def test_an_unknown_unit_is_the_problem_of_its_stream(tmp_path: Path) -> None:
    source = open_toml(tmp_path, IMU, imu__csv="t,x\n1,2\n")
    problem = source.streams["imu"].problem
    assert isinstance(problem, TimeUnitError)
    assert 'under [streams.imu]: time = { column = "t", unit = "ns" }' in str(problem)
    with pytest.raises(TimeUnitError):
        source.units("imu").unit(0)


@pytest.mark.parametrize("path", ["../imu.csv", "/etc/passwd", "a/../../imu.csv", "link/imu.csv"])
def test_paths_stay_inside(tmp_path: Path, path: str) -> None:
    write(tmp_path, {"outside/imu.csv": "t_ns,x\n1,2\n", "imu.csv": "t_ns,x\n1,2\n"})
    base = tmp_path / "walk"
    base.mkdir()
    (base / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(LayoutError, match=r"\[streams\.imu\] path: .* outside of"):
        open_toml(base, IMU.replace("imu.csv", path))


def test_patterns_stay_inside(tmp_path: Path) -> None:
    write(tmp_path, {"outside/imu.csv": "t_ns,x\n1,2\n"})
    base = tmp_path / "walk"
    base.mkdir()
    (base / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(LayoutError, match="outside of"):
        open_toml(base, IMU.replace("imu.csv", "link/*.csv"))


# ---------------------------------------------------------------- what the caller adds


def test_the_caller_overrides_keys_and_adds_streams(tmp_path: Path) -> None:
    place = write(
        tmp_path,
        {"recording.toml": IMU + 'columns = ["x"]\n', "imu.csv": "t,x,y\n1,2,3\n"},
    )
    over = {
        "imu": {"time": {"unit": "ms"}},
        "y": {"kind": "sensor", "path": "imu.csv", "columns": ["y"], "time": {"unit": "us"}},
    }
    source = open_source(place, OpenOptions(streams=over))
    assert list(source.streams) == ["imu", "y"]
    assert source.streams["imu"].timeline.ns.tolist() == [1_000_000]
    assert source.streams["y"].timeline.ns.tolist() == [1_000]
    assert (columns(source, "imu"), columns(source, "y")) == ({"x": [2]}, {"y": [3]})


def test_a_unit_for_all_is_refused(tmp_path: Path) -> None:
    place = write(tmp_path, {"recording.toml": IMU, "imu.csv": "t,x\n1,2\n"})
    with pytest.raises(LayoutError, match="unit= is for a lone file"):
        open_source(place, OpenOptions("ms"))


def test_a_lone_file_is_placed_too(tmp_path: Path) -> None:
    write(tmp_path, {"imu.csv": "t_ns,x\n1,2\n3,4\n", "t.csv": "t_us\n9\n8\n"})
    declared = {"times": {"path": "t.csv"}, "zero_ns": 5, "clock": "device", "stamp": "end"}
    source = open_source(Location(tmp_path / "imu.csv"), OpenOptions(streams={"imu": declared}))
    stream = source.streams["imu"]
    assert stream.timeline.ns.tolist() == [8005, 9005]
    assert source.clock == stream.info.clock == "device"
    assert stream.info.stamp == "end"
    assert columns(source, "imu")["x"] == [4, 2]
    source.close()


# ---------------------------------------------------------------- what is written wrongly


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[streams.imu\n", "line 1"),
        ("", "declares no stream"),
        ("[stream.imu]\n", r"\[stream\]: there is no such key; did you mean 'streams'"),
        ('[recording]\nclok = "a"\n', r"\[recording\.clok\]: .*did you mean 'clock'"),
        ("streams = 3\n", r"\[streams\]: must be a table, .* not 3"),
        ("[streams]\nimu = 3\n", r"\[streams\.imu\]: must be a table, .* not 3"),
        ('[streams.imu]\npath = "a"\n', r"\[streams\.imu\]: needs 'kind'"),
        ('[streams.imu]\nkind = "sensor"\n', r"\[streams\.imu\]: needs 'path'"),
        (IMU + "unit = 3\n", r"\[streams\.imu\] unit: there is no such key"),
        (IMU.replace("imu.csv", "."), r"path: names the folder itself"),
        (IMU + "clock = 3\n", r"clock: must be a text, not 3"),
        (IMU + "zero_ns = 0.5\n", r"zero_ns: must be a whole number, not 0\.5"),
        (IMU + "exposure_ns = true\n", r"exposure_ns: must be a whole number, not True"),
        (IMU + 'stamp = "middle"\n', r"stamp: 'middle' is not known.*'mid'"),
        (IMU + "time = { rate = 0 }\n", r"time\.rate: must be a number above 0"),
        (IMU + 'time = { rate = 5, column = "t" }\n', r"time: column and rate are alternatives"),
        (IMU + "time = { wrap = 32 }\n", r"time: wrap is a number of bits.* with a unit"),
        (IMU + 'times = { unit = "s" }\n', r"times: needs 'path'"),
        (IMU + 'frames = { parent = "a" }\n', r"frames: needs 'child'"),
        (IMU + 'columns = "x"\n', r"columns: must be a list of texts, not 'x'"),
        (IMU + "depth = { scale = 1 }\n", r"depth: is not for a stream of kind 'sensor'"),
        (
            RGB.replace("video", "depth") + "depth = { scale = 0 }\n",
            r"\[streams\.rgb\] depth: depth: scale is metres per unit, above 0",
        ),
        (RGB + 'calibration = { model = "pinhole" }\n', r"calibration: needs 'size'"),
        (RGB + "[clocks.imu]\nscale = 2\n", r"\[clocks\.imu\]: no stream is on this clock"),
        (
            RGB + 'clock = "imu"\n[clocks.imo]\nscale = 2\n',
            r"\[clocks\.imo\]: no stream is on this clock; did you mean 'imu'",
        ),
        (
            RGB + 'clock = "c"\n[clocks.c]\nscale = -1\n',
            r"\[clocks\.c\] scale: must be a number above 0",
        ),
        (
            RGB + 'clock = "c"\n[clocks.c]\nscale = 2\nknots = "k.csv"\n',
            r"\[clocks\.c\]: knots stand alone",
        ),
        ("[clocks.recording]\nscale = 2\n" + RGB, "the recording's own clock"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message) as caught:
        open_toml(tmp_path, toml, imu__csv="t_ns,x\n1,2\n", rgb__mp4="")
    assert re.search(r"recording\.toml", str(caught.value))


@pytest.mark.parametrize(
    ("knots", "error", "message"),
    [
        ("from_ns,to_ns\n1,5\n1,6\n", LayoutError, "must increase"),
        ("a_ns,b_ns,c_ns\n1,2,3\n", LayoutError, "3 columns: knots are two"),
        ("from,to\n1,2\n", TimeUnitError, r"under \[clocks\.c\]: knots = { path = .*, unit = "),
    ],
)
def test_wrong_knots(tmp_path: Path, knots: str, error: type[Exception], message: str) -> None:
    toml = IMU + 'clock = "c"\n[clocks.c]\nknots = "k.csv"\n'
    with pytest.raises(error, match=message):
        open_toml(tmp_path, toml, imu__csv="t_ns,x\n1,2\n", k__csv=knots)
