"""Where the CPU of an isolated clip goes: FFmpeg's decoder, its scaler, and everything around them.

`python benchmarks/clip_profile.py` reads the clips of P1 one after another in one thread, in turns
with plain PyAV, and prints the CPU time of each part: the minimum over the rounds, summed over the
clips. Plain PyAV decodes from the key frame on, converts what is wanted, and stops.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import inputs
import p1_clips
import peers
from genlock.decoders import _conversion, video
from genlock.interfaces import FrameFormat
from genlock.location import Location
from genlock.opened import Opened

FORMAT = FrameFormat(p1_clips.SIZE)
PARTS = ("whole", "decoder", "scaler", "around them")


class Timed:
    """An object one of whose methods is timed."""

    def __init__(self, inner: Any, method: str, spent: dict[str, float], part: str) -> None:
        self.__dict__.update(_inner=inner, _method=method, _spent=spent, _part=part)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        return self._timed(value) if name == self._method else value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            began = time.thread_time()
            try:
                return function(*args, **options)
            finally:
                self._spent[self._part] += time.thread_time() - began

        return run


class Ours:
    """Genlock's decoder of each file, always sent elsewhere."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PARTS, 0.0)
        self.packets = 0
        self._decoders: dict[str, video.VideoDecoder] = {}
        opened, scaler = video.VideoDecoder._open, _conversion.Scaler
        spent = self.spent
        video.VideoDecoder._open = lambda self, spec: Timed(  # type: ignore
            opened(self, spec), "decode", spent, "decoder"
        )
        _conversion.Scaler = lambda: Timed(scaler(), "write", spent, "scaler")  # type: ignore

    def __call__(self, clip: peers.Clip) -> None:
        path, numbers = clip
        if path not in self._decoders:
            self._decoders[path] = Opened(Location(path)).decoder("video")  # type: ignore
        decoder = self._decoders[path]
        decoder.leaps = True
        out = np.empty((len(numbers), 3, *p1_clips.SIZE), np.uint8)
        decoder.read(np.array(numbers), FORMAT, out)


def packets(clip: peers.Clip) -> int:
    """How many packets plain PyAV decodes until the last frame that is wanted has come out."""
    import av

    with av.open(clip[0]) as container:
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        container.seek(int(clip[1][0] / inputs.FPS / stream.time_base), stream=stream)
        for count, packet in enumerate(container.demux(stream), 1):
            for frame in packet.decode():
                if round(frame.time * inputs.FPS) >= clip[1][-1]:
                    return count
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    clips = p1_clips.prepare(True)[: chosen.clips]
    ours, plain = Ours(), peers.PerThread()
    best = np.full((len(clips), len(PARTS) + 1), np.inf)
    for _ in range(chosen.rounds):
        for i, clip in enumerate(clips):
            ours.spent.update(dict.fromkeys(PARTS, 0.0))
            began = time.thread_time()
            ours(clip)
            ours.spent["whole"] = time.thread_time() - began
            around = ours.spent["whole"] - ours.spent["decoder"] - ours.spent["scaler"]
            ours.spent["around them"] = around
            began = time.thread_time()
            plain(clip, p1_clips.SIZE)
            best[i] = np.minimum(best[i], [*ours.spent.values(), time.thread_time() - began])
    decoded = sum(d.units_decoded for d in ours._decoders.values()) / chosen.rounds / len(clips)
    alone = np.mean([packets(clip) for clip in clips])
    means = 1000 * best.mean(axis=0)
    print(f"packets decoded for a clip: {decoded:.1f}, by plain PyAV {alone:.1f}")
    for part, mean in zip((*PARTS, "plain PyAV"), means, strict=True):
        print(f"{part:<14}{mean:>8.1f} ms of CPU{100 * mean / means[0]:>8.1f} %")


if __name__ == "__main__":
    main()
