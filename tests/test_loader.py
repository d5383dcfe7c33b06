"""The loader: order, shapes, padding, ownership of memory, options, statistics."""

from __future__ import annotations

import gc
import threading
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import genlock as gl
from genlock import device
from loading import FIELDS, IMU, epochs, windows


def test_shapes_and_types(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=4) as loader:
        batch = next(iter(loader))
    assert batch["imu"].shape == (4, 50, 6) and batch["imu"].dtype == torch.float32
    assert batch["depth"].shape == (4, 3, 12, 16) and batch["depth"].dtype == torch.float32
    assert batch["pose"].shape == (4, 3, 7)
    assert batch.mask["depth"].shape == (4, 3) and batch.mask["depth"].dtype == torch.bool
    assert batch.times["imu"].shape == (4, 50) and batch.times["imu"].dtype == torch.int64
    assert batch["gaze"].shape[:2] == batch.mask["gaze"].shape
    assert batch.lengths["gaze"].max() == batch["gaze"].shape[1]
    assert [len(labels) for labels in batch["what"]] and len(batch["what"]) == 4
    assert len(batch.windows) == 4
    assert "4 windows" in repr(batch) and "depth: float32[4, 3, 12, 16]" in repr(batch)


def test_a_batch_holds_what_read_gives(sample: Path) -> None:
    with gl.open(sample) as recording, gl.Loader(windows(sample), FIELDS, batch_size=5) as loader:
        for batch in loader:
            for i, window in enumerate(batch.windows):
                one = recording.read(FIELDS, window.start_ns, 0.5)
                for name, value in one.items():
                    if isinstance(value, list):
                        assert batch[name][i] == value
                        continue
                    length = one.lengths[name]
                    assert batch.lengths[name][i] == length
                    np.testing.assert_array_equal(batch[name][i, :length].numpy(), value)
                    assert not batch[name][i, length:].any()
                    assert not batch.mask[name][i, length:].any()
                    np.testing.assert_array_equal(
                        batch.source_times[name][i, :length].numpy(), one.source_times[name]
                    )


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_batches_are_the_same_on_any_number_of_threads(
    sample: Path, reference: list[list[Any]], threads: int
) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=6, threads=threads) as loader:
        assert epochs(loader, 2) == reference


def test_epochs_differ_and_cover_everything(sample: Path) -> None:
    with gl.Loader(windows(sample), {"imu": FIELDS["imu"]}, batch_size=1) as loader:
        seen = [[batch.windows[0].index for batch in loader] for _ in range(3)]
    assert all(sorted(epoch) == list(range(len(seen[0]))) for epoch in seen)
    assert seen[0] != seen[1] != seen[2]


def test_padding_keeps_the_shape_of_the_last_batch(sample: Path) -> None:
    every = windows(sample)
    with gl.Loader(every, FIELDS, batch_size=6, tail="pad") as loader:
        batches = list(loader)
        assert len(batches) == len(loader) == 4
    last = batches[-1]
    real = len(every) - 18
    assert len(last.windows) == real < 6
    assert last["depth"].shape == batches[0]["depth"].shape
    assert last.mask["imu"][:real].any() and not last.mask["imu"][real:].any()
    assert not last["imu"][real:].any()
    assert sum(len(batch.windows) for batch in batches) == len(every)


def test_batches_that_are_kept_are_never_overwritten(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=2, prefetch=1) as loader:
        kept, copies = [], []
        for _ in range(2):
            for batch in loader:
                view = batch["depth"][1:, 0]
                kept.append(view)
                copies.append(view.clone())
        del batch
        gc.collect()
        assert all(torch.equal(a, b) for a, b in zip(kept, copies, strict=True))
        assert loader.stats().buffers >= len(kept)


def test_buffers_are_reused_when_batches_are_let_go(sample: Path) -> None:
    fields = {"imu": FIELDS["imu"], "depth": FIELDS["depth"]}
    with gl.Loader(windows(sample), fields, batch_size=2, prefetch=2) as loader:
        for _ in range(3):
            for batch in loader:
                del batch
        assert loader.stats().buffers <= 6


