"""One execution of a server, awaited: wait for it, follow it, steer it, read what it did."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import cast

from noetl.adapters.http.front import HttpFront
from noetl.adapters.http.stream import Mending
from noetl.client.result import Result, rows_of
from noetl.core.event import EventEnvelope, envelope
from noetl.core.message import Control
from noetl.core.values.output import is_reference
from noetl.errors import BackendError, NotFound
from noetl.json_value import Json, JsonObject
from noetl.ports.answers import DiffAnswer, ExecutionAnswer, LogLine, StateAnswer, WhyAnswer
from noetl.ports.front import FindLines, Front, Started
from noetl.ports.store import PlaybookText
from noetl.ports.values import from_python

WAIT_S = 30.0  # a server is asked again after so long
GOING_ON = ("pending", "running", "waiting")
ITEMS_PAGE = 50_000


class AsyncExecution:
    """An execution by its id; every method asks the server."""

    def __init__(self, front: HttpFront, execution_id: str, path: str = "", *, existed: bool = False) -> None:
        self._front = front
        self.execution_id, self.path = execution_id, path
        self.existed = existed  # whether the idempotency key had started it before

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.execution_id} {self.path}>"

    # How it stands

    async def status(self) -> str:
        """pending, running, waiting, paused, completed, failed, cancelled or stuck."""
        return await self._front.status(self.execution_id)

    async def result(self) -> Result:
        """How it stands now."""
        return await result_of(self._front, await self._front.execution(self.execution_id))

    async def wait(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - the name that the plain call has
        *,
        check: bool = True,
    ) -> Result:
        """Wait until it is over or paused, and say how it stands.

        Raises TimeoutError after `timeout` seconds; what runs goes on. With `check`, an execution that
        failed, was cancelled or is stuck raises ExecutionFailed. A server that goes away meanwhile is asked
        again for two minutes, then BackendError is raised.
        """
        fields = await over(self._front, self.execution_id, timeout)
        result = await result_of(self._front, fields)
        return result.check() if check else result

    async def follow(self, first: int = 1) -> AsyncGenerator[EventEnvelope]:
        """Its events from a sequence number on, each once and in order, as they happen, until it is over."""
        async with aclosing(self._front.follow(self.execution_id, first)) as batches:
            async for start, events in batches:
                for place, event in enumerate(events):
                    yield envelope(self.execution_id, start + place, event)

    # What it did

    async def events(
        self, *, first: int = 1, limit: int = 500, name: str | None = None, step: str | None = None
    ) -> list[EventEnvelope]:
        """Events that match; `name` may be a pattern such as `task.*`."""
        return await self._front.events(self.execution_id, first=first, limit=limit, name=name, step=step)

    async def logs(
        self, *, limit: int = 500, step: str | None = None, children: bool = False
    ) -> list[LogLine]:
        """What its tasks have printed, and their errors, a line each; perhaps with those of its children."""
        lines: list[LogLine] = []
        find = FindLines(step=step, children=children)
        async with aclosing(self._front.follow_logs(self.execution_id, find, live=False)) as pages:
            async for page in pages:
                lines += page["items"]
                if len(lines) >= limit:
                    break
        return lines[:limit]

    async def follow_logs(
        self, *, step: str | None = None, level: str | None = None, children: bool = False
    ) -> AsyncGenerator[LogLine]:
        """What its tasks print, as they print it, until it is over; `level`: this one or a worse one."""
        find = FindLines(step=step, level=level, children=children)
        async with aclosing(self._front.follow_logs(self.execution_id, find)) as pages:
            async for page in pages:
                for line in page["items"]:
                    yield line

    async def why(self, step: str | None = None) -> WhyAnswer:
        """Its decisions in words."""
        return await self._front.why(self.execution_id, step)

    async def state(self, at: int | None = None) -> StateAnswer:
        """Its state now, or after an event."""
        return await self._front.state(self.execution_id, at)

    async def graph(self) -> JsonObject:
        """The playbook that it runs as steps and arcs."""
        return await self._front.graph(self.execution_id)

    async def playbook(self) -> PlaybookText:
        """The playbook that ran, with its text, also when it is off the catalog."""
        return await self._front.playbook_of(self.execution_id)

    async def diff(self, other: str) -> DiffAnswer:
        """How it differs from another execution: path, times, workload, ctx, outputs."""
        return await self._front.diff(self.execution_id, other)

    async def render(self, template: str, at: int | None = None) -> Json:
        """The value of a template now, or after an event."""
        return await self._front.evaluate(self.execution_id, template, at)

    async def step_output(self, step: str) -> Json:
        """The data of a step's latest run that ended; a payload that was stored is fetched."""
        for name in ("step.done", "loop.done"):
            if events := await self._front.events(self.execution_id, name=name, step=step, limit=100_000):
                output = cast("JsonObject", events[-1]["data"].get("output") or {})
                stored = output.get("data") is None and output.get("ref")
                return await fetched(self._front, output["ref"] if stored else output.get("data"))
        raise NotFound(
            f"no run of step '{step}' of execution {self.execution_id} ended well",
            hint=f"noetl execution why {self.execution_id} --step {step}",
        )

    async def step_rows(self, step: str) -> list[dict[str, Json]]:
        """The data of a step's latest run as rows."""
        return rows_of(await self.step_output(step))

    # Steering

    async def cancel(self, why: str = "") -> None:
        await self._control(Control("cancel", _BY, why))

    async def pause(self, why: str = "") -> None:
        await self._control(Control("pause", _BY, why))

    async def resume(self) -> None:
        """Let it go on after a pause."""
        await self._control(Control("resume", _BY))

    async def signal(self, name: str, payload: object = None) -> None:
        """Send a signal, such as an approval, to whatever waits for it."""
        await self._control(Control("signal", _BY, name=name, payload=from_python(payload, "payload")))

    async def release(self) -> None:
        """Let it go on after it was stuck."""
        await self._front.release(self.execution_id, _BY)

    async def retry(self, step: str | None = None) -> "AsyncExecution":
        """A new execution that keeps what went well and goes on from what failed."""
        return self._begun(await self._front.retry(self.execution_id, step, _BY))

    async def rerun(self, start: str, playbook: str | None = None) -> "AsyncExecution":
        """A new execution that begins again at a step, perhaps with a changed playbook's text."""
        return self._begun(await self._front.rerun(self.execution_id, start, playbook, _BY))

    async def _control(self, control: Control) -> None:
        await self._front.control(self.execution_id, control)

    def _begun(self, started: Started) -> "AsyncExecution":
        return AsyncExecution(self._front, started.execution_id, started.path or self.path)


