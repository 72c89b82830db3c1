"""What a function under `@noetl.tool` yields: a list, or lines in the result store; in one thread to its end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import noetl
from noetl.adapters.memory.results import MemoryResults
from noetl.ports.call import Call, Resources
from noetl.ports.tool import Tool, invoke
from noetl.tools.parts import yielded
from noetl.tools.parts.function import tool_of
from noetl.wiring.payloads import StoredPayloads

Nothing: Any = None  # no payloads


def made(function: Any) -> Tool:
    tool = tool_of(function)
    assert tool is not None
    return tool


def test_what_a_generator_yields_is_a_list():
    threads = set()

    @noetl.tool
    def numbers(to: int) -> Iterator[dict[str, int]]:
        """Counts."""
        for number in range(to):
            threads.add(threading.get_ident())
            yield {"n": number}

    @noetl.tool(name="more_numbers")
    async def more(to: int) -> AsyncIterator[int]:
        for number in range(to):
            yield number

    assert noetl.call_tool(numbers, {"to": 250}) == [{"n": number} for number in range(250)]
    assert len(threads) == 1  # what a generator has open may belong to its thread
    assert noetl.call_tool(more, {"to": 2}) == [0, 1]
    assert noetl.call_tool(more, {"to": 0}) == []


async def test_a_slow_generator_is_asked_for_no_more_once_nobody_waits(monkeypatch):
    """Items come a hundred at a time, but not for long: the rest would be called for in vain."""
    monkeypatch.setattr(yielded, "AT_ONCE_S", -1.0)
    asked, closed, may = asyncio.Event(), threading.Event(), threading.Semaphore(0)
    loop = asyncio.get_running_loop()

    @noetl.tool
    def pages() -> Iterator[int]:
        try:
            while True:
                loop.call_soon_threadsafe(asked.set)
                may.acquire()
                yield 1
        finally:
            closed.set()

    call = asyncio.create_task(invoke(made(pages), {}, Call(Nothing, Resources())))
    await asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    may.release()
    assert await asyncio.to_thread(closed.wait, 60)


@pytest.mark.parametrize("awaited", [False, True])
async def test_what_a_generator_yields_is_stored_as_it_comes_where_it_is_too_large_to_hold(awaited):
    def plain() -> Iterator[dict[str, object]]:
        for number in range(5000):
            yield {"n": number, "text": "x" * 50}

    async def asynchronous() -> AsyncIterator[dict[str, object]]:
        for row in plain():
            yield row

    tool = made(noetl.tool(name="rows")(asynchronous if awaited else plain))
    payloads = StoredPayloads(MemoryResults(lambda: 0), "0" * 32)
    output = await invoke(tool, {}, Call(payloads, Resources(), spec={"limits": {"max_hydrate_bytes": 1000}}))
    assert output["data"] is None
    assert await payloads.get(output["ref"]) == list(plain())


def test_a_generator_that_fails_midway_fails_and_is_closed():
    closed = []

    @noetl.tool(retryable=(LookupError,))
    def rows() -> Iterator[int]:
        try:
            yield 1
            raise LookupError("no second one")
        finally:
            closed.append(threading.current_thread().name)

    with pytest.raises(noetl.Failed, match="no second one") as failed:
        noetl.call_tool(rows)
    assert failed.value.retryable
    assert closed == ["tool rows"]


async def test_a_generator_that_nobody_waits_for_any_more_is_closed_in_its_thread():
    began, closed = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @noetl.tool
    def rows(context: noetl.ToolContext) -> Iterator[int]:
        try:
            loop.call_soon_threadsafe(began.set)
            context.cancelled.wait(60)
            yield 1
            yield 2
        finally:
            closed.set()

    call = asyncio.create_task(invoke(made(rows), {}, Call(Nothing, Resources())))
    await began.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await asyncio.to_thread(closed.wait, 60)
