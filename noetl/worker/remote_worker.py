"""A worker in a process of its own: takes orders where there is work, reports, and tells what it holds.

It has no port that anyone could call: everything goes out through its link to the servers.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence

from noetl.core.message import Answer, Report, WorkOrder
from noetl.core.program.program import Program
from noetl.errors import BackendError, Conflict, NotFound, RequestError
from noetl.ports.call import Secret
from noetl.ports.link import (
    Heartbeat,
    Hello,
    LinesRequest,
    Link,
    OrderDelivery,
    Orders,
    Push,
    ReportRequest,
    SecretRequest,
    TakeRequest,
    beat_s,
)
from noetl.ports.task_lines import PrintedLines
from noetl.worker.pool import Pool
from noetl.worker.secret_cache import SecretCache

_LOG = logging.getLogger("noetl.worker")
PROGRAMS_KEPT = 256
BEGUN_KEPT = 10_000
LOOK_S = 1.0
LOOK_AGAIN_S = 5.0
REFUSED_S = 10.0  # so long every server that answers must refuse us before we believe it
UNKNOWN_KEPT = 3
Compile = Callable[[str, str], Program]  # digest and text


def _place(order: WorkOrder) -> tuple[str, str, int]:
    return order.execution_id, order.lease, order.epoch


class RemoteReports:
    """The control plane as the orders of this worker see it."""

    def __init__(self, worker: "RemoteWorker") -> None:
        self._worker = worker

    async def report(self, execution_id: str, report: Report) -> Answer:
        """Hand a report in; the answer brings the next orders."""
        worker = self._worker
        ending = report.final or report.returned
        worker.ending += ending
        room = worker.room()
        orders = Orders("", 0)
        try:
            answered = await worker.link.report(
                ReportRequest(execution_id, report, worker.hello.worker_id, room)
            )
            orders = answered.next
            worker.welcomed()
            return answered.answer
        finally:
            worker.ending -= ending
            worker.received(orders, room)


class RemoteLines:
    """Where what tasks of this worker print goes: to a server."""

    def __init__(self, worker: "RemoteWorker") -> None:
        self._worker = worker

    def takes(self, execution_id: str) -> bool:
        """Whether a server takes lines; those of older releases do not."""
        return self._worker.link.takes_lines(execution_id)

    async def add(self, printed: Sequence[PrintedLines]) -> None:
        """Hand lines in."""
        await self._worker.link.lines(LinesRequest(self._worker.hello.worker_id, list(printed)))


class RemoteSecrets:
    """Where the tasks of this worker get secrets: from the server, sealed for this worker.

    One that was just had serves the other tasks of its execution for a moment, then it is forgotten.
    """

    def __init__(self, worker: "RemoteWorker", opened: Callable[[bytes], Secret]) -> None:
        self._worker, self._opened = worker, opened
        self._cache = SecretCache()

    async def resolve(self, execution_id: str, name: str, refused: str | None = None) -> Secret:
        """The secret that a task of an execution names."""
        held = [(lease, epoch) for owner, lease, epoch in self._worker.held() if owner == execution_id]
        secret = self._cache.get(execution_id, name, refused)
        if secret is not None and held:
            return secret
        hello = self._worker.hello
        why: Conflict | None = None
        for lease, epoch in held:
            ask = SecretRequest(execution_id, lease, epoch, hello.worker_id, name, hello.key, refused)
            try:
                opened = self._opened(await self._worker.link.secret(ask))
                return self._cache.keep(execution_id, name, opened)
            except Conflict as error:  # gone, or of another step; another one of the execution may do
                why = error
        if why is not None:
            raise NotFound(why.message, hint=why.hint)
        raise NotFound(f"no lease of execution {execution_id} is held here any more")


class Programs:
    """Playbooks that orders came with, compiled once."""

    def __init__(self, compile_text: Compile) -> None:
        self._compile, self._known = compile_text, OrderedDict[str, Program]()

    def __contains__(self, digest: str) -> bool:
        return digest in self._known

    def keep(self, digest: str, text: str) -> None:
        """Compile a playbook's text."""
        self._known[digest] = self._compile(digest, text)
        if len(self._known) > PROGRAMS_KEPT:
            self._known.popitem(last=False)

    def get(self, digest: str) -> Program:
        """A playbook that is here."""
        self._known.move_to_end(digest)
        return self._known[digest]


