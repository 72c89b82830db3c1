"""The executions that this process owns: taken into memory from their logs, kept, looked after, let go.

What they decide is the engine's; here each is in memory once, and none that is due stays away.
"""

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from noetl.control.child_executions import Family
from noetl.control.command_dispatch import Errands
from noetl.control.loaded_execution import HYDRATED_KEPT, LOADED_KEPT, Live
from noetl.control.log_rows import decode_message, events_of
from noetl.control.payload_prefetch import AtHand
from noetl.control.stuck_executions import FatalDecision, refusal, stuck_of
from noetl.core.deciding.draft import stored_refs
from noetl.core.deciding.operator_commands import next_due
from noetl.core.deciding.synthesize import with_fragments
from noetl.core.deciding.waits import forsaken, undelivered
from noetl.core.fold import fold
from noetl.core.message import Command, Control, Tick
from noetl.core.state import State, restore
from noetl.errors import BackendError, Conflict, NotFound
from noetl.ports.store import Letter, StoredLog, Summary

if TYPE_CHECKING:
    from noetl.control.engine import Engine

FAILURES_MOST = 3  # after so many in one round it is not the executions that are at fault
WARY_DECISIONS = 8  # of an execution whose owner died: so many are noted before they are made


class Ownership:
    """What one engine has in memory."""

    def __init__(self, engine: "Engine", at_hand: AtHand, family: Family, errands: Errands) -> None:
        self._engine, self._at_hand, self._family, self._errands = engine, at_hand, family, errands
        self.live: dict[str, Live] = {}
        self._loading: dict[str, asyncio.Task[Live]] = {}
        self._dropped: set[str] = set()  # ours, and not in memory since a commit failed

    async def load(self, execution_id: str) -> Live:
        """The execution in memory, folded from its log when it is not there; raises NotFound, Conflict."""
        live = self.live.get(execution_id)
        if live is not None:
            return live
        self._engine.aside.check(execution_id)
        loading = self._loading.get(execution_id)
        if loading is None:
            loading = asyncio.create_task(self._load(execution_id))
            self._loading[execution_id] = loading
            loading.add_done_callback(partial(self._loaded, execution_id))
        return await asyncio.shield(loading)

    def _loaded(self, execution_id: str, loading: "asyncio.Task[Live]") -> None:
        self._loading.pop(execution_id, None)
        if not loading.cancelled():
            loading.exception()  # whoever waited for it may be gone

    async def _load(self, execution_id: str) -> Live:
        engine = self._engine
        summary = await engine.store.summary(execution_id)
        if summary.ended_at is not None:
            raise Conflict(f"execution {execution_id} is already {summary.status}")
        why = stuck_of(summary)
        if why is not None:
            raise refusal(execution_id, why)
        if not await engine.store.claim(execution_id, engine.owner, engine.lease_ms):
            raise Conflict(f"execution {execution_id} is run by another process")
        before = await engine.store.take_in_hand(execution_id, engine.owner)
        tried = before not in (None, "", engine.owner)
        try:
            live = await self._read(summary, tried)
        except BackendError:
            raise
        except FatalDecision as error:
            raise engine.aside.put(execution_id, "owners", error) from error
        except Exception as error:  # it must not keep others from going on
            raise engine.aside.put(execution_id, "log", error) from error
        live.wary, live.tried = (0 if before is None else WARY_DECISIONS), tried
        if before is not None:
            await engine.store.put_down(execution_id, engine.owner)
        return self._enter(live)

    async def _read(self, summary: Summary, tried: bool) -> Live:
        """An execution as its log has it."""
        log = await self._engine.store.log(summary.execution_id)
        if tried:
            await self._engine.check(partial(_folded, summary.execution_id, log))
        state = _folded(summary.execution_id, log)
        program = await self._engine.programs.program(state.hash) if state.hash else None
        if program is not None:
            program = with_fragments(program, state.fragments)
        live = Live(state, program, log.head, request=summary.request, committed=state.seq)
        live.batches, live.tail = {row.batch for row in log.rows if row.batch}, log.snapshot is not None
        for ref in stored_refs(msgspec.to_builtins(state)):
            await self._at_hand.have(live, ref)
        return live

    def _enter(self, live: Live) -> Live:
        """Have an execution in memory, with all that nobody may have heard when it was loaded before."""
        execution_id, state = live.state.execution_id, live.state
        if execution_id in self.live:  # it was being started while its log was read
            return self.live[execution_id]
        self.live[execution_id] = live
        self.look_after(live)
        live.orphaned = not self._adopted(state)
        unheard: list[Command] = [*forsaken(state), *undelivered(state, live.hydrated)]
        for command in unheard:
            self._errands.carry_out(live, command)
        return live

    def _adopted(self, state: State) -> bool:
        """Whether the leases that are out may still be with workers; they are told of then."""
        workers = self._engine.workers
        if workers is None:
            return True
        known = [workers.adopt(state.execution_id, lease) for lease in state.leases.values() if lease.out]
        return all(known)

    async def pick_up(self, execution_id: str) -> Live:
        """Go on with an execution that nobody runs; work that is with nobody goes out again."""
        live = await self.load(execution_id)
        if live.state.status == "running":
            self._family.tend(live)
            if live.orphaned:
                live.orphaned = False
                await self._engine.submit(live, Control("recover"))
        return live

    async def pick_up_due(self) -> int:
        """Take over what is due and has no owner; how many there were."""
        await self._engine.aside.mark()
        due = dict.fromkeys([*self._dropped, *await self._engine.store.due()])
        wanted = [one for one in due if one not in self.live]
        failures: list[BackendError] = []
        for execution_id in wanted:
            try:
                with suppress(Conflict, NotFound):  # another server was quicker, or it is stuck
                    await self.pick_up(execution_id)
            except BackendError as error:
                failures.append(error)
                if len(failures) == FAILURES_MOST:
                    break
                continue
            self._dropped.discard(execution_id)
        if failures:
            raise failures[0]
        return len(wanted)

    async def resume(self, execution_id: str, by: str = "cli") -> Live:
        """Take over an execution whose process is gone, or go on with one that is paused."""
        live = await self.load(execution_id)
        self._family.tend(live)
        paused = live.state.status == "paused"
        if not paused or any(lease.out for lease in live.state.leases.values()):
            await self._engine.submit(live, Control("recover"))
        if paused:
            await self._engine.submit(live, Control("resume", by))
        return live

    async def heartbeat(self) -> None:
        """Stay the owner of what runs here."""
        if self.live:
            await self._engine.store.heartbeat(self._engine.owner, self._engine.lease_ms)

    def tend(self) -> None:
        """Look after the children that executions wait for: no crash or lost commit leaves one unheard."""
        for live in list(self.live.values()):
            self._family.heed_parent(live)
            self._family.tend(live)

    async def collect_mail(self) -> None:
        """Take up the messages that other processes left for executions that run here."""
        failures: dict[str, BackendError] = {}
        for letter in await self._engine.store.mail(self._engine.owner):
            if letter.execution_id in failures:
                continue
            try:
                live = await self.load(letter.execution_id)  # it may be ours and on its way into memory
            except (NotFound, Conflict):
                continue  # it is over, and has no use for what it would have been told; or it is stuck
            except BackendError as error:
                failures[letter.execution_id] = error
                if len(failures) == FAILURES_MOST:
                    break
                continue
            self._hand_over(live, letter)
        for failure in failures.values():
            raise failure

    def _hand_over(self, live: Live, letter: Letter) -> None:
        if letter.id in live.read or live.broken is not None:
            return
        try:
            message = decode_message(letter.body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._engine.stop(live, "mail", error, [])
            return
        live.read.add(letter.id)
        live.letters.append(letter.id)
        self._engine.put(live, message)

    def look_after(self, live: Live) -> None:
        """After a decision: let go of what is over or not needed at hand; set the timer of what is due."""
        if len(live.hydrated) > live.hydrated_most or live.loaded_bytes > LOADED_KEPT:
            needed = {ref["locator"]["key"] for ref in stored_refs(msgspec.to_builtins(live.state))}
            live.hydrated = {key: value for key, value in live.hydrated.items() if key in needed}
            live.loaded_bytes = 0
            live.hydrated_most = max(HYDRATED_KEPT, 2 * len(live.hydrated))
        if live.state.ended:
            if live.timer is not None:
                live.timer.cancel()
            self.live.pop(live.state.execution_id, None)
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
                wait = max(0.0, (due - self._engine.now()) / 1000)
                live.timer = asyncio.get_running_loop().call_later(wait, self._ring, live)

    def _ring(self, live: Live) -> None:
        live.timer, live.due_at = None, None
        self._engine.put(live, Tick())

    def drop(self, live: Live, *, again: bool) -> None:
        """Forget what is in memory of an execution; it is still ours, and perhaps picked up again."""
        self.live.pop(live.state.execution_id, None)
        if again:
            self._dropped.add(live.state.execution_id)
        if live.timer is not None:
            live.timer.cancel()


def _folded(execution_id: str, log: StoredLog) -> State:
    state = restore(log.snapshot) if log.snapshot else State(execution_id)
    for row in log.rows:
        fold(state, events_of(row))
    return state
