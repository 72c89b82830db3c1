"""A rolling upgrade loses nothing: servers and workers of two releases side by side on one store, under load.

Each process is exchanged for the other release and back again while executions run. Everything ends right,
nothing takes effect twice, and every log holds together. A process of this release that is told to stop ends
what runs and hands over the rest: nothing is even called twice, whichever release comes after it.
"""

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import asyncpg
import msgspec
import pytest

from noetl import __version__
from noetl.adapters.http.front import HttpFront
from noetl.core.message import Control
from noetl.errors import BackendError, Conflict
from noetl.ports.front import Ask
from tests.distributed.cluster import LOOK_S, WITHIN_S, Cluster, Node
from tests.engine.web import Web
from tests.fork_server import FORK_SERVER
from tests.releases import previous

T = TypeVar("T")
THIS = ""
SERVERS, WORKERS = 2, 3
IN_FLIGHT = 4
PROCESSES_MOST = 100
NOBODY_IS_SILENT_S = 60.0  # however busy the machine is
LOOP_OF = {"in turn": range(5), "beside": range(8), "shared": range(12), "child": range(1, 3)}


def playbook(text: str) -> str:
    """A playbook whose `@what@` writes a row that tells what was done, under the key of the call."""
    note = (
        "{name: note, kind: postgres, auth: db, input: {"
        r'command: "insert into effects values (:idempotency_key, :what) on conflict do nothing", params: {what: "{{ workload.tag }} \1"}}}'
    )
    return "apiVersion: noetl.io/v2\nkind: Playbook\n" + re.sub("@(.*?)@", note, text)


CHILD = playbook("""
metadata: {name: child, path: rolling/child}
workload: {tag: "", n: 0}
keychain: [{name: db, kind: credential, credential: db}]
workflow:
  - step: double
    tool:
      - @child {{ workload.n }}@
      - {name: sum, kind: python, input: {n: "{{ workload.n }}", code: "result = n * 2"}}
""")
# A chain, loops of each mode, a retry, a wait and an approval, children, and a call that takes its time.
ROLLING = playbook("""
metadata: {name: rolling, path: rolling/all}
workload: {url: "", tag: ""}
keychain: [{name: db, kind: credential, credential: db}]
workflow:
  - step: start
    tool: {kind: noop}
    next:
      spec: {mode: inclusive}
      arcs: [{step: chain}, {step: in_turn}, {step: shared}, {step: again}, {step: patience}, {step: family}, {step: long}, {step: plain}]
  - step: chain
    tool: @first@
    next: {arcs: [{step: link, when: "{{ event.ok }}"}]}
  - step: link
    tool: @second@
    next: {arcs: [{step: all, when: "{{ event.ok }}"}]}
  - step: in_turn
    loop: {in: "{{ range(5) | list }}", iterator: n}
    tool: @in turn {{ iter.n }}@
    next: {arcs: [{step: beside, when: "{{ event.ok }}"}]}
  - step: beside
    loop: {in: "{{ range(8) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 4}}
    tool: @beside {{ iter.n }}@
    next: {arcs: [{step: all, when: "{{ event.ok }}"}]}
  - step: shared
    loop:
      in: "{{ range(12) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 6, chunk: 2, policy: {exec: distributed}}
    tool: @shared {{ iter.n }}@
    next: {arcs: [{step: all, when: "{{ event.ok }}"}]}
  - step: again
    tool:
      - name: call
        kind: http
        input: {url: "{{ workload.url }}/flaky/2/{{ workload.tag }}"}
        spec:
          policy:
            rules:
              - {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 5, delay: 0.3}}
              - else: {then: {do: continue}}
      - @tried again@
    next: {arcs: [{step: all, when: "{{ event.ok }}"}]}
  - step: patience
    tool:
      - {name: rest, kind: wait, input: {seconds: 1}}
      - {name: release, kind: wait, input: {approval: release}}
      - @approved@
    next: {arcs: [{step: all, when: "{{ event.ok }}"}]}
  - step: family
    loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
    tool: {kind: playbook, path: rolling/child, input: {tag: "{{ workload.tag }}", n: "{{ iter.n }}"}}
    next: {arcs: [{step: all, when: "{{ event.ok }}"}]}
  - step: long
    tool:
      - {name: call, kind: http, input: {url: "{{ workload.url }}/slow/3/{{ workload.tag }}"}}
      - @long@
    next: {arcs: [{step: all, when: "{{ event.ok }}"}]}
  - step: plain
    loop:
      in: "{{ range(9) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 4, policy: {exec: distributed}}
    tool:
      - {name: one, kind: http, input: {url: "{{ workload.url }}/slow/0.2/{{ workload.tag }}/one/{{ iter.n }}"}}
      - {name: two, kind: http, input: {url: "{{ workload.url }}/slow/0/{{ workload.tag }}/two/{{ iter.n }}"}}
    next: {arcs: [{step: all, when: "{{ event.ok }}"}]}
  - step: all
    spec: {join: all}
    tool: {kind: noop, output: "{{ family.data }}"}
""")


