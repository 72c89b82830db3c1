"""The executions that this process owns: taken into memory from their logs, kept, looked after, let go.

What they decide is the engine's; here each is in memory once, and none that is due stays away.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec

from noetl.control.at_hand import AtHand
from noetl.control.errands import Errands
from noetl.control.family import Family
from noetl.control.live import HYDRATED_KEPT, LOADED_KEPT, Live
from noetl.control.rows import decode_message, events_of
from noetl.core.draft import stored_refs
from noetl.core.fold import fold
from noetl.core.message import Command, Control, Tick
from noetl.core.operate import next_due
from noetl.core.park import forsaken, undelivered
from noetl.core.state import State, restore
from noetl.core.synthesize import with_fragments
from noetl.errors import BackendError, Conflict, NotFound

if TYPE_CHECKING:
    from noetl.control.engine import Engine

_LOG = logging.getLogger("noetl.engine")
UNREADABLE_S = 60.0  # until a log that could not be read is tried again


class Ownership:
    """What one engine has in memory."""

    def __init__(self, engine: "Engine", at_hand: AtHand, family: Family, errands: Errands) -> None:
        self._engine, self._at_hand, self._family, self._errands = engine, at_hand, family, errands
        self.live: dict[str, Live] = {}
        self._loading: dict[str, asyncio.Task[Live]] = {}
        self._dropped: set[str] = set()  # ours, and not in memory since a commit failed
        self._unreadable: dict[str, float] = {}  # executions that could not be loaded, and when to try again

    async def load(self, execution_id: str) -> Live:
        """The execution in memory, folded from its log when it is not there; raises NotFound, Conflict."""
        live = self.live.get(execution_id)
        if live is not None:
            return live
        loading = self._loading.get(execution_id)
        if loading is None:
            loading = asyncio.create_task(self._load(execution_id))
            self._loading[execution_id] = loading
            loading.add_done_callback(lambda _: self._loading.pop(execution_id, None))
        return await asyncio.shield(loading)

    async def _load(self, execution_id: str) -> Live:
        summary = await self._engine.store.summary(execution_id)
        if summary.ended_at is not None:
            raise Conflict(f"execution {execution_id} is already {summary.status}")
        if not await self._engine.store.claim(execution_id, self._engine.owner, self._engine.lease_ms):
            raise Conflict(f"execution {execution_id} is run by another process")
        log = await self._engine.store.log(execution_id)
        state = restore(log.snapshot) if log.snapshot else State(execution_id)
        for row in log.rows:
            fold(state, events_of(row))
        program = await self._engine.programs.program(state.hash) if state.hash else None
        if program is not None:
            program = with_fragments(program, state.fragments)
        live = Live(state, program, log.head, request=summary.request, committed=state.seq)
        live.batches, live.tail = {row.batch for row in log.rows if row.batch}, log.snapshot is not None
        for ref in stored_refs(msgspec.to_builtins(state)):
            await self._at_hand.have(live, ref)
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
        due = dict.fromkeys([*self._dropped, *await self._engine.store.due()])
        now = asyncio.get_running_loop().time()
        wanted = [one for one in due if one not in self.live and self._unreadable.get(one, now) <= now]
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
                self._dropped.add(execution_id)  # it is ours by now, and so not due with anyone else
                continue
            self._dropped.discard(execution_id)
            self._unreadable.pop(execution_id, None)
        return len(wanted)

    async def resume(self, execution_id: str) -> Live:
        """Take over an execution whose process is gone, or go on with one that is paused."""
        live = await self.load(execution_id)
        self._family.tend(live)
        paused = live.state.status == "paused"
        if not paused or any(lease.out for lease in live.state.leases.values()):
            await self._engine.submit(live, Control("recover"))
        if paused:
            await self._engine.submit(live, Control("resume"))
        return live

    async def heartbeat(self) -> None:
        """Stay the owner of what runs here."""
        if self.live:
            await self._engine.store.heartbeat(self._engine.owner, self._engine.lease_ms)

    def tend(self) -> None:
        """Look after the children that executions wait for: no crash or lost commit leaves one unheard."""
        for live in list(self.live.values()):
            self._family.heed_parent(live)
            if live.state.status == "running":
                self._family.tend(live)

    async def collect_mail(self) -> None:
        """Take up the messages that other processes left for executions that run here."""
        for letter in await self._engine.store.mail(self._engine.owner):
            try:
                live = await self.load(letter.execution_id)  # it may be ours and on its way into memory
            except (NotFound, Conflict):
                continue  # it is over, and so has no use for what it would have been told
            if letter.id not in live.read:
                live.read.add(letter.id)
                live.letters.append(letter.id)
                self._engine.put(live, decode_message(letter.body))

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

    def drop(self, live: Live) -> None:
        """Forget what is in memory of an execution; it is still ours, and picked up again."""
        self.live.pop(live.state.execution_id, None)
        self._dropped.add(live.state.execution_id)
        if live.timer is not None:
            live.timer.cancel()
