"""Payloads that a decision reads, loaded before it is made: the core itself waits for nothing."""

from contextlib import suppress
from typing import Any

import msgspec

from noetl.control.live import Live
from noetl.core.draft import stored_refs
from noetl.core.hydrate import arriving_references, loop_references, outputs_of, report_references
from noetl.core.message import Message, Report, Start
from noetl.core.output import is_reference
from noetl.errors import InvariantViolation, NotFound
from noetl.ports.results import Payloads

# What a reference that is none of ours may lead to: a user's value can look like any.
UNREADABLE = (NotFound, InvariantViolation, msgspec.DecodeError, UnicodeDecodeError)


class AtHand:
    """Loads payloads into executions in memory."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads

    async def before(self, live: Live, message: Message) -> None:
        """Have the payloads at hand that the step's own templates read, and those that a retry keeps."""
        if isinstance(message, Start):
            for ref in stored_refs(message.kept):
                await self.have(live, ref)
        if live.program is not None:
            for ref in loop_references(live.program, live.state, message):
                await self.have(live, ref)
            for ref in arriving_references(live.program, live.state):
                await self.have(live, ref)
        if isinstance(message, Report) and live.program is not None:
            for ref in report_references(live.program, message):
                await self.have(live, ref)
            lease = live.state.leases.get(message.lease)
            run = live.state.runs.get(lease.run) if lease else None
            step = live.program.steps[run.step] if run else None
            if run is not None and step is not None and step.boundary.reads("output", "data"):
                for output in outputs_of(run, message):
                    await self._output(live, output)

    async def _output(self, live: Live, output: dict[str, Any]) -> None:
        assert live.program is not None
        if "part" in output and output["part"][0] not in live.hydrated:
            live.hydrated[output["part"][0]] = await self._payloads.pack(output["part"][0])
        ref: Any = output.get("ref")
        most = live.program.limits["max_hydrate_bytes"]
        if output.get("data") is None and is_reference(ref) and ref["meta"].get("bytes", 0) <= most:
            await self._read(live, ref)

    async def have(self, live: Live, ref: dict[str, Any]) -> None:
        """Have a payload that may be read at hand; that it is gone is told when it is read."""
        with suppress(*UNREADABLE):
            await self._read(live, ref)

    async def _read(self, live: Live, ref: dict[str, Any]) -> None:
        key = ref["locator"].get("key")
        if ref["locator"].get("store") == "results" and key not in live.hydrated:
            live.hydrated[key] = await self._payloads.get(ref)
