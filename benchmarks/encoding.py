"""How to encode video for training: random clips a second against bytes.

    python benchmarks/encoding.py

Prints a table of key frame distance, B-frames and codec for 720p decoded to 224x224.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import inputs

SECONDS, CLIPS, SIZE = 12, 24, (224, 224)
CODECS = {
    "H.264": ("libx264", {"preset": "medium", "crf": "23"}),
    "HEVC": ("libx265", {"preset": "medium", "crf": "26"}),
    "AV1": ("libsvtav1", {"preset": "8", "crf": "35"}),
}
GOPS = (2, 10, 30, 60, 250)


def measured(path: Path) -> tuple[float, float]:
    """CPU ms of a random clip of 16 frames at stride 2, and megabytes a minute."""
    import genlock as gl

    starts = np.random.default_rng(0).integers(0, (SECONDS - 2) * 10**9, CLIPS)
    fields = {"rgb": gl.Video("video", rate=15, size=SIZE)}
    with gl.open(path) as recording:
        recording.read(fields, 0, 0.1)
        began = time.process_time()
        for start in starts.tolist():
            recording.read(fields, start, 1.06)
        spent = time.process_time() - began
    return 1000 * spent / CLIPS, path.stat().st_size / 1e6 * 60 / SECONDS


def main() -> None:
    print("| codec | key frame every | B-frames | CPU ms a clip | clips/s per core | MB/min |")
    print("|---|---|---|---|---|---|")
    for name, (codec, options) in CODECS.items():
        for gop in GOPS:
            for b_frames in (0, 2) if codec != "libsvtav1" else (2,):
                made = {"codec": codec, "gop": gop, "b_frames": min(b_frames, gop - 1)}
                (path,) = inputs.videos(1, (720, 1280), SECONDS, **made, options=options)
                cpu_ms, size = measured(path)
                cells = [name, gop, b_frames or "no", f"{cpu_ms:.0f}", f"{1000 / cpu_ms:.1f}"]
                print("| " + " | ".join(map(str, [*cells, f"{size:.1f}"])) + " |", flush=True)


if __name__ == "__main__":
    main()
