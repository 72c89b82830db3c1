"""Parents and children: what executions tell each other, wherever each of them runs.

Whatever is told may be lost with the process that tells it; so everything here can be said again, and is.
"""

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from noetl.control.loaded_execution import Live
from noetl.control.log_rows import encode_message
from noetl.core.deciding.waits import child_call
from noetl.core.message import ChildEnded, ChildWaits, Control, Message, StartChild
from noetl.core.state import Parked
from noetl.errors import BackendError, Conflict, NotFound
from noetl.ports.store import Summary

if TYPE_CHECKING:
    from noetl.control.engine import Engine

ORPHANED = "the parent is over"


class Family:
    """Speaks for the executions of one engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    async def start(self, live: Live, command: StartChild) -> None:
        """Start a child, or go on with it when it is there already."""
        engine = self._engine
        try:
            await engine.store.summary(command.execution_id)
        except NotFound:
            start = await engine.programs.child(live.state.execution_id, command, live.state.hash)
            with suppress(Conflict):  # asked for twice; the first one is on its way
                await engine.start(command.execution_id, start)
        else:
            await self._attach(live, command)
        if command.parent and not command.parent["waits"]:
            started = ChildEnded(command.execution_id, "completed", {"execution_id": command.execution_id})
            await self.tell(live.state.execution_id, started)
        else:
            engine.when_committed(live, partial(self._heed, live, command.execution_id))

    def _heed(self, live: Live, child: str) -> None:
        if child not in live.state.children:  # given up before it was there to be told
            self._engine.spawn(self.tell(child, Control("cancel", by="parent", why=ORPHANED)))

    async def _attach(self, live: Live, command: StartChild) -> None:
        """The child is there already, from before a crash: run it on, or pass on how it ended."""
        child, parent = command.execution_id, command.parent or {}
        summary = await self._engine.store.summary(child)
        if summary.ended_at is None:
            with suppress(Conflict):  # another process has it, or it has just ended: tend looks again
                await self._engine.pick_up(child)
            end = await self._engine.store.end(child)
            self._engine.when_committed(live, partial(self._compare_known, live, summary, end))
            return
        ended = msgspec.json.decode(summary.result or b"{}")
        if parent.get("waits"):
            told = ChildEnded(child, summary.status, ended.get("output"), ended.get("error"))
            await self.tell(parent["execution_id"], told)

    def _compare_known(self, live: Live, child: Summary, seq: int) -> None:
        run_id, _, address = live.state.children.get(child.execution_id, "").partition(" ")
        if run_id:
            self._compare(live, live.state.runs[run_id].parked[address], child.status, seq)

    async def tell(self, execution_id: str, message: Message) -> None:
        """Tell an execution something, here or by a letter to whoever runs it."""
        store = self._engine.store
        try:
            await self._engine.send(execution_id, message)
            if isinstance(message, Control) and message.what == "resume":
                await self._engine.pick_up(execution_id)  # what was out when it was paused may be with nobody
        except NotFound:
            return
        except Conflict:  # it is over and has no use for what it would have been told, or others run it
            if (await store.summary(execution_id)).ended_at is None:
                await store.post(execution_id, encode_message(message))

    def tend(self, live: Live) -> None:
        """Look after the children that an execution waits for, as its log has them."""
        self._engine.when_committed(live, partial(self._tend, live))

    def _tend(self, live: Live) -> None:
        if live.state.status != "running":
            return
        for child, waits in live.state.children.items():
            known = self._engine.in_memory(child)
            if known is not None and known.state.paused_by == "parent":
                self._engine.spawn(self.tell(child, Control("resume", by="parent")))
            run_id, _, address = waits.partition(" ")
            run = live.state.runs[run_id]
            if known is None:
                self._engine.spawn(self.start(live, child_call(live.state, run, address)))
            else:
                self._compare(live, run.parked[address], known.shown[0], known.committed)

    def _compare(self, parent: Live, parked: Parked, status: str, seq: int) -> None:
        """Whether a child waits, as the store has it; what it told of that may have been lost."""
        waits = status == "waiting"
        if parked.child is not None and waits != parked.child_waits and seq > parked.child_seq:
            self._engine.post(parent.state.execution_id, ChildWaits(parked.child, seq, waits))

    def heed_parent(self, live: Live) -> None:
        """A child whose parent is over works for nobody: it ends, also when nobody told it to."""
        parent = live.state.parent or {}
        if parent.get("waits") and self._engine.in_memory(parent["execution_id"]) is None:
            self._engine.spawn(self._end_orphan(live.state.execution_id, parent["execution_id"]))

    async def _end_orphan(self, child: str, parent: str) -> None:
        with suppress(NotFound, BackendError):  # looked at again in a while
            if (await self._engine.store.summary(parent)).ended_at is not None:
                self._engine.post(child, Control("cancel", by="parent", why=ORPHANED))
