"""What each tool does, by the front that every command speaks to."""

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.cli.commands.mcp.session import ToolRequest
from noetl.cli.commands.mcp.shared_connection import SharedConnection
from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Connection, find_execution, has_data
from noetl.cli.playbooks.playbook_text import file_of, text_of
from noetl.cli.playbooks.sources import Source, read_one
from noetl.core.event import Event, EventEnvelope
from noetl.core.message import Control
from noetl.dsl.diagnostic import Diagnostic, finding_fields
from noetl.errors import BackendError, RequestError
from noetl.ports.front import Ask, Started, execution_row
from noetl.ports.mcp_protocol import Message
from noetl.ports.store import Find

WAIT_S = 60
CHECK_S = 0.5
ANSWER_BYTES = 512 * 1024
REASONS_MAX = 50
TEXT = "playbook"  # the name a text without a file is reported under

Arguments = Mapping[str, Any]


# Playbooks


def _source(arguments: Arguments) -> Source:
    """The playbook that is meant: its text, or its file."""
    if ("playbook" in arguments) == ("file" in arguments):
        raise RequestError("give one of playbook, its text, and file, its name")
    return (
        read_one(arguments["file"]) if "file" in arguments else Source(TEXT, arguments["playbook"].encode())
    )


def findings(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str | int | None]]:
    """Findings as `noetl validate` prints them for programs."""
    return [finding_fields(diagnostic) for diagnostic in diagnostics]


