"""What the web UI's pages show beyond the other routes: a log projected, searched, or followed from afar."""

import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from fnmatch import fnmatchcase
from typing import Annotated, Any

import msgspec
from fastapi import Path, Query, Request
from starlette.responses import Response
from starlette.types import Send

from noetl.core.event import Event, EventEnvelope, envelope, step_of
from noetl.core.reading.iteration_view import IterationView, Place
from noetl.core.reading.views import IterationAnswer, LoopAnswer, ProgressAnswer, TimelineAnswer
from noetl.dsl.diagnostic import finding_fields
from noetl.dsl.model import Playbook, Task
from noetl.dsl.net.diagram import graph as graph_of
from noetl.dsl.net.diagram import sketch
from noetl.errors import NotFound
from noetl.json_value import Json
from noetl.ports.front import Front, execution_row
from noetl.ports.store import Find
from noetl.server.access import who_asks
from noetl.server.log_projections import Reading, Readings, events_from
from noetl.server.reply import front_of, options_of, read, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.routes.catalog import check_text
from noetl.server.routes.executions import ExecutionId
from noetl.server.routes.streams import Batch, EventStream
from noetl.server.shapes import ValidateBody
from noetl.server.view_shapes import (
    AboutAnswer,
    DataAnswer,
    FoundAnswer,
    LoopRuns,
    PageAnswer,
    SketchAnswer,
    Uses,
)

router = make_router("views")
Answer = dict[str, Any]
At = Annotated[int | None, Query(ge=1, le=2**53, description="After this event, else the newest")]
Text = Annotated[str | None, Query(max_length=255)]

CHILDREN = 50  # of one execution that its page lists
NAMED = re.compile(r"""\b(?:auth|credential):\s*["']?([A-Za-z_][A-Za-z0-9_.-]*)""")
STATUS_AFTER = {
    "workflow.started": "running",
    "execution.paused": "paused",
    "execution.resumed": "running",
}
WAITS = frozenset({"task.parked", "task.resumed", "lease.granted", "lease.returned", "token.held"})


def readings_of(request: Request) -> Readings:
    state = request.app.state
    if not hasattr(state, "readings"):
        state.readings = Readings(state.front)
    readings: Readings = state.readings
    return readings


async def _reading(request: Request, execution_id: str, at: int | None = None) -> Reading:
    return await readings_of(request).at(execution_id, at)


# ---- one execution --------------------------------------------------------------------------------------


@router.get(
    "/executions/{execution_id}/pulse", **describe("read", {200: "text/event-stream"}, problems=(404,))
)
async def pulse(request: Request, execution_id: ExecutionId) -> Response:
    """How far the log has come and how the execution stands, as Server-Sent Events, until it is over."""
    front = front_of(request)
    execution = await front.execution(execution_id)
    end: int = execution["counts"]["events"]
    follow = front.follow(execution_id, end + 1)
    stream = Pulse(execution_id, follow, request.app.state.closing)
    stream.front = front
    stream.greeting, stream.status = _beat(end, execution["status"]), execution["status"]
    return stream.of(request)


class Pulse(EventStream):
    """A stream of how far the log has come instead of what is in it."""

    greeting = b""
    status = ""
    front: Front

    async def _send_events(self, send: Send) -> None:
        await send({"type": "http.response.body", "body": self.greeting, "more_body": True})
        self.batches = self._with_status(self.batches)
        await super()._send_events(send)

    async def _with_status(self, batches: AsyncGenerator[Batch]) -> AsyncGenerator[Batch]:
        """Whether it waits is asked for when an event may have begun or ended that."""
        async with aclosing(batches):
            async for first, events in batches:
                if any(event.name in WAITS for event in events):
                    self.status = await self.front.status(self.execution_id)
                yield first, events

    def _encode(self, first: int, events: list[Event]) -> bytes:
        for event in events:
            self.status = STATUS_AFTER.get(event.name, self.status)
            if event.name == "playbook.processed":
                self.status = (event.data or {}).get("status", self.status)
        return _beat(first + len(events) - 1, self.status)


def _beat(seq: int, status: str) -> bytes:
    return b"event: pulse\ndata: %s\n\n" % msgspec.json.encode({"seq": seq, "status": status})


