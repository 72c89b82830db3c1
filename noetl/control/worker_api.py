"""Where workers in other processes come to: they take orders, report, and ask for what a task needs.

It knows no transport. A report to a server that does not own the execution is not refused: it is to be sent
again, to whoever does.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal

from noetl.control.catalog import Catalog
from noetl.control.engine import Engine
from noetl.control.leases import WorkerLeases
from noetl.control.ownership import OverError
from noetl.core.deciding.secret_names import names_secret
from noetl.core.message import Answer, Deliver, Expire, Payload, Report, WorkOrder
from noetl.core.program.program import Pipeline, Program
from noetl.errors import BackendError, Conflict, NoetlError, NotFound
from noetl.json_value import JsonObject
from noetl.ports.call import Secret
from noetl.ports.link import (
    LinesRequest,
    OrderDelivery,
    Orders,
    Push,
    ReportReply,
    ReportRequest,
    SecretRequest,
    TakeRequest,
)
from noetl.ports.results import Results
from noetl.ports.task_lines import PrintedLines

_LOG = logging.getLogger("noetl.link")
EXPIRED_AT_ONCE = 200  # executions: their commits go together
ResolveSecret = Callable[[str, str, str | None], Awaitable[Secret]]
KeepLines = Callable[[Sequence[PrintedLines]], Awaitable[None]]
Seal = Callable[[bytes, JsonObject], bytes]


class EngineWorkerApi:
    """What a server does for workers."""

    def __init__(
        self,
        server: str,
        engine: Engine,
        leasing: WorkerLeases,
        catalog: Catalog,
        results: Results,
        *,
        secrets: ResolveSecret,
        seal: Seal,
        lines: KeepLines,
    ) -> None:
        self.server, self._engine, self._leasing = server, engine, leasing
        self._catalog, self._results, self._secrets, self._seal = catalog, results, secrets, seal
        self._lines = lines
        leasing.needs = self._needs
        leasing.answers = self._answers
        leasing.on_return = self._returned

    async def take(self, take: TakeRequest) -> Orders:
        worker_id = self._leasing.meet(take.hello)
        return await self._orders(worker_id, self._leasing.take(worker_id, take.room))

    async def report(self, request: ReportRequest) -> ReportReply:
        """Decide on a report, and give the next orders along with the answer."""
        execution_id, report, worker_id = request.execution_id, request.report, request.worker_id
        if self._engine.live_state(execution_id) is None:
            with suppress(NotFound, Conflict):
                await self._engine.load(execution_id)
        wrong = self._not_its_own(request)
        if wrong is not None:
            return ReportReply(Answer(False, wrong), await self._orders(worker_id, []))
        holds = partial(self._leasing.holds, execution_id, report.lease, report.epoch, worker_id)
        self._leasing.reported(execution_id, report.lease, report.epoch, worker_id)
        answer = await self._engine.report(execution_id, report, holds)
        state = self._engine.live_state(execution_id)
        lease = state.leases.get(report.lease) if state else None
        if lease is None or lease.epoch != report.epoch or not lease.out:
            self._leasing.ended(execution_id, report.lease, report.epoch, worker_id)
        else:  # it may have come here with this very report
            self._leasing.reported(execution_id, report.lease, report.epoch, worker_id)
        orders = self._leasing.take(worker_id, request.room, execution_id)
        return ReportReply(answer, await self._orders(worker_id, orders))

    def _not_its_own(self, request: ReportRequest) -> str | None:
        """Why a worker may not report this; of what is not current at all only a repeat is answered."""
        report, worker_id = request.report, request.worker_id
        if report.worker != worker_id:
            return f"worker {worker_id} sent a report of worker {report.worker}"
        state = self._engine.live_state(request.execution_id)
        lease = state.leases.get(report.lease) if state is not None else None
        if lease is None or lease.epoch != report.epoch or not lease.out:
            return None
        if self._leasing.holds(request.execution_id, report.lease, report.epoch, worker_id):
            return None
        return f"the lease was not given to worker {worker_id}"

    async def _orders(self, worker_id: str, orders: list[WorkOrder]) -> Orders:
        handed = []
        for order in orders:
            text = None
            if self._leasing.lacks(worker_id, order.program):
                text = await self.program(order.program)
            handed.append(OrderDelivery(order, text))
        return Orders(self.server, self._engine.now(), handed)

    async def secret(self, ask: SecretRequest) -> bytes:
        """A secret, sealed for the worker that holds the lease."""
        if not self._leasing.holds(ask.execution_id, ask.lease, ask.epoch, ask.worker_id):
            if self._engine.live_state(ask.execution_id) is None:
                raise BackendError(f"execution {ask.execution_id} is not run by this server")
            raise Conflict(f"lease {ask.lease} is not held by worker {ask.worker_id}")
        self._check_name(ask)
        return self._seal(ask.key, dict(await self._secrets(ask.execution_id, ask.name, ask.refused)))

    def _check_name(self, ask: SecretRequest) -> None:
        """Raise Conflict when the step of a lease does not name a secret."""
        live = self._engine.in_memory(ask.execution_id)
        lease = live.state.leases.get(ask.lease) if live is not None else None
        if live is None or lease is None or live.program is None:
            raise BackendError(f"execution {ask.execution_id} is not run by this server")
        run = live.state.runs[lease.run]
        if not names_secret(live.program, live.state, run, ask.name, live.hydrated):
            message = f"step {run.step!r} names no secret {ask.name!r}"
            raise Conflict(message, hint="write its name under auth:, or declare it under keychain:")

    async def lines(self, request: LinesRequest) -> None:
        """Keep lines of leases that the worker has; raises BackendError when another server knows of some."""
        may: dict[tuple[str, str, int], bool | None] = {}
        for one in request.printed:
            under = (one.execution_id, one.lease, one.epoch)
            if under not in may:
                may[under] = await self._may_print(request.worker_id, one)
        kept = [one for one in request.printed if may[one.execution_id, one.lease, one.epoch]]
        if kept:
            await self._lines(kept)
        for (execution_id, lease, _), allowed in may.items():
            if allowed is None:
                raise BackendError(f"execution {execution_id} is not run by this server")
            if not allowed:
                _LOG.warning(
                    "lines of worker %s are left out: it has no lease %s of execution %s",
                    request.worker_id,
                    lease,
                    execution_id,
                )

    async def _may_print(self, worker_id: str, one: PrintedLines) -> bool | None:
        """Whether a worker has the lease that lines were printed under; None when that is not known here."""
        has = partial(self._leasing.has_or_had, one.execution_id, one.lease, one.epoch, worker_id)
        if not one.lease or has():  # a worker of an older release does not name it
            return True
        if self._engine.live_state(one.execution_id) is not None:
            return None if self._leasing.nobody_known(one.execution_id, one.lease, one.epoch) else False
        try:
            await self._engine.load(one.execution_id)
        except (OverError, NotFound):
            return False
        except NoetlError:  # another server runs it, or nobody can
            return None
        return has()

    async def program(self, digest: str) -> str:
        return (await self._catalog.entry(digest)).text

    async def write(self, payload: Payload) -> None:
        await self._results.write(payload)

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> None:
        await self._results.write_stream(execution_id, chunks)

    async def read(self, key: str) -> bytes:
        return await self._results.read(key)

    # What leasing asks

    def _needs(self, order: WorkOrder) -> frozenset[str]:
        program = self._engine.program_of(order.execution_id)
        if program is None or order.step not in program.steps:
            return frozenset()
        step = program.steps[order.step]
        if order.claim is not None and step.loop is not None and step.loop.claim is not None:
            return _kinds(program, step.loop.claim.pipeline)
        return _kinds(program, step.pipeline)

    def _answers(self, execution_id: str, lease: str, push: Callable[[Push], None]) -> None:
        """Say again what a waiting pipeline of a lease may not have heard, once it is committed."""

        def tell(deliver: Deliver, epoch: int) -> None:
            push(Push("deliver", execution_id, lease, epoch, deliver.address, deliver.task, deliver.output))

        self._engine.remind(execution_id, lease, tell)

    def _returned(self, order: WorkOrder) -> None:
        """An order is given back before anyone took it."""
        batch = f"{order.lease}/{order.epoch}/0"
        self._engine.post(order.execution_id, Report(order.lease, order.epoch, "", batch, returned=True))

    # What time does

    async def sweep(self) -> None:
        """Issue again what silent workers held and what reached no worker; say again where work waits."""
        silent, lost = self._leasing.overdue()
        overdue: list[tuple[str, dict[str, int], Literal["silent", "lost"]]] = []
        overdue += [(execution_id, leases, "silent") for execution_id, leases in silent.items()]
        overdue += [(execution_id, leases, "lost") for execution_id, leases in lost.items()]
        failures: list[BaseException] = []
        for place in range(0, len(overdue), EXPIRED_AT_ONCE):
            some = (self._expire(*one) for one in overdue[place : place + EXPIRED_AT_ONCE])
            ended = await asyncio.gather(*some, return_exceptions=True)
            failures += [error for error in ended if isinstance(error, BaseException)]
        self._leasing.speak()
        if failures:
            raise failures[0]

    async def _expire(
        self, execution_id: str, leases: dict[str, int], why: Literal["silent", "lost"]
    ) -> None:
        """Let leases go once their end is committed; until then they are whose they were."""
        overdue = Expire(leases, why)
        try:
            await self._engine.send(execution_id, overdue)
        except (NotFound, Conflict):  # it is over, or another server has it by now
            if self._engine.in_memory(execution_id) is not None:
                return  # or this one again: it knows its leases by what was to be let go
        for lease, epoch in leases.items():
            if lease in overdue.leases:  # and not heard of before that was decided
                self._leasing.let_go(execution_id, lease, epoch)


def _kinds(program: Program, pipeline: Pipeline) -> frozenset[str]:
    """The kinds of a pipeline, and of the blocks it may call."""
    if "workbook" not in pipeline.kinds:
        return pipeline.kinds
    return pipeline.kinds.union(*(block.pipeline.kinds for block in program.blocks.values()))
