"""The iterations of one level, as many at once as the level's share allows.

Lanes take indexes in order; a pipeline that never waits runs to its end without a task of its own.
"""

import asyncio
from collections import deque
from typing import Protocol

from noetl.core.message import WorkOrder
from noetl.core.pipeline.effects import Drive, Effect, Ended
from noetl.core.pipeline.frame import Frame, PipelineContext
from noetl.core.pipeline.inner_loop import InnerLoop, IterationOutcome, iteration_ended, iteration_started
from noetl.core.pipeline.pipeline import drive
from noetl.core.program.evaluator import EvaluationError
from noetl.core.values.output import failed, ok, problem
from noetl.dsl.templates.limits import TemplateError
from noetl.json_value import Json
from noetl.worker.reporter import Reporter

FLUSH_EVENTS = 1000


class LeavesWorker(Exception):
    """This pipeline waits without a worker; its frame goes back to the server."""


class Stopped(Exception):
    """An iteration has failed: the others need not go on."""


class PipelineRunner(Protocol):
    """Who drives the pipelines of one order."""

    order: WorkOrder
    around: PipelineContext
    reporter: Reporter
    parked: int

    @property
    def keeps_lease(self) -> bool:
        """Whether its pipelines wait where they are."""

    async def drive(self, frame: Frame) -> Ended:
        """Drive a pipeline to its end."""

    async def go_on(self, machine: Drive, effect: Effect, frame: Frame) -> Ended:
        """Drive a pipeline on from what it asks for."""

    async def run_inner(self, level: InnerLoop, frame: Frame) -> Ended:
        """One iteration of a loop that has a loop inside."""


class IterationPool:
    """A level in progress."""

    def __init__(
        self,
        runner: PipelineRunner,
        level: InnerLoop,
        items: dict[int, Json],
        outcomes: dict[int, IterationOutcome],
        *,
        outer: bool,
    ) -> None:
        self.runner, self.level, self.items, self.outer = runner, level, items, outer
        self.outcomes = outcomes
        self.waiting = 0  # iterations that wait elsewhere: they run, as far as `max_in_flight` goes
        self.todo = deque(index for index in items if index not in outcomes and not self._waits(index))
        self.leaves: LeavesWorker | None = None
        self.stopped = not level.best_effort and any(not outcome.well for outcome in outcomes.values())

    def _waits(self, index: int) -> bool:
        """An iteration that is parked elsewhere and has no answer yet is not taken up here."""
        order, inside = self.runner.order, f"{self.level.address}[{index}]"
        if self.runner.keeps_lease or not any(at.startswith(inside) for at in order.waiting):
            return False
        if any(at.startswith(inside) for at in order.answered):
            return False
        self.runner.parked += 1
        self.waiting += 1
        return True

    async def run(self) -> dict[int, IterationOutcome]:
        """Run what is to be run; the outcomes by index, those never started left out."""
        lanes = min(self.level.share - self.waiting, len(self.todo))
        if lanes == 1:
            await self._lane()
        elif lanes > 1:
            await self._run_lanes(lanes)
        if not self.outer and not self.stopped and len(self.outcomes) < len(self.items):
            raise self.leaves or LeavesWorker  # what is left waits, or is to be handed back
        return self.outcomes

    async def _run_lanes(self, count: int) -> None:
        tasks = [asyncio.create_task(self._lane_of_many()) for _ in range(count)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                if not task.cancelled() and not isinstance(task.exception(), Stopped):
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _lane_of_many(self) -> None:
        await self._lane()
        if self.stopped:
            raise Stopped

    async def _lane(self) -> None:
        around, reporter = self.runner.around, self.runner.reporter
        while self.todo and not self.stopped and not around.stopping:
            index = self.todo.popleft()
            if not await self._one(index):
                return
            if len(around.events) >= FLUSH_EVENTS:
                await reporter.flush()

    async def _one(self, index: int) -> bool:
        """One iteration; False when its lane is to end: it parks, was handed back, or stops the loop."""
        level, runner = self.level, self.runner
        frame = level.frame(index, self.items[index])
        if frame.at not in runner.order.frames:
            iteration_started(runner.around, frame.at)
        runner.reporter.watch(frame)
        try:
            ended = await self._body(frame)
        except LeavesWorker as leaves:
            self.leaves = leaves
            runner.parked += 1
            return False
        if ended.handed_back:
            return False
        runner.reporter.unwatch(frame)
        self._finish(index, frame, ended)
        return not self.stopped

    async def _body(self, frame: Frame) -> Ended:
        level, runner = self.level, self.runner
        if level.inner is not None:
            try:
                return await runner.run_inner(level, frame)
            except (TemplateError, EvaluationError) as error:
                kind = error.kind if isinstance(error, EvaluationError) else "template"
                wrong = problem(kind, f"inner loop at {frame.at}: {error.message}")
                return Ended(False, failed(wrong), wrong)
        if frame.at in runner.order.frames:
            return await runner.drive(frame)
        machine = drive(frame)
        try:
            effect = next(machine)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        return await runner.go_on(machine, effect, frame)

    def _finish(self, index: int, frame: Frame, ended: Ended) -> None:
        outcome = IterationOutcome.of(ended, frame.writes)
        if self.level.loop.claim is not None and ended.well:
            outcome.output = ok()  # nobody keeps the outputs of a loop without an end in sight
        iteration_ended(frame, outcome)
        self.runner.reporter.touch()  # other iterations may be waiting for long: this one is told of now
        if self.outer:
            outcome = IterationOutcome(outcome.well, {})  # the server keeps the outputs of the outer loop
        self.outcomes[index] = outcome
        self.level.carry(frame)
        if not ended.well and not self.level.best_effort:
            self.stopped = True
