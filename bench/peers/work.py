"""The work that every engine does, and its timing. Runs in every environment: standard library only."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

STEPS, ITEMS, IN_FLIGHT = 100, 1_000, 50
EXECUTIONS, STEPS_EACH = 200, 5
ONE_AT_A_TIME = 50
ROUNDS = 3
CHAIN_ROUNDS = 10  # what waits most suffers most from a machine that others use
ROUND_BUDGET_S = 10.0  # work that took longer is not repeated within a turn


Work = Callable[[int], Awaitable[Any]]


@dataclass(frozen=True)
class Engine:
    """What an engine must be able to do; each call returns when its execution has ended well."""

    chain: Work
    """One execution of so many no-op steps, one after another."""
    fan_out: Work
    """One execution of so many no-op items, `IN_FLIGHT` of them at a time."""


async def report(engine: Engine) -> None:
    """Do all the work and print the seconds as one line of JSON."""
    print(json.dumps(await measure(engine)), flush=True)


async def measure(engine: Engine) -> dict[str, float]:
    """Seconds per step, per item, per execution of many, and per single execution."""
    await engine.chain(STEPS_EACH)  # the first of each kind is not timed
    await engine.fan_out(IN_FLIGHT)
    chain_s = await _best(lambda: engine.chain(STEPS), CHAIN_ROUNDS)
    fan_out_s = await _best(lambda: engine.fan_out(ITEMS))
    burst_s = await _best(lambda: _burst(engine))
    p50_s, p95_s = await _one_by_one(engine)
    return {
        "chain": chain_s / STEPS,
        "fan_out": fan_out_s / ITEMS,
        "burst": burst_s / EXECUTIONS,
        "p50": p50_s,
        "p95": p95_s,
    }


async def _burst(engine: Engine) -> None:
    await asyncio.gather(*(engine.chain(STEPS_EACH) for _ in range(EXECUTIONS)))


async def _one_by_one(engine: Engine) -> tuple[float, float]:
    await engine.chain(1)
    taken = sorted([await _seconds(lambda: engine.chain(1)) for _ in range(ONE_AT_A_TIME)])
    return taken[ONE_AT_A_TIME // 2], taken[ONE_AT_A_TIME * 95 // 100]


async def _best(work: Callable[[], Awaitable[Any]], rounds: int = ROUNDS) -> float:
    taken: list[float] = []
    while len(taken) < rounds and sum(taken) < ROUND_BUDGET_S:
        taken.append(await _seconds(work))
    return min(taken)


async def _seconds(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began
