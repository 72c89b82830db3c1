"""The executions that this process owns: taken into memory from their logs, kept, looked after, let go.

What they decide is the engine's; here each is in memory once, and none that is due stays away.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial

import msgspec

from noetl.control.command_dispatch import CommandDispatch
from noetl.control.execution_host import ExecutionHost
from noetl.control.left_executions import LeftExecutions, check_summary_format
from noetl.control.loaded_execution import HYDRATED_KEPT, LOADED_KEPT, LoadedExecution
from noetl.control.log_rows import decode_message
from noetl.control.payload_prefetch import PayloadPrefetch
from noetl.control.recovery import folded, whole_log
from noetl.control.stuck_executions import FatalDecision, StuckError, StuckExecutions, refusal, stuck_of
from noetl.core.deciding.draft import stored_refs
from noetl.core.deciding.operator_commands import next_due
from noetl.core.deciding.synthesize import with_fragments
from noetl.core.deciding.waits import forsaken, undelivered
from noetl.core.message import Command, Control, Tick
from noetl.core.state import State
from noetl.errors import BackendError, Conflict, DamagedData, NewerFormat, NotFound
from noetl.ports.store import READING, Claimed, Letter, StoredLog, reading

FAILURES_MOST = 3  # after so many in one round it is not the executions that are at fault
Loading = Callable[[], Coroutine[object, None, LoadedExecution]]
WARY_DECISIONS = 8  # of an execution whose owner died: so many are noted before they are made


class OverError(Conflict):
    """The execution has ended."""


class Ownership:
    """What one engine has in memory."""

    def __init__(
        self,
        host: ExecutionHost,
        stuck: StuckExecutions,
        prefetch: PayloadPrefetch,
        dispatch: CommandDispatch,
    ) -> None:
        self._host, self._stuck, self._prefetch, self._dispatch = host, stuck, prefetch, dispatch
        self._children = dispatch.children
        self.left = LeftExecutions(host)
        self.executions: dict[str, LoadedExecution] = {}
        self._loading: dict[str, asyncio.Task[LoadedExecution]] = {}
        self.dropped: set[str] = set()  # ours, and not in memory: a commit failed, or it could not be read

    async def load(self, execution_id: str) -> LoadedExecution:
        """The execution in memory, folded from its log when it is not there; raises NotFound, Conflict."""
        execution = self.executions.get(execution_id)
        if execution is not None:
            return execution
        self._stuck.check(execution_id)
        self.left.check(execution_id)
        begun = self.begin(execution_id, partial(self._load, execution_id))
        return await asyncio.shield(begun or self._loading[execution_id])

    def begin(self, execution_id: str, work: Loading) -> "asyncio.Task[LoadedExecution] | None":
        """Have an execution brought into memory; None when it is there already, or on its way."""
        if not self.is_away(execution_id):
            return None
        loading = asyncio.create_task(work())
        self._loading[execution_id] = loading
        loading.add_done_callback(partial(self._loaded, execution_id))
        return loading

    def _loaded(self, execution_id: str, loading: "asyncio.Task[LoadedExecution]") -> None:
        self._loading.pop(execution_id, None)
        if not loading.cancelled():
            loading.exception()  # whoever waited for it may be gone

    async def _load(self, execution_id: str) -> LoadedExecution:
        host = self._host
        summary = await host.store.summary(execution_id)
        if summary.ended_at is not None:
            raise OverError(f"execution {execution_id} is already {summary.status}")
        why = stuck_of(summary)
        if why is not None:
            raise refusal(execution_id, why)
        self.left.check_format(summary)
        if not await host.store.claim(execution_id, host.owner, host.lease_ms):
            raise Conflict(f"execution {execution_id} is run by another process")
        self.dropped.add(execution_id)
        in_hand = await host.store.take_in_hand(execution_id, reading(host.owner))
        execution = await self.take_in(Claimed(summary, in_hand))
        if in_hand is not None:
            await host.store.put_down([execution_id], reading(host.owner))
        return execution

    async def take_in(
        self, claimed: Claimed, log: StoredLog | None = None, *, harmless: bool = False
    ) -> LoadedExecution:
        """Have an execution that was claimed in memory; `harmless`: its log was read apart already."""
        execution_id = claimed.summary.execution_id
        try:
            check_summary_format(claimed.summary)
            log = log or await self._host.store.log(execution_id)
            execution = await self._read(claimed, log, harmless)
        except NewerFormat as error:
            self.dropped.discard(execution_id)
            left = self.left.note(execution_id, error)
            await self.left.give_back(execution_id)
            raise left from error
        except DamagedData as error:
            raise self._given_up(execution_id, "log", error) from error
        except (BackendError, OverError):
            raise
        except FatalDecision as error:
            raise self._given_up(execution_id, "owners", error) from error
        except Exception as error:  # it must not keep others from going on
            raise self._given_up(execution_id, "log", error) from error
        execution.wary = 0 if claimed.in_hand is None else WARY_DECISIONS
        execution.tried = self.doubtful(claimed) and not str(claimed.in_hand).startswith(READING)
        self.left.forget(execution_id)
        return self._enter(execution)

    def doubtful(self, claimed: Claimed) -> bool:
        """Whether an execution may be what ended its owner: it is tried apart from this process first."""
        own = self._host.owner
        return claimed.in_hand not in (None, "", own, reading(own))

    def _given_up(self, execution_id: str, reason: str, error: Exception) -> StuckError:
        self.dropped.discard(execution_id)
        return self._stuck.put(execution_id, reason, error)

    async def _read(self, claimed: Claimed, log: StoredLog, harmless: bool) -> LoadedExecution:
        """An execution as its log has it."""
        summary, tried = claimed.summary, self.doubtful(claimed)
        state = await self._fold(summary.execution_id, log, tried and not harmless)
        if state is None:  # its snapshot is not understood: the whole log is
            log = await whole_log(self._host.store, summary.execution_id)
            state = await self._fold(summary.execution_id, log, tried)
        assert state is not None
        if state.ended:  # since it was claimed
            self.dropped.discard(summary.execution_id)
            raise OverError(f"execution {summary.execution_id} is already {state.status}")
        program = await self._host.programs.program(state.hash) if state.hash else None
        if program is not None:
            program = with_fragments(program, state.fragments)
        execution = LoadedExecution(state, program, log.head, request=summary.request, committed=state.seq)
        execution.fragments = frozenset(state.fragments)
        execution.tail, execution.snapshot_bytes = log.snapshot is not None, len(log.snapshot or b"")
        for row in log.rows:
            execution.tail_bytes += len(row.body) + len(row.cause)
            if row.batch:
                execution.note_batch(row.batch)
        for ref in stored_refs(msgspec.to_builtins(state)):
            await self._prefetch.have(execution, ref)
        return execution

    async def _fold(self, execution_id: str, log: StoredLog, tried: bool) -> State | None:
        if tried:
            await self._host.check(partial(folded, execution_id, log))
        return folded(execution_id, log)

    def _enter(self, execution: LoadedExecution) -> LoadedExecution:
        """Have an execution in memory, with all that nobody may have heard when it was loaded before."""
        execution_id, state = execution.state.execution_id, execution.state
        self.dropped.discard(execution_id)
        if execution_id in self.executions:  # it was being started while its log was read
            return self.executions[execution_id]
        self.executions[execution_id] = execution
        self.look_after(execution)
        execution.orphaned = not self._adopted(state)
        unheard: list[Command] = [*forsaken(state), *undelivered(state, execution.hydrated)]
        for command in unheard:
            self._dispatch.carry_out(execution, command)
        return execution

    def _adopted(self, state: State) -> bool:
        """Whether the leases that are out may still be with workers; they are told of then."""
        workers = self._host.workers
        if workers is None:
            return True
        answers = [workers.adopt(state.execution_id, lease) for lease in state.leases.values() if lease.out]
        return all(answers)

    async def pick_up(self, execution_id: str) -> LoadedExecution:
        """Go on with an execution that nobody runs; work that is with nobody goes out again."""
        execution = await self.load(execution_id)
        await self.go_on(execution)
        return execution

    async def go_on(self, execution: LoadedExecution) -> None:
        """See to the children of an execution that was just taken in, and to work that is with nobody."""
        if execution.state.status == "running":
            self._children.tend(execution)
            if execution.orphaned:
                execution.orphaned = False
                await self._host.submit(execution, Control("recover"))

    def is_away(self, execution_id: str) -> bool:
        """Whether an execution is neither in memory nor on its way there."""
        return execution_id not in self.executions and execution_id not in self._loading

    async def resume(self, execution_id: str, by: str = "cli") -> LoadedExecution:
        """Take over an execution whose process is gone, or go on with one that is paused."""
        execution = await self.load(execution_id)
        self._children.tend(execution)
        paused = execution.state.status == "paused"
        if not paused or any(lease.out for lease in execution.state.leases.values()):
            await self._host.submit(execution, Control("recover"))
        if paused:
            await self._host.submit(execution, Control("resume", by))
        return execution

    async def heartbeat(self) -> None:
        """Stay the owner of what runs here."""
        if self.executions:
            await self._host.store.heartbeat(self._host.owner, self._host.lease_ms)

    def tend(self) -> None:
        """Look after the children that executions wait for: no crash or lost commit leaves one unheard."""
        for execution in list(self.executions.values()):
            self._children.heed_parent(execution)
            self._children.tend(execution)

    async def collect_mail(self) -> None:
        """Take up the messages that other processes left for executions that run here."""
        failures: dict[str, BackendError] = {}
        for letter in await self._host.store.mail(self._host.owner):
            if letter.execution_id in failures:
                continue
            try:
                execution = await self.load(letter.execution_id)  # it may be ours and on its way into memory
            except (NotFound, Conflict, NewerFormat):
                continue  # it is over, and has no use for what it would have been told; or stuck, or left
            except BackendError as error:
                failures[letter.execution_id] = error
                if len(failures) == FAILURES_MOST:
                    break
                continue
            self._hand_over(execution, letter)
        for failure in failures.values():
            raise failure

    def _hand_over(self, execution: LoadedExecution, letter: Letter) -> None:
        if letter.id in execution.read or execution.broken is not None:
            return
        try:
            message = decode_message(letter.body)
        except NewerFormat as error:
            self._host.leave(execution, error)
            return
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._host.stop(execution, "mail", error)
            return
        execution.note_letter(letter.id)
        execution.letters[letter.id] = message
        self._host.put(execution, message)

    def look_after(self, execution: LoadedExecution) -> None:
        """After a decision: let go of what is over or not needed at hand; set the timer of what is due."""
        if len(execution.hydrated) > execution.hydrated_most or execution.loaded_bytes > LOADED_KEPT:
            needed = {ref["locator"]["key"] for ref in stored_refs(msgspec.to_builtins(execution.state))}
            execution.hydrated = {key: value for key, value in execution.hydrated.items() if key in needed}
            execution.loaded_bytes = 0
            execution.hydrated_most = max(HYDRATED_KEPT, 2 * len(execution.hydrated))
        if execution.state.ended:
            if execution.timer is not None:
                execution.timer.cancel()
            self.executions.pop(execution.state.execution_id, None)
            execution.quiet.set()
            return
        if execution.state.status == "paused" and not any(
            lease.out for lease in execution.state.leases.values()
        ):
            execution.quiet.set()
        else:
            execution.quiet.clear()
        due = next_due(execution.state)
        if due != execution.due_at:
            execution.due_at = due
            if execution.timer is not None:
                execution.timer.cancel()
                execution.timer = None
            if due is not None:
                wait = max(0.0, (due - self._host.now()) / 1000)
                execution.timer = asyncio.get_running_loop().call_later(wait, self._ring, execution)

    def _ring(self, execution: LoadedExecution) -> None:
        execution.timer, execution.due_at = None, None
        self._host.put(execution, Tick())

    def drop(self, execution: LoadedExecution, *, again: bool) -> None:
        """Forget what is in memory of an execution; it is still ours, and perhaps picked up again."""
        self.executions.pop(execution.state.execution_id, None)
        if again:
            self.dropped.add(execution.state.execution_id)
        if execution.timer is not None:
            execution.timer.cancel()
