"""A loader in a child process: tests of one in this process again, and what a process adds."""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import genlock as gl
import test_changes
import test_closing
import test_failures
import test_loader
import test_state
import transforms
from genlock._remote import Remote
from loading import ENDS, FIELDS, Consumer, as_bytes, epochs, genlock_threads, windows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process=True needs Linux")

ChildLoader = partial(gl.Loader, process=True)


@pytest.fixture
def in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gl, "Loader", ChildLoader)


# --- the same as with threads in this process ---------------------------------

SAME = [
    test_loader.test_a_batch_holds_what_read_gives,
    test_state.test_resumes_after_every_step_of_two_epochs,
    test_state.test_state_counts_what_was_received_not_what_was_prefetched,
    test_state.test_a_break_begins_the_next_epoch_and_a_load_continues,
    test_loader.test_padding_keeps_the_shape_of_the_last_batch,
    test_changes.test_a_transform_may_return_a_mapping_and_leave_fields_out,
    test_changes.test_arrays_that_do_not_stack_are_named,
    test_failures.test_the_first_failure_in_order_is_raised_with_its_place,
    test_failures.test_skip_leaves_batches_shorter_and_everything_else_in_place,
    test_failures.test_mask_keeps_shapes_and_the_other_fields,
    test_failures.test_mask_keeps_shapes_when_a_recording_does_not_open,
    test_loader.test_batches_that_are_kept_are_never_overwritten,
    test_loader.test_list_of_a_loader_holds_different_batches,
    test_loader.test_stats_name_the_stages_and_a_bottleneck,
    test_closing.test_a_closed_loader_says_so,
]


@pytest.mark.parametrize("test", SAME, ids=lambda test: test.__name__)
def test_as_in_process(
    test: Callable[..., None], in_a_process: None, request: pytest.FixtureRequest
) -> None:
    needed = test.__code__.co_varnames[: test.__code__.co_argcount]
    test(**{argument: request.getfixturevalue(argument) for argument in needed})


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_are_those_of_the_same_loader_in_process(
    sample: Path, reference: list[list[Any]], threads: int
) -> None:
    with ChildLoader(windows(sample), FIELDS, batch_size=6, threads=threads) as loader:
        assert epochs(loader, 2) == reference


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_behind(sample: Path, end: Any) -> None:
    gc.collect()
    threads, files = genlock_threads(), len(os.listdir("/proc/self/fd"))
    mapped = shared_segments()
    loader = ChildLoader(windows(sample), FIELDS, batch_size=2)
    child = os.pidfd_open(pid(loader))
    end(loader)
    del loader
    gc.collect()
    assert has_ended(child)
    os.close(child)
    assert genlock_threads() == threads
    assert len(os.listdir("/proc/self/fd")) <= files
    assert shared_segments() <= mapped


@pytest.mark.parametrize("on_error", ["raise", "skip", "mask"])
def test_what_a_transform_raises_is_raised_with_its_traceback(sample: Path, on_error: Any) -> None:
    every = windows(sample)
    failing = transforms.Failing(every[8].index, ZeroDivisionError("the chosen window"))
    with ChildLoader(every, FIELDS, batch_size=6, transform=failing, on_error=on_error) as loader:
        iterator = iter(loader)
        assert len(next(iterator).windows) == 6
        with pytest.raises(ZeroDivisionError, match="the chosen window") as caught:
            next(iterator)
    notes = "\n".join(caught.value.__notes__)
    assert "transforms.py" in notes and "raise self.error" in notes
    assert f"in the transform of {every[8]}" in notes


def test_transforms_draw_as_in_process(sample: Path) -> None:
    runs = []
    for make in (gl.Loader, ChildLoader):
        with make(windows(sample), FIELDS, batch_size=6, transform=transforms.add_noise) as loader:
            runs.append(epochs(loader, 2))
    assert runs[0] == runs[1]


