"""One question and its answer between two processes: what nothing that crosses them can be faster than.

Both wait for their sockets under uvloop, as a server and its worker do. Nothing is read of what is said.
"""

import asyncio
import subprocess
import sys
import time
from typing import Any

import uvloop

BYTES = 600  # as many as a report of a step takes
ROUNDS, QUESTIONS = 20, 100


def round_trip_s() -> float:
    """Seconds from a question to its answer, the best of several rounds."""
    command = [sys.executable, "-m", "bench.round_trip"]
    with subprocess.Popen([*command, "answer"], stdout=subprocess.PIPE, text=True) as answerer:
        assert answerer.stdout is not None
        port = answerer.stdout.readline().strip()
        try:
            asked = subprocess.run([*command, port], stdout=subprocess.PIPE, check=True, text=True)
        finally:
            answerer.terminate()
    return float(asked.stdout)


class _Answerer(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


class _Asker(asyncio.Protocol):
    def __init__(self) -> None:
        self._left, self._answered = 0, asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    async def ask(self) -> None:
        self._left, self._answered = BYTES, asyncio.get_running_loop().create_future()
        self._transport.write(b"x" * BYTES)
        await self._answered

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left == 0:
            self._answered.set_result(None)


async def _answer() -> None:
    server = await asyncio.get_running_loop().create_server(_Answerer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _measured(port: int) -> float:
    _, asker = await asyncio.get_running_loop().create_connection(_Asker, "127.0.0.1", port)
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(QUESTIONS):
            await asker.ask()
        best = min(best, (time.perf_counter() - began) / QUESTIONS)
    return best


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        uvloop.run(_answer())
    else:
        print(uvloop.run(_measured(int(sys.argv[1]))))