@router.get("/executions/{execution_id}/page", **describe("read", {200: PageAnswer}, problems=(404,)))
async def page(request: Request, execution_id: ExecutionId) -> Response:
    """What an execution's page opens with: how it stands, its graph, its loops and its children."""
    front = front_of(request)
    summary = await front.execution(execution_id)
    reading = await readings_of(request).newest(execution_id)  # after the summary, never behind it
    children = await front.executions(Find(parent=execution_id, continued=False, limit=CHILDREN))
    now = int(time.time() * 1000)
    return reply(
        {
            "summary": summary,
            "progress": await _progress(request, reading),
            "graph": await _graph(request, execution_id),
            "loops": reading.iterations.runs(),
            "children": [
                execution_row(child, now) for child in children.items if who_asks(request).sees(child.path)
            ],
        }
    )


async def _graph(request: Request, execution_id: str) -> Answer | None:
    try:
        return await front_of(request).graph(execution_id)
    except NotFound:  # refused before it had a playbook
        return None


@router.get("/executions/{execution_id}/progress", **describe("read", {200: ProgressAnswer}, problems=(404,)))
async def progress(request: Request, execution_id: ExecutionId, at: At = None) -> Response:
    """The graph's colours: steps with their runs, arcs with what they saw, tokens, what waits."""
    return reply(await _progress(request, await _reading(request, execution_id, at)))


async def _progress(request: Request, reading: Reading) -> ProgressAnswer:
    progress = reading.progress.view()
    if any(wait["signal"] for wait in progress["waits"]):
        tasks = await _tasks(request, reading.execution_id)
        for wait in progress["waits"]:
            wait["schema"] = _answer_schema(tasks.get((wait["step"], wait["task"])))
    return progress


def _answer_schema(task: Task | None) -> Any:
    """What the playbook says about the payload of an answer."""
    validate = task.spec.get("validate") if task is not None else None
    return validate.get("output") if isinstance(validate, Mapping) else None


async def _tasks(request: Request, execution_id: str) -> Mapping[tuple[str, str], Task]:
    """The tasks of the playbook that runs, by step and label."""
    try:
        text = (await front_of(request).playbook_of(execution_id)).text
    except NotFound:
        return {}
    playbook: Playbook | None = (await check_text(text, options_of(request).kinds)).playbook
    steps = playbook.steps if playbook is not None else ()
    return {(step.name, task.label): task for step in steps for task in step.tasks}


@router.get("/executions/{execution_id}/data", **describe("read", {200: DataAnswer}, problems=(404,)))
async def data(request: Request, execution_id: ExecutionId, at: At = None) -> Response:
    """ctx and workload with the event that wrote each key, and the outputs of runs."""
    reading = await _reading(request, execution_id, at)
    state = await front_of(request).state(execution_id, at)
    provenance = reading.provenance
    return reply(
        {
            "seq": reading.seq,
            "ctx": state["ctx"],
            "workload": state["workload"],
            "writers": provenance.writers,
            "outputs": list(provenance.outputs),
        }
    )


@router.get("/executions/{execution_id}/timeline", **describe("read", {200: TimelineAnswer}, problems=(404,)))
async def timeline(request: Request, execution_id: ExecutionId) -> Response:
    """Runs, tasks, attempts and waits on a time axis, and the critical path."""
    reading = await _reading(request, execution_id)
    return reply(reading.timeline.view(reading.progress.waiting_runs()))


@router.get("/executions/{execution_id}/loops", **describe("read", {200: LoopRuns}, problems=(404,)))
async def loops(request: Request, execution_id: ExecutionId) -> Response:
    """The runs that are loops."""
    return reply({"items": (await _reading(request, execution_id)).iterations.runs()})


@router.get("/executions/{execution_id}/loops/{run}", **describe("read", {200: LoopAnswer}, problems=(404,)))
async def loop(
    request: Request, execution_id: ExecutionId, run: Annotated[str, Path(max_length=512)]
) -> Response:
    """Every iteration of a loop: its state, its start and its duration."""
    view = (await _reading(request, execution_id)).iterations.view(run)
    if view is None:
        raise NotFound(f"'{run}' is not a run of a loop in execution {execution_id}")
    return reply(view)