class RemoteWorker:
    """Joins a pool of slots with the servers."""

    def __init__(self, link: Link, hello: Hello, programs: Programs, lease_s: float) -> None:
        self.link, self.hello, self.programs, self.lease_s = link, hello, programs, lease_s
        self.pool: Pool
        self._expected = 0  # orders that were asked for and may be on their way
        self.ending = 0  # orders whose last report is on its way: their slots are free for what it brings
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()  # servers that hinted while they were being asked
        self._number = 0
        self._begun: OrderedDict[tuple[str, str, int], None] = OrderedDict()
        self._welcome = False  # a server lets us work, or did
        self._refused_since: float | None = None
        self._not_understood: list[str] = []
        self.refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        link.on_hint = self.hinted
        link.on_push = self.pushed
        link.on_orders = self.handed

    # Orders in

    def room(self) -> int:
        """How many orders could begin now; what is set aside must be settled by `received`."""
        room = self._room
        self._expected += room
        return room

    @property
    def _room(self) -> int:
        return 0 if self.pool.draining else max(0, self.pool.room + self.ending - self._expected)

    def received(self, orders: Orders, room: int) -> None:
        """Begin what has come."""
        self._expected -= room
        for handed in orders.orders:
            self._begin(handed)

    def handed(self, orders: Orders) -> None:
        """Begin what a server gave unasked; what was begun before is said for the second time."""
        for handed in orders.orders:
            if _place(handed.order) not in self._begun:
                self._begin(handed)

    def _begin(self, handed: OrderDelivery) -> None:
        order = handed.order
        self._begun[_place(order)] = None
        if len(self._begun) > BEGUN_KEPT:
            self._begun.popitem(last=False)
        if handed.text is not None and order.program not in self.programs:
            self.programs.keep(order.program, handed.text)
        if self.pool.draining:
            self.pool.give_back(order)
        elif order.program in self.programs:
            self.pool.offer(order)
        else:
            self._go(self._fetch(order))

    async def _fetch(self, order: WorkOrder) -> None:
        """A playbook that was put away here since the server sent it."""
        self.programs.keep(order.program, await self.link.program(order.program))
        self.pool.offer(order)

    def hinted(self, server: str) -> None:
        """A server has work: ask it when there is room."""
        if server in self._asking:
            self._again.add(server)
        elif self._room:
            self._asking[server] = self._go(self._ask(server))

    async def _ask(self, server: str) -> None:
        room = self.room()
        orders = Orders(server, 0)
        try:
            if room:
                orders = await self.link.take_from(server, TakeRequest(self.hello, room))
                self.welcomed()
        except BackendError:
            return  # the next hint asks again
        except RequestError as error:
            self._give_up(error)
            return
        finally:
            del self._asking[server]
            self.received(orders, room)
        if server in self._again or len(orders.orders) == room:
            self._again.discard(server)
            self.hinted(server)

    async def look_for_servers(self) -> None:
        """Find out whether the servers let us work; when none is there yet, not waiting for one."""
        await asyncio.wait({self._go(self._look())}, timeout=LOOK_S)

    async def _look(self) -> None:
        try:
            await self.link.which()
            self.welcomed()
        except RequestError as error:
            self._give_up(error)
            self._still_refused(error)

    def welcomed(self) -> None:
        """A server lets us work."""
        self._welcome, self._refused_since = True, None

    def keep_looking(self) -> None:
        """See from time to time that a server still lets us work; whoever is refused by all is to end."""

        async def look() -> None:
            while True:
                await asyncio.sleep(LOOK_AGAIN_S)
                await self._look()

        self._go(look())

    def _still_refused(self, error: RequestError) -> None:
        now = asyncio.get_running_loop().time()
        self._refused_since = now if self._refused_since is None else self._refused_since
        if now - self._refused_since >= REFUSED_S and not self.refused.done():
            message = f"every server that answers refuses this worker, which worked before: {error.message}"
            self.refused.set_exception(type(error)(message, hint=error.hint))

    def _give_up(self, error: RequestError) -> None:
        """A server does not let us work; while others do, that is its own affair."""
        if not self._welcome and not self.refused.done():
            self.refused.set_exception(error)

    def pushed(self, push: Push) -> None:
        """A server tells something of a lease."""
        if (push.execution_id, push.lease, push.epoch) not in self.held():
            return
        if push.what == "deliver":
            self.pool.deliver(push.execution_id, push.lease, push.address, push.task, push.output)
        elif push.what in ("stop", "give_back"):
            self.pool.recall(push.execution_id, push.lease, push.what == "give_back")
        elif len(self._not_understood) < UNKNOWN_KEPT:
            self._not_understood.append(f"{push.what[:40]!r} of a lease")

    # What is held

    def held(self) -> list[tuple[str, str, int]]:
        """Execution, lease and epoch of every order that is here."""
        return self.pool.held()

    async def beats(self) -> None:
        """Tell what is held, again and again, until cancelled."""
        while True:
            self.beat()
            await asyncio.sleep(beat_s(self.lease_s))

    def beat(self) -> None:
        """Tell what is held."""
        self._number += 1
        pool, unknown = self.pool, self._not_understood
        self._not_understood = []
        self.link.tell(
            Heartbeat(self.hello, self._number, self.held(), pool.busy, pool.finished, pool.draining, unknown)
        )

    def _go(self, work: Coroutine[object, None, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("the worker could not go on with something", exc_info=task.exception())

    async def close(self) -> None:
        """Stop asking; what runs is the pool's to end."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
