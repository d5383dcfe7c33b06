"""Tables in memory, and recordings assembled from them and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from genlock.decoders.table import TableDecoder
from genlock.errors import ClosedError, LayoutError, OpenError, StreamError
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources import read_source
from genlock.sources._arrays import ArraySource, array_table
from genlock.sources._assembled import Assembly, segment, shifted, with_times

HERE = Location("memory:test", b"")
UNSETTLED = np.array([30, -1, 10, 20, 20], np.int64)


def assembly(location: Location = HERE, **streams: dict[str, object]) -> Assembly:
    return Assembly(location, "clock", OpenOptions(streams=streams), read_source)


def test_a_table_in_memory_is_settled():
    columns = {"a": np.arange(5), "b": np.arange(10.0).reshape(5, 2)}
    table = array_table("t", "sensor", UNSETTLED, columns, units={"a": "m"})
    info, timeline = table.stream.info, table.stream.timeline
    np.testing.assert_array_equal(timeline.ns, [10, 20, 20, 30])
    np.testing.assert_array_equal(table.columns["a"], [2, 3, 4, 0])
    np.testing.assert_array_equal(table.columns["b"][:, 1], [5, 7, 9, 1])
    assert (info.report.dropped, info.report.reordered, info.report.ties) == (1, 4, 1)
    assert (info.shape, info.columns, info.units) == ((3,), ("a", "b"), {"a": "m"})
    assert info.rate == 1e8
    with pytest.raises(ValueError, match="read-only"):
        table.columns["a"][0] = 1


def test_labels_keep_their_durations_and_values():
    values = np.array(["x", "y"], object)
    table = array_table("l", "labels", np.array([5, 3]), {"value": values}, np.array([1, 2]))
    np.testing.assert_array_equal(table.stream.timeline.durations_ns, [2, 1])
    assert table.columns["value"].tolist() == ["y", "x"]
    assert table.stream.info.shape == ()


def test_a_source_of_arrays_serves_decoders_until_it_is_closed():
    table = array_table("t", "sensor", np.arange(3), {"a": np.arange(3)})
    source = ArraySource(HERE, "clock", {"t": table})
    assert isinstance(source, Source)
    decoder = TableDecoder(source.units("t"), source.streams["t"])
    np.testing.assert_array_equal(decoder.columns()["a"], [0, 1, 2])
    with pytest.raises(StreamError, match="no stream 'u'"):
        source.units("u")
    source.close()
    with pytest.raises(ClosedError):
        source.units("t")


def test_what_a_layout_states_is_in_the_stream():
    with assembly() as made:
        part = made.table("t", "sensor", np.arange(3), {"a": np.arange(3)}, rate=1.0)
        made.add(part, stamp="mid", exposure_ns=None, notes=("a note",))
        stream = made.source().streams["t"]
    assert (stream.info.clock, stream.info.stamp, stream.info.rate) == ("clock", "mid", 1.0)
    assert stream.info.report.notes == ("a note",)


def test_a_segment_starts_at_zero_and_has_its_own_rows():
    with assembly() as made:
        part = made.table("t", "sensor", np.arange(0, 100, 10), {"a": np.arange(10)})
        made.add(shifted(segment(part, 30, 60), 1000))
        source = made.source()
    np.testing.assert_array_equal(source.streams["t"].timeline.ns, [1000, 1010, 1020])
    np.testing.assert_array_equal(source.units("t").unit(0)["a"], [3, 4, 5])


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "times"),
    [(31, 59, [0, 10, 20]), (29, 61, [0, 10, 20]), (35, 65, [5, 15, 25])],
)
def test_the_ends_of_a_segment_may_be_rounded(start_ns, end_ns, times):
    with assembly() as made:
        part = made.table("t", "sensor", np.arange(0, 100, 10), {"a": np.arange(10)})
        made.add(segment(part, start_ns, end_ns, slack_ns=4))
        source = made.source()
    np.testing.assert_array_equal(source.streams["t"].timeline.ns, times)


def test_other_times_are_settled_and_take_their_rows_along():
    with assembly() as made:
        part = made.table("t", "sensor", np.arange(5), {"a": np.arange(5)})
        made.add(with_times(part, UNSETTLED))
        source = made.source()
    np.testing.assert_array_equal(source.streams["t"].timeline.ns, [10, 20, 20, 30])
    np.testing.assert_array_equal(source.units("t").unit(0)["a"], [2, 3, 4, 0])
    assert source.streams["t"].info.report.dropped == 1


def test_a_file_that_cannot_be_read_is_a_problem_of_its_stream(tmp_path: Path):
    (tmp_path / "good.csv").write_text("t_ns,a\n1,2\n")
    (tmp_path / "bad.csv").write_text("t_ns,a\n1,2\n3\n")
    base = Location(tmp_path)
    with assembly(base) as made:
        for name in ("good", "bad", "absent"):
            made.add(made.file(name, "sensor", base.child(f"{name}.csv")))
        streams = made.source().streams
    assert streams["good"].problem is None
    assert "line 3" in str(streams["bad"].problem)
    assert "does not exist" in str(streams["absent"].problem)
    assert isinstance(streams["absent"].problem, OpenError)


def test_a_recording_of_which_nothing_can_be_read_raises(tmp_path: Path):
    base = Location(tmp_path)
    with assembly(base) as made:
        made.add(made.file("absent", "sensor", base.child("absent.csv")))
        with pytest.raises(OpenError, match=r"absent\.csv does not exist"):
            made.source()


def test_declarations_are_for_files_and_for_streams_that_are_there():
    with assembly(t={"columns": ["a"]}) as made, pytest.raises(LayoutError, match="the layout"):
        made.table("t", "sensor", np.arange(3), {"a": np.arange(3)})
    with assembly(u={}) as made:
        made.add(made.table("t", "sensor", np.arange(3), {"a": np.arange(3)}))
        with pytest.raises(LayoutError, match="no such stream"):
            made.source()
