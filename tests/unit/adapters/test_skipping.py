"""A loop that skips what it would wait for, and waits for what comes from outside."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from noetl.adapters.clock.skipping import SkippingLoop

YEAR_S = 365 * 86_400


@pytest.fixture
def loop() -> Iterator[SkippingLoop]:
    made = SkippingLoop(1_000_000)
    yield made
    made.close()


def test_a_year_of_sleep_takes_no_time_and_the_clock_has_gone_on(loop):
    loop.run_until_complete(asyncio.sleep(YEAR_S))
    assert loop.time() == pytest.approx(YEAR_S)
    assert loop.now_ms() == 1_000_000 + YEAR_S * 1000


def test_timers_ring_in_their_order(loop):
    rang: list[str] = []

    async def ring(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        rang.append(name)

    async def all_() -> None:
        await asyncio.gather(ring("c", 300), ring("a", 1), ring("b", 200))

    loop.run_until_complete(all_())
    assert rang == ["a", "b", "c"]


def test_a_timeout_is_over_when_the_clock_says_so(loop):
    async def wait() -> None:
        async with asyncio.timeout(60):
            await asyncio.sleep(61)

    with pytest.raises(TimeoutError):
        loop.run_until_complete(wait())


def test_a_process_is_waited_for_and_a_timer_beside_it_is_not_skipped(loop):
    order: list[str] = []

    async def outside() -> None:
        with loop.outside():
            process = await asyncio.create_subprocess_exec("true")
            assert await process.wait() == 0
            order.append("process")

    async def timer() -> None:
        await asyncio.sleep(3600)
        order.append("timer")

    async def both() -> None:
        await asyncio.gather(timer(), outside())

    loop.run_until_complete(both())
    assert order == ["process", "timer"]


def test_a_call_in_a_thread_is_waited_for(loop):
    assert loop.run_until_complete(loop.run_in_executor(None, time.strftime, "x")) == "x"
    loop.run_until_complete(loop.shutdown_default_executor())


def test_patience_ends_also_while_something_from_outside_is_awaited():
    loop = SkippingLoop(0, patience_s=0.01)
    late = loop.create_future()
    loop.when_stuck = late.set_result
    with loop.outside():
        assert loop.run_until_complete(late) is True
    loop.close()


def test_when_nothing_can_happen_any_more_someone_is_told(loop):
    stuck = loop.create_future()
    loop.when_stuck = stuck.set_result
    assert loop.run_until_complete(stuck) is False


def test_nobody_to_tell_is_an_error(loop):
    problems: list[str] = []

    def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problems.append(str(context["exception"]))
        loop.stop()

    loop.set_exception_handler(note)
    loop.create_future()
    loop.run_forever()
    assert problems == ["what is awaited never comes"]


def test_one_who_is_busy_for_too_long_is_told_too():
    loop = SkippingLoop(0, patience_s=0.0)
    late = loop.create_future()
    loop.when_stuck = late.set_result

    def busy() -> None:
        loop.call_soon(busy)

    busy()
    assert loop.run_until_complete(late) is True
    loop.close()
