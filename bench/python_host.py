"""What a python call costs: calls per second, the host's own CPU, and the wait for the first call."""

import asyncio
import os
import subprocess
import sys
import time

from bench.figure import Figure
from noetl.worker.python.host import PythonHost

CALLS = 2_000
IN_FLIGHT = 8
ROUNDS = 5
GOAL_PER_SECOND = 4_000.0  # a quarter of a millisecond for each
GOAL_CPU_US = 150.0
GOAL_FIRST_MS = 100.0
ECHO = "import os\nwhile data := os.read(0, 65536): os.write(1, data)"


def run() -> list[Figure]:
    """The floor of a call is an echo through two pipes; that of the first call is a bare interpreter."""
    calls_per_second, cpu_us = asyncio.run(_in_flight())
    first_ms = min(asyncio.run(_first_call()) for _ in range(ROUNDS))
    return [
        Figure(
            "python calls, 8 in flight",
            calls_per_second,
            "/s",
            goal=GOAL_PER_SECOND,
            better="higher",
            floor=_echoes_per_second(),
        ),
        Figure("host CPU per python call", cpu_us, "us", goal=GOAL_CPU_US),
        Figure("first python call", first_ms, "ms", goal=GOAL_FIRST_MS, floor=_bare_interpreter_ms()),
    ]


async def _in_flight() -> tuple[float, float]:
    """Calls per second and microseconds of this process per call; the host grows as it sees fit."""
    host = PythonHost()
    await host.run("result = n", {"n": 0})
    numbers = iter(range(CALLS))

    async def lane() -> None:
        for n in numbers:
            ran = await host.run("result = {'n': n, 'double': n * 2}", {"n": n, "name": "item"})
            assert ran.value == {"n": n, "double": n * 2}, ran

    start, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    await host.close()
    return CALLS / seconds, cpu_seconds / CALLS * 1e6


async def _first_call() -> float:
    start = time.perf_counter()
    host = PythonHost()
    await host.run("result = 1", {})
    seconds = time.perf_counter() - start
    await host.close()
    return seconds * 1000


def _echoes_per_second() -> float:
    command = [sys.executable, "-I", "-S", "-c", ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        put, get = echo.stdin.fileno(), echo.stdout.fileno()
        start = 0.0
        for number in range(CALLS + 1):
            os.write(put, b"x" * 100)
            os.read(get, 65536)
            if number == 0:  # it has started
                start = time.perf_counter()
        seconds = time.perf_counter() - start
        echo.stdin.close()
    return CALLS / seconds


def _bare_interpreter_ms() -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
        best = min(best, time.perf_counter() - start)
    return best * 1000
