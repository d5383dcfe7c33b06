"""GoPro telemetry: the real Karma clip by value, and payloads written here for what it lacks."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources._arrays import ArrayTable
from genlock.sources._gpmf import Entry, entries, fields, numbers
from genlock.sources._payload_times import Block, sample_times
from genlock.sources._telemetry import Telemetry
from genlock.sources.media import open_source
from gpmf_writer import device, entry, number, text, triples

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def karma(real: Path) -> Source:
    location = Location(real / "gopro-gpmf" / "karma.mp4")
    return open_source(location, OpenOptions(), lambda *_: pytest.fail("no child"))


# TSMP of ACCL, read off the track with a hex dump: 13 payloads, 1.001 s apart by the container
ACCL_TOTALS = [196, 395, 595, 794, 990, 1190, 1389, 1589, 1788, 1988, 2184, 2383, 2397]


@pytest.mark.parametrize(
    ("stream", "rows"), [("ACCL", 2397), ("GYRO", 4795), ("SHUT", 361), ("GPRI", 47), ("KBAT", 12)]
)
def test_every_sample_is_a_row(karma, stream, rows):
    # the last TSMP of each
    assert len(karma.streams[stream].timeline) == rows
    info = karma.streams[stream].info
    assert (info.modality, info.clock, info.codec) == ("sensor", "media", "gpmf")


def test_samples_are_on_the_line_through_the_payloads(karma):
    firsts = np.array([0, *ACCL_TOTALS[:-1]])
    slope, intercept = np.polyfit(firsts, np.arange(13) * 1.001e9, 1)
    ns = karma.streams["ACCL"].timeline.ns
    np.testing.assert_allclose(ns, intercept + slope * np.arange(2397), atol=1)


def test_the_last_payload_does_not_stretch_the_data(karma):
    # 14 samples in a payload that says 1.001 s, to 13.013 s; the last picture starts at 12.045 s
    for stream in ("ACCL", "GYRO", "SHUT"):
        assert 12.0 < karma.streams[stream].timeline.end_ns / 1e9 < 12.1
    steps = np.diff(karma.streams["ACCL"].timeline.ns)
    assert steps.max() - steps.min() <= 1


def test_values_are_those_of_a_hex_dump(karma):
    acceleration = karma.units("ACCL").unit(0)
    # ACCL s 6, "up/down, right/left, forward/back", SCAL 418: 1096 fe9c f9f5 … 1044 f947 0493
    assert [acceleration[axis][0] for axis in "zxy"] == [4246 / 418, -356 / 418, -1547 / 418]
    assert [acceleration[axis][-1] for axis in "zxy"] == [4164 / 418, -1721 / 418, 1171 / 418]
    assert list(acceleration) == ["x", "y", "z"]
    # GYRO s 6, "z,x,y", SCAL 3755: 00ac 0046 007d … f459 ffdc 0016
    gyro = karma.units("GYRO").unit(0)
    assert [gyro[axis][0] for axis in "zxy"] == [172 / 3755, 70 / 3755, 125 / 3755]
    assert [gyro[axis][-1] for axis in "zxy"] == [-2983 / 3755, -36 / 3755, 22 / 3755]
    assert karma.streams["ACCL"].info.units == dict.fromkeys("xyz", "m/s²")
    assert karma.streams["GYRO"].info.units == dict.fromkeys("xyz", "rad/s")
    (exposure,) = struct.unpack(">f", bytes.fromhex("3b9f96f4"))
    assert karma.units("SHUT").unit(0)["SHUT"][0] == np.float32(exposure)


def test_a_structure_has_a_scale_and_a_unit_for_each_field(karma):
    # TYPE JlllSSSSBB: 0000000008b26f99 13be87b0 ba10b34f 00003c55 0019 002a 003b 829b 03 14
    position = karma.units("GPRI").unit(0)
    assert [position[str(i)][0] for i in range(10)] == [
        *(145.911705, 33.125368, -117.3310641, 15.445),
        *(0.25, 0.42, 0.59, 334.35, 3, 20),
    ]
    units = karma.streams["GPRI"].info.units
    assert [units.get(str(i)) for i in range(10)] == [
        *("s", "deg", "deg", "m", "m", "m", "m/s", "deg"),
        *(None, None),
    ]


def test_text_is_no_stream(karma):
    assert "FWVS" not in karma.streams
    assert list(karma.streams)[:2] == ["video", "audio"]


# Payloads written here


def read(*payloads: bytes) -> dict[str, ArrayTable]:
    """Streams of payloads that are a second apart."""
    telemetry = Telemetry()
    for k, payload in enumerate(payloads):
        telemetry.add(payload, k * SECOND, (k + 1) * SECOND)
    return telemetry.tables()


def test_orientation_names_the_axes_and_their_signs():
    stream = (number("SCAL", "s", 2), text("ORIN", "YxZ"), triples("ACCL", (2, 4, 6), (8, 10, 12)))
    columns = read(device(stream))["ACCL"].columns
    assert {axis: values.tolist() for axis, values in columns.items()} == {
        "x": [-2, -5],
        "y": [1, 4],
        "z": [3, 6],
    }


def test_axes_that_nothing_names_are_numbered():
    assert list(read(device((triples("MAGN", (1, 2, 3)),)))["MAGN"].columns) == ["0", "1", "2"]


def test_gps_has_the_fix_of_its_payload():
    def payload(fix: int, *rows: tuple[int, ...]) -> bytes:
        data = b"".join(struct.pack(">5i", *row) for row in rows)
        return device(
            (
                number("GPSF", "L", fix),
                number("GPSP", "S", 250),
                number("SCAL", "l", 10_000_000, 10_000_000, 1000, 1000, 100),
                entry("GPS5", "l", 20, data),
            )
        )

    row = (473_000_000, 85_000_000, 400_500, 1500, 160)
    table = read(payload(0, row), payload(3, row, row))["GPS5"]
    assert table.columns["latitude"].tolist() == [47.3, 47.3, 47.3]
    assert table.columns["altitude"].tolist() == [400.5] * 3
    assert table.columns["speed_3d"].tolist() == [1.6] * 3
    assert table.columns["fix"].tolist() == [0, 3, 3]
    assert table.columns["dop"].tolist() == [2.5] * 3
    assert table.stream.info.shape == (7,)


def test_gps9_has_time_and_fix_of_its_own():
    # HERO11 on: TYPE lllllllSS, 47.3 N 8.5 E, 400.5 m, days and seconds since 2000, dop, fix
    row = struct.pack(
        ">7l2H", 473_000_000, 85_000_000, 400_500, 1500, 160, 9_100, 43_200_250, 250, 3
    )
    other = struct.pack(">7l2H", -473_000_000, -85_000_000, -5, 0, 0, 9_100, 43_200_350, 9_999, 0)
    scale = number("SCAL", "l", 10_000_000, 10_000_000, 1000, 1000, 100, 1, 1000, 100, 1)
    units = entry("UNIT", "c", 3, b"degdegm  m/sm/s   s        ")
    stream = (text("TYPE", "lllllllSS"), scale, units, entry("GPS9", "?", 32, row + other))
    table = read(device(stream))["GPS9"]
    assert {name: values.tolist() for name, values in table.columns.items()} == {
        "latitude": [47.3, -47.3],
        "longitude": [8.5, -8.5],
        "altitude": [400.5, -0.005],
        "speed_2d": [1.5, 0],
        "speed_3d": [1.6, 0],
        "days_since_2000": [9100, 9100],
        "seconds_of_day": [43_200.25, 43_200.35],
        "dop": [2.5, 99.99],
        "fix": [3, 0],
    }
    assert table.stream.info.units == {
        "latitude": "deg",
        "longitude": "deg",
        "altitude": "m",
        "speed_2d": "m/s",
        "speed_3d": "m/s",
        "seconds_of_day": "s",
    }


@pytest.mark.parametrize("key", ["CORI", "IORI"])
def test_orientations_are_quaternions_with_w_first(key):
    rows = struct.pack(">4h", 32767, 0, 0, 0) + struct.pack(">4h", 0, 32767, -32767, 16383)
    stream = (number("SCAL", "s", 32767), entry(key, "s", 8, rows))
    columns = read(device(stream))[key].columns
    assert {name: values.tolist() for name, values in columns.items()} == {
        "w": [1, 0],
        "x": [0, 1],
        "y": [0, -1],
        "z": [0, 16383 / 32767],
    }


def test_gravity_is_a_vector_as_stored():
    stream = (number("SCAL", "s", 32767), triples("GRAV", (0, 32767, -32767)))
    columns = read(device(stream))["GRAV"].columns
    assert {name: values.tolist() for name, values in columns.items()} == {
        "0": [0],
        "1": [1],
        "2": [-1],
    }


def test_a_compass_keeps_the_unit_that_it_states():
    title = text("STNM", "Magnetometer (x,y,z)")
    unit = entry("SIUN", "c", 2, "µT".encode("latin-1"))
    stream = (title, unit, number("SCAL", "s", 10), triples("MAGN", (123, -456, 7)))
    table = read(device(stream))["MAGN"]
    values = {name: column.tolist() for name, column in table.columns.items()}
    assert values == {"x": [12.3], "y": [-45.6], "z": [0.7]}
    assert table.stream.info.units == dict.fromkeys("xyz", "µT")


def test_exposures_are_one_for_each_picture():
    iso = (number("TSMP", "L", 3), number("ISOE", "S", 100, 200, 65_535))
    unit = entry("SIUN", "c", 1, b"s")
    exposure = (number("TSMP", "L", 3), unit, number("SHUT", "f", 0.25, 0.125, 0.5))
    tables = read(device(iso, exposure))
    assert tables["ISOE"].columns["ISOE"].tolist() == [100, 200, 65_535]
    assert tables["SHUT"].columns["SHUT"].tolist() == [0.25, 0.125, 0.5]
    assert tables["SHUT"].stream.info.units == {"SHUT": "s"}
    thirds = [0, SECOND // 3, 2 * SECOND // 3 + 1]
    assert tables["ISOE"].stream.timeline.ns.tolist() == thirds


@pytest.mark.parametrize("stated", ["YxZ", "ZXY", "yXZ", "xyz", "XYZ", "zYx"])
def test_the_matrix_of_axes_says_what_their_names_say(stated):
    # MTRX takes what is stored (ORIN) to the order of ORIO, "XYZ" here
    matrix = np.zeros((3, 3))
    for column, axis in enumerate(stated):
        matrix["xyz".index(axis.lower()), column] = -1 if axis.islower() else 1
    stored = np.array([[3, -5, 7], [11, 13, -17]])
    stream = (
        text("ORIN", stated),
        text("ORIO", "XYZ"),
        number("MTRX", "f", *matrix.ravel()),
        triples("ACCL", *(tuple(row) for row in stored.tolist())),
    )
    columns = read(device(stream))["ACCL"].columns
    assert list(columns) == ["x", "y", "z"]
    np.testing.assert_array_equal(np.stack(list(columns.values()), 1), stored @ matrix.T)


def test_a_last_payload_longer_than_what_it_holds_stretches_nothing():
    telemetry = Telemetry()
    totals = [0, 200, 400, 600, 610]
    for second, (before, total) in enumerate(pairwise(totals)):
        rows = [(k % 1000, 0, 0) for k in range(before, total)]
        stream = (number("TSMP", "L", total), triples("ACCL", *rows))
        telemetry.add(device(stream), second * SECOND, (second + 1) * SECOND)
    ns = telemetry.tables()["ACCL"].stream.timeline.ns
    np.testing.assert_array_equal(ns, np.arange(610) * 5_000_000)


def test_stamps_win_and_count_from_the_first_exposure():
    def payload(total: int, gyro_us: int, exposure_us: int, *values: int) -> bytes:
        count = number("TSMP", "L", total)
        samples = triples("GYRO", *((v, 0, 0) for v in values))
        exposures = number("SHUT", "f", *([0.01] * len(values)))
        return device(
            (number("STMP", "J", gyro_us), count, samples),
            (number("STMP", "J", exposure_us), count, exposures),
        )

    # 4 samples in 0.8 s, then 2 at the same rate; the first is 5 ms after the first exposure
    tables = read(
        payload(4, 5_015_000, 5_010_000, 1, 2, 3, 4), payload(6, 5_815_000, 5_910_000, 5, 6)
    )
    expected = 5_000_000 + np.arange(6) * 200_000_000
    np.testing.assert_array_equal(tables["GYRO"].stream.timeline.ns, expected)
    assert tables["SHUT"].stream.timeline.ns[[0, 4]].tolist() == [0, 900_000_000]


def test_stamps_without_exposures_count_from_the_first():
    def payload(total: int, stamp_us: int, *values: int) -> bytes:
        stamp = number("STMP", "J", stamp_us)
        samples = triples("GYRO", *((v, 0, 0) for v in values))
        return device((stamp, number("TSMP", "L", total), samples))

    tables = read(payload(2, 700_000, 1, 2), payload(4, 1_750_000, 3, 4))
    assert tables["GYRO"].stream.timeline.ns.tolist() == [
        0,
        525_000_000,
        1_050_000_000,
        1_575_000_000,
    ]


def test_a_stated_delay_is_taken_off():
    stream = (number("TIMO", "f", 0.25), triples("ACCL", *((k, 0, 0) for k in range(4))))
    assert read(device(stream))["ACCL"].stream.timeline.ns.tolist() == [0, 250_000_000, 500_000_000]


def test_two_devices_may_have_the_same_sensor():
    one, other = (
        device((triples("ACCL", (1, 2, 3)),)),
        device((triples("ACCL", (4, 5, 6)),), identity=2),
    )
    tables = read(one + other)
    assert {name: table.columns["0"].tolist() for name, table in tables.items()} == {
        "ACCL": [1],
        "ACCL1": [4],
    }


def test_fixed_point_and_arrays_in_structures():
    packed = struct.pack(">iqhhB", 3 << 15, -5 << 31, 1, 2, 7)
    (row,) = entries(entry("TEST", "?", len(packed), packed))
    kinds = fields(row, "qQs[2]B")
    assert kinds == "qQssB"
    assert [float(column[0]) for column in numbers(row, kinds)] == [1.5, -2.5, 1, 2, 7]


@pytest.mark.parametrize("structure", ["", "f", "ssc", "s[999]", "s[", "[3]s", "\0\0"])
def test_a_structure_that_does_not_fit_its_samples_is_no_numbers(structure):
    assert fields(Entry("TEST", "?", 6, 1, b"abcdef"), structure) == ""


def test_seen_things_and_foreign_tracks_are_left_out():
    face = entry("FACE", "s", 2, b"\0\1")
    assert read(device((face, face))) == {}
    assert read(b"camm" + bytes(20)) == {}
    assert read(device((entry("ACCL", "s", 6, b"", 0),))) == {}


def test_what_is_whole_of_a_cut_payload_is_read():
    whole = device((triples("ACCL", (1, 2, 3)),))
    cut = struct.pack(">4scBH", b"ACCL", b"s", 6, 60_000) + b"\0" * 12
    assert read(whole + cut)["ACCL"].columns["0"].tolist() == [1]
    assert read(whole[:-4]) == {}


@given(st.binary(max_size=200), st.lists(st.binary(min_size=8, max_size=40), max_size=4))
def test_no_bytes_are_too_strange(loose, streams):
    read(b"DEVC" + loose, device(*((part,) for part in streams)), device((loose,)))


# Times


def blocks(counts: list[int], starts: list[int]) -> list[Block]:
    before = np.cumsum([0, *counts]).tolist()
    return [
        Block(start, start + SECOND, first, count)
        for start, first, count in zip(starts, before, counts, strict=False)
    ]


@given(st.integers(0, 2**32 - 1))
def test_an_even_sensor_stays_even_however_its_payloads_are_cut(seed):
    rng = np.random.default_rng(seed)
    period = rng.uniform(1e6, 20e6)
    cuts = np.cumsum(rng.integers(60, 70, size=12))
    counts = np.diff(np.concatenate([[0], cuts])).tolist()
    written = np.concatenate([[0], cuts[:-1]]) * period + rng.uniform(0, 15e6, 12)
    times = sample_times(blocks(counts, np.rint(written).astype(int).tolist()))
    assert len(times) == cuts[-1]
    steps = np.diff(times)
    assert steps.max() - steps.min() <= 1
    np.testing.assert_allclose(times, np.arange(cuts[-1]) * period, atol=25e6)


def test_a_sensor_that_pauses_keeps_the_pause():
    starts = [0, SECOND, 9 * SECOND, 10 * SECOND]
    times = sample_times(blocks([10, 10, 10, 10], starts))
    assert times[[0, 10, 20, 30]].tolist() == starts
    assert times[-1] < 14 * SECOND


def test_a_single_payload_is_as_long_as_it_says():
    assert sample_times(blocks([4], [SECOND])).tolist() == [
        SECOND + k * 250_000_000 for k in range(4)
    ]


def test_no_sample_is_before_the_first_payload():
    # the first payload holds more than its share, so the line would start too early
    times = sample_times(blocks([12, 10, 10, 10], [k * SECOND for k in range(4)]))
    assert times[0] == 0