def test_a_failure_keeps_its_type_and_its_place(sample: Path, broken: Path) -> None:
    seen = []
    for make in (gl.Loader, ChildLoader):
        with make(windows(broken), FIELDS, batch_size=6, on_error="mask") as loader:
            list(loader)
            seen.append(
                [
                    (f.window, f.field, type(f.error), str(f.error), f.error.stream)
                    for f in loader.failures
                    if isinstance(f.error, gl.GenlockError)
                ]
            )
    assert seen[0] == seen[1] and seen[0]
    assert all(place[3].count("ns") for place in seen[1])


# --- what must be importable --------------------------------------------------


def test_a_transform_that_cannot_be_imported_is_refused_at_once(sample: Path) -> None:
    for transform in (lambda sample, rng: sample, partial(lambda sample, rng: sample)):
        with pytest.raises(gl.FieldError, match="must be able to import the transform"):
            ChildLoader(windows(sample), FIELDS, batch_size=2, transform=transform)


def test_an_error_that_cannot_be_pickled_keeps_its_text(sample: Path) -> None:
    every = windows(sample)
    failing = transforms.Failing(every[0].index)
    with (
        ChildLoader(every, FIELDS, batch_size=2, transform=failing) as loader,
        pytest.raises(gl.GenlockError, match="OddError: one and another"),
    ):
        list(loader)


def test_values_that_cannot_be_pickled_are_an_error(sample: Path) -> None:
    with (
        ChildLoader(
            windows(sample), FIELDS, batch_size=2, transform=transforms.unpicklable
        ) as loader,
        pytest.raises(Exception, match="lambda") as caught,
    ):
        list(loader)
    assert "must be picklable" in "".join(caught.value.__notes__)


def test_a_module_that_the_child_cannot_import_is_an_error(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "passing.py").write_text("def transform(sample, rng):\n    return sample\n")
    monkeypatch.syspath_prepend(tmp_path)
    import passing  # type: ignore[import-not-found]

    (tmp_path / "passing.py").unlink()
    with (
        ChildLoader(windows(sample), FIELDS, batch_size=2, transform=passing.transform) as loader,
        pytest.raises(ModuleNotFoundError, match="passing"),
    ):
        list(loader)


