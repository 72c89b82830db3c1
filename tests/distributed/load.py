"""Executions that are started all the time, at whichever server takes them, while something is disturbed."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from noetl.errors import BackendError, Conflict
from noetl.ports.front import Ask
from tests.distributed.cluster import WITHIN_S, Cluster, Node
from tests.engine.web import Web

IN_FLIGHT = 4
PATH = "distributed/load"
PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: load, path: distributed/load}
workload: {url: "", tag: ""}
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, policy: {exec: distributed}, chunk: 1}}
    tool:
      kind: http
      input: {url: "{{ workload.url }}/echo/{{ workload.tag }}/{{ iter.n }}", method: POST}
      spec: {idempotency: true}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, output: "{{ start.data | length }}"}
"""


class Load:
    """What was begun, and what has ended."""

    def __init__(self, cluster: Cluster, servers: Sequence[Node], web: Web) -> None:
        self._cluster, self._servers, self._web = cluster, servers, web
        self._tags, self._over = itertools.count(), asyncio.Event()
        self.begun: list[str] = []  # those that a server said it had taken
        self.ended: list[str] = []
        self._news = asyncio.Condition()

    async def work(self) -> None:
        """One execution after the other, until it is enough."""
        while not self._over.is_set():
            execution_id = await self._begin(next(self._tags))
            self.begun.append(execution_id)
            summary = await self._cluster.finished(execution_id)
            assert summary.status == "completed", summary.result
            assert msgspec.json.decode(summary.result or b"")["output"] == 3, summary.result
            self.ended.append(execution_id)
            async with self._news:
                self._news.notify_all()

    async def _begin(self, number: int) -> str:
        ask = Ask(
            path=PATH,
            workload={"url": self._web.url, "tag": f"t{number}"},
            idempotency_key=f"t{number}",
        )
        for attempt in itertools.count(number):
            server = self._servers[attempt % len(self._servers)]
            with suppress(BackendError, Conflict):  # it is away, or may have done it: the key tells
                async with self._cluster.front(server) as front:
                    return (await asyncio.wait_for(front.start(ask), WITHIN_S)).execution_id
            await asyncio.sleep(0.1)
        raise AssertionError

    async def more(self, count: int) -> None:
        """Wait until so many more have ended."""
        wanted = len(self.ended) + count
        async with asyncio.timeout(WITHIN_S), self._news:
            await self._news.wait_for(lambda: len(self.ended) >= wanted)

    def enough(self) -> None:
        self._over.set()

    def check(self) -> None:
        """Nothing was begun twice, and no call was made under two keys."""
        assert len(set(self.begun)) == len(self.begun) == len(self.ended)
        keys: dict[str, set[str]] = defaultdict(set)
        for request in self._web.seen:
            keys[request["path"]].add(request["headers"]["idempotency-key"])
        assert {path: found for path, found in keys.items() if len(found) > 1} == {}
        assert len(keys) == 3 * len(self.begun)


@asynccontextmanager
async def under_load(cluster: Cluster, servers: Sequence[Node], web: Web) -> AsyncIterator[Load]:
    """Disturb a cluster inside: in the end everything that was begun has ended well, once."""
    async with cluster.front(servers[0]) as front:
        await front.register(PLAYBOOK)
    load = Load(cluster, servers, web)
    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(load.work())
        try:
            yield load
        finally:
            load.enough()
    load.check()
