"""The loader: order, state, shards, faults, transforms, ownership, closing."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import genlock as gl
from genlock import device, samples
from transforms import Failing, add_noise, cut, keep_one

FIELDS = {
    "imu": gl.Sensor("imu", rate=100),
    "pose": gl.Pose("pose", at="depth", relative_to="first"),
    "depth": gl.Depth("depth", rate=5, size=(12, 16)),
    "gaze": gl.Sensor("gaze"),
    "what": gl.Labels("labels"),
}


def windows(sample: Path, **options: Any) -> gl.Windows:
    """23 windows of the sample, shuffled unless asked otherwise."""
    defaults = {"duration": 0.5, "stride": 0.42, "shuffle": True, "seed": 3}
    return gl.Windows(sample, over=["imu", "depth", "pose"], **(defaults | options))


def as_bytes(batch: gl.Batch) -> list[Any]:
    """Everything a batch holds, for comparison byte for byte."""
    parts: list[Any] = [[(w.start_ns, w.index) for w in batch.windows]]
    for part in (batch.data, batch.mask, batch.times, batch.source_times, batch.lengths):
        for name, value in part.items():
            held = value.numpy().tobytes() if isinstance(value, torch.Tensor) else repr(value)
            parts.append((name, held))
    return parts


def epochs(loader: gl.Loader, count: int) -> list[list[Any]]:
    return [as_bytes(batch) for _ in range(count) for batch in loader]


@pytest.fixture(scope="module")
def reference(sample: Path) -> list[list[Any]]:
    with gl.Loader(windows(sample), FIELDS, batch_size=6, threads=1) as loader:
        return epochs(loader, 2)


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


def test_resumes_after_every_step_of_two_epochs(sample: Path, reference: list[list[Any]]) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=6, threads=2) as loader:
        assert len(loader) == 3
        states = [loader.state_dict()]
        for _ in range(2):
            for _ in loader:
                states.append(loader.state_dict())  # noqa: PERF401 - state inside the loop
    assert len(states) == 7
    for step, state in enumerate(states):
        with gl.Loader(windows(sample), FIELDS, batch_size=6, threads=1 + step % 3) as fresh:
            fresh.load_state_dict(state)
            rest = epochs(fresh, 3)
        assert rest[: len(reference) - step] == reference[step:]


def test_state_counts_what_was_received_not_what_was_prefetched(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=2, prefetch=5) as loader:
        iterator = iter(loader)
        next(iterator)
        next(iterator)
        state = loader.state_dict()
    assert (state["epoch"], state["batch"]) == (0, 2)
    assert all(isinstance(value, int | str) for value in state.values())


def test_a_break_begins_the_next_epoch_and_a_load_continues(sample: Path) -> None:
    with gl.Loader(windows(sample), {"imu": FIELDS["imu"]}, batch_size=6) as loader:
        for _ in loader:
            state = loader.state_dict()
            break
        assert loader.epoch == 0
        second = [batch.windows for batch in loader]
        assert loader.epoch == 1 and len(second) == 3
        loader.load_state_dict(state)
        assert len(list(loader)) == 2
        assert loader.epoch == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 4}, "another seed: 3, here 4"),
        ({"stride": 0.5}, "windows"),
        ({"fields": {"imu": gl.Sensor("imu", rate=50)}}, "fields"),
        ({"batch_size": 4}, "global batch size"),
    ],
)
def test_a_state_of_something_else_is_refused(
    sample: Path, change: dict[str, Any], named: str
) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=6) as loader:
        state = loader.state_dict()
    fields, size = change.pop("fields", FIELDS), change.pop("batch_size", 6)
    with (
        gl.Loader(windows(sample, **change), fields, batch_size=size) as other,
        pytest.raises(gl.StateError, match=named),
    ):
        other.load_state_dict(state)


@pytest.mark.parametrize("shuffle", [False, True, "blocks"])
def test_ranks_share_the_windows_and_resume_on_other_world_sizes(
    sample: Path, shuffle: bool | str
) -> None:
    fields = {"imu": FIELDS["imu"]}
    lanes = {"lanes": 6, "block": 2} if shuffle == "blocks" else {}
    every = windows(sample, stride=0.25, shuffle=shuffle, **lanes)

    def run(world: int, state: dict[str, Any] | None) -> tuple[list[set[int]], dict[str, Any]]:
        """Windows of each global step, and the state after two steps."""
        steps: list[set[int]] = []
        for rank in range(world):
            shard = every.shard(rank, world)
            with gl.Loader(shard, fields, batch_size=12 // world) as loader:
                if state is not None:
                    loader.load_state_dict(state)
                for step, batch in enumerate(loader):
                    if step == len(steps):
                        steps.append(set())
                    indices = {window.index for window in batch.windows}
                    assert not steps[step] & indices
                    steps[step] |= indices
                    if step == 1 and rank == 0:
                        saved = loader.state_dict()
        return steps, saved if state is None else state

    whole, state = run(1, None)
    assert len(set().union(*whole)) == 12 * len(whole) >= 36
    for world in (2, 3):
        assert run(world, None)[0] == whole
        assert run(world, state)[0] == whole[2:]


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


def test_transforms_draw_from_seed_epoch_and_position(sample: Path) -> None:
    runs = []
    for threads in (1, 4):
        with gl.Loader(
            windows(sample), FIELDS, batch_size=6, transform=add_noise, threads=threads
        ) as loader:
            runs.append([as_bytes(batch) for _ in range(2) for batch in loader])
            batch = next(iter(loader))
    assert runs[0] == runs[1]
    assert batch["imu"].shape == (6, 25, 6)
    assert len(batch["drawn"].unique()) == 6


def test_a_transform_may_return_a_mapping_and_leave_fields_out(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=3, transform=keep_one) as loader:
        batch = next(iter(loader))
    assert list(batch) == ["x", "name"]
    assert batch["x"].shape == (3, 6) and batch["name"] == ["text"] * 3


@pytest.mark.parametrize("on_error", ["raise", "skip", "mask"])
def test_what_a_transform_raises_is_always_raised(sample: Path, on_error: Any) -> None:
    every = windows(sample)
    failing = Failing(every[8].index, ZeroDivisionError("the chosen window"))
    with gl.Loader(every, FIELDS, batch_size=6, transform=failing, on_error=on_error) as loader:
        iterator = iter(loader)
        assert len(next(iterator).windows) == 6
        with pytest.raises(ZeroDivisionError, match="the chosen window"):
            next(iterator)


def test_arrays_that_do_not_stack_are_named(sample: Path) -> None:
    with (
        gl.Loader(windows(sample), FIELDS, batch_size=6, transform=cut) as loader,
        pytest.raises(gl.FieldError, match="'imu' of shape"),
    ):
        list(loader)


@pytest.fixture
def broken(sample: Path, tmp_path: Path) -> Iterator[Path]:
    """The sample with two depth files cut short."""
    folder = tmp_path / "broken"
    folder.mkdir()
    for entry in sample.iterdir():
        if entry.name != "depth":
            (folder / entry.name).write_bytes(entry.read_bytes())
    (folder / "depth").mkdir()
    for i, picture in enumerate(sorted((sample / "depth").iterdir())):
        data = picture.read_bytes()
        (folder / "depth" / picture.name).write_bytes(data[: len(data) // 2] if i == 66 else data)
    yield folder


def failing_windows(folder: Path) -> set[int]:
    """Windows that use depth row 66, found by plans on the sound stamps."""
    used_ns = int(samples.stamps_ns("depth")[66])
    with gl.open(folder) as recording:
        chosen = windows(folder).by_index
        field = {"t": gl.Sensor("imu", rate=5)}
        stamps = samples.stamps_ns("depth")
        failing = set()
        for window in chosen:
            grid = recording.read(field, window.start_ns, 0.5).times["t"]
            rows = np.abs(stamps[None] - grid[:, None]).argmin(axis=1)
            if used_ns in stamps[rows]:
                failing.add(window.index)
    return failing


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


# --- closing -----------------------------------------------------------------


def genlock_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("genlock-")]


def by_close(loader: gl.Loader) -> None:
    next(iter(loader))
    loader.close()
    loader.close()


def by_leaving_the_block(loader: gl.Loader) -> None:
    with loader:
        next(iter(loader))


def by_an_exception(loader: gl.Loader) -> None:
    with pytest.raises(KeyError), loader:
        for _ in loader:
            raise KeyError


def by_break_and_collection(loader: gl.Loader) -> None:
    for _ in loader:
        break


def by_exhaustion(loader: gl.Loader) -> None:
    for _ in loader:
        pass


@pytest.mark.parametrize(
    "end", [by_close, by_leaving_the_block, by_an_exception, by_break_and_collection, by_exhaustion]
)
def test_nothing_is_left_behind(sample: Path, end: Callable[[gl.Loader], None]) -> None:
    gc.collect()
    before, files = genlock_threads(), len(os.listdir("/proc/self/fd"))
    loader = gl.Loader(windows(sample), FIELDS, batch_size=2)
    end(loader)
    del loader
    gc.collect()
    assert genlock_threads() == before
    assert len(os.listdir("/proc/self/fd")) <= files


def test_a_closed_loader_says_so(sample: Path) -> None:
    loader = gl.Loader(windows(sample), FIELDS, batch_size=2)
    iterator = iter(loader)
    next(iterator)
    loader.close()
    with pytest.raises(gl.ClosedError):
        next(iterator)
    with pytest.raises(gl.ClosedError):
        iter(loader)


def test_closing_from_another_thread_wakes_the_consumer(sample: Path) -> None:
    inside, release = threading.Event(), threading.Event()

    def stuck(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
        inside.set()
        release.wait(30)
        return sample

    loader = gl.Loader(windows(sample), FIELDS, batch_size=2, transform=stuck)
    outcome: list[type[BaseException]] = []

    def consume() -> None:
        try:
            next(iter(loader))
        except gl.ClosedError as error:
            outcome.append(type(error))

    consumer = threading.Thread(target=consume)
    consumer.start()
    assert inside.wait(30)
    with pytest.warns(ResourceWarning, match="does not return"):
        loader.close()
    release.set()
    consumer.join(30)
    assert outcome == [gl.ClosedError]


SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job may ignore it
import sys, genlock as gl
fields = {"imu": gl.Sensor("imu", rate=100), "depth": gl.Depth("depth", rate=15)}
windows = gl.Windows(sys.argv[1], over=["imu", "depth"], duration=0.5, stride=0.02)
loader = gl.Loader(windows, fields, batch_size=1)
"""


