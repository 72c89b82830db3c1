"""Payloads that a decision reads, loaded before it is made: the core itself waits for nothing."""

import msgspec

from noetl.control.loaded_execution import LoadedExecution
from noetl.core.deciding import payload_hydration
from noetl.core.deciding.draft import stored_refs
from noetl.core.message import Message, Report, Start
from noetl.core.program.program import Program
from noetl.core.shapes import Reference
from noetl.core.values.payload_demand import (
    TOGETHER,
    PayloadRead,
    UnreadablePayload,
    gone,
    gone_from,
    is_at_hand,
    is_loaded,
    refusal,
    too_large,
    too_many,
)
from noetl.errors import InvariantViolation, NotFound
from noetl.ports.results import Payloads, TooLarge

# What a reference that is none of ours may lead to: a user's value can look like any.
UNREADABLE = (NotFound, InvariantViolation, msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class PayloadPrefetch:
    """Loads payloads into executions in memory."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads

    def wanted(self, execution: LoadedExecution, message: Message) -> bool:
        """Whether something may have to be loaded before a message is decided on."""
        if execution.program is None:
            return isinstance(message, Start) and message.kept is not None
        return payload_hydration.may_read_payloads(execution.program, execution.state, message)

    async def before(self, execution: LoadedExecution, message: Message) -> None:
        """Have the payloads at hand that templates of the decision read, and those that a retry keeps."""
        if isinstance(message, Start):
            for ref in stored_refs(message.kept):
                await self.have(execution, ref)
        if execution.program is None:
            return
        for ref in payload_hydration.loop_references(execution.program, execution.state, message):
            await self.have(execution, ref)
        room = _Room(execution.program)
        for ref in payload_hydration.arriving_references(execution.program, execution.state, message):
            await self._within(execution, ref, "event.data.output", room)
        if isinstance(message, Report):
            for ref in payload_hydration.report_references(message):
                await self.have(execution, ref)
            await self._outputs(execution, execution.program, message)
        for owner, ref in payload_hydration.result_references(
            execution.program, execution.state, message, execution.hydrated
        ):
            await self._within(execution, ref, owner, room)

    async def _outputs(self, execution: LoadedExecution, program: Program, report: Report) -> None:
        """The output of a run that ends with a report, when the decision reads it: all of it, or none."""
        lease = execution.state.leases.get(report.lease)
        if lease is None:
            return
        run = execution.state.runs[lease.run]
        refs, packs = payload_hydration.outputs_of(run, report)
        reading = payload_hydration.ahead(program, execution.state, report) if refs or packs else None
        if reading is None or not reading.reads_output_of(run.step):
            return
        room = _Room(program, times=1)
        for ref in refs:
            await self._within(execution, ref, run.step, room)
            if ref["locator"]["key"] not in execution.hydrated:
                wrong = refusal(PayloadRead((run.step, "data"), run.step, {"ref": ref}, False), {}, room.most)
                execution.hydrated[ref["locator"]["key"]] = wrong
        for key in packs:
            if not await self._pack(execution, key, run.step, room):
                break  # nothing can be read of it without this one

    async def _pack(self, execution: LoadedExecution, key: str, owner: str, room: "_Room") -> bool:
        """Have the outputs of some iterations at hand; whether they are."""
        if is_at_hand(key, execution.hydrated):
            return True
        try:
            pack, size = await self._payloads.pack(key)
        except UNREADABLE:
            execution.hydrated[key] = UnreadablePayload("reference", gone_from(key))
            return False
        if not room.take(size):
            execution.hydrated[key] = UnreadablePayload("limit", room.refused(owner, size))
            return False
        execution.hydrated[key] = pack
        execution.loaded_bytes += size
        return True

    async def _within(self, execution: LoadedExecution, ref: Reference, owner: str, room: "_Room") -> None:
        """Have a payload at hand if it is not too large, by itself or with those that were loaded with it."""
        key, size = ref["locator"]["key"], ref["meta"].get("bytes", 0)
        if is_loaded(ref, execution.hydrated) or size > room.most:
            return
        if not room.take(size):
            execution.hydrated[key] = UnreadablePayload("limit", room.refused(owner, size))
            return
        try:
            await self._read(execution, ref, room.most)
        except TooLarge as error:
            message = too_large(owner, error.bytes, room.most, at_least=True)
            execution.hydrated[key] = UnreadablePayload("limit", message)
        except UNREADABLE:
            pass  # that it is gone is told when it is read

    async def have(self, execution: LoadedExecution, ref: Reference) -> None:
        """Have a payload that may be read at hand; that it is gone is told when it is read."""
        try:
            await self._read(execution, ref)
        except UNREADABLE:
            execution.hydrated[str(ref["locator"].get("key"))] = UnreadablePayload("reference", gone(ref))

    async def _read(self, execution: LoadedExecution, ref: Reference, most: int | None = None) -> None:
        if ref["locator"].get("store") != "results":
            return
        if not is_loaded(ref, execution.hydrated):
            execution.hydrated[ref["locator"]["key"]] = await self._payloads.get(ref, most)
            execution.loaded_bytes += (ref.get("meta") or {}).get("bytes", 0)


class _Room:
    """How much one decision may load of what its templates read."""

    def __init__(self, program: Program, times: int = TOGETHER) -> None:
        self.most = int(program.limits["max_hydrate_bytes"])
        self._times, self._taken = times, 0

    def take(self, size: int) -> bool:
        """Take room for a payload; whether there was."""
        if self._taken + size > self.most * self._times:
            return False
        self._taken += size
        return True

    def refused(self, owner: str, size: int) -> str:
        """Why there is no room for a payload, or for one more part of it."""
        if self._times > 1:
            return too_many(owner, self.most)
        return too_large(owner, self._taken + size, self.most, at_least=True)
