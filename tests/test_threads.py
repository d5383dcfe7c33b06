"""Channels, pools and runners: order, bounds, closing from any side, nothing left behind."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock._threads import Channel, ChannelClosed, Runner, TaskPool, TaskQueue, join


def in_thread(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_channel_keeps_order_and_ends_after_its_last_item() -> None:
    channel: Channel[int] = Channel(3)
    for i in range(3):
        channel.put(i)
    channel.close()
    assert [channel.get() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ChannelClosed):
        channel.get()
    with pytest.raises(ChannelClosed):
        channel.put(3)


def test_channel_never_holds_more_than_its_capacity() -> None:
    channel: Channel[int] = Channel(2)
    entered: list[int] = []

    def produce() -> None:
        for i in range(20):
            channel.put(i)
            entered.append(i)
        channel.close()

    producer = in_thread(produce)
    received = []
    with pytest.raises(ChannelClosed):
        while True:
            received.append(channel.get())
            assert len(entered) <= len(received) + 2
    producer.join()
    assert received == list(range(20))


def test_discarding_wakes_a_blocked_producer_and_a_blocked_consumer() -> None:
    full: Channel[int] = Channel(1)
    full.put(0)
    empty: Channel[int] = Channel(1)
    outcomes: list[str] = []

    def blocked(wait: Callable[[], object], name: str) -> threading.Thread:
        def run() -> None:
            with pytest.raises(ChannelClosed):
                wait()
            outcomes.append(name)

        return in_thread(run)

    threads = [blocked(lambda: full.put(1), "put"), blocked(empty.get, "get")]
    full.close(discard=True)
    empty.close(discard=True)
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["get", "put"]


def test_poll_takes_only_what_is_ready() -> None:
    channel: Channel[int] = Channel(2)
    assert channel.poll(lambda item: True) is None
    channel.put(5)
    assert channel.poll(lambda item: item > 5) is None
    assert channel.poll(lambda item: item == 5) == 5


def test_occupancy_is_the_mean_that_gets_found() -> None:
    channel: Channel[int] = Channel(4)
    for i in range(3):
        channel.put(i)
    for _ in range(3):
        channel.get()
    assert channel.mean_occupancy == 2.0


def nothing() -> None:
    """A task."""


def test_a_walk_is_gone_one_task_at_a_time_and_others_go_past() -> None:
    queue = TaskQueue()
    for walk in ("a", "a", None, "b", None, "a"):
        queue.put(nothing, walk)
    assert [queue.take()[1] for _ in range(4)] == ["a", None, "b", None]
    waiting: list[object] = []
    waiter = in_thread(lambda: waiting.append(queue.take()[1]))
    queue.leave("b")
    queue.leave(None)
    assert not waiting
    queue.leave("a")
    waiter.join(10)
    assert waiting == ["a"]
    queue.close()
    for ended in (queue.take, lambda: queue.put(nothing)):
        with pytest.raises(ChannelClosed):
            ended()


@given(st.lists(st.sampled_from([None, 0, 1, 2]), max_size=40), st.randoms(use_true_random=False))
def test_each_task_is_taken_once_and_those_of_a_walk_in_order(
    walks: list[int | None], random: Random
) -> None:
    """Against the rule itself: the first that waits and whose walk nobody is on."""
    queue = TaskQueue()
    tasks = [lambda i=i: i for i in range(len(walks))]
    for task, walk in zip(tasks, walks, strict=True):
        queue.put(task, walk)
    left, running = list(range(len(walks))), []
    while left or running:
        free = [i for i in left if walks[i] is None or walks[i] not in [walks[j] for j in running]]
        if free and (not running or random.random() < 0.6):
            task, walk = queue.take()
            assert (task(), walk) == (free[0], walks[free[0]])
            left.remove(free[0])
            running.append(free[0])
        else:
            queue.leave(walks[running.pop(random.randrange(len(running)))])


def test_a_walk_goes_on_after_a_task_that_broke() -> None:
    pool = TaskPool("test", 2)
    done = threading.Event()
    hook, threading.excepthook = threading.excepthook, lambda args: None
    try:
        pool.submit(lambda: 1 / 0, "walk")
        pool.submit(done.set, "walk")
        assert done.wait(10)
        join(pool.stop())
    finally:
        threading.excepthook = hook


def test_pool_runs_every_task_and_counts_busy_time() -> None:
    pool = TaskPool("test", 3)
    seen: set[int] = set()
    done = threading.Event()
    lock = threading.Lock()

    def task(i: int) -> None:
        with lock:
            seen.add(i)
            if len(seen) == 100:
                done.set()

    for i in range(100):
        pool.submit(lambda i=i: task(i))  # type: ignore[misc]
    assert done.wait(10)
    workers = pool.stop()
    join(workers)
    assert seen == set(range(100))
    assert not any(worker.is_alive() for worker in workers)
    assert pool.meter.busy_s > 0
    with pytest.raises(ChannelClosed):
        pool.submit(lambda: None)


def test_stop_drops_what_is_queued_but_lets_running_tasks_end() -> None:
    pool = TaskPool("test", 1)
    running, release = threading.Event(), threading.Event()
    ran: list[str] = []

    def first() -> None:
        running.set()
        release.wait(10)
        ran.append("first")

    pool.submit(first)
    assert running.wait(10)
    pool.submit(lambda: ran.append("second"))
    workers = pool.stop()
    release.set()
    join(workers)
    assert ran == ["first"]


def test_a_task_is_let_go_as_soon_as_it_ends() -> None:
    class Payload:
        pass

    gone = threading.Event()
    payload = Payload()
    import weakref

    weakref.finalize(payload, gone.set)
    pool = TaskPool("test", 1)
    pool.submit(lambda held=payload: None)  # type: ignore[misc]
    del payload
    after = threading.Event()
    pool.submit(after.set)
    assert after.wait(10)
    gc.collect()
    assert gone.wait(10)
    join(pool.stop())


def test_runner_ends_quietly_when_its_channel_closes() -> None:
    channel: Channel[int] = Channel(1)
    runner = Runner("test", lambda: channel.put(0) or channel.put(1))  # type: ignore[func-returns-value]
    channel.close(discard=True)
    threads = runner.stop()
    join(threads)
    assert not threads[0].is_alive()


def test_a_thread_that_does_not_end_is_named_with_its_stack() -> None:
    release = threading.Event()
    pool = TaskPool("stuck", 1)
    started = threading.Event()

    def call_that_does_not_return() -> None:
        started.set()
        release.wait(60)

    pool.submit(call_that_does_not_return)
    assert started.wait(10)
    with pytest.warns(ResourceWarning, match=r"genlock-stuck-0(.|\n)*call_that_does_not_return"):
        join(pool.stop(), seconds=0.0)
    release.set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        join(pool.stop())
