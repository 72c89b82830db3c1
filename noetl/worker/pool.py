"""A worker: takes orders, runs as many at once as it has slots, and stops, pauses or drains when told.

It never starts a step and never writes the log. Orders come through `offer`, results leave through reports.
"""

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable

from noetl.core.deciding.trigger_scope import last_of
from noetl.core.deciding.work_order import read_workload
from noetl.core.message import Expire, Report, WorkOrder
from noetl.core.pipeline.frame import PipelineContext
from noetl.core.program.program import Program
from noetl.core.shapes import Output
from noetl.core.state import Lease
from noetl.core.values.payload_demand import is_stored
from noetl.errors import BackendError, InvariantViolation
from noetl.ports.control import Reports
from noetl.worker.orphans import end_orphans
from noetl.worker.reporter import PayloadWriter, Refused, Reporter
from noetl.worker.runner import Runner
from noetl.worker.slots import Slots
from noetl.worker.toolbox import Toolbox

_LOG = logging.getLogger("noetl.worker")
GRACE_S = 10.0
FOLLOWING_MOST = 100  # orders that a task goes on with, so that steps that never wait let others have a turn
Key = tuple[str, str]
Lane = asyncio.Task[None]  # runs an order, and then those that its end has brought


def _end_orphans() -> None:
    """What a worker that was killed left running must not go on beside the work that was taken over."""
    for number in end_orphans():
        _LOG.warning("ended a process that a killed worker had left running", extra={"pid": number})


def _key(order: WorkOrder) -> Key:
    return order.execution_id, order.lease