def test_batches_are_made_in_the_devices_memory(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pinning(device.HostBackend):
        made: ClassVar[list[np.ndarray]] = []

        @classmethod
        def allocate(cls, size: int) -> np.ndarray:  # type: ignore[override]
            assert threading.current_thread() is threading.main_thread()
            cls.made.append(np.empty(size, np.uint8))
            return cls.made[-1]

    monkeypatch.setattr(device, "make_backend", lambda *_: Pinning())
    fields = {"imu": FIELDS["imu"]}
    with gl.Loader(windows(sample), fields, batch_size=2, prefetch=2) as loader:
        for _ in range(3):
            pinned = []
            for batch in loader:
                address = batch["imu"].data_ptr()
                spans = [(m.ctypes.data, m.ctypes.data + m.nbytes) for m in Pinning.made]
                pinned.append(any(low <= address < high for low, high in spans))
                del batch
        assert all(pinned) and len(Pinning.made) == 4


def test_list_of_a_loader_holds_different_batches(sample: Path) -> None:
    with gl.Loader(windows(sample), {"imu": FIELDS["imu"]}, batch_size=2) as loader:
        batches = list(loader)
    assert len({batch["imu"].data_ptr() for batch in batches}) == len(batches)


def test_stats_name_the_stages_and_a_bottleneck(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=4) as loader:
        assert "Nothing" in loader.stats().bottleneck
        for _ in loader:
            pass
        stats = loader.stats()
    stages = {stage.name: stage for stage in stats.stages}
    assert {"plan", "image", "table"} <= set(stages)
    assert stages["image"].items == 20 * 3
    assert stages["image"].busy_s > 0 and stats.batches == 5 and stats.windows == 20
    assert stats.bytes > 0 and stats.waited_s <= stats.elapsed_s
    assert "bottleneck" in str(stats)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 0},
        {"batch_size": 2, "prefetch": 0},
        {"batch_size": 2, "on_error": "ignore"},
        {"batch_size": 2, "tail": "keep"},
        {"batch_size": 2, "threads": {"gpu": 1}},
        {"batch_size": 2, "threads": {"video": 0}},
        {"batch_size": "2"},
        {"batch_size": 2.0},
        {"batch_size": 2, "prefetch": 1.5},
        {"batch_size": 2, "cache": "ram", "cache_bytes": "1 GiB"},
        {"batch_size": 2, "max_failures": -1},
        {"batch_size": 2, "max_failures": float("nan")},
        {"batch_size": 2, "max_failures": "3"},
        {"batch_size": 2, "transform": "augment"},
    ],
)
def test_wrong_options_are_refused(sample: Path, options: dict[str, Any]) -> None:
    with pytest.raises(gl.FieldError):
        gl.Loader(windows(sample), FIELDS, **options)


def test_windows_and_fields_are_told_from_what_looks_like_them(sample: Path) -> None:
    with pytest.raises(gl.WindowError, match=r"takes genlock\.Windows, not a str"):
        gl.Loader(str(sample), FIELDS, batch_size=2)  # type: ignore[arg-type]
    with pytest.raises(gl.FieldError, match="by name"):
        gl.Loader(windows(sample), gl.Sensor("imu"), batch_size=2)  # type: ignore[arg-type]


def test_an_iteration_that_a_newer_one_ended_says_so(sample: Path) -> None:
    with gl.Loader(windows(sample), IMU, batch_size=4) as loader:
        older = iter(loader)
        next(older)
        newer = iter(loader)
        with pytest.raises(gl.ClosedError, match="newer iter"):
            next(older)
        assert len(list(newer)) == len(loader)


def sensor_folder(folder: Path, columns: str) -> Path:
    folder.mkdir()
    rows = "".join(f"{t * 10**7},1,2\n" for t in range(100))
    (folder / "imu.csv").write_text(f"t_ns,{columns}\n{rows}")
    return folder / "imu.csv"


def test_columns_in_another_order_are_never_mixed(tmp_path: Path) -> None:
    files = [sensor_folder(tmp_path / name, name) for name in ("a,b", "b,a")]
    both = gl.Windows(files, duration=0.5)
    with gl.Loader(both, IMU, batch_size=4) as loader, pytest.raises(gl.FieldError, match="b, a"):
        next(iter(loader))
    named = {"imu": gl.Sensor("imu", rate=100, columns=["a", "b"])}
    with gl.Loader(both, named, batch_size=4) as loader:
        assert [row.tolist() for row in next(iter(loader))["imu"][:, 0]] == [[1, 2]] * 2 + [
            [2, 1]
        ] * 2


def test_batches_are_made_while_torch_is_imported(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = threading.Event()
    make_backend = device.make_backend

    def late(*arguments: Any) -> device.Backend:
        assert made.wait(30), "no sample was made before the backend was there"
        return make_backend(*arguments)

    def noted(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
        made.set()
        return sample

    monkeypatch.setattr(device, "make_backend", late)
    with gl.Loader(windows(sample), FIELDS, batch_size=4, transform=noted) as loader:
        assert len(next(iter(loader)).windows) == 4


def test_a_loader_without_a_batch_says_why(sample: Path) -> None:
    fields = {"imu": gl.Sensor("imu", rate=10)}
    long = gl.Windows([sample], duration=60.0)
    with pytest.warns(UserWarning, match="no batch: there are no windows"):
        loader = gl.Loader(long, fields, batch_size=1)
    assert list(loader) == []
    loader.close()
    few = gl.Windows([sample], duration=2.0)
    with pytest.warns(UserWarning, match=f"{len(few)} windows do not fill one global batch of 64"):
        gl.Loader(few, fields, batch_size=64).close()
    with warnings.catch_warnings(action="error"):
        gl.Loader(few, fields, batch_size=64, tail="pad").close()
