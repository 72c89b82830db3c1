"""Decide, commit, dispatch: one mailbox per execution, one owner per mailbox.

All that is decided is decided by the core. What is here waits, writes and sends, in this order: payloads,
then the commit, then the commands (command_dispatch.py). When a commit fails, the execution is dropped and
loaded again (ownership.py); what cannot be decided is set aside (stuck_executions.py).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from noetl.control.child_executions import ChildExecutions
from noetl.control.command_dispatch import CommandDispatch
from noetl.control.execution_host import Programs, Trial
from noetl.control.in_hand import InHand
from noetl.control.loaded_execution import LoadedExecution
from noetl.control.log_rows import append_of, encode_row
from noetl.control.notices import notices_of
from noetl.control.ownership import Ownership
from noetl.control.payload_prefetch import PayloadPrefetch
from noetl.control.stuck_executions import FatalDecision, StuckError, StuckExecutions
from noetl.control.successor import (
    FirstDecision,
    answered_letters,
    first_decision,
    waits_for_successor,
)
from noetl.control.takeover import Takeover
from noetl.core.decide import decide
from noetl.core.deciding.synthesize import with_fragments
from noetl.core.deciding.waits import undelivered
from noetl.core.event import Event
from noetl.core.formats import OLDEST_ROW_FORMAT
from noetl.core.message import Answer, Decision, Deliver, Expire, Message, Report, Start
from noetl.core.program.program import Program
from noetl.core.state import State
from noetl.errors import BackendError, Conflict, InvariantViolation, NewerFormat, NoetlError, NotFound
from noetl.ports.control import Workers
from noetl.ports.results import Payloads, Results
from noetl.ports.store import Append, Row, Store

T = TypeVar("T")
_LOG = logging.getLogger("noetl.engine")
CLOSE_S = 5.0
Listener = Callable[[str, int, list[Event]], None]
Waiting = Sequence[asyncio.Future[Answer] | None]


class Displaced(Conflict):
    """Another process owns the execution by now: nothing that was decided here holds."""


def _chained(execution_id: str, cause: Exception) -> InvariantViolation:
    message = f"deciding on execution {execution_id}: {type(cause).__name__}: {cause}"
    violation = InvariantViolation(message, hint="this is a bug in noetl; nothing was begun")
    violation.__cause__ = cause
    return violation


def _unless_broken(execution: LoadedExecution, work: Callable[[], None]) -> None:
    if execution.broken is None:
        work()


def _look(execution: LoadedExecution, view: Callable[[State], T], future: "asyncio.Future[T | None]") -> None:
    if future.done():
        return
    try:
        future.set_result(view(execution.state) if execution.broken is None else None)
    except Exception as error:
        future.set_exception(error)


def _remind(execution: LoadedExecution, lease: str, tell: Callable[[Deliver, int], None]) -> None:
    held_lease = execution.state.leases.get(lease)
    if held_lease is not None:
        for deliver in undelivered(execution.state, execution.hydrated):
            if deliver.lease == lease:
                tell(deliver, held_lease.epoch)


def _note_commit(execution: LoadedExecution, append: Append) -> None:
    if append.summary is not None:
        execution.shown = (append.summary.status, append.summary.due_at)
    if append.snapshot is not None:
        execution.tail_bytes, execution.snapshot_bytes = 0, len(append.snapshot)
    execution.committed = append.rows[-1].last


async def _no_trial(work: Callable[[], object]) -> None:
    """Nothing is tried apart."""
    return


class Engine:
    """Runs the executions this process owns."""

    def __init__(
        self,
        store: Store,
        results: Results,
        payloads: Payloads,
        programs: Programs,
        owner: str,
        now: Callable[[], int],
    ) -> None:
        self.store, self.results, self.payloads, self.programs = store, results, payloads, programs
        self.owner, self.now = owner, now
        self.stuck = StuckExecutions(self)
        self._prefetch = PayloadPrefetch(payloads)
        self._dispatch = CommandDispatch(self, ChildExecutions(self))
        self._owned = Ownership(self, self.stuck, self._prefetch, self._dispatch)
        self._takeover = Takeover(self, self.stuck, self._owned)
        self._executions = self._owned.executions
        self._in_hand = InHand(store, owner)
        self.workers: Workers | None = None
        self.listeners: list[Listener] = []
        self.lease_ms = 30_000
        self.version = ""  # of the engine, for those who read why an execution is stuck
        self.trial: Trial = _no_trial
        self._background: set[asyncio.Task[None]] = set()
        self.trouble: BaseException | None = None  # of work nobody waits for; the process edge reports it

    # Messages in

    async def start(
        self, execution_id: str, message: Start, request: str | None = None, *, newest: bool = False
    ) -> Answer:
        """Begin an execution; the request and its first decision are one commit.

        `newest`: raises Conflict when its playbook is not the newest of its path by then.
        """
        program = None if message.problem else await self.programs.program(message.hash)
        if execution_id in self._executions:
            raise Conflict(f"execution {execution_id} has been started already")
        execution = LoadedExecution(State(execution_id), program, b"", request=request, newest=newest)
        execution.keeps = message.keeps
        self._executions[execution_id] = execution
        return await self.submit(execution, message)

    async def report(
        self, execution_id: str, report: Report, holds: Callable[[], bool] = lambda: True
    ) -> Answer:
        """A worker's report; a batch that was already accepted is answered as it was.

        `holds`: whether whoever sent it holds the lease. Others have nothing else to say: by the time that it
        is decided on, the lease may be out again, with another worker.
        """
        try:
            execution = self._executions.get(execution_id) or await self.load(execution_id)
        except (NotFound, StuckError) as error:
            return Answer(False, error.message)
        except Conflict as error:
            if await self.store.answered(
                execution_id, report.batch_id
            ):  # perhaps it ended by this very batch
                return Answer()
            if (await self.store.summary(execution_id)).ended_at is None:
                raise BackendError(error.message, hint="send it again, to the one who runs it") from error
            return Answer(False, error.message)
        if execution.tail and await self.store.answered(execution_id, report.batch_id):
            return Answer(seq=execution.state.seq)
        if not holds() and report.batch_id not in execution.batches:
            return Answer(False, "the lease is not current", execution.committed)
        try:
            return await self.submit(execution, report)
        except (StuckError, InvariantViolation) as error:  # to repeat it would change nothing
            return Answer(False, error.message)
        except Displaced as error:
            raise BackendError(error.message, hint="send it again, to the one who runs it") from error

    async def send(self, execution_id: str, message: Message) -> Answer:
        """Any other message; one for an execution that goes on as another is for the last of them."""
        try:
            execution = await self.load(execution_id)
        except Conflict:
            newest = (await self.store.newest(execution_id)).execution_id
            if newest == execution_id:
                raise
            return await self.send(newest, message)
        return await self.submit(execution, message)

    async def submit(self, execution: LoadedExecution, message: Message) -> Answer:
        if execution.broken is not None:
            text = f"execution {execution.state.execution_id} is being loaded again; repeat the message"
            raise BackendError(text) from execution.broken
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        execution.mailbox.append((message, future))
        if not execution.deciding:  # here and now: a task of its own would only be one more to wake
            await self._round(execution)
            self._pump(execution)
        return await future

    def post(self, execution_id: str, message: Message) -> None:
        execution = self._executions.get(execution_id)
        if execution is not None:
            self.put(execution, message)

    def put(self, execution: LoadedExecution, message: Message) -> None:
        if execution.broken is None:
            execution.mailbox.append((message, None))
            self._pump(execution)

    def _pump(self, execution: LoadedExecution) -> None:
        """See to it that someone decides on what is in the mailbox."""
        if execution.mailbox and not execution.deciding and (execution.pump is None or execution.pump.done()):
            execution.pump = asyncio.create_task(self._drain(execution))

    # Decisions

    async def _drain(self, execution: LoadedExecution) -> None:
        while execution.mailbox and not execution.deciding:
            await self._round(execution)

    async def _round(self, execution: LoadedExecution) -> None:
        """Decide on everything in the mailbox; messages that are there together are committed together."""
        execution.deciding = True
        futures: list[asyncio.Future[Answer] | None] = []
        try:
            if execution.wary:
                await self._in_hand.note(execution.state.execution_id)
            await self._decide_all(execution, futures)
            if execution.wary:
                await self._proven(execution)
        except FatalDecision as error:
            self.stop(execution, "owners", error, futures)
        except InvariantViolation as error:
            self.stop(execution, "decision", error, futures)
        except NoetlError as error:
            self._break(execution, error, futures)
        except Exception as error:  # a bug of ours
            self.stop(execution, "decision", error, futures)
        except asyncio.CancelledError:  # whoever asked is gone; whether it was committed, the log knows
            self._break(execution, BackendError("the commit was interrupted; repeat the message"), futures)
            raise
        finally:
            execution.deciding = False
            if execution.afterwards:
                self._catch_up(execution)

    def _catch_up(self, execution: LoadedExecution) -> None:
        """The state is what the log has, or is forgotten: whoever waited for that looks now."""
        waiting, execution.afterwards = execution.afterwards, []
        for work in waiting:
            try:
                work()
            except Exception:  # who only looks must not keep an execution from going on
                _LOG.exception("a look failed", extra={"execution_id": execution.state.execution_id})

    async def check(self, work: Callable[[], object]) -> None:
        why = await self.trial(work)
        if why is not None:
            raise FatalDecision(f"tried apart, {why}")

    async def _proven(self, execution: LoadedExecution) -> None:
        """A decision on an execution whose owner died went well."""
        execution.wary -= 1
        with suppress(BackendError):  # then the next one is careful for nothing
            await self._in_hand.put_down(execution.state.execution_id)

    async def _decide_all(
        self, execution: LoadedExecution, futures: list[asyncio.Future[Answer] | None]
    ) -> None:
        decisions: list[Decision] = []
        rows: list[Row] = []
        later: list[tuple[Message, asyncio.Future[Answer] | None]] = []
        successor: FirstDecision | None = None
        before = execution.state.seq
        while execution.mailbox:
            message, future = execution.mailbox.popleft()
            if waits_for_successor(execution, message):
                later.append((message, future))
                continue
            futures.append(future)
            now = self.now()
            decision = await self._decide(execution, message, now)
            decisions.append(decision)
            if decision.events:
                rows.append(self._row(execution, message, decision, now))
            if decision.successor is not None:
                successor = await first_decision(
                    decision.successor, execution, self.programs, self._prefetch, now, self.version
                )
        execution.mailbox.extendleft(reversed(later))
        await self._commit(execution, before, rows, decisions, successor)
        for future, decision in zip(futures, decisions, strict=True):
            if future is not None and not future.done():
                future.set_result(decision.answer)
        self._dispatch.run(execution, decisions)
        if successor is not None:
            self._enter(successor)
        self._owned.look_after(execution)
        if execution.state.continued_as is not None:
            self._pass_on(execution, execution.state.continued_as)

    def _enter(self, successor: FirstDecision) -> None:
        """The execution that goes on is committed: have it in memory and do what its start asks for."""
        execution = successor.execution
        self._executions[execution.state.execution_id] = execution
        self._dispatch.run(execution, [successor.decision])
        self._owned.look_after(execution)

    def _pass_on(self, execution: LoadedExecution, successor: str) -> None:
        """What came for an execution that goes on as another is for that one; letters are there already."""
        letters = {id(message) for message in execution.letters.values()}
        for message, future in list(execution.mailbox):
            if waits_for_successor(execution, message):
                execution.mailbox.remove((message, future))
                if id(message) not in letters:
                    self.spawn(self._forward(successor, message, future))

    async def _forward(
        self, execution_id: str, message: Message, future: asyncio.Future[Answer] | None
    ) -> None:
        try:
            answer = await self.send(execution_id, message)
        except NoetlError as error:
            if future is not None and not future.done():
                future.set_exception(error)
                future.exception()  # whoever asked may be gone
            return
        if future is not None and not future.done():
            future.set_result(answer)

    async def _decide(self, execution: LoadedExecution, message: Message, now: int) -> Decision:
        if isinstance(message, Report) and message.batch_id in execution.batches:
            return Decision(answer=Answer(seq=execution.state.seq))
        if self._prefetch.wanted(execution, message):
            await self._prefetch.before(execution, message)
        if isinstance(message, Expire) and isinstance(message.leases, dict) and self.workers is not None:
            # it may have waited long for its turn: who was heard since then keeps what it has
            message.leases = self.workers.still_overdue(execution.state.execution_id, message)
        if execution.tried and execution.wary:
            tried = partial(
                decide, execution.state, message, now, execution.program, hydrated=execution.hydrated
            )
            await self.check(tried)
        decision = decide(execution.state, message, now, execution.program, hydrated=execution.hydrated)
        if execution.state.fragments and execution.program is not None:
            await self._extend(execution, execution.program)
        return decision

    async def _extend(self, execution: LoadedExecution, program: Program) -> None:
        """Have the program with the fragments that the state knows, and no others for long."""
        fragments = execution.state.fragments
        if not execution.fragments <= fragments.keys():
            program = await self.programs.program(execution.state.hash)
        execution.program = with_fragments(program, fragments)
        execution.fragments = frozenset(fragments)

    def _row(self, execution: LoadedExecution, message: Message, decision: Decision, now: int) -> Row:
        needed = OLDEST_ROW_FORMAT if execution.program is None else execution.program.row_format
        row = encode_row(execution.state.seq, execution.head, message, decision.events, now, needed)
        execution.head = row.hash
        if row.batch is not None:
            execution.note_batch(row.batch)
        execution.tail_bytes += len(row.body) + len(row.cause)
        return row

    async def _commit(
        self,
        execution: LoadedExecution,
        before: int,
        rows: list[Row],
        decisions: list[Decision],
        successor: FirstDecision | None = None,
    ) -> None:
        letters = answered_letters(execution)
        for letter in letters:
            del execution.letters[letter]
        if not rows:
            if letters:
                await self.store.discard_mail(letters)
            return
        for decision in [*decisions, *([successor.decision] if successor is not None else [])]:
            for payload in decision.payloads:
                await self.results.write(payload)
        claim = (self.owner, self.lease_ms)
        append = append_of(execution, before, rows, letters, claim)
        events = [event for decision in decisions for event in decision.events]
        append.notices = notices_of(execution.program, execution.state, before, events)
        if successor is not None:
            begun, now = successor.execution, rows[-1].ts
            first = self._row(begun, successor.start, successor.decision, now)
            append.successor = append_of(begun, 0, [first], [], claim)
        try:
            await self.store.commit(append)
        except Conflict as error:
            if before:
                raise Displaced(f"{error.message}; another process runs it by now") from None
            raise
        _note_commit(execution, append)
        seq = before
        for decision in decisions:
            self._tell_listeners(execution.state.execution_id, seq + 1, decision.events)
            seq += len(decision.events)
        if successor is not None and append.successor is not None:
            _note_commit(successor.execution, append.successor)
            self._tell_listeners(append.successor.execution_id, 1, successor.decision.events)

    def _tell_listeners(self, execution_id: str, first: int, events: list[Event]) -> None:
        for listener in self.listeners:
            try:
                listener(execution_id, first, events)
            except Exception:  # who only watches must not keep an execution from going on
                _LOG.exception("a listener failed", extra={"execution_id": execution_id})

    def _break(self, execution: LoadedExecution, error: NoetlError, waiting: Waiting) -> None:
        """The commit failed: forget what is in memory; whoever asked is told, and the log decides."""
        extra = {"execution_id": execution.state.execution_id}
        _LOG.warning(error.message, exc_info=error.__cause__, extra=extra)
        self._forget(execution, error, waiting, again=True)

    def stop(self, execution: LoadedExecution, reason: str, error: Exception, waiting: Waiting = ()) -> None:
        """It cannot be decided: set it aside, with its log and its letters as they are.

        One that has no log yet has only whoever asked for it.
        """
        if execution.committed:
            failure: NoetlError = self.stuck.put(execution.state.execution_id, reason, error)
        else:
            failure = _chained(execution.state.execution_id, error)
            _LOG.error(failure.message, exc_info=error)
        self._forget(execution, failure, waiting, again=False)

    def leave(self, execution: LoadedExecution, error: NewerFormat) -> None:
        """A newer release wrote what it is told: forget it; its workers go on for whoever has it next."""
        execution_id, left = execution.state.execution_id, self._owned.left
        self._forget(execution, left.note(execution_id, error), (), again=False)
        self.spawn(left.give_back(execution_id))

    def _forget(
        self, execution: LoadedExecution, error: NoetlError, waiting: Waiting, *, again: bool
    ) -> None:
        self._owned.drop(execution, again=again)
        execution.broken = error
        for future in [*waiting, *(future for _, future in execution.mailbox)]:
            if future is not None and not future.done():
                future.set_exception(error)
                future.exception()  # whoever asked may be gone
        execution.mailbox.clear()
        execution.quiet.set()

    def forget(self, execution_id: str) -> None:
        """Drop what is in memory of an execution: only its log counts."""
        execution = self._executions.get(execution_id)
        if execution is not None:
            text = f"execution {execution_id} is being loaded again; repeat the message"
            self._forget(execution, BackendError(text), (), again=False)

    # Work nobody waits for

    def spawn(self, work: Coroutine[object, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._reap)

    def _reap(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.trouble = task.exception()
            _LOG.warning("work that nobody waits for has failed", exc_info=self.trouble)

    # Ownership

    async def load(self, execution_id: str) -> LoadedExecution:
        """The execution in memory, folded from its log when it is not there; raises NotFound, Conflict."""
        return await self._owned.load(execution_id)

    async def pick_up(self, execution_id: str) -> LoadedExecution:
        """Go on with an execution that nobody runs; work that is with nobody goes out again."""
        return await self._owned.pick_up(execution_id)

    async def pick_up_due(self) -> int:
        """Take over what nobody alive owns; how many there were."""
        return await self._takeover.round()

    async def resume(self, execution_id: str, by: str = "cli") -> LoadedExecution:
        """Take over an execution whose process is gone, or go on with one that is paused."""
        return await self._owned.resume(execution_id, by)

    async def heartbeat(self) -> None:
        """Stay the owner of what runs here."""
        await self._owned.heartbeat()

    async def renew(self) -> None:
        """Stay the owner of what runs here, and see to the children it waits for."""
        await self._owned.heartbeat()
        self._owned.tend()

    def tend(self) -> None:
        """Look after the children that executions wait for: no crash or lost commit leaves one unheard."""
        self._owned.tend()

    async def collect_mail(self) -> None:
        """Take up the messages that other processes left for executions that run here."""
        await self._owned.collect_mail()

    def left(self) -> int:
        """How many executions are left to servers of a newer release."""
        return len(self._owned.left.now())

    # What runs here

    async def until_quiet(self, execution_id: str) -> State | None:
        """Wait until an execution that runs here is over or paused with nothing under way; its state then."""
        execution = self._executions.get(execution_id)
        if execution is None:
            return None
        await execution.quiet.wait()
        if isinstance(execution.broken, StuckError):
            await self.stuck.mark()
            return None
        if execution.broken is not None:
            raise execution.broken
        return execution.state

    async def until_idle(self) -> None:
        """Wait until nothing runs here any more, children that nobody waits for included."""
        while running := [
            execution for execution in self._executions.values() if not execution.quiet.is_set()
        ]:
            await running[0].quiet.wait()

    def program_of(self, execution_id: str) -> Program | None:
        """The program of an execution that runs here."""
        execution = self._executions.get(execution_id)
        return execution.program if execution else None

    def running(self) -> tuple[str, ...]:
        """The executions that this process has in hand."""
        return tuple(self._executions)

    def in_memory(self, execution_id: str) -> LoadedExecution | None:
        return self._executions.get(execution_id)

    def live_state(self, execution_id: str) -> State | None:
        """The state of an execution that runs here, perhaps ahead of the log: nobody outside is shown it."""
        execution = self._executions.get(execution_id)
        return execution.state if execution else None

    # What others may see: only what is committed

    def when_committed(self, execution: LoadedExecution, work: Callable[[], None]) -> None:
        """Do something at a moment at which the state is what the log has; nothing if that never comes."""
        if not execution.deciding:
            _unless_broken(execution, work)
        else:
            execution.afterwards.append(partial(_unless_broken, execution, work))

    async def read(self, execution_id: str, view: Callable[[State], T]) -> T | None:
        """What the state of an execution says once it is committed; None when it does not run here."""
        execution = self._executions.get(execution_id)
        if execution is None:
            return None
        if not execution.deciding:
            return view(execution.state)
        future: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        execution.afterwards.append(partial(_look, execution, view, future))
        return await future

    def status(self, execution_id: str) -> str | None:
        """The status of an execution that runs here as its last commit showed it, where that was here."""
        execution = self._executions.get(execution_id)
        return execution.shown[0] or None if execution is not None else None

    def remind(self, execution_id: str, lease: str, tell: Callable[[Deliver, int], None]) -> None:
        """Tell the answers that a waiting pipeline of a lease may not have heard, with the lease's epoch."""
        execution = self._executions.get(execution_id)
        if execution is not None:
            self.when_committed(execution, partial(_remind, execution, lease, tell))

    async def close(self) -> None:
        """Let go of every execution; what is committed stays as it is."""
        if self._background:  # what parents and children are told is short, and must not be lost
            await asyncio.wait(self._background, timeout=CLOSE_S)
        for execution in list(self._executions.values()):
            if execution.timer is not None:
                execution.timer.cancel()
        with suppress(BackendError):  # a store that is away lets the claims run out by itself
            await self.store.leave(self.owner)
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