async def validate(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    from noetl.cli.playbooks.validation import check, tally

    checked = await asyncio.to_thread(check, _source(arguments), strict=bool(arguments.get("strict")))
    counts = tally([checked])
    return {
        "valid": checked.valid,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "diagnostics": findings(checked.diagnostics),
    }


async def tool_kinds(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    from noetl.cli.tool_page import facts
    from noetl.wiring.tool_kinds import every, tool

    if "kind" in arguments:
        asked = tool(arguments["kind"])
        return {**msgspec.to_builtins(facts(asked), enc_hook=str), "text": asked.doc.strip()}
    return {"kinds": [{"kind": tool.kind.name, "summary": tool.kind.summary} for tool in every()]}


async def register(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    connection = await product.for_running()
    text, file = await _runnable_text(connection, _source(arguments))
    entry = await connection.front.register(text, file, caller("mcp"))
    return {"path": entry.path, "version": entry.version, "hash": entry.hash}


async def _runnable_text(connection: Connection, source: Source) -> tuple[str, str | None]:
    """The text as the other side can run it, and the file it has here."""
    from noetl.cli.playbooks.bundle import bundle_files

    text = text_of(source)
    if connection.url is not None:
        return await bundle_files(connection.front, source, text), None
    return text, None if source.name == TEXT else file_of(source)


async def playbooks(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    if not has_data(product.settings) and "path" not in arguments:
        return {"items": []}
    async with product.for_reading() as connection:
        if "path" in arguments:
            entry = await connection.front.playbook(arguments["path"], arguments.get("version"))
            return {"path": entry.path, "version": entry.version, "hash": entry.hash, "playbook": entry.text}
        entries = await connection.front.playbooks()
    return {"items": [{"path": item.path, "version": item.version, "hash": item.hash} for item in entries]}


async def test(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    """Run tests in a process of their own: each has a clock of its own, too."""
    words = [sys.executable, "-m", "noetl.cli", "test", "--json", arguments.get("path", ".")]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    try:
        printed, errors = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode not in (0, 1):
        raise RequestError(errors.decode(errors="replace").strip()[:2000] or "the tests could not be run")
    report: Message = msgspec.json.decode(printed)
    return report


# Executions


async def run(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    ask = Ask(
        workload=arguments.get("workload", {}),
        idempotency_key=arguments.get("idempotency_key"),
        by=caller("mcp"),
    )
    connection = await product.for_running()
    if "path" in arguments:
        if "playbook" in arguments or "file" in arguments:
            raise RequestError("give one of playbook, file and path")
        ask.path, ask.version = arguments["path"], arguments.get("version")
    else:
        ask.text, ask.file = await _runnable_text(connection, _source(arguments))
    return await _follow_to_end(
        connection, await connection.front.start(ask), arguments.get("wait_s", WAIT_S), request
    )


async def retry(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    connection = await product.for_running()
    started = await connection.front.retry(
        await find_execution(connection.front, arguments["execution"]), arguments.get("step"), caller("mcp")
    )
    return await _follow_to_end(connection, started, arguments.get("wait_s", WAIT_S), request)


async def _follow_to_end(
    connection: Connection, started: Started, wait_s: float, request: ToolRequest
) -> Message:
    """How an execution stands when it is over, rests, or has taken too long; withdrawn, it is cancelled."""
    following = asyncio.ensure_future(_follow(connection, started.execution_id, request))
    try:
        over = await _wait(connection, following, wait_s)
    except asyncio.CancelledError:
        if request.withdrawn:
            control = Control("cancel", why="the client withdrew its request", by=caller("mcp"))
            await asyncio.shield(connection.front.control(started.execution_id, control))
        raise
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    result = await connection.front.execution(started.execution_id)
    answer: Message = {**result}
    if not over and result["status"] in ("pending", "running", "waiting"):
        answer["hint"] = f"it goes on; `execution` with {started.execution_id} tells how it stands"
    if result["status"] == "failed":
        answer["why"] = (await connection.front.why(started.execution_id))["summary"]
    return answer


async def _wait(connection: Connection, following: "asyncio.Future[None]", wait_s: float) -> bool:
    """Whether it was over in time; an engine of this process that cannot go on says so."""
    until = time.monotonic() + wait_s
    while (remaining_s := until - time.monotonic()) > 0:
        done, _ = await asyncio.wait({following}, timeout=min(CHECK_S, remaining_s))
        if done:
            following.result()
            return True
        if connection.embedded is not None and connection.embedded.trouble is not None:
            raise BackendError(f"the engine cannot go on: {connection.embedded.trouble}")
    return False


async def _follow(connection: Connection, execution_id: str, request: ToolRequest) -> None:
    """Read events until it is over or rests, and tell of the steps that ended."""
    async with aclosing(connection.front.follow(execution_id)) as log:
        async for first, events in log:
            if request.progress is not None and (words := _steps(events)):
                await request.progress(first + len(events) - 1, words)
            if any(event.name == "execution.paused" for event in events):
                return


def _steps(events: list[Event]) -> str:
    ended = [f"{event.run} {event.name.partition('.')[2]}" for event in events if event.name in ENDED]
    return ", ".join(ended[-3:])


ENDED = ("step.done", "step.failed", "loop.done")


async def executions(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    if not has_data(product.settings):
        return {"items": []}
    query = Find(status=arguments.get("status"), path=arguments.get("path"), limit=arguments.get("limit", 20))
    async with product.for_reading() as connection:
        page = await connection.front.executions(query)
    now = now_ms()
    return {"items": [execution_row(item, now) for item in page.items]}


async def execution(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    """One of them, and what it waits for."""
    async with product.for_reading() as connection:
        execution_id = await find_execution(connection.front, arguments["execution"])
        result = await connection.front.execution(execution_id)
        answer: Message = {**result}
        if result["status"] in ("running", "waiting", "paused"):
            state = await connection.front.state(execution_id)
            answer["waiting"] = [
                {"step_run_id": run["id"], **waits}
                for run in state["runs"]
                for waits in run.get("waiting", ())
            ]
    return answer


async def why(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    """An execution explained; of very many reasons the last are the telling ones."""
    async with product.for_reading() as connection:
        explanation = await connection.front.why(
            await find_execution(connection.front, arguments["execution"]), arguments.get("step")
        )
    left_out = max(0, len(explanation["reasons"]) - REASONS_MAX)
    return {**explanation, "reasons": explanation["reasons"][left_out:], "left_out": left_out}


async def events(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    """A page of events, no larger than an answer may be."""
    limit = arguments.get("limit", 100)
    which = {"name": arguments.get("name"), "step": arguments.get("step")}
    async with product.for_reading() as connection:
        execution_id = await find_execution(connection.front, arguments["execution"])
        page = await connection.front.events(
            execution_id, first=arguments.get("from", 1), limit=limit + 1, **which
        )
    items: list[EventEnvelope] = []
    size = 0
    for envelope in page[:limit]:
        size += len(msgspec.json.encode(envelope))
        if items and size > ANSWER_BYTES:
            break
        items.append(envelope)
    return {"items": items, "next": items[-1]["seq"] + 1 if len(items) < len(page) else None}


async def render(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    async with product.for_reading() as connection:
        execution_id = await find_execution(connection.front, arguments["execution"])
        return {
            "value": await connection.front.evaluate(execution_id, arguments["template"], arguments.get("at"))
        }


async def cancel(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    return await _send_control(
        product, arguments, Control("cancel", why=arguments.get("why"), by=caller("mcp"))
    )


async def signal(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    return await _send_control(
        product,
        arguments,
        Control("signal", name=arguments["name"], payload=arguments.get("payload"), by=caller("mcp")),
    )


async def release(product: SharedConnection, arguments: Arguments, request: ToolRequest) -> Message:
    """Let an execution that is stuck go on, here while the conversation lasts."""
    connection = await product.for_running()
    execution_id = await find_execution(connection.front, arguments["execution"])
    await connection.front.release(execution_id, caller("mcp"))
    return {"execution_id": execution_id, "status": await connection.front.status(execution_id)}


async def _send_control(product: SharedConnection, arguments: Arguments, control: Control) -> Message:
    async with product.for_reading() as connection:
        execution_id = await find_execution(connection.front, arguments["execution"])
        await connection.front.control(execution_id, control)
        return {"execution_id": execution_id, "status": await connection.front.status(execution_id)}
