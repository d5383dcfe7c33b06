"""Windows that cannot be loaded: raised, left out or masked, each in its place of the order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import genlock as gl
from genlock import _table_job, samples
from genlock.align import apply
from loading import FIELDS, IMU, failing_windows, windows


def test_the_first_failure_in_order_is_raised_with_its_place(broken: Path) -> None:
    failing = failing_windows(broken)
    assert len(failing) >= 1
    with gl.Loader(windows(broken), FIELDS, batch_size=1) as loader:
        received = []
        with pytest.raises(gl.DecodeError) as caught:
            for batch in loader:
                received.append(batch.windows[0].index)  # noqa: PERF401
    order = [window.index for window in windows(broken)]
    first = next(i for i, index in enumerate(order) if index in failing)
    assert received == order[:first]
    assert caught.value.stream == "depth"
    assert str(samples.stamps_ns("depth")[66]) in str(caught.value)
    assert "broken" in str(caught.value)


def test_skip_leaves_batches_shorter_and_everything_else_in_place(
    sample: Path, broken: Path
) -> None:
    failing = failing_windows(broken)
    with gl.Loader(windows(sample), FIELDS, batch_size=6) as loader:
        sound = [[window.index for window in batch.windows] for batch in loader]
    with gl.Loader(windows(broken), FIELDS, batch_size=6, on_error="skip") as loader:
        batches = list(loader)
        listed = {failure.window.index for failure in loader.failures}
        assert loader.stats().failures == len(loader.failures)
    got = [[window.index for window in batch.windows] for batch in batches]
    assert got == [[i for i in indices if i not in failing] for indices in sound]
    assert listed == failing & {i for indices in sound for i in indices}
    for batch in batches:
        assert len(batch["imu"]) == len(batch.windows) == len(batch["what"])


def test_mask_keeps_shapes_and_the_other_fields(sample: Path, broken: Path) -> None:
    failing = failing_windows(broken)
    with gl.Loader(windows(sample), FIELDS, batch_size=6) as loader:
        sound = list(loader)
    with gl.Loader(windows(broken), FIELDS, batch_size=6, on_error="mask") as loader:
        masked = list(loader)
    for good, batch in zip(sound, masked, strict=True):
        assert batch["depth"].shape == good["depth"].shape
        assert torch.equal(batch["imu"], good["imu"])
        for i, window in enumerate(batch.windows):
            if window.index in failing:
                assert not batch.mask["depth"][i].any() and not batch["depth"][i].any()
            else:
                assert torch.equal(batch["depth"][i], good["depth"][i])


def test_windows_that_are_handled_together_fail_one_by_one(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One window of a batch cannot be planned, another not filled; the rest is as without them."""
    with gl.open(sample) as recording:
        start_ns = recording.opened.span(["imu"]).start_ns
    starts = [start_ns + i * 10**8 for i in range(6)]
    with gl.Loader(gl.Windows.at([(sample, s, 0.2) for s in starts]), IMU, batch_size=6) as loader:
        (sound,) = loader
    refused_ns = starts[2]

    def refusing(plan: Any, *others: Any) -> Any:
        if refused_ns in plan.grid_ns:
            raise gl.FieldError("refused", time_ns=refused_ns)
        return apply(plan, *others)

    monkeypatch.setattr(_table_job, "apply", refusing)
    beyond = 2**62
    every = gl.Windows.at([(sample, beyond if i == 4 else s, 0.2) for i, s in enumerate(starts)])
    with gl.Loader(every, IMU, batch_size=6, on_error="mask") as loader:
        (masked,) = loader
        failed = [(f.window.index, f.field, type(f.error)) for f in loader.failures]
    assert failed == [
        (1, "imu", gl.FieldError),
        (2, "imu", gl.FieldError),
        (4, None, gl.WindowError),
    ]
    for i in (0, 3, 5):
        assert torch.equal(masked["imu"][i], sound["imu"][i])
        assert torch.equal(masked.source_times["imu"][i], sound.source_times["imu"][i])
    assert masked.mask["imu"].any(dim=1).tolist() == [True, False, False, True, False, True]
    assert not masked["imu"][[1, 2, 4]].any()


def test_mask_keeps_shapes_when_a_recording_does_not_open(sample: Path, tmp_path: Path) -> None:
    with gl.open(sample) as recording:
        span = recording.opened.span(["imu", "depth", "pose"])
    gone = gl.Span(str(tmp_path / "gone"), span.start_ns, span.end_ns)
    for spans in ([gone, span], [span, gone]):
        every = gl.Windows(spans, duration=0.5, stride=2.0)
        with gl.Loader(every, FIELDS, batch_size=5, on_error="mask") as loader:
            batches = list(loader)
            assert len(loader.failures) == 5
        assert len(batches) == 2
        assert batches[0]["depth"].shape == batches[1]["depth"].shape
        lost = batches[spans.index(gone)]
        assert not any(mask.any() for mask in lost.mask.values())
    with (
        gl.Loader(every, FIELDS, batch_size=5, on_error="mask", max_failures=3) as loader,
        pytest.raises(gl.GenlockError, match="max_failures"),
    ):
        list(loader)
    with (
        gl.Loader(every, FIELDS, batch_size=5, on_error="skip", max_failures=0.2) as loader,
        pytest.raises(gl.GenlockError, match="max_failures"),
    ):
        list(loader)


@pytest.mark.parametrize("process", [False, True])
def test_mask_raises_where_no_window_tells_the_shapes(sample: Path, process: bool) -> None:
    fields = {"imu": gl.Sensor("no such stream", rate=100)}
    options: dict[str, Any] = {"on_error": "mask", "process": process}
    loader = gl.Loader(windows(sample), fields, batch_size=4, **options)
    with loader, pytest.raises(gl.StreamError, match="no such stream"):
        list(loader)


class Unordered(gl.Windows):
    """Windows whose order fails where it is first asked for."""

    def order(self, epoch: int) -> Any:
        raise KeyError("no order")


def test_windows_that_fail_are_no_end_of_an_epoch(sample: Path) -> None:
    failing = Unordered(sample, over=["imu"], duration=0.5)
    loader = gl.Loader(failing, IMU, batch_size=4)
    with loader, pytest.raises(KeyError, match="no order"):
        list(loader)
