from __future__ import annotations

import numpy as np

from genlock.notebook._facts import density, facts_of
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Report, SampledTimeline, Timeline

MS = 1_000_000


def stream(ns: list[int], **options: object) -> Stream:
    info = StreamInfo("sensor", report=Report(dropped=2, missing=1))
    return Stream("imu", info, Timeline(np.array(ns), **options))  # type: ignore[arg-type]


def test_rate_gaps_and_lost_rows() -> None:
    ns = [i * 10 * MS for i in range(50)] + [1000 * MS + i * 10 * MS for i in range(50)]
    facts = facts_of(stream(ns))
    assert facts.rate == 100 and facts.rows == 100
    assert facts.gaps == ((490 * MS, 1000 * MS),)
    assert (facts.start_ns, facts.end_ns) == (0, 1500 * MS)
    assert facts.lost == 3
    assert facts.jitter_ns == 0


def test_jitter_is_the_spread_of_the_steps() -> None:
    steps = np.tile([9 * MS, 10 * MS, 11 * MS], 40)
    assert facts_of(stream(np.cumsum(steps).tolist())).jitter_ns == MS


def test_a_long_row_is_no_gap() -> None:
    ns = [0, 10 * MS, 20 * MS, 220 * MS, 230 * MS]
    durations = np.array([10 * MS, 10 * MS, 200 * MS, 10 * MS, 10 * MS])
    assert facts_of(stream(ns, durations_ns=durations)).gaps == ()
    assert len(facts_of(stream(ns)).gaps) == 1


def test_invalid_rows_are_lost_rows() -> None:
    valid = np.array([True, False, False, False, True])
    assert facts_of(stream([0, 10, 20, 30, 40], valid=valid)).lost == 2 + 3


def test_audio_holes_are_gaps() -> None:
    timeline = SampledTimeline(5, 1000, 100, [(0, 40), (60, 100)])
    facts = facts_of(Stream("mic", StreamInfo("audio"), timeline))
    assert facts.gaps == ((5 + 40 * MS, 5 + 60 * MS),)
    assert facts.rate == 1000 and facts.lost == 20


def test_density_of_an_even_stream_is_flat_and_falls_where_rows_lack() -> None:
    even = stream([i * 10 * MS // 3 for i in range(1000)])
    edges, shares = density(even, facts_of(even), 77)
    assert (shares == 1).all() and len(edges) == 78
    holed = stream([i * MS for i in range(1000) if not 400 <= i < 500])
    edges, shares = density(holed, facts_of(holed), 100)
    middle = (edges[:-1] + edges[1:]) // 2
    inside = (middle > 410 * MS) & (middle < 490 * MS)
    assert (shares[inside] == 0).all() and (shares[middle < 390 * MS] == 1).all()


def test_one_row_has_no_rate() -> None:
    facts = facts_of(stream([7]))
    assert facts.rate is None and facts.rows == 1 and facts.end_ns > facts.start_ns
