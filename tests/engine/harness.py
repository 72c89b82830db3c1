"""Runs playbooks in memory, with the real engine, worker and tools, and audits every log afterwards."""

import asyncio
import textwrap
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control.history import envelopes
from noetl.control.log_audit import audit
from noetl.control.log_rows import outcome_of
from noetl.core.event import EventEnvelope
from noetl.core.message import Control
from noetl.settings import load
from noetl.wiring.embedded import Embedded, assemble, new_execution_id

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: case, path: tests/case}\n"


def playbook(workflow: str, **root: str) -> str:
    """A whole playbook around a workflow; other root sections by keyword."""
    extra = "".join(textwrap.dedent(section).strip("\n") + "\n" for section in root.values())
    return f"{HEAD}{extra}workflow:\n{textwrap.indent(textwrap.dedent(workflow).strip(chr(10)), '  ')}\n"


@dataclass
class Ran:
    """How an execution went."""

    execution_id: str
    result: dict[str, Any]
    events: list[EventEnvelope] = field(default_factory=list)

    @property
    def status(self) -> str:
        return str(self.result["status"])

    @property
    def output(self) -> Any:
        return self.result["output"]

    @property
    def ctx(self) -> dict[str, Any]:
        return dict(self.result["ctx"])

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.result["error"] or {})

    def runs(self, step: str) -> int:
        return int(self.result["steps"].get(step, {}).get("runs", 0))

    def named(self, name: str, **wanted: Any) -> list[EventEnvelope]:
        """Events of a name whose fields are as wanted."""
        return [
            event
            for event in self.events
            if event["name"] == name and all(event.get(key) == value for key, value in wanted.items())
        ]


class Clock:
    """A clock that can be put forward; whoever waits for a time is told of it by a tick."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def __call__(self) -> int:
        return now_ms() + self.ahead_ms

    def forward(self, seconds: float) -> None:
        self.ahead_ms += int(seconds * 1000)


@asynccontextmanager
async def engine(folder: Path, before: Embedded | None = None, clock: Callable[[], int] = now_ms):
    """An engine in memory; over what an earlier one, whose process is gone, left behind when it is given."""
    settings = load({"store": str(folder / "unused.db"), "home": str(folder)}, environ={}, folder=folder)
    if before is None:
        made = assemble(settings, MemoryStore(now_ms), MemoryResults(now_ms), clock)
    else:
        made = assemble(settings, before.store, before.results, clock)
    try:
        yield made
    finally:
        await made.close()


async def begin(made: Embedded, text: str, payload: dict[str, Any] | None = None, **more: Any) -> str:
    """Start a playbook; its execution id."""
    entry, program = await made.catalog.register(text)
    start = await made.checked(await made.catalog.request(entry, program, payload, **more), program)
    execution_id = new_execution_id()
    await made.engine.start(execution_id, start)
    return execution_id


async def finish(made: Embedded, execution_id: str, within: float = 100.0) -> Ran:
    """Wait for an execution and audit its log."""
    state = await asyncio.wait_for(made.engine.until_quiet(execution_id), within)
    if state is not None and not state.ended:
        result: dict[str, Any] = {**outcome_of(state)}
    else:
        result = msgspec.json.decode((await made.store.summary(execution_id)).result or b"{}")
    events = [event async for event in envelopes(made.store, execution_id)]
    await audited(made, execution_id)
    return Ran(execution_id, result, events)


async def audited(made: Embedded, execution_id: str) -> None:
    """Every invariant holds of the log, and every decision is made again as it was."""
    summary = await made.store.summary(execution_id)
    program = await made.catalog.program(summary.hash) if summary.hash else None
    found = await audit(made.store, execution_id, program, made.catalog.engine)
    assert not found.problems, found.problems


async def run(folder: Path, text: str, payload: dict[str, Any] | None = None, **more: Any) -> Ran:
    """Run a playbook to its end."""
    async with engine(folder) as made:
        return await finish(made, await begin(made, text, payload, **more))


async def control(made: Embedded, execution_id: str, what: Any, **more: Any) -> None:
    """Tell an execution something; it must accept."""
    answer = await made.engine.send(execution_id, Control(what, **more))
    assert answer.accepted, answer.why


async def until(made: Embedded, condition: Callable[[], bool], within: float = 60.0) -> None:
    """Wait for something that the engine does: the condition is looked at after every commit."""
    changed = asyncio.Event()

    def heard(*_: Any) -> None:
        changed.set()

    made.engine.listeners.append(heard)
    try:
        async with asyncio.timeout(within):
            while not condition():
                changed.clear()
                await changed.wait()
    finally:
        made.engine.listeners.remove(heard)
