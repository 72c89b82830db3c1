"""Load, fold, decide, commit, dispatch: one mailbox per execution, one owner per mailbox.

All that is decided is decided by the core. What is here waits, writes and sends, in this order: payloads,
then the commit, then the commands. When a commit fails, the execution is dropped and loaded again.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from noetl.control.at_hand import AtHand
from noetl.control.family import Family
from noetl.control.live import HYDRATED_KEPT, Live
from noetl.control.rows import decode_message, encode_row, events_of, summary_of
from noetl.core.decide import decide
from noetl.core.draft import stored_refs
from noetl.core.event import Event
from noetl.core.fold import fold
from noetl.core.message import (
    Answer,
    Command,
    Control,
    ControlChild,
    Decision,
    Deliver,
    Dispatch,
    Expire,
    Message,
    Recall,
    Report,
    Start,
    StartChild,
    TellParent,
    Tick,
)
from noetl.core.operate import next_due
from noetl.core.order import build_order
from noetl.core.park import forsaken, undelivered
from noetl.core.program import Program
from noetl.core.state import Run, State, restore, snapshot_of
from noetl.core.synthesize import with_fragments
from noetl.errors import BackendError, Conflict, InvariantViolation, NoetlError, NotFound
from noetl.ports.control import Workers
from noetl.ports.results import Payloads, Results
from noetl.ports.store import Append, Row, Store

_LOG = logging.getLogger("noetl.engine")
SNAPSHOT_EVENTS = 5_000
CLOSE_S = 5.0
UNREADABLE_S = 60.0  # until a log that could not be read is tried again
AGAIN_S = 1.0  # until a result store that is away is asked again
Listener = Callable[[str, int, list[Event]], None]


class Programs(Protocol):
    """Where compiled playbooks come from."""

    async def program(self, digest: str) -> Program:
        """The program of a playbook's content; raises NotFound."""
        ...

    async def child(self, execution_id: str, call: StartChild, caller: str) -> Start:
        """The request for a child execution, resolved; its `problem` says why it cannot run."""
        ...


class Displaced(Conflict):
    """Another process owns the execution by now: nothing that was decided here holds."""


def _chained(told: str, cause: Exception) -> InvariantViolation:
    violation = InvariantViolation(told, hint="this is a bug in noetl; the log is kept as it is")
    violation.__cause__ = cause
    return violation


def _key(ref: dict[str, Any]) -> str:
    return str(ref["locator"]["key"])


def _at_rest(run: Run) -> list[dict[str, Any]]:
    return stored_refs([run.frame, run.outcomes])


