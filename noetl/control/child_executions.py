"""Parents and children: what executions tell each other, wherever each of them runs.

Whatever is told may be lost with the process that tells it; so everything here can be said again, and is.
"""

from contextlib import suppress
from functools import partial

import msgspec

from noetl.control.execution_host import ExecutionHost
from noetl.control.loaded_execution import LoadedExecution
from noetl.control.log_rows import encode_message, message_of, stored_result
from noetl.core.deciding.waits import child_call
from noetl.core.message import ChildEnded, ChildWaits, Control, Message, Start, StartChild
from noetl.core.state import Parked
from noetl.core.values.output import problem
from noetl.core.values.patch import STORED, is_marker
from noetl.errors import BackendError, Conflict, NewerFormat, NotFound
from noetl.ports.results import TooLarge
from noetl.ports.store import Summary

ORPHANED = "the parent is over"


class ChildExecutions:
    """Speaks for the executions of one host."""

    def __init__(self, host: ExecutionHost) -> None:
        self._host = host

    async def start(self, execution: LoadedExecution, command: StartChild) -> None:
        """Start a child, or go on with it when it is there already."""
        host = self._host
        try:
            await host.store.summary(command.execution_id)
        except NotFound:
            if not await self._begin(execution, command):
                return
        else:
            await self._attach(execution, command)
        if command.parent and not command.parent["waits"]:
            started = ChildEnded(command.execution_id, "completed", {"execution_id": command.execution_id})
            await self.tell(execution.state.execution_id, started)
        else:
            host.when_committed(execution, partial(self._heed, execution, command.execution_id))

    async def _begin(self, execution: LoadedExecution, command: StartChild) -> bool:
        """Start a child with its input, wherever that is; it fails as the call when it cannot be had."""
        host = self._host
        try:
            command = await self._with_input(execution, command)
        except (NotFound, TooLarge) as error:
            kind = "limit" if isinstance(error, TooLarge) else "reference"
            wrong = problem(kind, f"the input of the call of {command.path}: {error}")
            refused = ChildEnded(command.execution_id, "failed", error=wrong)
            await self.tell(execution.state.execution_id, refused)
            return False
        start = await host.programs.child(execution.state.execution_id, command, execution.state.hash)
        with suppress(Conflict):  # asked for twice; the first one is on its way
            await host.start(command.execution_id, start)
        return True

    async def _with_input(self, execution: LoadedExecution, command: StartChild) -> StartChild:
        if execution.program is None or not is_marker(command.payload):
            return command
        most = execution.program.max_hydrate_bytes
        payload = await self._host.payloads.get(command.payload[STORED], most)
        return msgspec.structs.replace(command, payload=payload)

    def _heed(self, execution: LoadedExecution, child: str) -> None:
        if child not in execution.state.children:  # given up before it was there to be told
            self._host.spawn(self.tell(child, Control("cancel", by="parent", why=ORPHANED)))

    async def _attach(self, execution: LoadedExecution, command: StartChild) -> None:
        """The child is there already, from before a crash: run it on, or pass on how it ended."""
        child, parent = command.execution_id, command.parent or {}
        newest = await self._host.store.newest(child)  # it may have gone on as another
        if newest.ended_at is None:
            with suppress(Conflict, NewerFormat):  # others have it, or it has just ended: tend looks again
                self._wake(await self._host.pick_up(newest.execution_id))
            end = await self._events_so_far(newest)
            known = partial(self._compare_known, execution, child, newest.status, end)
            self._host.when_committed(execution, known)
            return
        if parent.get("waits"):
            try:
                ended = stored_result(newest)
            except NewerFormat as error:
                self._host.leave(execution, error)
                return
            child_ended = ChildEnded(child, newest.status, ended.get("output"), ended.get("error"))
            await self.tell(parent["execution_id"], child_ended)

    async def _events_so_far(self, child: Summary) -> int:
        """How many events the child has, those of the executions that it went on from included."""
        end = await self._host.store.end(child.execution_id)
        if child.continued_from is None:
            return end
        start = message_of((await self._host.store.rows(child.execution_id, 1, 1))[0])
        before = start.continued_from if isinstance(start, Start) else None
        return end + (before["events"] if before else 0)

    def _wake(self, child: LoadedExecution) -> None:
        if child.state.paused_by == "parent":
            resume = Control("resume", by="parent")
            self._host.spawn(self.tell(child.state.execution_id, resume))

    def _compare_known(self, execution: LoadedExecution, child: str, status: str, seq: int) -> None:
        run_id, _, address = execution.state.children.get(child, "").partition(" ")
        if run_id:
            self._compare(execution, execution.state.runs[run_id].parked[address], status, seq)

    async def tell(self, execution_id: str, message: Message) -> None:
        """Tell an execution something, here or by a letter to whoever runs it."""
        store = self._host.store
        try:
            await self._host.send(execution_id, message)
            if isinstance(message, Control) and message.what == "resume":
                await self._host.pick_up(execution_id)  # what was out when it was paused may be with nobody
        except NotFound:
            return
        except (Conflict, NewerFormat):  # it is over and has no use for being told, or others run it
            newest = await store.newest(execution_id)
            if newest.ended_at is None:
                await store.post(newest.execution_id, encode_message(message))

    def tend(self, execution: LoadedExecution) -> None:
        """Look after the children that an execution waits for, as its log has them."""
        self._host.when_committed(execution, partial(self._tend, execution))

    def _tend(self, execution: LoadedExecution) -> None:
        if execution.state.status != "running":
            return
        for child, waits in execution.state.children.items():
            existing_execution = self._host.in_memory(child)
            if existing_execution is not None:
                self._wake(existing_execution)
            run_id, _, address = waits.partition(" ")
            run = execution.state.runs[run_id]
            if existing_execution is None:
                self._host.spawn(self.start(execution, child_call(execution.state, run, address)))
            else:
                self._compare(
                    execution, run.parked[address], existing_execution.shown[0], existing_execution.committed
                )

    def _compare(self, parent: LoadedExecution, parked: Parked, status: str, seq: int) -> None:
        """Whether a child waits, as the store has it; what it told of that may have been lost."""
        waits = status == "waiting"
        if parked.child is not None and waits != parked.child_waits and seq > parked.child_seq:
            self._host.post(parent.state.execution_id, ChildWaits(parked.child, seq, waits))

    def heed_parent(self, execution: LoadedExecution) -> None:
        """A child goes by its parent also when nobody told it: it ends with it, and is not paused alone."""
        parent = execution.state.parent or {}
        if parent.get("waits") and self._host.in_memory(parent["execution_id"]) is None:
            paused = execution.state.paused_by == "parent"
            self._host.spawn(
                self._follow(execution.state.execution_id, parent["execution_id"], paused=paused)
            )

    async def _follow(self, child: str, parent: str, *, paused: bool) -> None:
        with suppress(NotFound, BackendError):  # looked at again in a while
            summary = await self._host.store.summary(parent)
            if summary.ended_at is not None:
                self._host.post(child, Control("cancel", by="parent", why=ORPHANED))
            elif paused and summary.status in ("running", "waiting"):
                await self.tell(child, Control("resume", by="parent"))
