"""What each tool does, by the front that every command speaks to."""

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.cli.commands.mcp.reached import Reach
from noetl.cli.commands.mcp.session import Asked
from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Reached, anything, find
from noetl.cli.playbooks.sources import Source, read_one
from noetl.core.event import Event
from noetl.core.message import Control
from noetl.errors import BackendError, RequestError
from noetl.ports.front import Ask, Find, Started, listed

WAIT_S = 60
CHECK_S = 0.5
ANSWER_BYTES = 512 * 1024
REASONS_SHOWN = 50
TEXT = "playbook"  # the name a text without a file is reported under

Arguments = Mapping[str, Any]


# Playbooks


def _source(given: Arguments) -> Source:
    """The playbook that is meant: its text, or its file."""
    if ("playbook" in given) == ("file" in given):
        raise RequestError("give one of playbook, its text, and file, its name")
    return read_one(given["file"]) if "file" in given else Source(TEXT, given["playbook"].encode())


def findings(diagnostics: Iterable[Any]) -> list[dict[str, Any]]:
    """Findings as `noetl validate` prints them for programs."""
    from noetl.cli.formats.json import finding

    return [finding(one) for one in diagnostics]


async def validate(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """Every finding of a playbook."""
    from noetl.cli.playbooks.validation import check, tally

    checked = await asyncio.to_thread(check, _source(given), strict=bool(given.get("strict")))
    counts = tally([checked])
    return {
        "valid": checked.valid,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "diagnostics": findings(checked.diagnostics),
    }


async def tool_kinds(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """The kinds, or one in full."""
    from noetl import tools
    from noetl.cli.tool_page import facts

    if "kind" in given:
        tool = tools.get(given["kind"])
        return {**msgspec.to_builtins(facts(tool), enc_hook=str), "text": tool.doc.strip()}
    names = sorted({*tools.own(), *tools.installed()})
    return {"kinds": [{"kind": name, "summary": tools.get(name).kind.summary} for name in names]}


async def register(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """Keep a playbook."""
    reached = await reach.running()
    text, file = await _sent(reached, _source(given))
    entry = await reached.front.register(text, file, caller("mcp"))
    return {"path": entry.path, "version": entry.version, "hash": entry.hash}


async def _sent(reached: Reached, source: Source) -> tuple[str, str | None]:
    """The text as the other side can run it, and the file it has here."""
    from noetl.cli.playbooks.bundle import bundled
    from noetl.cli.playbooks.playbook_text import file_of, text_of

    text = text_of(source)
    if reached.url is not None:
        return await bundled(reached.front, source, text), None
    return text, None if source.name == TEXT else file_of(source)


async def playbooks(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """What is registered, or the text of one."""
    if not anything(reach.settings) and "path" not in given:
        return {"items": []}
    async with reach.looking() as reached:
        if "path" in given:
            entry = await reached.front.playbook(given["path"], given.get("version"))
            return {"path": entry.path, "version": entry.version, "hash": entry.hash, "playbook": entry.text}
        entries = await reached.front.playbooks()
    return {"items": [{"path": one.path, "version": one.version, "hash": one.hash} for one in entries]}


async def test(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """Run tests in a process of their own: each has a clock of its own, too."""
    words = [sys.executable, "-m", "noetl.cli", "test", "--json", given.get("path", ".")]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    try:
        printed, told = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode not in (0, 1):
        raise RequestError(told.decode(errors="replace").strip()[:2000] or "the tests could not be run")
    found: dict[str, Any] = msgspec.json.decode(printed)
    return found


# Executions


async def run(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """Start a playbook and wait for its end."""
    ask = Ask(
        workload=given.get("workload", {}), idempotency_key=given.get("idempotency_key"), by=caller("mcp")
    )
    reached = await reach.running()
    if "path" in given:
        if "playbook" in given or "file" in given:
            raise RequestError("give one of playbook, file and path")
        ask.path, ask.version = given["path"], given.get("version")
    else:
        ask.text, ask.file = await _sent(reached, _source(given))
    return await _ended(reached, await reached.front.start(ask), given.get("wait_s", WAIT_S), asked)


async def retry(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """Run again from what failed, and wait for the end."""
    reached = await reach.running()
    started = await reached.front.retry(
        await find(reached.front, given["execution"]), given.get("step"), caller("mcp")
    )
    return await _ended(reached, started, given.get("wait_s", WAIT_S), asked)


async def _ended(reached: Reached, started: Started, wait_s: float, asked: Asked) -> dict[str, Any]:
    """How an execution stands when it is over, rests, or has taken too long; withdrawn, it is cancelled."""
    following = asyncio.ensure_future(_follow(reached, started.execution_id, asked))
    try:
        over = await _waited(reached, following, wait_s)
    except asyncio.CancelledError:
        if asked.withdrawn:
            wish = Control("cancel", why="the client withdrew its request", by=caller("mcp"))
            await asyncio.shield(reached.front.control(started.execution_id, wish))
        raise
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    result = await reached.front.execution(started.execution_id)
    if not over and result["status"] in ("pending", "running", "waiting"):
        result["hint"] = f"it goes on; `execution` with {started.execution_id} tells how it stands"
    if result["status"] == "failed":
        result["why"] = (await reached.front.why(started.execution_id))["summary"]
    return result


async def _waited(reached: Reached, following: "asyncio.Future[None]", wait_s: float) -> bool:
    """Whether it was over in time; an engine of this process that cannot go on says so."""
    until = time.monotonic() + wait_s
    while (left := until - time.monotonic()) > 0:
        done, _ = await asyncio.wait({following}, timeout=min(CHECK_S, left))
        if done:
            following.result()
            return True
        if reached.made is not None and reached.made.trouble is not None:
            raise BackendError(f"the engine cannot go on: {reached.made.trouble}")
    return False


async def _follow(reached: Reached, execution_id: str, asked: Asked) -> None:
    """Read events until it is over or rests, and tell of the steps that ended."""
    async with aclosing(reached.front.follow(execution_id)) as log:
        async for first, events in log:
            if asked.told is not None and (words := _steps(events)):
                await asked.told(first + len(events) - 1, words)
            if any(event.name == "execution.paused" for event in events):
                return


def _steps(events: list[Event]) -> str:
    ended = [f"{event.run} {event.name.partition('.')[2]}" for event in events if event.name in ENDED]
    return ", ".join(ended[-3:])


ENDED = ("step.done", "step.failed", "loop.done")


async def executions(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """The newest executions."""
    if not anything(reach.settings):
        return {"items": []}
    wanted = Find(status=given.get("status"), path=given.get("path"), limit=given.get("limit", 20))
    async with reach.looking() as reached:
        page = await reached.front.executions(wanted)
    now = now_ms()
    return {"items": [listed(item, now) for item in page.items]}


async def execution(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """One of them, and what it waits for."""
    async with reach.looking() as reached:
        execution_id = await find(reached.front, given["execution"])
        result = await reached.front.execution(execution_id)
        if result["status"] in ("running", "waiting", "paused"):
            state = await reached.front.state(execution_id)
            result["waiting"] = [
                {"step_run_id": run["id"], **waits}
                for run in state["runs"]
                for waits in run.get("waiting", ())
            ]
    return result


async def why(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """An execution explained; of very many reasons the last are the telling ones."""
    async with reach.looking() as reached:
        told = await reached.front.why(await find(reached.front, given["execution"]), given.get("step"))
    left_out = max(0, len(told["reasons"]) - REASONS_SHOWN)
    return {**told, "reasons": told["reasons"][left_out:], "left_out": left_out}


async def events(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """A page of events, no larger than an answer may be."""
    limit = given.get("limit", 100)
    which = {"name": given.get("name"), "step": given.get("step")}
    async with reach.looking() as reached:
        execution_id = await find(reached.front, given["execution"])
        page = await reached.front.events(execution_id, first=given.get("from", 1), limit=limit + 1, **which)
    items: list[dict[str, Any]] = []
    size = 0
    for envelope in page[:limit]:
        size += len(msgspec.json.encode(envelope))
        if items and size > ANSWER_BYTES:
            break
        items.append(envelope)
    return {"items": items, "next": items[-1]["seq"] + 1 if len(items) < len(page) else None}


async def render(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """A template's value."""
    async with reach.looking() as reached:
        execution_id = await find(reached.front, given["execution"])
        return {"value": await reached.front.evaluate(execution_id, given["template"], given.get("at"))}


async def cancel(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """End an execution."""
    return await _tell(reach, given, Control("cancel", why=given.get("why"), by=caller("mcp")))


async def signal(reach: Reach, given: Arguments, asked: Asked) -> dict[str, Any]:
    """Tell an execution what it waits for."""
    return await _tell(
        reach, given, Control("signal", name=given["name"], payload=given.get("payload"), by=caller("mcp"))
    )


async def _tell(reach: Reach, given: Arguments, wish: Control) -> dict[str, Any]:
    async with reach.looking() as reached:
        execution_id = await find(reached.front, given["execution"])
        await reached.front.control(execution_id, wish)
        return {"execution_id": execution_id, "status": await reached.front.status(execution_id)}