def _effective(decisions: list[Decision]) -> list[Command]:
    """Commands of decisions that were committed together; a lease that goes out twice goes out once, last."""
    commands = [command for decision in decisions for command in decision.commands]
    last = {one.lease: place for place, one in enumerate(commands) if isinstance(one, Dispatch)}
    return [
        one for place, one in enumerate(commands) if not isinstance(one, Dispatch) or last[one.lease] == place
    ]


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
        self._at_hand, self._family = AtHand(payloads), Family(self)
        self.workers: Workers | None = None
        self.listeners: list[Listener] = []
        self.lease_ms = 30_000
        self._live: dict[str, Live] = {}
        self._loading: dict[str, asyncio.Task[Live]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self.trouble: BaseException | None = None  # of work nobody waits for; the process edge reports it
        self._dropped: set[str] = set()  # ours, and not in memory since a commit failed
        self._unreadable: dict[str, float] = {}  # executions that could not be loaded, and when to try again

    # Messages in

    async def start(
        self, execution_id: str, message: Start, request: str | None = None, *, newest: bool = False
    ) -> Answer:
        """Begin an execution; the request and its first decision are one commit.

        `newest`: raises Conflict when its playbook is not the newest of its path by then.
        """
        program = None if message.problem else await self.programs.program(message.hash)
        if execution_id in self._live:
            raise Conflict(f"execution {execution_id} has been started already")
        live = Live(State(execution_id), program, b"", request=request, newest=newest)
        self._live[execution_id] = live
        return await self._submit(live, message)

    async def report(self, execution_id: str, report: Report) -> Answer:
        """A worker's report; a batch that was already accepted is answered as it was."""
        try:
            live = await self.load(execution_id)
        except NotFound as error:
            return Answer(False, error.message)
        except Conflict as error:
            if await self.store.answered(
                execution_id, report.batch_id
            ):  # perhaps it ended by this very batch
                return Answer()
            if (await self.store.summary(execution_id)).ended_at is None:
                raise BackendError(error.message, hint="send it again, to the one who runs it") from error
            return Answer(False, error.message)
        if live.tail and await self.store.answered(execution_id, report.batch_id):
            return Answer(seq=live.state.seq)
        try:
            return await self._submit(live, report)
        except Displaced as error:
            raise BackendError(error.message, hint="send it again, to the one who runs it") from error

    async def send(self, execution_id: str, message: Message) -> Answer:
        """Any other message."""
        return await self._submit(await self.load(execution_id), message)

    async def _submit(self, live: Live, message: Message) -> Answer:
        if live.broken is not None:
            told = f"execution {live.state.execution_id} is being loaded again; repeat the message"
            raise BackendError(told) from live.broken
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        live.mailbox.append((message, future))
        if not live.deciding:  # here and now: a task of its own would only be one more to wake
            await self._round(live)
            self._pump(live)
        return await future

    def post(self, execution_id: str, message: Message) -> None:
        """A message nobody waits for, to an execution that runs here."""
        live = self._live.get(execution_id)
        if live is not None:
            self._post(live, message)

    def _post(self, live: Live, message: Message) -> None:
        if live.broken is None:
            live.mailbox.append((message, None))
            self._pump(live)

    def _pump(self, live: Live) -> None:
        """See to it that someone decides on what is in the mailbox."""
        if live.mailbox and not live.deciding and (live.pump is None or live.pump.done()):
            live.pump = asyncio.create_task(self._drain(live))

    # Decisions

    async def _drain(self, live: Live) -> None:
        while live.mailbox and not live.deciding:
            await self._round(live)

    async def _round(self, live: Live) -> None:
        """Decide on everything in the mailbox; messages that are there together are committed together."""
        live.deciding = True
        futures: list[asyncio.Future[Answer] | None] = []
        try:
            await self._decide_all(live, futures)
        except NoetlError as error:
            self._break(live, error, futures)
        except Exception as error:  # a bug of ours: stop this execution, keep its log, say so
            told = f"deciding on execution {live.state.execution_id}: {type(error).__name__}: {error}"
            if live.letters:  # what stopped it once would stop it for ever
                self.spawn(self.store.discard_mail(live.letters))
            self._break(live, _chained(told, error), futures)
        except asyncio.CancelledError:  # whoever asked is gone; whether it was committed, the log knows
            self._break(live, BackendError("the commit was interrupted; repeat the message"), futures)
            raise
        finally:
            live.deciding = False

    async def _decide_all(self, live: Live, futures: list[asyncio.Future[Answer] | None]) -> None:
        decisions: list[Decision] = []
        rows: list[Row] = []
        before = live.state.seq
        while live.mailbox:
            message, future = live.mailbox.popleft()
            futures.append(future)
            now = self.now()
            decision = await self._decide(live, message, now)
            decisions.append(decision)
            if decision.events:
                rows.append(self._row(live, message, decision, now))
        await self._commit(live, before, rows, decisions)
        for future, decision in zip(futures, decisions, strict=True):
            if future is not None and not future.done():
                future.set_result(decision.answer)
        for command in _effective(decisions):
            self._carry_out(live, command)
        self._after(live)

    async def _decide(self, live: Live, message: Message, now: int) -> Decision:
        if isinstance(message, Report) and message.batch_id in live.batches:
            return Decision(answer=Answer(seq=live.state.seq))
        await self._at_hand.before(live, message)
        decision = decide(live.state, message, now, live.program, hydrated=live.hydrated)
        if live.state.fragments and live.program is not None:
            live.program = with_fragments(live.program, live.state.fragments)
        return decision

    def _row(self, live: Live, message: Message, decision: Decision, now: int) -> Row:
        row = encode_row(live.state.seq, live.head, message, decision.events, now)
        live.head = row.hash
        if row.batch is not None:
            live.batches.add(row.batch)
        live.since_snapshot += len(decision.events)
        return row

    async def _commit(self, live: Live, before: int, rows: list[Row], decisions: list[Decision]) -> None:
        taken, live.letters = live.letters, []
        if not rows:
            if taken:
                await self.store.discard_mail(taken)
            return
        for decision in decisions:
            for payload in decision.payloads:
                await self.results.write(payload)
        due = next_due(live.state)
        shown = (live.state.status, due)
        summary = (
            summary_of(live.state, due, live.request) if shown != live.shown or live.state.ended else None
        )
        snapshot = None
        if live.since_snapshot >= SNAPSHOT_EVENTS and not live.state.ended:
            snapshot, live.since_snapshot = snapshot_of(live.state), 0
        claim = (self.owner, self.lease_ms) if before == 0 else None
        append = Append(live.state.execution_id, before, rows, summary, snapshot, claim, taken=taken)
        append.owner, append.newest = (self.owner, False) if before else (None, live.newest)
        try:
            await self.store.commit(append)
        except Conflict as error:
            if before:
                raise Displaced(f"{error.message}; another process runs it by now") from None
            raise
        live.shown = shown
        live.committed = rows[-1].last
        seq = before
        for decision in decisions:
            self._tell_listeners(live.state.execution_id, seq + 1, decision.events)
            seq += len(decision.events)

    def _tell_listeners(self, execution_id: str, first: int, events: list[Event]) -> None:
        for listener in self.listeners:
            try:
                listener(execution_id, first, events)
            except Exception:  # who only watches must not keep an execution from going on
                _LOG.exception("a listener failed", extra={"execution_id": execution_id})

    def _break(self, live: Live, error: NoetlError, waiting: list[asyncio.Future[Answer] | None]) -> None:
        """The commit failed: forget what is in memory; whoever asked is told, and the log decides."""
        _LOG.log(
            logging.ERROR if isinstance(error, InvariantViolation) else logging.WARNING,
            error.message,
            exc_info=error.__cause__,
            extra={"execution_id": live.state.execution_id},
        )
        self._live.pop(live.state.execution_id, None)
        self._dropped.add(live.state.execution_id)
        live.broken = error
        if live.timer is not None:
            live.timer.cancel()
        for future in [*waiting, *(future for _, future in live.mailbox)]:
            if future is not None and not future.done():
                future.set_exception(error)
                future.exception()  # whoever asked may be gone
        live.mailbox.clear()
        live.quiet.set()

    def _after(self, live: Live) -> None:
        if len(live.hydrated) > live.hydrated_most:
            needed = {ref["locator"]["key"] for ref in stored_refs(msgspec.to_builtins(live.state))}
            live.hydrated = {key: value for key, value in live.hydrated.items() if key in needed}
            live.hydrated_most = max(HYDRATED_KEPT, 2 * len(live.hydrated))
        if live.state.ended:
            if live.timer is not None:
                live.timer.cancel()
            self._live.pop(live.state.execution_id, None)
            live.quiet.set()
            return
        if live.state.status == "paused" and not any(lease.out for lease in live.state.leases.values()):
            live.quiet.set()
        else:
            live.quiet.clear()
        due = next_due(live.state)
        if due != live.due_at:
            live.due_at = due
            if live.timer is not None:
                live.timer.cancel()
                live.timer = None
            if due is not None:
                wait = max(0.0, (due - self.now()) / 1000)
                live.timer = asyncio.get_running_loop().call_later(wait, self._ring, live)

    def _ring(self, live: Live) -> None:
        live.timer, live.due_at = None, None
        self._post(live, Tick())

    # Commands out

    def _carry_out(self, live: Live, command: Command) -> None:
        assert self.workers is not None
        execution_id = live.state.execution_id
        match command:
            case Dispatch(lease=lease):
                self._offer(live, lease)
            case Recall(lease=lease, give_back=give_back):
                self.workers.recall(execution_id, lease, give_back)
            case Deliver(lease=lease, address=address, task=task, output=output):
                self.workers.deliver(execution_id, lease, address, task, output)
            case StartChild():
                self.spawn(self._family.start(live, command))
            case ControlChild(execution_id=child, what=what, why=why):
                self.spawn(self._family.tell(child, Control(what, by="parent", why=why)))
            case TellParent(execution_id=parent, ended=ended):
                self.spawn(self._family.tell(parent, ended))

    def _offer(self, live: Live, lease: str) -> None:
        """Send a lease out; what its pipelines put aside is loaded first, and not kept."""
        found = live.state.leases.get(lease)
        if found is None or not found.out or live.program is None or self.workers is None:
            return  # what was decided together with it has ended it, or called it back
        aside = [ref for ref in _at_rest(live.state.runs[found.run]) if _key(ref) not in live.hydrated]
        if aside:
            self.spawn(self._offer_loaded(live, lease, found.epoch, aside))
        else:
            self.workers.offer(build_order(live.state, live.program, found, live.hydrated))

    async def _offer_loaded(self, live: Live, lease: str, epoch: int, aside: list[dict[str, Any]]) -> None:
        try:
            loaded = {_key(ref): await self.payloads.get(ref) for ref in aside}
        except (NotFound, BackendError) as error:
            _LOG.warning(error.message, extra={"execution_id": live.state.execution_id})
            if isinstance(error, NotFound):  # nobody will ever go on from there
                self._post(live, Expire({lease: epoch}))
                return
            await asyncio.sleep(AGAIN_S)
            loaded = {}
        found = live.state.leases.get(lease)
        if found is None or not found.out or found.epoch != epoch or live.broken is not None:
            return
        if not loaded:
            self._offer(live, lease)
        elif live.program is not None and self.workers is not None:
            self.workers.offer(build_order(live.state, live.program, found, {**live.hydrated, **loaded}))

    def spawn(self, work: Any) -> None:
        """Do something that nobody waits for."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._reap)

    def _reap(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.trouble = task.exception()
            _LOG.warning("work that nobody waits for has failed", exc_info=self.trouble)

    # Loading

    async def load(self, execution_id: str) -> Live:
        """The execution in memory, folded from its log when it is not there; raises NotFound, Conflict."""
        live = self._live.get(execution_id)
        if live is not None:
            return live
        loading = self._loading.get(execution_id)
        if loading is None:
            loading = asyncio.create_task(self._load(execution_id))
            self._loading[execution_id] = loading
            loading.add_done_callback(lambda _: self._loading.pop(execution_id, None))
        return await asyncio.shield(loading)

    async def _load(self, execution_id: str) -> Live:
        summary = await self.store.summary(execution_id)
        if summary.ended_at is not None:
            raise Conflict(f"execution {execution_id} is already {summary.status}")
        if not await self.store.claim(execution_id, self.owner, self.lease_ms):
            raise Conflict(f"execution {execution_id} is run by another process")
        log = await self.store.log(execution_id)
        state = restore(log.snapshot) if log.snapshot else State(execution_id)
        for row in log.rows:
            fold(state, events_of(row))
        program = await self.programs.program(state.hash) if state.hash else None
        if program is not None:
            program = with_fragments(program, state.fragments)
        live = Live(state, program, log.head, request=summary.request, committed=state.seq)
        live.batches, live.tail = {row.batch for row in log.rows if row.batch}, log.snapshot is not None
        for ref in stored_refs(msgspec.to_builtins(state)):
            await self._at_hand.have(live, ref)
        if execution_id in self._live:  # it was being started while its log was read
            return self._live[execution_id]
        self._live[execution_id] = live
        self._after(live)
        live.orphaned = not self._adopted(state)
        unheard: list[Command] = [*forsaken(state), *undelivered(state, live.hydrated)]
        for command in unheard:
            self._carry_out(live, command)
        return live

    def _adopted(self, state: State) -> bool:
        """Whether the leases that are out may still be with workers; they are told of then."""
        if self.workers is None:
            return True
        known = [
            self.workers.adopt(state.execution_id, lease) for lease in state.leases.values() if lease.out
        ]
        return all(known)

    async def pick_up(self, execution_id: str) -> Live:
        """Go on with an execution that nobody runs; work that is with nobody goes out again."""
        live = await self.load(execution_id)
        if live.state.status == "running":
            self._family.tend(live)
            if live.orphaned:
                live.orphaned = False
                await self._submit(live, Control("recover"))
        return live

    async def pick_up_due(self) -> int:
        """Take over what is due and has no owner; how many there were."""
        due = dict.fromkeys([*self._dropped, *await self.store.due()])
        now = asyncio.get_running_loop().time()
        wanted = [one for one in due if one not in self._live and self._unreadable.get(one, now) <= now]
        for execution_id in wanted:
            try:
                await self.pick_up(execution_id)
            except (Conflict, NotFound):
                pass  # another server was quicker
            except BackendError:
                raise
            except Exception:  # its log or playbook cannot be read: it must not keep the others from going on
                _LOG.exception("an execution cannot be picked up", extra={"execution_id": execution_id})
                self._unreadable[execution_id] = now + UNREADABLE_S
            self._dropped.discard(execution_id)
        return len(wanted)

    async def resume(self, execution_id: str) -> Live:
        """Take over an execution whose process is gone, or go on with one that is paused."""
        live = await self.load(execution_id)
        self._family.tend(live)
        paused = live.state.status == "paused"
        if not paused or any(lease.out for lease in live.state.leases.values()):
            await self._submit(live, Control("recover"))
        if paused:
            await self._submit(live, Control("resume"))
        return live

    async def until_quiet(self, execution_id: str) -> State | None:
        """Wait until an execution that runs here is over or paused with nothing under way; its state then."""
        live = self._live.get(execution_id)
        if live is None:
            return None
        await live.quiet.wait()
        if live.broken is not None:
            raise live.broken
        return live.state

    async def until_idle(self) -> None:
        """Wait until nothing runs here any more, children that nobody waits for included."""
        while running := [live for live in self._live.values() if not live.quiet.is_set()]:
            await running[0].quiet.wait()

    def program_of(self, execution_id: str) -> Program | None:
        """The program of an execution that runs here."""
        live = self._live.get(execution_id)
        return live.program if live else None

    def running(self) -> tuple[str, ...]:
        """The executions that this process has in hand."""
        return tuple(self._live)

    def in_memory(self, execution_id: str) -> Live | None:
        """An execution that runs here."""
        return self._live.get(execution_id)

    def live_state(self, execution_id: str) -> State | None:
        """The state of an execution that runs here."""
        live = self._live.get(execution_id)
        return live.state if live else None

    async def settled(self, execution_id: str) -> State | None:
        """The state of an execution that runs here; that it is over is not told before it is committed."""
        live = self._live.get(execution_id)
        if live is not None and live.state.ended:
            await live.quiet.wait()
        return self.live_state(execution_id)

    async def heartbeat(self) -> None:
        """Stay the owner of what runs here."""
        if self._live:
            await self.store.heartbeat(self.owner, self.lease_ms)

    async def renew(self) -> None:
        """Stay the owner of what runs here, and see to the children it waits for."""
        await self.heartbeat()
        self.tend()

    def tend(self) -> None:
        """Look after the children that executions wait for: no crash or lost commit leaves one unheard."""
        for live in list(self._live.values()):
            self._family.heed_parent(live)
            if live.state.status == "running":
                self._family.tend(live)

    async def collect_mail(self) -> None:
        """Take up the messages that other processes left for executions that run here."""
        for letter in await self.store.mail(self.owner):
            try:
                live = await self.load(letter.execution_id)  # it may be ours and on its way into memory
            except (NotFound, Conflict):
                continue  # it is over, and so has no use for what it would have been told
            if letter.id not in live.read:
                live.read.add(letter.id)
                live.letters.append(letter.id)
                self._post(live, decode_message(letter.body))

    async def close(self) -> None:
        """Let go of every execution; what is committed stays as it is."""
        if self._background:  # what parents and children are told is short, and must not be lost
            await asyncio.wait(self._background, timeout=CLOSE_S)
        for live in list(self._live.values()):
            if live.timer is not None:
                live.timer.cancel()
        with suppress(BackendError):  # a store that is away lets the claims run out by itself
            await self.store.leave(self.owner)
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
