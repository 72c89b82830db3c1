"""Tasks that begin where they are made: what they do at once, and that they are tasks to all who look."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from noetl.adapters.eager_task import eager_task

T = TypeVar("T")


def begun(work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
    return eager_task(work, asyncio.get_running_loop())


async def test_what_needs_not_wait_is_done_before_the_maker_goes_on() -> None:
    seen: list[str] = []

    async def work() -> int:
        seen.append("begun")
        return 7

    task = begun(work())
    assert seen == ["begun"]
    assert await task == 7


async def test_it_goes_on_when_what_it_waits_for_is_there() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def work() -> int:
        first = await future
        await asyncio.sleep(0)
        return first + 1

    task = begun(work())
    assert not task.done()
    future.set_result(1)
    assert await task == 2


async def test_an_error_is_of_whoever_waits() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await begun(work())


async def test_the_maker_is_the_current_task_again_afterwards() -> None:
    own = asyncio.current_task()
    inner: list[object] = []

    async def work() -> None:
        inner.append(asyncio.current_task())
        await asyncio.sleep(0)
        inner.append(asyncio.current_task())

    task = begun(work())
    assert asyncio.current_task() is own
    await task
    assert inner == [task, task]


async def test_a_timeout_inside_ends_what_it_is_around_and_nothing_else() -> None:
    async def work() -> str:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            await asyncio.sleep(0)
            return "timed out"
        return "waited"

    assert await begun(work()) == "timed out"


async def test_it_can_be_cancelled_where_it_waits() -> None:
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("yes")

    task = begun(work())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (task.cancelled(), cleaned) == (True, ["yes"])
