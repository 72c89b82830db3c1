"""Drives one work order: pipelines and loops of the core, tools and waits of the world around them.

The pipelines are pure generators; this shell calls tools, sleeps, parks and reports. What to do next is never
decided here.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from noetl.core.deciding.draft import stored_refs
from noetl.core.deciding.loop import whole_number
from noetl.core.deciding.run_start import as_items
from noetl.core.deciding.trigger_scope import last_of
from noetl.core.deciding.work_order import put_in_place, read_ctx, read_workload, scopes_of
from noetl.core.event import Event
from noetl.core.message import ClaimOrder, WorkOrder, waits_as
from noetl.core.pipeline import effects
from noetl.core.pipeline.block_end import block_boundary
from noetl.core.pipeline.claim import claim_ended, prepare
from noetl.core.pipeline.engine_kinds import too_slow
from noetl.core.pipeline.frame import Frame, PipelineContext
from noetl.core.pipeline.inner_loop import InnerLoop, IterationOutcome, inner_loop_result
from noetl.core.pipeline.pipeline import drive
from noetl.core.pipeline.recorded_output import recorded_together
from noetl.core.program.evaluator import EvaluationError, binding
from noetl.core.program.program import BlockProgram, LoopProgram, Pipeline, Program, StepProgram
from noetl.core.shapes import ErrorObject, Output, Patch, Reference
from noetl.core.values.output import ANSWERED, failed, holds_reference, problem
from noetl.core.values.payload_demand import UnreadablePayload
from noetl.core.values.scope import pruned
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.reads import Path
from noetl.errors import NoetlError, NotFound
from noetl.json_value import Json
from noetl.worker.iteration_pool import IterationPool, LeavesWorker
from noetl.worker.payload_loading import PayloadLoader
from noetl.worker.reporter import Reporter
from noetl.worker.slots import Slots
from noetl.worker.toolbox import Toolbox

HELD_EVENTS = 2000  # so many wait to be reported before a pipeline waits too


class Runner:
    """One work order in progress."""

    def __init__(
        self, order: WorkOrder, program: Program, toolbox: Toolbox, reporter: Reporter, slots: Slots
    ) -> None:
        self.order, self.program, self.toolbox, self.reporter = order, program, toolbox, reporter
        self.slots = slots
        self._waiters = 0
        self.step: StepProgram = program.steps[order.step]
        self.around: PipelineContext = reporter.around
        self.waiting: dict[tuple[str, str], asyncio.Future[Output]] = {}  # by address and task
        self.parked = 0
        self._loading = PayloadLoader(self.around, toolbox.payload)

    @property
    def keeps_lease(self) -> bool:
        """Whether pipelines that wait do so under the lease: those of a local loop."""
        return self.step.loop is not None and not self.step.loop.distributed

    async def run(self) -> None:
        """Run the order to its end, its hand-back, or until everything in it waits."""
        order, around = self.order, self.around
        data = {"worker": self.toolbox.worker_id, "epoch": order.epoch}
        around.record(Event("step.started", around.now(), "w", order.run, data=data))  # whose lease it is
        try:
            await self._take_up()
        except EvaluationError as error:
            await self._fail(problem(error.kind, f"what step {order.step!r} reads: {error.message}"))
            return
        if order.claim is not None:
            await self._run_claim(order.claim)
        elif order.loop is None:
            await self._run_plain()
        else:
            await self._run_outer()

    async def _take_up(self) -> None:
        """Load values of the order that rest in the result store."""
        order = self.order
        if order.aside:
            self.reporter.touch()
            put_in_place(order, await self._loading.whole(stored_refs(scopes_of(order))))
            order.aside, self.around.args = False, order.args
            self.around.workload = read_workload(order, self.program)
            self.around.last = last_of(order)

    async def _run_plain(self) -> None:
        frame = self._frame("")
        await self._run_alone(frame, partial(self._terminal, frame))

    async def _run_claim(self, claim: ClaimOrder) -> None:
        """Claim the next items of the loop; they are worked on when they are in the log."""
        assert self.step.loop is not None
        assert self.step.loop.claim is not None
        frame = self._frame("", self.step.loop.claim.pipeline)
        prepare(frame, claim)
        await self._run_alone(frame, partial(claim_ended, frame, claim))

    async def _run_alone(self, frame: Frame, terminal: Callable[[effects.Ended], Event]) -> None:
        try:
            ended = await self.drive(frame)
        except LeavesWorker:
            await self.reporter.hand_back(self.reporter.frames())
            return
        if ended.handed_back:
            await self.reporter.hand_back([frame])
        else:
            await self.reporter.close(terminal(ended))

    async def give_up(self, error: Exception) -> None:
        """Something of ours went wrong: the step fails and says so."""
        where = "".join(traceback.format_exception(error, limit=-3))
        wrong = problem("internal", f"{type(error).__name__}: {error}", traceback=where)
        await self._fail(wrong)

    async def _fail(self, wrong: ErrorObject) -> None:
        data = {"error": wrong, "output": failed(wrong)}
        await self.reporter.fail(Event("step.failed", self.around.now(), "w", self.order.run, data=data))

    def _frame(self, at: str, pipeline: Pipeline | None = None) -> Frame:
        order = self.order
        frame = Frame(
            at=at,
            pipeline=pipeline or self.step.pipeline,
            around=self.around,
            input=order.input or {},
            ctx=read_ctx(order, self.program),
            step=order.step_scope,
            iter={},
            args=order.args,
        )
        self.reporter.watch(frame)
        return frame

    def _terminal(self, frame: Frame, ended: effects.Ended) -> Event:
        wanted = {label: frame.results[label] for label in self.step.wants_results if label in frame.results}
        output, results = recorded_together(frame, ended.output, wanted)
        data: dict[str, Any] = {"output": output}
        if ended.error is not None:
            data["error"] = ended.error
        writes = [pair for pair in frame.writes if pair[0][0] == "ctx"]
        if writes:
            data["writes"] = frame.fit(writes)
        if frame.step:
            data["step"] = frame.fit_step()
        if frame.iter and (kept := pruned(frame.iter, self.step.wants_iter)):
            data["iter"] = {key: frame.stored(value) for key, value in kept.items()}
        if results:
            data["results"] = results
        name = "step.done" if ended.well else "step.failed"
        return Event(name, self.around.now(), "w", self.order.run, data=data)

    # Driving one pipeline

    async def drive(self, frame: Frame) -> effects.Ended:
        kept = self.order.frames.get(frame.at)
        if kept is not None:
            frame.resume(kept)
        answer = self.order.answers.get(frame.at)
        if answer is None and frame.waiting is not None:
            self.reporter.touch()
            answer = await self._still_waiting(frame)
        machine = drive(frame, answer)
        try:
            effect = next(machine)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        return await self.go_on(machine, effect, frame)

    async def go_on(self, machine: effects.Drive, effect: effects.Effect, frame: Frame) -> effects.Ended:
        while True:
            self.reporter.touch()
            if len(self.around.events) >= HELD_EVENTS:  # nobody takes reports: go on when someone does
                await self.reporter.flush()
            reply = await _EFFECTS[type(effect)](self, effect, frame)
            try:
                effect = machine.send(reply)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]

    async def _still_waiting(self, frame: Frame) -> Output:
        """A pipeline taken over while it was parked: wait on under the lease, or leave it where it is."""
        if not self.keeps_lease:
            raise LeavesWorker
        return await self._wait_for(frame)

    # Effects

    async def _run_tool(self, effect: effects.RunTool, frame: Frame) -> Output:
        if self.around.payloads and holds_reference(effect.input):
            await self.reporter.keep()
        return await self.toolbox.call(effect, frame, self.order)

    async def _need_secrets(
        self, effect: effects.NeedSecrets, frame: Frame
    ) -> dict[str, Any] | EvaluationError:
        redactor = frame.around.redactor
        try:
            return {name: await self.toolbox.secret(self.order, name, redactor) for name in effect.names}
        except NoetlError as error:
            return EvaluationError("keychain", error.message)

    async def _need_payloads(self, effect: effects.NeedPayloads, frame: Frame) -> None:
        await self._loading.have(effect.refs)

    async def _read_payload(self, effect: effects.ReadPayload, frame: Frame) -> Json | UnreadablePayload:
        return await self._loading.read(effect.owner, effect.ref)

    async def _have(self, frame: Frame, paths: frozenset[Path]) -> None:
        """Have at hand what templates beside those of tasks read."""
        if self.around.aside:
            await self._loading.have(frame.scope("").wanted(paths))

    async def _sleep(self, effect: effects.Sleep, frame: Frame) -> None:
        await asyncio.sleep(effect.seconds)

    async def _park(self, effect: effects.Park, frame: Frame) -> Output:
        self.around.record(effect.event)
        if not self.keeps_lease:
            raise LeavesWorker
        self.reporter.soon(frame)
        return await self._wait_for(frame)

    async def _wait_for(self, frame: Frame) -> Output:
        task = frame.pipeline.tasks[frame.pc].label
        waits = (frame.at, waits_as(frame.prefix + task, frame.visits[task], frame.attempt))
        future = self.waiting.setdefault(waits, asyncio.get_running_loop().create_future())
        self._begin_waiting()
        try:
            return await future
        finally:
            self.waiting.pop(waits, None)
            self._end_waiting()

    def _begin_waiting(self) -> None:
        """An order has one slot, however many of its pipelines wait."""
        self._waiters += 1
        if self._waiters == 1:
            self.slots.give()

    def _end_waiting(self) -> None:
        self._waiters -= 1
        if self._waiters == 0:
            self.slots.take()

    def deliver(self, address: str, task: str, output: Output) -> None:
        """The answer a parked pipeline of this lease waits for, or will as soon as it is taken up."""
        loop = asyncio.get_running_loop()
        future = self.waiting.setdefault((address, task), loop.create_future())
        if not future.done():
            future.set_result(output)

    def release_waiting(self) -> None:
        """Pipelines that wait under the lease are to be handed back where they are."""
        for future in list(self.waiting.values()):
            if not future.done():
                future.set_exception(LeavesWorker())

    # Workbook blocks

    async def _call_block(self, effect: effects.CallBlock, frame: Frame) -> tuple[Output, Patch]:
        """Run a block within the calling task's timeout; what is wrong with its templates is the task's."""
        left = None if effect.ends is None else (effect.ends - self.around.now()) / 1000
        try:
            async with asyncio.timeout(left):
                if left is not None and left <= 0:
                    raise TimeoutError
                return await self._run_block(effect, frame)
        except TimeoutError:
            self.reporter.unwatch_below(effect.at)
            return too_slow(effect.label, effect.bound or 0), []
        except (TemplateError, EvaluationError) as error:
            kind = error.kind if isinstance(error, EvaluationError) else "template"
            return failed(problem(kind, f"block {effect.block!r}: {error.message}")), []

    async def _run_block(self, effect: effects.CallBlock, frame: Frame) -> tuple[Output, Patch]:
        block = self.program.blocks[effect.block]
        inner = Frame(
            at=effect.at,
            pipeline=block.pipeline,
            around=self.around,
            input={},
            ctx=frame.ctx,
            step={},
            iter={"parent": frame.iter},
            prefix=f"{effect.label}/",
            buffered=True,
            reduced=frame.reduced,
            keyed=effect.keyed,
            within=min((end for end in (frame.within, effect.ends) if end is not None), default=None),
        )
        defaults = block.input.render(inner.scope("").bind(block.input.names))
        inner.input = given = {**(defaults or {}), **effect.input}
        if block.loop is None:
            self.reporter.watch(inner)
            ended = await self.drive(inner)
            if ended.handed_back:
                raise LeavesWorker
            self.reporter.unwatch(inner)
        else:
            ended = await self._block_loop(block, inner, given)
        return self._block_end(block, inner, ended)

    async def _block_loop(self, block: BlockProgram, frame: Frame, given: dict[str, Any]) -> effects.Ended:
        assert block.loop is not None
        level = self._level(frame.at, block.loop, frame, block.pipeline, parent=frame.iter.get("parent"))
        level.input = given
        output, writes = await self._run_level(level, frame)
        frame.write(writes)
        return effects.Ended(output["status"] == "ok", output, output.get("error"))

    def _block_end(self, block: BlockProgram, frame: Frame, ended: effects.Ended) -> tuple[Output, Patch]:
        """The block's own `set` and `output`; its step scope ends here, its ctx writes go to the caller."""
        if ended.well:
            ended = block_boundary(block, frame, ended)
        output = {**ended.output, ANSWERED: True} if ended.answered else ended.output
        return output, [pair for pair in frame.writes if pair[0][0] == "ctx"]

    # Loops

    async def _run_outer(self) -> None:
        order, loop = self.order, self.order.loop
        assert loop is not None
        assert self.step.loop is not None
        if self.keeps_lease and not order.started:
            self.around.record(
                Event("loop.started", self.around.now(), "w", order.run, data={"total": loop.total})
            )
        self.reporter.touch()
        frame = self._frame("")
        self.reporter.unwatch(frame)
        level = self._level("", self.step.loop, frame, self.step.pipeline, parent=None)
        level.total, level.share = loop.total, loop.share
        items = {loop.lo + place: item for place, item in enumerate(loop.items)}
        known = {int(index): IterationOutcome.known(data) for index, data in loop.finished.items()}
        outcomes = await self._iterate(level, items, known, outer=True)
        await self._end_outer(outcomes)

    async def _end_outer(self, outcomes: dict[int, IterationOutcome]) -> None:
        if self.parked or (self.around.stopping and len(outcomes) < len(self.order.loop.items)):  # type: ignore[union-attr]
            await self.reporter.hand_back(self.reporter.frames())
            return
        if not self.keeps_lease:
            await self.reporter.close(None)
            return
        failed_ones = [
            iteration_outcome for iteration_outcome in outcomes.values() if not iteration_outcome.well
        ]
        name = "step.failed" if failed_ones and not self.step.best_effort else "loop.done"
        await self.reporter.close(Event(name, self.around.now(), "w", self.order.run, data={}))

    def _level(self, address: str, loop: LoopProgram, frame: Frame, pipeline: Any, parent: Any) -> InnerLoop:
        return InnerLoop(
            address=address,
            loop=loop,
            pipeline=pipeline,
            around=self.around,
            total=0,
            share=1,
            best_effort=self.step.best_effort,
            input=frame.input,
            ctx=frame.ctx,
            step=frame.step,
            args=frame.args,
            parent=parent,
            iterators=frame.iterators,
            prefix=frame.prefix,
            buffered=frame.buffered,
            inner=loop.inner,
            reduced=frame.reduced,
            keyed=frame.keyed,
            within=frame.within,
        )

    async def _run_level(self, level: InnerLoop, frame: Frame) -> tuple[Output, Patch]:
        """An inner loop or a block's loop: render its items here, run them, put their outcomes together."""
        await self._have(frame, level.loop.reads)
        scope = frame.scope("")
        rendered = level.loop.collection.render(binding(level.loop.collection, scope))
        if isinstance(rendered, dict) and "locator" in rendered:
            ref: Any = rendered
            rendered = await self._resolved(ref)
        items = dict(enumerate(as_items(rendered, self.order.step)))
        level.total = len(items)
        if level.loop.parallel:
            most = level.loop.max_in_flight
            level.share = whole_number(most.render(binding(most, scope)), "max_in_flight", 10)
        known = {
            index: IterationOutcome.known(self.order.outcomes[f"{level.address}[{index}]"])
            for index in items
            if f"{level.address}[{index}]" in self.order.outcomes
        }
        level.take_up(known)
        outcomes = await self._iterate(level, items, known, outer=False)
        return inner_loop_result(level, [outcomes.get(index) for index in range(level.total)])

    async def _resolved(self, ref: Reference) -> Any:
        try:
            return await self.toolbox.payload(ref)
        except NotFound as error:
            raise EvaluationError(
                "reference", f"the reference is missing or expired: {error.message}"
            ) from None

    async def _iterate(
        self, level: InnerLoop, items: dict[int, Any], known: dict[int, IterationOutcome], *, outer: bool
    ) -> dict[int, IterationOutcome]:
        """Run the iterations of a level: one after the other, or as many at once as its share allows."""
        return await IterationPool(self, level, items, known, outer=outer).run()

    async def run_inner(self, level: InnerLoop, frame: Frame) -> effects.Ended:
        assert level.inner is not None
        inner = self._level(frame.at, level.inner, frame, level.pipeline, parent=frame.iter)
        output, writes = await self._run_level(inner, frame)
        frame.write(writes)
        return effects.Ended(output["status"] == "ok", output, output.get("error"))


# Not bound to a runner: one that holds its own methods is garbage that only a collection finds.
_EFFECTS: dict[type, Callable[[Runner, Any, Frame], Awaitable[Any]]] = {
    effects.RunTool: Runner._run_tool,
    effects.NeedSecrets: Runner._need_secrets,
    effects.NeedPayloads: Runner._need_payloads,
    effects.ReadPayload: Runner._read_payload,
    effects.Sleep: Runner._sleep,
    effects.Park: Runner._park,
    effects.CallBlock: Runner._call_block,
}