def run_script(sample: Path, body: str, interrupt: bool = False) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT + body, str(sample)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if interrupt:
        assert child.stdout is not None
        assert child.stdout.readline() == "loading\n"
        child.send_signal(signal.SIGINT)
    return child


def test_the_interpreter_exits_with_a_loader_in_use(sample: Path) -> None:
    child = run_script(sample, "next(iter(loader)); print('done')\n")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, "done\n", "")


def test_ctrl_c_ends_a_loop_and_the_process(sample: Path) -> None:
    body = """
while True:
    for _ in loader:
        print("loading", flush=True)
"""
    child = run_script(sample, body, interrupt=True)
    for _ in range(10):  # Python drops a signal that comes while it collects an object: press again
        try:
            _, err = child.communicate(timeout=6)
            break
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
    assert child.returncode in (-signal.SIGINT, 130, 1)
    assert err.strip().endswith("KeyboardInterrupt")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_to_make_its_own(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=2) as loader:
        next(iter(loader))
        child = os.fork()
        if child == 0:
            try:
                next(iter(loader))
            except gl.ClosedError:
                os._exit(7)
            os._exit(0)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


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


IMU = {"imu": gl.Sensor("imu", rate=100)}


def test_a_stop_iteration_in_a_transform_is_no_end_of_an_epoch(sample: Path) -> None:
    def ending(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
        return next(iter(()))

    loader = gl.Loader(windows(sample), IMU, batch_size=4, transform=ending)
    with loader, pytest.raises(RuntimeError, match="StopIteration"):
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


def test_an_iteration_that_a_newer_one_ended_says_so(sample: Path) -> None:
    with gl.Loader(windows(sample), IMU, batch_size=4) as loader:
        older = iter(loader)
        next(older)
        newer = iter(loader)
        with pytest.raises(gl.ClosedError, match="newer iter"):
            next(older)
        assert len(list(newer)) == len(loader)


def test_a_load_ends_the_iteration_that_runs(sample: Path) -> None:
    with gl.Loader(windows(sample), IMU, batch_size=4) as loader:
        running = iter(loader)
        first, second = as_bytes(next(running)), as_bytes(next(running))
        state = loader.state_dict() | {"batch": 0}
        loader.load_state_dict(state)
        with pytest.raises(gl.ClosedError, match="load_state_dict"):
            next(running)
        assert [as_bytes(batch) for batch in loader][:2] == [first, second]


@pytest.mark.parametrize(
    "damage",
    [{"batch": -1}, {"epoch": -1}, {"epoch": 2**80}, {"batch": "2"}, {"epoch": None}],
)
def test_a_damaged_state_is_refused(sample: Path, damage: dict[str, Any]) -> None:
    with gl.Loader(windows(sample), IMU, batch_size=4) as loader:
        state = loader.state_dict()
        with pytest.raises(gl.StateError, match="damaged"):
            loader.load_state_dict(state | damage)
        del state["batch"]
        with pytest.raises(gl.StateError, match="damaged"):
            loader.load_state_dict(state)
        with pytest.raises(gl.StateError, match="list"):
            loader.load_state_dict([state])  # type: ignore[arg-type]


@pytest.mark.parametrize("process", [False, True])
def test_mask_raises_where_no_window_tells_the_shapes(sample: Path, process: bool) -> None:
    fields = {"imu": gl.Sensor("no such stream", rate=100)}
    options: dict[str, Any] = {"on_error": "mask", "process": process}
    loader = gl.Loader(windows(sample), fields, batch_size=4, **options)
    with loader, pytest.raises(gl.StreamError, match="no such stream"):
        list(loader)


def changed(sample_path: Path, change: Callable[[gl.Sample], Any]) -> gl.Batch:
    """The first batch of four windows through a transform without a generator."""
    options: dict[str, Any] = {"transform": lambda sample, rng: change(sample)}
    with gl.Loader(windows(sample_path), IMU, batch_size=4, **options) as loader:
        return next(iter(loader))


def test_a_mask_that_a_transform_puts_in_place_is_delivered(sample: Path) -> None:
    def blanked(sample: gl.Sample) -> gl.Sample:
        sample.mask["imu"] = np.arange(len(sample.mask["imu"])) % 2 == 0
        sample.source_times["imu"] = sample.times["imu"] + 7
        return sample

    batch = changed(sample, blanked)
    assert batch.mask["imu"][:, ::2].all()
    assert not batch.mask["imu"][:, 1::2].any()
    assert ((batch.source_times["imu"] - batch.times["imu"]) == 7).all()


def test_a_mask_of_another_length_is_refused(sample: Path) -> None:
    def cropped(sample: gl.Sample) -> gl.Sample:
        sample["imu"], sample.mask["imu"] = sample["imu"][:3], sample.mask["imu"][:3]
        return sample

    with pytest.raises(gl.FieldError, match="mask of field 'imu' of shape"):
        changed(sample, cropped)


def test_samples_with_different_fields_are_refused(sample: Path) -> None:
    for names in (("a", "b"), ("b", "a"), ("a", "ab")):
        order = iter(names * 9)
        with pytest.raises(gl.FieldError, match="for the first sample of the batch"):
            changed(sample, lambda _, order=order: dict.fromkeys(next(order), 1))


@pytest.mark.parametrize(
    "value",
    [
        np.array([None, 1], object),
        np.array(["left"]),
        np.array([1], np.longdouble),
        np.array(["2026-01-01"], "M8[ns]"),
    ],
)
def test_arrays_that_torch_cannot_hold_stay_a_list(sample: Path, value: Any) -> None:
    batch = changed(sample, lambda _: {"kept": value})
    assert len(batch["kept"]) == 4
    assert all(given is value for given in batch["kept"])


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


def test_a_device_that_is_not_there_leaves_nothing_running(sample: Path) -> None:
    loader = gl.Loader(windows(sample), FIELDS, batch_size=4, device="meta")
    with pytest.raises(ValueError, match="meta"):
        iter(loader)
    assert loader._workers._epoch.stopped
    loader.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("genlock-")]


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
