"""Less detail after the end: what `executor.spec.trace` does not keep of a log is taken out of its rows.

Every event stays in its place; only what task events carried goes: sequence, fold and replay stay the same.
A row that lost something keeps its link of the hash chain and is sealed. Step, loop-position, token and ctx
events are never touched.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from noetl.control.history import PAGE, events, rows_of
from noetl.control.log_rows import events_of
from noetl.core.event import Event, task_run_id
from noetl.ports.hash_chain import sealed
from noetl.ports.store import Row, Store

DETAIL = frozenset({"task.started", "task.done"})  # no decision depends on what these carry
TRIMMED = "trimmed"
_PART = re.compile(r"\[\d+\]|/[^/\[]+")


@dataclass(slots=True)
class Failures:
    """Where an execution failed: runs, iterations, and single attempts of tasks."""

    runs: set[str] = field(default_factory=set)
    iterations: set[tuple[str, str]] = field(default_factory=set)
    attempts: set[tuple[str | None, int | None]] = field(default_factory=set)

    def read(self, event: Event) -> None:
        """Take the next event."""
        if event.name == "step.failed":
            self.runs.add(event.run or "")
        elif event.name == "loop.iteration.failed":
            self.iterations.add((event.run or "", event.at or ""))
        elif event.name == "task.done" and _status(event.data or {}) == "error":
            self.attempts.add(_attempt(event))

    def done(self) -> "Failures":
        """A loop fails by its iterations; what went on in the others is no part of the failure."""
        self.runs -= {run for run, _ in self.iterations}
        return self

    def hold(self, event: Event) -> bool:
        """Whether an event belongs to something that failed."""
        run = event.run or ""
        return (
            run in self.runs
            or _attempt(event) in self.attempts
            or any((run, place) in self.iterations for place in _places(event.at or ""))
        )


async def trim(store: Store, execution_id: str, trace: str) -> int:
    """Take out of an ended execution what its trace does not keep; how many events lost what they carried."""
    failures = Failures()
    if trace == "errors":
        async for _, event in events(store, execution_id):
            failures.read(event)
    failures.done()
    lost, shorter, previous = 0, [], b""
    async for row in rows_of(store, execution_id):
        kept, count = _without_detail(row, failures)
        if count:
            shorter.append(sealed(previous, row, msgspec.json.encode(kept)))
            lost += count
        previous = row.hash
        if len(shorter) >= PAGE:
            await store.trim(execution_id, shorter, whole=False)
            shorter = []
    await store.trim(execution_id, shorter, whole=True)
    return lost


def _without_detail(row: Row, failures: Failures) -> tuple[list[Event], int]:
    events, count = [], 0
    for event in events_of(row):
        data = event.data
        if event.name in DETAIL and data and TRIMMED not in data and not failures.hold(event):
            event = msgspec.structs.replace(event, data=_rest(event.name, data))
            count += 1
        events.append(event)
    return events, count


def _rest(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """That something was there, how it went and what was done about it."""
    if name == "task.started":
        return {TRIMMED: True}
    rest = {TRIMMED: True, "status": _status(data)}
    return {**rest, "do": data["do"]} if "do" in data else rest


def _status(data: dict[str, Any]) -> str:
    return str(data.get("status") or (data.get("output") or {}).get("status") or "ok")


def _attempt(event: Event) -> tuple[str | None, int | None]:
    return task_run_id(event), event.attempt


def _places(address: str) -> Iterator[str]:
    """An address and everything around it: `[2]/call[0]` is in `[2]/call` and in `[2]`."""
    for part in _PART.finditer(address):
        yield address[: part.end()]