def test_the_child_sees_what_its_parent_sees(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules from sys.path as it is now, the working folder, the environment."""
    (tmp_path / "placed.py").write_text(
        "import os\n"
        "def transform(sample, rng):\n"
        "    return {'place': (os.getcwd(), os.environ['GENLOCK_TEST'],\n"
        "                      os.environ.get('PYTHONPATH'))}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GENLOCK_TEST", "from the parent")
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    import placed  # type: ignore[import-not-found]

    with ChildLoader(windows(sample), FIELDS, batch_size=2, transform=placed.transform) as loader:
        batch = next(iter(loader))
    assert batch["place"] == [(str(tmp_path), "from the parent", "somewhere")] * 2


def test_recordings_in_memory_go_along(tmp_path: Path) -> None:
    table = b"t[ns],x\n" + b"".join(b"%d,%d\n" % (i * 10**7, i) for i in range(300))
    (tmp_path / "imu.csv").write_bytes(table)
    with (tmp_path / "imu.csv").open("rb") as file, gl.open(file) as recording:
        (tmp_path / "imu.csv").unlink()
        name = next(iter(recording.streams))
        every = gl.Windows(recording, duration=1.0)
        with ChildLoader(every, {"x": gl.Sensor(name)}, batch_size=1) as loader:
            values = [batch["x"][0, :, 0].tolist() for batch in loader]
    assert values == [list(map(float, range(k, k + 100))) for k in (0, 100, 200)]


# --- memory -------------------------------------------------------------------


def shared_segments() -> int:
    return Path("/proc/self/maps").read_text().count("memfd:genlock")


def test_blocks_come_back_to_the_child_when_batches_are_let_go(sample: Path) -> None:
    fields = {"imu": FIELDS["imu"], "depth": FIELDS["depth"]}
    before = shared_segments()
    with ChildLoader(windows(sample), fields, batch_size=2, prefetch=2) as loader:
        for _ in range(4):
            for batch in loader:
                del batch
        assert loader.stats().buffers <= 7
        assert shared_segments() - before <= 7


def test_a_batch_outlives_its_loader_and_then_its_memory_goes(sample: Path) -> None:
    gc.collect()
    before = shared_segments()
    with ChildLoader(windows(sample), FIELDS, batch_size=2) as loader:
        batch = next(iter(loader))
        expected = as_bytes(batch)
    assert as_bytes(batch) == expected
    view = batch["depth"][1, 0]
    copy = view.clone()
    del batch, loader
    gc.collect()
    assert torch.equal(view, copy)
    assert shared_segments() == before + 1
    del view
    gc.collect()
    assert shared_segments() == before


def test_batches_that_are_kept_take_no_descriptors(sample: Path) -> None:
    with ChildLoader(windows(sample), {"imu": FIELDS["imu"]}, batch_size=1) as loader:
        kept = [next(iterator) for iterator in [iter(loader)]]
        files = len(os.listdir("/proc/self/fd"))
        kept += list(loader)
        assert len(os.listdir("/proc/self/fd")) == files
    assert len({batch["imu"].data_ptr() for batch in kept}) == len(kept) > 10


# --- ends ---------------------------------------------------------------------


def pid(loader: gl.Loader) -> int:
    assert isinstance(loader._workers, Remote)
    return loader._workers.pid


def has_ended(pidfd: int) -> bool:
    """Whether a process ends, waiting for it."""
    return bool(select.select([pidfd], [], [], 30)[0])


def test_a_killed_child_is_an_error_at_once(sample: Path) -> None:
    with ChildLoader(windows(sample, stride=0.02), FIELDS, batch_size=2) as loader:
        iterator = iter(loader)
        next(iterator)
        child = os.pidfd_open(pid(loader))
        os.kill(pid(loader), signal.SIGKILL)
        assert has_ended(child)
        os.close(child)
        with pytest.raises(gl.GenlockError, match="killed by signal 9"):
            for _ in iterator:
                pass
        with pytest.raises(gl.GenlockError, match="killed by signal 9"):
            next(iter(loader))


def test_a_child_that_is_killed_while_its_parent_waits_wakes_it(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly.py").write_text(
        "import os\ndef transform(sample, rng):\n    os.kill(os.getpid(), 9)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import deadly  # type: ignore[import-not-found]

    with (
        ChildLoader(windows(sample), FIELDS, batch_size=2, transform=deadly.transform) as loader,
        pytest.raises(gl.GenlockError, match="killed by signal 9"),
    ):
        next(iter(loader))


def test_closing_from_another_thread_wakes_the_consumer(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    (tmp_path / "stuck.py").write_text(
        f"import threading\ndef transform(sample, rng):\n"
        f"    open({str(started)!r}, 'w').close()\n    threading.Event().wait()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    import stuck  # type: ignore[import-not-found]

    loader = ChildLoader(windows(sample), FIELDS, batch_size=1, transform=stuck.transform)
    consumer = Consumer(loader)
    started.open().close()  # waits until a transform is running
    loader.close()
    assert consumer.ended_by() == [gl.ClosedError]


SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job may ignore it
import os, sys, genlock as gl
fields = {"imu": gl.Sensor("imu", rate=100), "depth": gl.Depth("depth", rate=15)}
windows = gl.Windows(sys.argv[1], over=["imu", "depth"], duration=0.5, stride=0.02)
loader = gl.Loader(windows, fields, batch_size=1, process=True)
next(iter(loader))
print(loader._workers.pid, flush=True)
"""


def run_script(sample: Path, body: str, stdin: str | None = None) -> subprocess.Popen[str]:
    how = ["-"] if stdin is not None else ["-c", SCRIPT + body]
    child = subprocess.Popen(
        [sys.executable, "-W", "error", *how, str(sample)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if stdin is not None:
        assert child.stdin is not None
        child.stdin.write(SCRIPT + stdin)
        child.stdin.close()
        child.stdin = None
    return child


def grandchild(script: subprocess.Popen[str]) -> int:
    """A descriptor of the loader's process that a script has printed."""
    assert script.stdout is not None
    return os.pidfd_open(int(script.stdout.readline()))


BLOCK = "sys.stdin.read()\n"


def test_the_interpreter_exits_with_a_loader_in_use(sample: Path) -> None:
    script = run_script(sample, BLOCK + "print('done')\n")
    child = grandchild(script)
    out, err = script.communicate("", timeout=60)
    assert (script.returncode, out, err) == (0, "done\n", "")
    assert has_ended(child)
    os.close(child)


def test_a_script_from_stdin_works(sample: Path) -> None:
    script = run_script(sample, "", stdin="print(len(list(loader)) == len(loader))\n")
    out, err = script.communicate(timeout=100)
    assert (script.returncode, out.split()[1:], err) == (0, ["True"], "")


def test_a_transform_of_the_script_itself_is_refused(sample: Path) -> None:
    body = """
def transform(sample, rng):
    return sample
try:
    gl.Loader(windows, fields, batch_size=1, transform=transform, process=True)
except gl.FieldError as error:
    print(error)
"""
    script = run_script(sample, body)
    out, err = script.communicate(timeout=60)
    assert err == "" and "transform is defined in __main__" in out and "module" in out


@pytest.mark.parametrize("in_main_thread", [True, False])
def test_the_child_dies_with_a_killed_parent(sample: Path, in_main_thread: bool) -> None:
    body = BLOCK
    if not in_main_thread:  # made by a thread that has ended, and with a fork holding the socket
        body = (
            """
import threading
made = []
thread = threading.Thread(target=lambda: made.append(
    gl.Loader(windows, fields, batch_size=1, process=True)))
thread.start(); thread.join()
next(iter(made[0])); next(iter(made[0]))
reading, writing = os.pipe()
forked = os.fork()
if not forked:
    os.close(writing)
    os.read(reading, 1)  # until the parent is gone
    os._exit(0)
print(made[0]._workers.pid, flush=True)
"""
            + BLOCK
        )
    script = run_script(sample, body)
    children = [grandchild(script)] if in_main_thread else [grandchild(script), grandchild(script)]
    script.kill()
    assert all(map(has_ended, children))
    script.communicate(timeout=60)
    for child in children:
        os.close(child)


def test_ctrl_c_ends_both_and_only_the_parent_speaks(sample: Path) -> None:
    body = """
print("loading", flush=True)
while True:
    for _ in loader:
        pass
"""
    script = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT + body, str(sample)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    child = grandchild(script)
    assert script.stdout is not None and script.stdout.readline() == "loading\n"
    os.killpg(script.pid, signal.SIGINT)  # as a terminal does
    _, err = script.communicate(timeout=60)
    assert script.returncode in (-signal.SIGINT, 130, 1)
    assert err.count("Traceback") == 1 and err.strip().endswith("KeyboardInterrupt")
    assert has_ended(child)
    os.close(child)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_leaves_the_loader_alone(sample: Path) -> None:
    with ChildLoader(windows(sample), FIELDS, batch_size=2) as loader:
        iterator = iter(loader)
        next(iterator)
        forked = os.fork()
        if forked == 0:
            try:
                loader.close()
                next(iterator)
            except gl.ClosedError:
                os._exit(7)
            os._exit(0)
        _, status = os.waitpid(forked, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        assert len(list(iterator)) == len(loader) - 1


def test_elsewhere_than_on_linux_it_is_refused(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(gl.GenlockError, match="needs Linux"):
        ChildLoader(windows(sample), FIELDS, batch_size=2)


@pytest.fixture(autouse=True)
def no_stray_warnings(recwarn: pytest.WarningsRecorder) -> Iterator[None]:
    yield
    gc.collect()
    assert not [str(w.message) for w in recwarn if issubclass(w.category, ResourceWarning)]


def test_arrays_arrive_as_numpy_made_them(sample: Path) -> None:
    with ChildLoader(
        windows(sample), FIELDS, batch_size=3, transform=transforms.keep_one
    ) as loader:
        batch = next(iter(loader))
    assert batch["x"].dtype == torch.float32 and batch["x"].shape == (3, 6)
    with gl.open(sample) as recording:
        for i, window in enumerate(batch.windows):
            mean = recording.read(FIELDS, window.start_ns, 0.5)["imu"].mean(axis=0)
            np.testing.assert_array_equal(batch["x"][i].numpy(), mean)
