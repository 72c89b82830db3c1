"""Reports of one lease: none is lost because nobody waits for it, and none goes out over a gap."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from noetl.core.event import Event
from noetl.core.message import Answer, Payload, Report, WorkOrder
from noetl.errors import BackendError
from noetl.worker.pool import Pool
from noetl.worker.reporter import Refused, Reporter
from noetl.worker.retrying_results import PatientPayloads

LONG = 20.0


def order(lease: str = "l", epoch: int = 1) -> WorkOrder:
    return WorkOrder("e" * 32, lease, epoch, "s.1", "s", "digest", "default")


def event(name: str) -> Event:
    return Event(name, 1, "w", "s.1")


class Desk:
    """Takes reports when it is told to, or fails."""

    def __init__(self) -> None:
        self.open, self.asked = asyncio.Event(), asyncio.Event()
        self.taken: list[list[str]] = []
        self.wrong: Exception | None = None
        self.accepted = True

    async def report(self, execution_id: str, report: Report) -> Answer:
        self.asked.set()
        await self.open.wait()
        if self.wrong is not None:
            raise self.wrong
        self.taken.append([one.name for one in report.events])
        return Answer(self.accepted)

    async def write(self, payload: Payload) -> None:
        return None


def reporter(desk: Desk) -> Reporter:
    around: Any = SimpleNamespace(events=[], payloads=[], jumped=False, limits={})
    around.record = lambda one: around.events.append(one)
    return Reporter(order(), around, desk, desk, "w")


async def test_who_stops_waiting_for_a_report_does_not_stop_it() -> None:
    desk = Desk()
    made = reporter(desk)
    made.around.events.append(event("loop.iteration.failed"))
    waiting = asyncio.create_task(made.flush())
    await asyncio.wait_for(desk.asked.wait(), LONG)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    closing = asyncio.create_task(made.close(event("step.failed")))
    desk.open.set()
    await asyncio.wait_for(closing, LONG)
    assert desk.taken == [["loop.iteration.failed"], ["step.failed"]]


@pytest.mark.parametrize("wrong", [BackendError("the store is away"), None])
async def test_after_a_report_that_failed_nothing_more_is_said(wrong: BackendError | None) -> None:
    desk = Desk()
    desk.wrong, desk.accepted = wrong, False
    desk.open.set()
    made, broken = reporter(desk), asyncio.Event()
    made.on_broken = broken.set
    made.around.events.append(event("task.done"))
    made.touch()  # nobody waits for this one
    await asyncio.wait_for(broken.wait(), LONG)
    desk.wrong, desk.accepted = None, True
    said = len(desk.taken)
    with pytest.raises(BackendError if wrong else Refused):
        await made.close(event("step.done"))
    assert len(desk.taken) == said


async def test_that_a_step_failed_is_said_although_an_earlier_report_was_lost() -> None:
    desk = Desk()
    desk.wrong = BackendError("the store is away")
    desk.open.set()
    made = reporter(desk)
    made.around.events.append(event("task.done"))
    with pytest.raises(BackendError):
        await made.flush()
    desk.wrong = None
    await made.fail(event("step.failed"))
    assert desk.taken == [["step.failed"]]


class Store:
    """A result store that is away for a while."""

    def __init__(self, times: int) -> None:
        self.times, self.kept = times, 0

    async def write(self, payload: Payload) -> None:
        if self.times:
            self.times -= 1
            raise BackendError("the store is away")
        self.kept += 1


async def test_a_result_store_that_is_away_is_waited_for_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("noetl.worker.retrying_results.AGAIN_S", 0.0)
    store = Store(3)
    await PatientPayloads(store, LONG).write(Payload("k", b"x"))
    assert store.kept == 1
    with pytest.raises(BackendError, match="away"):
        await PatientPayloads(Store(1), -1.0).write(Payload("k", b"x"))


def idle_pool(desk: Desk) -> Pool:
    """A worker whose orders never begin."""
    nothing: Any = None
    return Pool(SimpleNamespace(worker_id="w"), desk, desk, nothing, 0, now=lambda: 0)  # type: ignore[arg-type]


async def test_an_order_that_waits_for_a_slot_is_held_once_under_its_newest_epoch() -> None:
    pool = idle_pool(Desk())
    pool.offer(order())
    lease: Any = SimpleNamespace(id="l")
    assert pool.adopt("e" * 32, lease)
    pool.offer(order(epoch=2))
    assert pool.held() == [("e" * 32, "l", 2)]


async def test_a_worker_that_nobody_answers_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.worker.pool.GRACE_S", 0.01)
    desk = Desk()
    pool = idle_pool(desk)
    pool.offer(order())
    await asyncio.wait_for(pool.hand_back(), LONG)
    assert desk.asked.is_set()
    desk.open.set()
