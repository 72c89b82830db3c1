"""A cluster under work and random faults: `python -m tests.distributed.soak MINUTES [direct|nats] [SEED]`.

Executions are started all the time, each with a key of its own, while servers and workers are killed, stopped
and frozen, the database crashes, and the bus, where there is one, is restarted or loses everything. In the end every execution must
have completed with the right result, its log must hold together, and no call may have been made under two keys.
"""

import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from noetl.errors import BackendError, Conflict
from noetl.json_value import JsonObject
from noetl.ports.front import Ask
from tests.distributed.cluster import LEASE_S, Cluster, Node
from tests.distributed.soak_playbook import CHILD, ROWS, TABLES, WANTED, parent
from tests.engine.web import Web
from tests.servers import NatsServer, PostgresServer

SERVERS, WORKERS = 2, 3
IN_FLIGHT = 12
WITHIN_S = 300.0  # for what was begun to end once the faults are over
BETWEEN_S = (0.5, 3.0)
PAUSE_S = 1.5 * LEASE_S  # so long that its lease is over when it wakes up


class Soak:
    """The cluster, what was begun on it, and what was done to it."""

    def __init__(self, folder: Path, seed: int, link: str) -> None:
        self.dice = random.Random(seed)
        self.postgres, self.web = PostgresServer.start(), Web()
        self.nats = NatsServer.start() if link == "nats" else None
        self.cluster = Cluster(folder, self.postgres.new_database(), self.nats.url if self.nats else None)
        self.servers: list[Node] = []
        self.workers: list[Node] = []
        self.tags = itertools.count()
        self.begun: list[str] = []
        self.faults: Counter[str] = Counter()

    def close(self) -> None:
        self.cluster.close()
        for part in (self.web, self.nats, self.postgres):
            if part is not None:
                part.close()

    async def prepare(self) -> None:
        """Start everything, with the tables that executions work through."""
        await self.fill()
        async with self.tables() as tables:
            await tables.execute(TABLES)

    @asynccontextmanager
    async def tables(self) -> AsyncIterator[Any]:
        """The database that executions work on."""
        connection = await asyncpg.connect(self.cluster.store_url)
        try:
            yield connection
        finally:
            await connection.close()

    async def fill(self) -> None:
        """Start what is missing, while the store and the bus are there."""
        self.servers = [one for one in self.servers if not one.died()]
        self.workers = [one for one in self.workers if not one.died()]
        while len(self.servers) < SERVERS:
            self.servers.append(await asyncio.to_thread(self.cluster.server))
        while len(self.workers) < WORKERS:
            self.workers.append(await asyncio.to_thread(self.cluster.worker))

    # Work

    async def feed(self, over: asyncio.Event) -> None:
        """Keep executions in flight until told to stop."""
        flying: set[asyncio.Task[None]] = set()
        while not over.is_set():
            while len(flying) < IN_FLIGHT:
                flying.add(asyncio.create_task(self._one(f"t{next(self.tags)}")))
            _, flying = await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.gather(*flying)

    async def _one(self, tag: str) -> None:
        """Start one execution, at whichever server takes it, and follow it to its end."""
        execution_id = await self._begin(tag)
        self.begun.append(execution_id)
        await self.cluster.finished(execution_id, WITHIN_S)

    async def _begin(self, tag: str) -> str:
        workload: JsonObject = {"url": self.web.url, "tag": tag}
        while True:
            server = self.dice.choice(self.servers)
            with suppress(BackendError, Conflict):  # it is away, or may have done it: the key tells
                async with self.cluster.front(server) as front:
                    ask = Ask(path="soak/all", workload=workload, idempotency_key=tag)
                    return (await asyncio.wait_for(front.start(ask), WITHIN_S)).execution_id
            await asyncio.sleep(0.1)

    # Faults

    async def trouble(self, what: str) -> None:
        """One fault, and whatever it took replaced."""
        self.faults[what] += 1
        await BY_LINK["nats"][what](self)
        await self.fill()

    async def end(self, nodes: list[Node], how: str) -> None:
        await asyncio.to_thread(getattr(nodes.pop(self.dice.randrange(len(nodes))), how))

    async def freeze(self, nodes: list[Node]) -> None:
        node = self.dice.choice(nodes)
        node.pause()
        await asyncio.sleep(PAUSE_S)  # as long as the fault is to last
        node.resume()

    async def crash(self, server: PostgresServer | NatsServer) -> None:
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.restart)

    @property
    def bus(self) -> NatsServer:
        assert self.nats is not None
        return self.nats

    # The end

    async def check(self) -> None:
        """Every execution has ended well, and so have the children whose results it holds."""
        async with self.cluster.store() as store:
            for execution_id in self.begun:
                summary = await store.summary(execution_id)
                assert summary.status == "completed", (execution_id, summary.result)
                assert msgspec.json.decode(summary.result or b"")["output"] == WANTED, summary.result
        keys: dict[str, set[str]] = defaultdict(set)
        for request in self.web.seen:
            keys[request["path"]].add(request["headers"]["idempotency-key"])
        assert {path: found for path, found in keys.items() if len(found) > 1} == {}
        assert len(set(self.begun)) == len(self.begun)
        assert len(keys) == 20 * len(self.begun)
        async with self.tables() as tables:
            rows = await tables.fetch("select tag, id from work.job order by tag, id")
            effects = await tables.fetch("select tag, id from work.effect order by tag, id")
        assert effects == rows  # each row once, under one key
        assert len(rows) == ROWS * len(self.begun)