def effects_of(tag: str) -> Iterator[str]:
    """What one execution writes, each once."""
    for what in ("first", "second", "tried again", "approved", "long"):
        yield f"{tag} {what}"
    for what, numbers in LOOP_OF.items():
        yield from (f"{tag} {what} {number}" for number in numbers)


def calls_of(tag: str) -> Iterator[tuple[str, int]]:
    """The paths that one execution asks the web for, which tells nobody's repeats apart, and how often."""
    yield f"/flaky/2/{tag}", 3
    yield f"/slow/3/{tag}", 1
    for number in range(9):
        yield from (
            (f"/slow/{seconds}/{tag}/{name}/{number}", 1) for seconds, name in (("0.2", "one"), ("0", "two"))
        )


@dataclass
class Rollout:
    """A cluster of mixed releases, and what was begun on it."""

    cluster: Cluster
    web: Web
    servers: list[Node] = field(default_factory=list)
    workers: list[Node] = field(default_factory=list)
    begun: dict[str, str] = field(default_factory=dict)
    tags: "itertools.count[int]" = field(default_factory=itertools.count)

    async def start(self, releases: tuple[str, str]) -> None:
        """Every second process is of the other release."""
        self.cluster.ports = [0] * PROCESSES_MOST  # each takes a free one when it starts
        connection = await asyncpg.connect(self.cluster.store_url)
        await connection.execute("create table effects (key text primary key, what text)")
        await connection.close()
        turns = itertools.cycle(releases)
        for _ in range(SERVERS):
            self.servers.append(await self._server(next(turns)))
        for _ in range(WORKERS):
            self.workers.append(await self._worker(next(turns)))
        async with self.cluster.front(self.servers[0]) as front:
            await front.put_credential("db", {"dsn": self.cluster.store_url})
            await front.register(CHILD)
            await front.register(ROLLING)

    async def listed(self) -> Counter[str]:
        """How many workers of which release `noetl worker list` names; all speak the same protocol here."""
        await self.cluster.knows(self.servers[0], WORKERS)
        command = ["worker", "list", "--server", self.servers[0].said]
        environment = self.cluster.environment({})
        done = await asyncio.to_thread(FORK_SERVER.run, command, self.cluster.folder, environment)
        assert done.returncode == 0, done.stderr
        return Counter(re.findall(r"release (\S+)  protocol 1\b", done.stdout.decode()))

    async def exchange(self, nodes: list[Node], place: int, release: str) -> None:
        """Put a process of a release in the place of one, which is then told to stop."""
        begin = self._server if nodes is self.servers else self._worker
        old, nodes[place] = nodes[place], await begin(release)
        assert await asyncio.to_thread(old.stop) == 0, old.printed.read_text()

    async def _server(self, release: str) -> Node:
        return await asyncio.to_thread(self.cluster.server, release=release)

    async def _worker(self, release: str) -> Node:
        """A worker that is told of the servers which are there now."""
        known = ",".join(server.said for server in self.servers)
        return await asyncio.to_thread(self.cluster.worker, release=release, server=known)

    # Work

    async def feed(self, over: asyncio.Event) -> None:
        """Keep executions in flight until told to stop."""
        async with asyncio.TaskGroup() as group:
            flying: set[asyncio.Task[None]] = set()
            while not over.is_set():
                while len(flying) < IN_FLIGHT:
                    flying.add(group.create_task(self._one(f"t{next(self.tags)}")))
                _, flying = await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)

    async def _one(self, tag: str) -> None:
        ask = Ask(path="rolling/all", workload={"url": self.web.url, "tag": tag}, idempotency_key=tag)
        execution_id = (await self._asked(lambda front: front.start(ask))).execution_id
        self.begun[tag] = execution_id
        approved = Control("signal", name="release", payload={"approved": True, "by": "test"})
        await self._asked(lambda front: front.control(execution_id, approved))
        await self.cluster.finished(execution_id)

    async def _asked(self, call: Callable[[HttpFront], Awaitable[T]]) -> T:
        """Ask one server after the other until one answers: each may be stopping."""
        until = asyncio.get_running_loop().time() + WITHIN_S
        for place in itertools.count():
            try:
                async with self.cluster.front(self.servers[place % SERVERS]) as front:
                    return await call(front)
            except (BackendError, Conflict):
                assert asyncio.get_running_loop().time() < until, "no server answers"
                await asyncio.sleep(LOOK_S)
        raise AssertionError

    # The end

    async def check(self) -> None:
        """Every execution has the right result, and everything that was to be done was done once."""
        async with self.cluster.store() as store:
            for execution_id in self.begun.values():
                summary = await store.summary(execution_id)
                assert summary.status == "completed", (execution_id, summary.result)
                assert msgspec.json.decode(summary.result or b"")["output"] == [2, 4], summary.result
        connection = await asyncpg.connect(self.cluster.store_url)
        rows = await connection.fetch("select what from effects")
        await connection.close()
        done = Counter(row["what"] for row in rows)
        assert done == Counter(what for tag in self.begun for what in effects_of(tag))

    def repeated(self) -> dict[str, int]:
        """The calls that were made more often than the playbook asks for; none was made less often."""
        called = {path: (self.web.hits[path], wanted) for tag in self.begun for path, wanted in calls_of(tag)}
        assert [path for path, (times, wanted) in called.items() if times < wanted] == []
        return {path: times for path, (times, wanted) in called.items() if times > wanted}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("link", "rounds"), [("direct", 2), ("nats", 1)])