_BY = "python"  # where no server says who asks


async def over(front: HttpFront, execution_id: str, seconds: float | None) -> ExecutionAnswer:
    """How an execution stands once it is over or paused; raises TimeoutError."""
    loop = asyncio.get_running_loop()
    until = None if seconds is None else loop.time() + seconds
    mending = Mending(front.client, lambda _: None)
    while True:
        left = WAIT_S if until is None else min(WAIT_S, until - loop.time())
        if left < 0:
            raise TimeoutError(f"execution {execution_id} was not over after {seconds:g} s; it goes on")
        try:
            fields = await front.execution(execution_id, wait_s=max(left, 1.0))
        except BackendError as error:
            mending.lost(error)
            await mending.pause()
            continue
        mending.heard()
        if fields["status"] not in GOING_ON:
            return fields


async def result_of(front: Front, fields: ExecutionAnswer) -> Result:
    """A result whose output is there: one that was stored is fetched."""
    return Result(fields, await fetched(front, fields["output"]))


async def fetched(front: Front, value: Json) -> Json:
    """A value, or the payload that it refers to; references deeper in it stay as they are."""
    key = cast("Mapping[str, Json]", value["locator"]).get("key") if is_reference(value) else None
    if not isinstance(key, str):
        return value  # as it is, or in a store of the user's own, which only a task reads
    first = await front.result(key, limit=ITEMS_PAGE)
    if first.total is None or not isinstance(first.data, list):
        return first.data
    items = list(first.data)
    while len(items) < first.total:
        more = await front.result(key, offset=len(items), limit=ITEMS_PAGE)
        if not isinstance(more.data, list) or not more.data:
            break
        items += more.data
    return items