FAULTS: dict[str, Callable[[Soak], Awaitable[None]]] = {
    "a server is killed": lambda it: it.end(it.servers, "kill"),
    "a worker is killed": lambda it: it.end(it.workers, "kill"),
    "a server is told to stop": lambda it: it.end(it.servers, "stop"),
    "a worker is told to stop": lambda it: it.end(it.workers, "stop"),
    "a server freezes": lambda it: it.freeze(it.servers),
    "a worker freezes": lambda it: it.freeze(it.workers),
    "the database crashes": lambda it: it.crash(it.postgres),
}
BUS_FAULTS: dict[str, Callable[[Soak], Awaitable[None]]] = {
    "the bus crashes": lambda it: it.crash(it.bus),
    "the bus loses everything": lambda it: asyncio.to_thread(it.bus.wipe),
}
BY_LINK = {"direct": FAULTS, "nats": {**FAULTS, **BUS_FAULTS}}


async def soak(folder: Path, seed: int, link: str, faults: Iterable[str], tell: Callable[[str], Any]) -> Soak:
    """Work under one fault after the other; raises AssertionError when anything is not as it should be."""
    made = Soak(folder, seed, link)
    try:
        await made.prepare()
        async with made.cluster.front(made.servers[0]) as front:
            await front.register(CHILD)
            await front.register(parent(made.cluster.store_url))
        over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(made.feed(over))
            for fault in faults:
                await asyncio.sleep(made.dice.uniform(*BETWEEN_S))
                await made.trouble(fault)
                tell(f"{made.faults.total()} faults, {len(made.begun)} begun")
            over.set()
        await made.check()
    finally:
        made.close()
    return made


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _faults(seed: int, link: str, seconds: float) -> Iterator[str]:
    dice, until = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < until:
        yield dice.choice(list(BY_LINK[link]))


def main(arguments: list[str]) -> int:
    """Soak for some minutes; the seed is told, since it chooses the faults."""
    link = arguments[1] if len(arguments) > 1 else "nats"
    seed = int(arguments[2]) if len(arguments) > 2 else random.SystemRandom().randrange(10**6)
    _tell(f"{link}, seed {seed}")
    faults = _faults(seed, link, 60 * float(arguments[0]))
    with tempfile.TemporaryDirectory() as folder:
        made = asyncio.run(soak(Path(folder), seed, link, faults, _tell))
    counts = f"{len(made.begun)} executions completed, {made.faults.total()} faults, wrong: 0"
    _tell(f"{counts}: {dict(made.faults)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
