"""A worker in a process of its own: every order that ends makes room for another one."""

import asyncio
from typing import Any

from noetl.core.message import Answer, Report
from noetl.ports.link import Hello, Orders, ReportReply, ReportRequest
from noetl.worker.pool import Pool
from noetl.worker.remote_worker import RemoteReports, RemoteWorker

LONG = 20.0


class Line:
    """A link that answers reports when it is told to."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.rooms: list[int] = []

    async def report(self, request: ReportRequest) -> ReportReply:
        self.rooms.append(request.room)
        await self.open.wait()
        return ReportReply(Answer(), Orders("server", 0))


def busy_worker(line: Any, slots: int) -> RemoteWorker:
    """A worker all of whose slots are taken."""
    unused: Any = None
    worker = RemoteWorker(line, Hello("w", "default", slots, ["noop"], b"", 0), unused, 30.0)
    worker.pool = Pool(unused, unused, unused, unused, slots, now=lambda: 0)
    for _ in range(slots):
        worker.pool.slots.take()
    return worker


async def test_orders_that_end_at_one_moment_each_ask_for_another() -> None:
    line, slots = Line(), 3
    worker = busy_worker(line, slots)
    reports = RemoteReports(worker)
    endings = [Report(f"l{n}", 1, "w", f"l{n}/1/1", final=n < 2) for n in range(slots)]
    waiting = [asyncio.create_task(reports.report("e" * 32, report)) for report in endings]
    await asyncio.sleep(0)
    assert line.rooms == [1, 1, 0]  # the third goes on
    line.open.set()
    await asyncio.wait_for(asyncio.gather(*waiting), LONG)
    assert worker.room() == 0  # nothing is left of what was expected
