"""DALI on a GPU against OpenCV: near the same pixels. Run with `make test-gpu` where DALI is."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

import genlock as gl
from genlock.decoders import dali

LEAST_PSNR = 40.0
"""dB. nvJPEG's inverse transform and chroma scaling round elsewhere than libjpeg's."""

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("color", ["rgb", "gray"])
def test_batches_are_near_those_of_opencv(tmp_path: Path, color: str) -> None:
    try:
        dali.require()
    except gl.MissingExtraError as error:
        pytest.skip(str(error))
    (tmp_path / "cam").mkdir()
    random = np.random.default_rng(0)
    for i in range(16):
        noise = random.integers(0, 256, (30, 40, 3), np.uint8)
        picture = cv2.resize(noise, (640, 480), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(tmp_path / f"cam/{i:02}.jpg"), picture)
    declared = '[streams.cam]\nkind = "video"\npath = "cam/*.jpg"\ntime = { rate = 10.0 }\n'
    (tmp_path / "recording.toml").write_text(declared)
    windows = gl.Windows(tmp_path, duration=0.4, stride=0.4)
    batches = {}
    for decoder in ("auto", "dali"):
        field = gl.Video("cam", rate=10, color=color, decoder=decoder)  # type: ignore[arg-type]
        with gl.Loader(windows, {"rgb": field}, batch_size=2, device="cuda", threads=2) as loader:
            batches[decoder] = torch.cat([batch["rgb"].cpu() for batch in loader]).float()
    error = (batches["dali"] - batches["auto"]).square().mean().item()
    assert 10 * np.log10(255**2 / max(error, 1e-9)) >= LEAST_PSNR