@router.get(
    "/executions/{execution_id}/loops/{run}/{index}",
    **describe("read", {200: IterationAnswer}, problems=(404,)),
)
async def iteration(
    request: Request,
    execution_id: ExecutionId,
    run: Annotated[str, Path(max_length=512)],
    index: Annotated[int, Path(ge=0, le=2**53)],
) -> Response:
    """One iteration of a loop: its item, what it put out or why it failed."""
    front = front_of(request)
    view = IterationView(run, index)
    async for _, event in events_from(front, execution_id, 1):
        view.read(event)
    return reply(
        {
            "run": run,
            "index": index,
            "item": await _fetched(front, view.item),
            "output": await _fetched(front, view.output),
            "ref": view.ref,
            "error": view.error,
        }
    )


async def _fetched(front: Front, value: Json | Place) -> Json:
    """A value, read from the result store when it rests there; None when it is gone."""
    if not isinstance(value, Place):
        return value
    try:
        payload = await front.result(value.key, offset=value.item, limit=1)
    except NotFound:
        return None
    return payload.data[0] if isinstance(payload.data, list) and payload.data else None


@router.get("/executions/{execution_id}/found", **describe("read", {200: FoundAnswer}, problems=(404,)))
async def found(
    request: Request,
    execution_id: ExecutionId,
    *,
    name: Text = None,
    step: Text = None,
    task: Text = None,
    iteration: Text = None,
    text: Text = None,
    offset: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """A page of the events that match, wherever it lies, and how many match in all."""
    total = (await _reading(request, execution_id)).seq
    query = EventQuery(name, step, task, iteration, text)
    items: list[EventEnvelope] = []
    matching = 0 if query.picky else offset
    async for seq, event in events_from(front_of(request), execution_id, 1 if query.picky else offset + 1):
        if query.has(event):
            matching += 1
            if offset < matching <= offset + limit:
                items.append(envelope(execution_id, seq, event))
        if not query.picky and len(items) == limit:
            break
    return reply({"total": matching if query.picky else total, "items": items})


class EventQuery:
    """Which events a reader looks for."""

    def __init__(self, *wishes: str | None) -> None:
        self.name, self.step, self.task, self.iteration, text = (wish or None for wish in wishes)
        self.text = text.casefold() if text else None
        self.picky = any(wishes)

    def has(self, event: Event) -> bool:
        """Whether an event is one of them."""
        if self.name and not fnmatchcase(event.name, self.name if "*" in self.name else f"*{self.name}*"):
            return False
        if self.task and event.label != self.task:
            return False
        if self.iteration and f"[{self.iteration.strip('[]')}]" not in (event.at or ""):
            return False
        if self.step and self.step != (step_of(event.run) if event.run else (event.data or {}).get("step")):
            return False
        return not self.text or self.text in msgspec.json.encode(event).decode().casefold()


# ---- all of them ----------------------------------------------------------------------------------------


@router.get("/uses", **describe("read", {200: Uses}))
async def uses(request: Request) -> Response:
    """Which registered playbooks name which credential."""
    who, callers = who_asks(request), dict[str, list[str]]()
    for entry in await front_of(request).playbooks():
        for name in dict.fromkeys(NAMED.findall(entry.text)) if who.sees(entry.path) else ():
            callers.setdefault(name, []).append(entry.path)
    return reply({"items": callers})


@router.post("/graph", **describe("read", {200: SketchAnswer}, body=ValidateBody))
async def graph(request: Request) -> Response:
    """A text's graph as far as it can be read, its findings, and the workload it declares."""
    body = await read(request, ValidateBody)
    loaded = await check_text(body.playbook, options_of(request).kinds, strict=body.strict)
    playbook = loaded.playbook
    drawing = graph_of(sketch(playbook)) if playbook is not None and playbook.steps else None
    findings = [finding_fields(diagnostic) for diagnostic in loaded.diagnostics]
    workload = dict(playbook.workload) if playbook is not None else {}
    return reply({"graph": drawing, "diagnostics": findings, "workload": workload})


@router.get("/about", **describe("read", {200: AboutAnswer}))
async def about(request: Request) -> Response:
    """What this server is: its version, its limits, and what the asker may do."""
    options, who = options_of(request), who_asks(request)
    limits = {"ready_after_ms": options.ready_after_ms, "body_bytes": options.body_bytes}
    you = {"name": who.name, "scopes": sorted(who.scopes), "prefixes": list(who.prefixes)}
    return reply({"version": options.version, "kinds": sorted(options.kinds), "limits": limits, "you": you})
