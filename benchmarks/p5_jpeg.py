"""P5: JPEGs to a small size."""

from __future__ import annotations

from typing import Any

import numpy as np

import inputs
import peers
from harness import Batches, faster

TITLE = "JPEGs of 500x400 to 224x224, batch 32"
UNIT = "pictures"
SIZE, BATCH = (224, 224), 32


def prepare(quick: bool) -> list[str]:
    folder = inputs.pictures(1000)
    return sorted(map(str, folder.iterdir()))


def genlock(work: list[str], extra: dict[str, float]) -> Batches:
    import genlock as gl

    folder = inputs.pictures(1000)
    recording = gl.open(folder, streams={folder.name: {"time": {"rate": 10.0}}})
    table = [(recording, i * 10**8, 0.1) for i in range(len(work))]
    fields = {"rgb": gl.Video(folder.name, offsets=[0], size=SIZE)}
    with gl.Loader(gl.Windows.at(table), fields, batch_size=BATCH) as loader:
        for _ in range(3):
            for batch in loader:
                pictures = batch["rgb"][:, 0]
                if "dB" not in extra:
                    extra["dB"] = decibels(pictures.numpy(), work)
                yield BATCH, pictures


def decibels(pictures: Any, paths: list[str]) -> float:
    """Worst PSNR of the first pictures against Pillow's antialiased resize."""
    exact = np.stack([pillow(path) for path in paths[: len(pictures)]]).astype(float)
    errors = ((pictures - exact) ** 2).mean(axis=(1, 2, 3))
    return float((10 * np.log10(255**2 / errors)).min())


def pillow(path: str) -> Any:
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").resize(SIZE[::-1], Image.Resampling.BILINEAR)
        return np.asarray(small).transpose(2, 0, 1)


def opencv(path: str) -> Any:
    import cv2

    picture = cv2.resize(cv2.imread(path), SIZE[::-1], interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB).transpose(2, 0, 1))


def spdl(path: str) -> Any:
    import spdl.io

    filters = spdl.io.get_video_filter_desc(
        scale_width=SIZE[1], scale_height=SIZE[0], scale_mode=None, pix_fmt="rgb24"
    )
    packets = spdl.io.demux_image(path)
    frames = spdl.io.decode_packets(packets, filter_desc=filters)
    return spdl.io.to_numpy(spdl.io.convert_frames(frames)).transpose(2, 0, 1)


def in_batches(run: Any, read: Any) -> Any:
    def batches(work: list[str], extra: dict[str, float]) -> Batches:
        peers.BATCH = BATCH
        yield from run(lambda path, _: read(path), work * 3, None)

    return batches


class _Pillow:
    """Picklable, as worker processes may need."""

    def __call__(self, path: str) -> Any:
        return pillow(path)


CONTESTANTS = {
    "genlock": genlock,
    "Pillow, DataLoader": in_batches(peers.in_data_loader, _Pillow()),
    "OpenCV, threads": in_batches(peers.in_threads, opencv),
    "SPDL": in_batches(peers.in_spdl, spdl),
}
GOALS = [
    ("2x DataLoader with Pillow", faster("genlock", "Pillow, DataLoader"), 2.0),
    ("1.8x SPDL", faster("genlock", "SPDL"), 1.8),
    ("OpenCV's plain threads as the floor", faster("genlock", "OpenCV, threads"), 1.0),
    ("dB against Pillow", lambda results: (results["genlock"].extra or {})["dB"], 38.0),
]
