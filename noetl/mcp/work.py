"""What each tool does, by the part of the product that tools may call."""

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from noetl.core.event import Event, EventEnvelope
from noetl.core.message import Control
from noetl.dsl.diagnostic import Diagnostic, finding_fields
from noetl.errors import BackendError, RequestError
from noetl.mcp.product import Product, ToolFront
from noetl.mcp.session import ToolRequest
from noetl.ports.execution_name import find_execution
from noetl.ports.front import Ask, Started, execution_row
from noetl.ports.mcp_protocol import Message
from noetl.ports.store import Find

WAIT_S = 60
CHECK_S = 0.5
ANSWER_BYTES = 512 * 1024
REASONS_MAX = 50

Arguments = Mapping[str, Any]


# Playbooks


def findings(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str | int | None]]:
    """Findings as `noetl validate` prints them for programs."""
    return [finding_fields(diagnostic) for diagnostic in diagnostics]


async def validate(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    source = product.source(arguments.get("playbook"), arguments.get("file"))
    found = await source.findings(strict=bool(arguments.get("strict")))
    errors = sum(finding.severity == "error" for finding in found)
    warnings = sum(finding.severity == "warning" for finding in found)
    return {
        "valid": not errors,
        "errors": errors,
        "warnings": warnings,
        "diagnostics": findings(found),
    }


async def register(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    front = await product.for_running()
    source = product.source(arguments.get("playbook"), arguments.get("file"))
    text, file = await source.runnable(front)
    entry = await front.register(text, file, product.by)
    return {"path": entry.path, "version": entry.version, "hash": entry.hash}


async def playbooks(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    if not product.has_data() and "path" not in arguments:
        return {"items": []}
    async with product.for_reading() as front:
        if "path" in arguments:
            entry = await front.playbook(arguments["path"], arguments.get("version"))
            return {"path": entry.path, "version": entry.version, "hash": entry.hash, "playbook": entry.text}
        entries = await front.playbooks()
    return {"items": [{"path": item.path, "version": item.version, "hash": item.hash} for item in entries]}


async def test(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    return await product.run_tests(arguments.get("path", "."))


# What is written about the language


async def tool_kinds(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    if "kind" in arguments:
        page = product.library.kind(arguments["kind"])
        return {**page.facts, "text": page.text}
    pages = product.library.kinds.values()
    return {"kinds": [{"kind": page.facts["kind"], "summary": page.facts["summary"]} for page in pages]}


async def docs(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    """What resources are, for clients that know tools alone."""
    if "uri" in arguments:
        return product.library.read(arguments["uri"])
    items = product.library.list_resources()
    return {"items": [{"uri": item["uri"], "title": item["title"]} for item in items]}


# Executions


async def run(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    ask = Ask(
        workload=arguments.get("workload", {}),
        idempotency_key=arguments.get("idempotency_key"),
        by=product.by,
    )
    front = await product.for_running()
    if "path" in arguments:
        if "playbook" in arguments or "file" in arguments:
            raise RequestError("give one of playbook, file and path")
        ask.path, ask.version = arguments["path"], arguments.get("version")
    else:
        source = product.source(arguments.get("playbook"), arguments.get("file"))
        ask.text, ask.file = await source.runnable(front)
    return await _follow_to_end(product, front, await front.start(ask), arguments, request)


async def retry(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    front = await product.for_running()
    execution_id = await find_execution(front, arguments["execution"])
    started = await front.retry(execution_id, arguments.get("step"), product.by)
    return await _follow_to_end(product, front, started, arguments, request)


async def _follow_to_end(
    product: Product, front: ToolFront, started: Started, arguments: Arguments, request: ToolRequest
) -> Message:
    """How an execution stands when it is over, rests, or has taken too long; withdrawn, it is cancelled."""
    following = asyncio.ensure_future(_follow(front, started.execution_id, request))
    try:
        over = await _wait(product, following, arguments.get("wait_s", WAIT_S))
    except asyncio.CancelledError:
        if request.withdrawn:
            control = Control("cancel", why="the client withdrew its request", by=product.by)
            await asyncio.shield(front.control(started.execution_id, control))
        raise
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    result = await front.execution(started.execution_id)
    answer: Message = {**result}
    if not over and result["status"] in ("pending", "running", "waiting"):
        answer["hint"] = f"it goes on; `execution` with {started.execution_id} tells how it stands"
    if result["status"] == "failed":
        answer["why"] = (await front.why(started.execution_id))["summary"]
    return answer


async def _wait(product: Product, following: "asyncio.Future[None]", wait_s: float) -> bool:
    """Whether it was over in time; an engine of this process that cannot go on says so."""
    until = time.monotonic() + wait_s
    while (remaining_s := until - time.monotonic()) > 0:
        done, _ = await asyncio.wait({following}, timeout=min(CHECK_S, remaining_s))
        if done:
            following.result()
            return True
        if product.stopping():
            return False
        if product.trouble() is not None:
            raise BackendError(f"the engine cannot go on: {product.trouble()}")
    return False


async def _follow(front: ToolFront, execution_id: str, request: ToolRequest) -> None:
    """Read events until it is over or rests, and tell of the steps that ended."""
    async with aclosing(front.follow(execution_id)) as log:
        async for first, events in log:
            if request.progress is not None and (words := _steps(events)):
                await request.progress(first + len(events) - 1, words)
            if any(event.name == "execution.paused" for event in events):
                return


def _steps(events: list[Event]) -> str:
    ended = [f"{event.run} {event.name.partition('.')[2]}" for event in events if event.name in ENDED]
    return ", ".join(ended[-3:])


ENDED = ("step.done", "step.failed", "loop.done")


async def executions(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    if not product.has_data():
        return {"items": []}
    query = Find(status=arguments.get("status"), path=arguments.get("path"), limit=arguments.get("limit", 20))
    async with product.for_reading() as front:
        page = await front.executions(query)
    now = time.time_ns() // 1_000_000
    return {"items": [execution_row(item, now) for item in page.items]}


async def execution(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    """One of them, and what it waits for."""
    async with product.for_reading() as front:
        execution_id = await find_execution(front, arguments["execution"])
        result = await front.execution(execution_id)
        answer: Message = {**result}
        if result["status"] in ("running", "waiting", "paused"):
            state = await front.state(execution_id)
            answer["waiting"] = [
                {"step_run_id": run["id"], **waits}
                for run in state["runs"]
                for waits in run.get("waiting", ())
            ]
    return answer


async def why(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    """An execution explained; of very many reasons the last are the telling ones."""
    async with product.for_reading() as front:
        explanation = await front.why(
            await find_execution(front, arguments["execution"]), arguments.get("step")
        )
    left_out = max(0, len(explanation["reasons"]) - REASONS_MAX)
    return {**explanation, "reasons": explanation["reasons"][left_out:], "left_out": left_out}


async def events(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    """A page of events, no larger than an answer may be."""
    limit = arguments.get("limit", 100)
    which = {"name": arguments.get("name"), "step": arguments.get("step")}
    async with product.for_reading() as front:
        execution_id = await find_execution(front, arguments["execution"])
        page = await front.events(execution_id, first=arguments.get("from", 1), limit=limit + 1, **which)
    items: list[EventEnvelope] = []
    size = 0
    for envelope in page[:limit]:
        size += len(msgspec.json.encode(envelope))
        if items and size > ANSWER_BYTES:
            break
        items.append(envelope)
    return {"items": items, "next": items[-1]["seq"] + 1 if len(items) < len(page) else None}


async def render(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    async with product.for_reading() as front:
        execution_id = await find_execution(front, arguments["execution"])
        return {"value": await front.evaluate(execution_id, arguments["template"], arguments.get("at"))}


async def cancel(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    return await _send_control(product, arguments, Control("cancel", why=arguments.get("why"), by=product.by))


async def signal(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    return await _send_control(
        product,
        arguments,
        Control("signal", name=arguments["name"], payload=arguments.get("payload"), by=product.by),
    )


async def release(product: Product, arguments: Arguments, request: ToolRequest) -> Message:
    """Let an execution that is stuck go on, here while the conversation lasts."""
    front = await product.for_running()
    execution_id = await find_execution(front, arguments["execution"])
    await front.release(execution_id, product.by)
    return {"execution_id": execution_id, "status": await front.status(execution_id)}


async def _send_control(product: Product, arguments: Arguments, control: Control) -> Message:
    async with product.for_reading() as front:
        execution_id = await find_execution(front, arguments["execution"])
        await front.control(execution_id, control)
        return {"execution_id": execution_id, "status": await front.status(execution_id)}
