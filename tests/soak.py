"""Loaders under random faults and kills, for minutes: `make soak`, or `python tests/soak.py 180`.

Each round makes a loader with random options over a sound recording and one with damaged files,
runs some of its epochs, breaks off or is resumed or has its child killed, and closes it. After
each round no thread, descriptor, process or shared segment may be left, and every batch that was
received must hold what the sound recording has at its windows, or be masked. At the end, memory
must be where it was after the first third. Prints counts; ends with an error at the first fault.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import genlock as gl
import transforms
from genlock import samples

FIELDS = {
    "rgb": gl.Video("camera-rgb", rate=10, size=(48, 64)),
    "depth": gl.Depth("depth", rate=5, size=(12, 16)),
    "audio": gl.Audio("audio", rate=16_000, channels=1),
    "imu": gl.Sensor("imu", rate=100),
    "what": gl.Labels("labels"),
}
DAMAGED = range(20, 150, 31)
GROWTH_MB = 40
SEED = 20


class Soak:
    """Rounds, and what each must leave behind."""

    def __init__(self, folder: Path) -> None:
        self.random = random.Random(SEED)
        self.counts: Counter[str] = Counter()
        sound = samples.write(folder / "sound")
        damaged = Path(shutil.copytree(sound, folder / "damaged"))
        for number, picture in enumerate(sorted((damaged / "depth").iterdir())):
            if number in DAMAGED:
                picture.write_bytes(picture.read_bytes()[:200])
        self.recordings = [sound, damaged]
        self.truth = self._truth(sound)

    def windows(self, recordings: Any) -> gl.Windows:
        return gl.Windows(
            recordings, over=["imu", "depth"], duration=0.5, stride=0.4, shuffle=True, seed=SEED
        )

    def _truth(self, sound: Path) -> dict[int, str]:
        with gl.Loader(self.windows(sound), FIELDS, batch_size=1) as loader:
            return {batch.windows[0].start_ns: digest(batch, 0) for batch in loader}

    def round(self) -> None:
        """One loader, from its making to its end."""
        draw = self.random
        process = draw.random() < 0.5
        on_error = draw.choice(["raise", "skip", "mask"])
        windows = self.windows(self.recordings)
        fails = draw.random() < 0.2
        options: dict[str, Any] = {
            "process": process,
            "on_error": on_error,
            "threads": draw.choice([1, 2]),
            "prefetch": draw.choice([1, 2, 4]),
            "cache": draw.choice([None, "ram"]),
            "cache_bytes": draw.choice([1 << 20, 1 << 28]),
            "transform": transforms.Failing(draw.randrange(len(windows))) if fails else None,
        }
        loader = gl.Loader(windows, FIELDS, batch_size=draw.choice([1, 3, 5]), **options)
        self.counts["loaders"] += 1
        self.counts["child processes"] += process
        try:
            for _ in range(draw.choice([1, 2, 3])):
                self._epoch(loader, kill=process and draw.random() < 0.3)
                if draw.random() < 0.3:
                    loader.load_state_dict(loader.state_dict())
                    self.counts["resumed"] += 1
        except (gl.GenlockError, transforms.OddError) as error:
            self.counts[f"raised {type(error).__name__}"] += 1
        self.counts["windows failed"] += len(loader.failures)
        if draw.random() < 0.7:
            loader.close()

    def _epoch(self, loader: gl.Loader, kill: bool) -> None:
        last = self.random.randrange(2 * len(loader))
        for number, batch in enumerate(loader):
            self._check(batch)
            if number == last and kill:
                os.kill(loader._workers.pid, signal.SIGKILL)  # type: ignore[attr-defined]
                self.counts["children killed"] += 1
            elif number == last:
                self.counts["broken off"] += 1
                return
        self.counts["epochs"] += 1

    def _check(self, batch: gl.Batch) -> None:
        self.counts["batches"] += 1
        for i, window in enumerate(batch.windows):
            known = self.truth[window.start_ns]
            masked = not batch.mask["depth"][i].any()
            if masked != (digest(batch, i) != known):
                raise AssertionError(f"wrong values at {window}")


def digest(batch: gl.Batch, i: int) -> str:
    """Everything of one sample of a batch."""
    parts: list[Mapping[str, Any]] = [batch.data, batch.mask, batch.times, batch.source_times]
    held = hashlib.sha256()
    for part in parts:
        for name, value in part.items():
            held.update(repr(value[i]).encode() if name == "what" else value[i].numpy().tobytes())
    return held.hexdigest()


def left() -> dict[str, int]:
    """What a loader must not leave behind."""
    tasks = Path("/proc/self/task").iterdir()
    return {
        "threads": sum(t.name.startswith("genlock-") for t in threading.enumerate()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": sum(len((task / "children").read_text().split()) for task in tasks),
        "segments": Path("/proc/self/maps").read_text().count("memfd:genlock"),
    }


def resident_mb() -> float:
    """Resident memory, without what the C library keeps free for later."""
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(seconds: float) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder))
        soak.round()
        gc.collect()
        before, settled = left(), None
        while (elapsed := time.monotonic() - began) < seconds:
            soak.round()
            gc.collect()
            if (after := left()) != before:
                raise AssertionError(f"left behind: {after}, before {before}; {soak.counts}")
            if settled is None and elapsed > seconds / 3:
                settled = resident_mb()
        growth = resident_mb() - (settled or resident_mb())
    for name, count in sorted(soak.counts.items()):
        print(f"{count:>8} {name}")
    print(f"{growth:+.0f} MB since the first third; {resident_mb():.0f} MB resident; {seconds:g} s")
    if growth > GROWTH_MB:
        raise AssertionError("memory has grown")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 180)