class Pool:
    """The orders of one worker."""

    def __init__(
        self,
        toolbox: Toolbox,
        reports: Reports,
        payloads: PayloadWriter,
        programs: Callable[[WorkOrder], Program],
        concurrency: int,
        *,
        now: Callable[[], int],
        spread: Callable[[], float] = random.random,
    ) -> None:
        self._now, self._spread = now, spread
        self.toolbox, self.reports, self.payloads, self.programs = toolbox, reports, payloads, programs
        self.slots = Slots(concurrency, self._pump)
        self._queue = OrderedDict[Key, WorkOrder]()  # in the order they came
        self._running: dict[Key, tuple[Runner, Lane]] = {}
        self._lanes: dict[Lane, Runner] = {}  # which order a task is at
        self._returning: set[asyncio.Task[None]] = set()
        self.draining = False
        self.finished = 0  # orders that have ended here
        self.trouble: BaseException | None = None  # of an order: it could not be reported, or a bug of ours
        self._is_fresh = True  # no order was here yet
        self.outlives_trouble = False  # a process of its own goes on: the step fails, and says why

    def offer(self, order: WorkOrder) -> None:
        """Take an order; it begins when there is a slot."""
        if self._is_fresh:
            self._is_fresh = False
            _end_orphans()
        running = self._running.get(_key(order))
        if running is not None and running[0].order.epoch > order.epoch:
            return  # overtaken on its way
        if running is not None:
            running[1].cancel()  # the lease is here under an older epoch, and not current any more
        self._queue.pop(_key(order), None)
        self._queue[_key(order)] = order
        if not self._is_ending():
            self._pump()

    def _is_ending(self) -> bool:
        """Whether this comes of the end of an order here: its task is about to ask for another one."""
        runner = self._lanes.get(asyncio.current_task()) if self._lanes else None  # type: ignore[arg-type]
        return runner is not None and runner.reporter.ending

    @property
    def room(self) -> int:
        """How many more orders could begin now."""
        return max(0, self.slots.limit - self.slots.busy - len(self._queue))

    @property
    def busy(self) -> int:
        """How many orders run."""
        return self.slots.busy

    def held(self) -> list[tuple[str, str, int]]:
        """Execution, lease and epoch of every order that is here."""
        orders = [runner.order for runner, _ in self._running.values()]
        return [(order.execution_id, order.lease, order.epoch) for order in (*orders, *self._queue.values())]

    def shown(self) -> list[dict[str, int | str]]:
        """The orders that run, for people."""
        orders = [runner.order for runner, _ in self._running.values()]
        return [
            {"execution_id": order.execution_id, "step_run_id": order.run, "epoch": order.epoch}
            for order in orders
        ]

    def adopt(self, execution_id: str, lease: Lease) -> bool:
        """A lease that was out before: in one process, only what runs here has a worker."""
        return (execution_id, lease.id) in self._running or (execution_id, lease.id) in self._queue

    def _pump(self) -> None:
        while self._queue and self.slots.room and not self.draining:
            runner = self._next()
            self.slots.take()
            lane = asyncio.create_task(self._work(runner))
            lane.add_done_callback(self._over)
            self._put(lane, runner)

    def _next(self) -> Runner:
        return self._runner(self._queue.popitem(last=False)[1])

    def _put(self, lane: Lane, runner: Runner) -> None:
        self._lanes[lane] = runner
        self._running[_key(runner.order)] = (runner, lane)

    async def _work(self, runner: Runner) -> None:
        """Run an order, and go on with what its end has brought: the next step needs no task of its own."""
        lane: Lane = asyncio.current_task()  # type: ignore[assignment]
        for _ in range(FOLLOWING_MOST):
            await self._run(runner, lane)
            if not self._queue or self.draining or lane.cancelling() or self.slots.busy > self.slots.limit:
                return
            self._end(runner)
            runner = self._next()  # it has the slot of the one before
            self._put(lane, runner)
            self._pump()
        await self._run(runner, lane)

    def _end(self, runner: Runner) -> None:
        """An order has ended, perhaps before it began; the lease may be here again under a new epoch."""
        key = _key(runner.order)
        if key in self._running and self._running[key][0] is runner:
            del self._running[key]
        self.finished += 1

    def _over(self, lane: Lane) -> None:
        runner = self._lanes.pop(lane)
        self._end(runner)
        if not lane.cancelled() and lane.exception() is not None:
            self.trouble = lane.exception()
            extra = {"execution_id": runner.order.execution_id}
            _LOG.error("an order ended with a bug of ours", exc_info=self.trouble, extra=extra)
        self.slots.give()

    def _runner(self, order: WorkOrder) -> Runner:
        program = self.programs(order)
        around = PipelineContext(
            execution_id=order.execution_id,
            run=order.run,
            step=order.step,
            program=program,
            workload=read_workload(order, program),
            args=order.args,
            steps=order.results,
            limits=program.steps[order.step].limits,
            now=self._now,
            spread=self._spread,
            redactor=self.toolbox.redactor(order.execution_id),
            aside=any(map(is_stored, order.results.values())),
            repeated=order.epoch > 1,
            stores_call_input=order.stores_call_input,
            last=last_of(order),
        )
        reporter = Reporter(order, around, self.reports, self.payloads, self.toolbox.worker_id)
        return Runner(order, program, self.toolbox, reporter, self.slots)

    async def _run(self, runner: Runner, lane: Lane) -> None:
        runner.reporter.on_broken = lane.cancel
        try:
            await runner.run()
        except Refused:
            pass  # the work is not ours any more; what was not accepted is done again by whoever has it now
        except asyncio.CancelledError:
            if not isinstance(runner.reporter.broken, BackendError):
                raise
            await self._unreported(runner, runner.reporter.broken)
        except BackendError as error:
            await self._unreported(runner, error)
        except InvariantViolation:
            raise
        except Exception as error:  # a bug of ours: the step fails, the worker goes on
            await runner.give_up(error)
        finally:
            runner.reporter.abandon()

    async def _unreported(self, runner: Runner, error: BackendError) -> None:
        """What an order did could not be told or kept."""
        self.trouble = error
        _LOG.error(error.message, extra={"execution_id": runner.order.execution_id})
        if self.outlives_trouble:
            await runner.give_up(error)

    def recall(self, execution_id: str, lease: str, give_back: bool) -> None:
        waiting = self._queue.pop((execution_id, lease), None)
        if waiting is not None and give_back:
            self.give_back(waiting)
        running = self._running.get((execution_id, lease))
        if running is None:
            return
        runner, task = running
        if give_back:
            runner.around.stopping = True
            runner.release_waiting()
        else:
            task.cancel()

    def abandon(self, execution_id: str) -> None:
        for owner, lease in [*self._queue, *self._running]:
            if owner == execution_id:
                self.recall(execution_id, lease, give_back=False)

    def give_back(self, order: WorkOrder) -> None:
        """Give back an order of which nothing more is done here."""
        batch = f"{order.lease}/{order.epoch}/0"
        report = Report(order.lease, order.epoch, self.toolbox.worker_id, batch, returned=True)
        task = asyncio.create_task(self._told(order.execution_id, report))
        self._returning.add(task)
        task.add_done_callback(self._returning.discard)

    async def _told(self, execution_id: str, report: Report) -> None:
        try:
            await self.reports.report(execution_id, report)
        except BackendError as error:
            self.trouble = error

    def still_overdue(self, execution_id: str, overdue: Expire) -> dict[str, int]:
        return overdue.leases if isinstance(overdue.leases, dict) else {}

    def deliver(self, execution_id: str, lease: str, address: str, task: str, output: Output) -> None:
        running = self._running.get((execution_id, lease))
        if running is not None:
            running[0].deliver(address, task, output)
        waiting = self._queue.get((execution_id, lease))
        if waiting is not None:
            waiting.answers[address] = output

    async def drain(self) -> list[WorkOrder]:
        """Take nothing more; let every order stop at its next task boundary; those that had to be cut off."""
        self.draining = True
        orders = {task: runner.order for runner, task in self._running.values()}
        for runner, _ in list(self._running.values()):
            runner.around.stopping = True
            runner.release_waiting()
        if not orders:
            return []
        _, pending = await asyncio.wait(orders, timeout=GRACE_S)
        for task in pending:
            task.cancel()
        await asyncio.gather(*orders, return_exceptions=True)
        return [orders[task] for task in pending]

    async def hand_back(self) -> None:
        """Drain, then give back what is left, so that nobody has to wait for our silence."""
        left = [*await self.drain(), *self._queue.values()]
        self._queue.clear()
        for order in left:
            self.give_back(order)
        if self._returning:
            await asyncio.wait(self._returning, timeout=GRACE_S)

    async def stop(self) -> None:
        """End everything at once."""
        self.draining = True
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.toolbox.close()