async def test_each_process_is_exchanged_for_the_other_release_and_back_and_nothing_is_lost(
    cluster: Cluster, web: Web, rounds: int
) -> None:
    assert previous.FORK_SERVER.version() == previous.VERSION
    rollout = Rollout(cluster, web)
    await rollout.start((previous.VERSION, THIS))
    assert await rollout.listed() == Counter([previous.VERSION, __version__, previous.VERSION])
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(rollout.feed(over))
        for release in (THIS, previous.VERSION) * rounds:
            for nodes in (rollout.servers, rollout.workers):
                for place in range(len(nodes)):
                    await rollout.exchange(nodes, place, release)
        over.set()
    await rollout.check()
    rollout.repeated()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("link", "after"), [("direct", THIS), ("nats", THIS), ("direct", previous.VERSION)])
async def test_what_is_exchanged_for_either_release_hands_over_so_that_no_call_is_made_twice(
    cluster: Cluster, web: Web, after: str
) -> None:
    cluster.lease_s = NOBODY_IS_SILENT_S
    rollout = Rollout(cluster, web)
    await rollout.start((THIS, THIS))
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(rollout.feed(over))
        for nodes in (rollout.servers, rollout.workers):
            for place in range(len(nodes)):
                await rollout.exchange(nodes, place, after)
        over.set()
    await rollout.check()
    assert rollout.repeated() == {}
