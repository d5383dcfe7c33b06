"""What `bench` concludes from its numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl
from genlock.bench import Bench, Decoding, Run, _cost
from genlock.interfaces import UnitTable
from genlock.stats import StageStats, Stats
from genlock.windows import Window


@pytest.fixture(scope="module")
def blank(sample: Path) -> Stats:
    windows = gl.Windows([sample], duration=1.0)
    with gl.Loader(windows, {"imu": gl.Sensor("imu", rate=10)}, batch_size=1) as loader:
        return loader.stats()


def bench_of(
    blank: Stats, one: int, many: int, stage: StageStats, epoch: int = 10, **options: Any
) -> Bench:
    """Two runs of 10 s that loaded so many windows, each of a MB."""
    runs = [
        Run(threads, 10.0, replace(blank, stages=(stage,), windows=n, bytes=n * 10**6))
        for threads, n in ((1, one), (0, many))
    ]
    given: dict[str, Any] = {"decoding": ()} | options
    return Bench("session", 4, 0.01, epoch, *runs, **given)


BUSY = StageStats("video", 4, 1000, 38.0, 36.0, 0.95)


def topics(bench: Bench) -> set[str]:
    return {sentence.split(":")[0] for sentence in bench.advice}


def test_the_bottleneck_is_named_with_its_numbers(blank: Stats) -> None:
    bench = bench_of(blank, 100, 300, BUSY)
    assert bench.bottleneck == (
        "The bottleneck is decoding video: its 4 threads were busy 95% of the time, 95% of that "
        "on the CPU."
    )
    assert bench.speedup == 3.0


def test_threads_that_help_and_threads_that_do_not(blank: Stats) -> None:
    (help_, _) = bench_of(blank, 100, 300, BUSY).advice
    assert "all 4 CPUs are in use (10.0 windows/s with one thread, 30.0 with more)" in help_
    (useless, _) = bench_of(blank, 300, 310, BUSY).advice
    assert useless.startswith("Threads: more bring nothing here (30.0")


def test_waiting_wins_over_threads(blank: Stats) -> None:
    waiting = replace(BUSY, cpu_s=4.0)
    assert topics(bench_of(blank, 100, 300, waiting)) == {"Waiting", "Cache"}


def test_a_shorter_gop_is_advised_where_the_way_to_windows_is_long(blank: Stats) -> None:
    far = Decoding("camera", wanted=10, span=30, run_up=60)
    bench = bench_of(blank, 100, 300, BUSY, decoding=(far,))
    (text,) = (sentence for sentence in bench.advice if sentence.startswith("Key frames"))
    assert "of 90 packets decoded for a lone window of 'camera', 60 only lead" in text
    assert "-g 8 " in text
    near = replace(far, run_up=5)
    assert "Key frames" not in topics(bench_of(blank, 100, 300, BUSY, decoding=(near,)))
    audio = replace(BUSY, name="audio")
    assert "Key frames" not in topics(bench_of(blank, 100, 300, audio, decoding=(far,)))


def test_a_process_is_advised_where_it_leaves_python_alone(blank: Stats) -> None:
    bench = bench_of(blank, 100, 300, BUSY)
    slowed = replace(bench, many=replace(bench.many, step_speed=0.6))
    apart = replace(bench.many, step_speed=0.9)
    (text,) = (t for t in replace(slowed, process=apart).advice if t.startswith("Process"))
    assert "at 60% of its speed beside the loader's threads and at 90%" in text
    assert "Process" not in topics(replace(bench, process=apart))
    assert "Process" not in topics(slowed)


def test_a_cache_is_advised_where_it_fits(blank: Stats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genlock.bench._memory_bytes", lambda: 16 * 10**9)
    text = bench_of(blank, 100, 300, BUSY).advice[-1]
    assert "an epoch's 10 windows of these fields take 10 MB of 16000 MB of memory" in text
    assert 'cache="ram")' in text  # the default of cache_bytes holds them
    large = bench_of(blank, 100, 300, BUSY, epoch=2000).advice[-1]
    assert "take 2000 MB" in large
    room = int(large.split("cache_bytes=")[1].split(")")[0])
    assert 2 * 10**9 < room < 2.3 * 10**9
    assert "Cache" not in topics(bench_of(blank, 100, 300, BUSY, epoch=4000))  # of 4 GB


@pytest.mark.parametrize("stage", ["plan", "transform"])
def test_no_cache_is_advised_for_what_it_does_not_spare(blank: Stats, stage: str) -> None:
    busy = replace(BUSY, name=stage)
    assert "Cache" not in topics(bench_of(blank, 100, 300, busy))


def test_nothing_is_advised_about_threads_between_the_limits(blank: Stats) -> None:
    """Faster by a fifth: more threads bring something, and CPUs are not what is short."""
    assert "Threads" not in topics(bench_of(blank, 100, 120, BUSY))
    idle = replace(BUSY, busy_s=20.0, cpu_s=19.0, load=0.5)
    assert "Threads" not in topics(bench_of(blank, 100, 300, idle))
    few = replace(BUSY, threads=2)
    assert "Threads" not in topics(bench_of(blank, 100, 300, few))


def test_packets_are_counted_from_the_key_frame() -> None:
    """Key packets at 0 and 8; B-frames: rows 0 1 2 3 … lie in units 0 2 1 4 3 …"""
    row_unit = np.array([0, 2, 1, 4, 3, 6, 5, 7, 8, 10, 9, 12, 11, 14, 13, 15])
    key = np.zeros(16, np.bool_)
    key[[0, 8]] = True
    stamps = np.arange(16, dtype=np.int64)
    table = UnitTable(stamps, stamps, key, ~key, row_unit, Fraction(1, 10))
    times = stamps * 100_000_000
    window = Window("session", 400_000_000, 400_000_000, 0)
    assert _cost(table, times, window, 5) == (2, 5 - 3 + 1, 3)  # rows 4, 6 in units 3, 5
    window = Window("session", 900_000_000, 300_000_000, 0)
    assert _cost(table, times, window, 10) == (3, 12 - 9 + 1, 1)  # rows 9, 10, 11
