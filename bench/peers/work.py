"""The work that every engine does, and its timing. Runs in every environment: standard library only."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any

STEPS, ITEMS, IN_FLIGHT = 100, 1_000, 50
STEPS_EACH = 5
ROUNDS = 3
CHAIN_ROUNDS = 10  # what waits most suffers most from a machine that others use
ROUND_BUDGET_S = 10.0  # work that took longer is not repeated within a turn


@dataclass(frozen=True)
class Amounts:
    """How much of each work is done; what is told is the time of one step, item or execution of it."""

    steps: int = STEPS
    items: int = ITEMS
    executions: int = 200
    one_at_a_time: int = 50


ALL = Amounts()
# For an engine whose every step takes tens of milliseconds.
A_TENTH = Amounts(items=100, executions=20, one_at_a_time=20)
# For an engine whose every step takes about a second.
A_HUNDREDTH = Amounts(steps=10, items=40, executions=10, one_at_a_time=10)

Work = Callable[[int], Awaitable[Any]]


@dataclass(frozen=True)
class Engine:
    """What an engine must be able to do; each call returns when its execution has ended well."""

    chain: Work
    """One execution of so many no-op steps, one after another."""
    fan_out: Work
    """One execution of so many no-op items, `IN_FLIGHT` of them at a time."""


async def report(engine: Engine, amounts: Amounts = ALL) -> None:
    """Do all the work and print the seconds and the amounts as one line of JSON."""
    seconds = await measure(engine, amounts)
    print(json.dumps({"seconds": seconds, "amounts": asdict(amounts)}), flush=True)


async def measure(engine: Engine, amounts: Amounts) -> dict[str, float]:
    """Seconds per step, per item, per execution of many, and per single execution."""
    await engine.chain(STEPS_EACH)  # the first of each kind is not timed
    await engine.fan_out(min(IN_FLIGHT, amounts.items))
    chain_s = await _best(lambda: engine.chain(amounts.steps), CHAIN_ROUNDS)
    fan_out_s = await _best(lambda: engine.fan_out(amounts.items))
    burst_s = await _best(lambda: _burst(engine, amounts.executions))
    p50_s, p95_s = await _one_by_one(engine, amounts.one_at_a_time)
    return {
        "chain": chain_s / amounts.steps,
        "fan_out": fan_out_s / amounts.items,
        "burst": burst_s / amounts.executions,
        "p50": p50_s,
        "p95": p95_s,
    }


async def _burst(engine: Engine, executions: int) -> None:
    await asyncio.gather(*(engine.chain(STEPS_EACH) for _ in range(executions)))


async def _one_by_one(engine: Engine, count: int) -> tuple[float, float]:
    await engine.chain(1)
    taken = sorted([await _seconds(lambda: engine.chain(1)) for _ in range(count)])
    return taken[count // 2], taken[count * 95 // 100]


async def _best(work: Callable[[], Awaitable[Any]], rounds: int = ROUNDS) -> float:
    taken: list[float] = []
    while len(taken) < rounds and sum(taken) < ROUND_BUDGET_S:
        taken.append(await _seconds(work))
    return min(taken)


async def _seconds(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began
