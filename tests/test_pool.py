"""Pools of open things: exclusive or shared use, bounds, closing, forks."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from genlock._pool import ExclusivePool, SharedPool


class Thing:
    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    def close(self) -> None:
        assert not self.closed
        self.closed = True


def test_exclusive_reuses_the_last_one_and_opens_another_when_in_use() -> None:
    pool: ExclusivePool[Thing] = ExclusivePool(4)
    made: list[Thing] = []

    def make() -> Thing:
        made.append(Thing("a"))
        return made[-1]

    with pool.lease("a", make) as first, pool.lease("a", make) as second:
        assert first is not second
    with pool.lease("a", make) as again:
        assert again is first  # it was given back last
    with pool.lease("b", lambda: Thing("b")) as other:
        assert other.name == "b"
    assert len(made) == 2
    pool.close()
    assert all(thing.closed for thing in made)


def test_exclusive_closes_the_least_recently_used_beyond_its_capacity() -> None:
    pool: ExclusivePool[Thing] = ExclusivePool(2)
    things = {name: Thing(name) for name in "abc"}
    for name in "abc":
        with pool.lease(name, lambda name=name: things[name]):  # type: ignore[misc]
            pass
    assert [things[n].closed for n in "abc"] == [True, False, False]
    pool.close()


def test_a_thing_whose_user_failed_is_closed_not_kept() -> None:
    pool: ExclusivePool[Thing] = ExclusivePool(2)
    broken = Thing("a")
    with pytest.raises(ValueError), pool.lease("a", lambda: broken):
        raise ValueError
    assert broken.closed
    with pool.lease("a", lambda: Thing("new")) as fresh:
        assert fresh.name == "new"


def test_what_comes_back_after_close_is_closed() -> None:
    exclusive: ExclusivePool[Thing] = ExclusivePool(2)
    with exclusive.lease("a", lambda: Thing("a")) as thing:
        exclusive.close()
        assert not thing.closed
    assert thing.closed
    shared: SharedPool[Thing] = SharedPool(2, Thing)
    with shared.lease("a") as thing:
        shared.close()
        assert not thing.closed
    assert thing.closed


def test_shared_opens_once_for_many_users() -> None:
    opened: list[str] = []
    gate = threading.Event()

    def make(name: str) -> Thing:
        opened.append(name)
        gate.wait(10)
        return Thing(name)

    pool: SharedPool[Thing] = SharedPool(2, make)
    got: list[Thing] = []
    threads = [threading.Thread(target=lambda: got.append(pool.acquire("a"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert opened == ["a"] and len({id(thing) for thing in got}) == 1
    for _ in threads:
        pool.release("a")
    assert not got[0].closed
    pool.close()
    assert got[0].closed


def test_shared_never_closes_what_is_used_and_keeps_its_bound() -> None:
    things: dict[str, Thing] = {}

    def make(name: str) -> Thing:
        things[name] = Thing(name)
        return things[name]

    pool: SharedPool[Thing] = SharedPool(1, make)
    with pool.lease("a"), pool.lease("b"), pool.lease("c"):
        assert not any(thing.closed for thing in things.values())
    assert sum(not thing.closed for thing in things.values()) == 1


def test_shared_stays_open_until_as_many_have_let_go_as_took_part() -> None:
    pool: SharedPool[Thing] = SharedPool(0, Thing)
    thing = pool.acquire("a", 3)
    pool.release("a")
    pool.release("a")
    assert not thing.closed and pool.acquire("a") is thing
    pool.release("a", 2)
    assert thing.closed


def test_a_failure_to_open_is_not_remembered() -> None:
    attempts: list[str] = []

    def make(name: str) -> Thing:
        attempts.append(name)
        if len(attempts) == 1:
            raise OSError("away")
        return Thing(name)

    pool: SharedPool[Thing] = SharedPool(1, make)
    with pytest.raises(OSError, match="away"):
        pool.acquire("a")
    with pool.lease("a") as thing:
        assert thing.name == "a"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_empty_even_if_a_lock_was_held() -> None:
    pool: ExclusivePool[Thing] = ExclusivePool(2)
    with pool.lease("a", lambda: Thing("parent's")):
        pass
    with pool._lock:  # as if another thread held it at the moment of the fork
        child = os.fork()
        if child == 0:
            with pool.lease("a", lambda: Thing("child's")) as thing:
                os._exit(0 if thing.name == "child's" else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


class Place(Thing):
    """A thing that stands somewhere and may move forward."""

    def __init__(self, at: int) -> None:
        super().__init__("place")
        self.at = at


def test_exclusive_lends_the_nearest_and_leaves_the_others_where_they_stand() -> None:
    pool: ExclusivePool[Place] = ExclusivePool(2)
    made: list[Place] = []

    def go(target: int, spread: bool = True) -> Place:
        def make() -> Place:
            made.append(Place(target))
            return made[-1]

        def distance(place: Place) -> int | None:
            return target - place.at if 0 <= target - place.at < 10 else None

        with pool.lease("k", make, distance, spread) as place:
            place.at = target
        return place

    first, second = go(0), go(100)  # there is room, so the first stays where it is
    assert first is not second
    assert go(3) is first and go(101) is second and go(5) is first
    assert go(50) is second  # no room: the one used longest ago moves
    assert go(6) is first
    assert len(made) == 2
    pool.close()
    assert all(place.closed for place in made)


def test_exclusive_makes_no_other_where_things_need_not_spread() -> None:
    pool: ExclusivePool[Place] = ExclusivePool(3)
    with pool.lease("k", lambda: Place(0)) as first, pool.lease("k", lambda: Place(5)) as second:
        pass  # the second comes back first
    far = partial(pool.lease, "k", lambda: Place(9))
    with far(lambda place: None) as oldest, far(lambda place: None) as other:
        assert (oldest, other) == (second, first)
    with far(lambda place: place.at) as nearest:
        assert nearest is first
    pool.close()


def test_what_is_lent_or_broken_counts_for_the_room() -> None:
    pool: ExclusivePool[Place] = ExclusivePool(2)

    def never(_: Place) -> None:
        return None

    with pool.lease("k", lambda: Place(0)) as first, pool.lease("k", lambda: Place(0)) as second:
        pass
    with (
        pool.lease("k", lambda: Place(0)),
        pool.lease("k", lambda: Place(9), never, spread=True) as other,
    ):
        assert other in (first, second)
    with pytest.raises(ValueError), pool.lease("k", lambda: Place(0), never, spread=True):
        raise ValueError
    with pool.lease("k", lambda: Place(7), never, spread=True) as fresh:
        assert fresh.at == 7
    pool.close()
