"""Loops over HTTP beside bare programs that do the same calls, in one run: GETs, and a long workload.

The rounds take turns, so that others on the machine disturb all alike; the best round counts. Processor time
is that of the process that sends the requests.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.distributed import Client, Cluster
from bench.embedded import HEAD, _begun
from bench.figure import Figure
from bench.mock_api import running
from bench.records_api import CALLS, KINDS, RECORDS

GETS, IN_FLIGHT, ROUNDS = 2_000, 50, 3
PATIENTS_IN_FLIGHT, RECORDS_IN_FLIGHT = 5, 10
CONNECTIONS = 8  # of a worker to one database, unless a task says otherwise
GETS_SHARE, RECORDS_SHARE = 0.6, 0.8  # of what a bare program reaches
LOOP = """\
  - step: start
    loop:
      in: "{{{{ range({gets}) | list }}}}"
      iterator: i
      spec: {{mode: parallel, max_in_flight: {lanes}{where}}}
    tool: {{kind: http, input: {{url: "{base}/items", params: {{page: "{{{{ iter.i }}}}"}}}}}}
"""
RECORDS_BLOCK = """\
keychain: [{{name: clinic, kind: credential, credential: clinic}}]
workbook:
  records:
    loop: {{in: "{{{{ input.ids }}}}", iterator: id, spec: {{mode: parallel, max_in_flight: {lanes}}}}}
    tool:
      - name: record
        kind: http
        input: {{url: "{base}/patients/{{{{ input.patient }}}}/{{{{ input.kind }}}}/{{{{ iter.id }}}}"}}
      - name: keep
        kind: postgres
        auth: clinic
        input:
          query: insert into records values ($1, $2, $3, $4)
          params:
            - "{{{{ input.patient }}}}"
            - "{{{{ input.kind }}}}"
            - "{{{{ iter.id }}}}"
            - "{{{{ record.data.text }}}}"
workflow:
  - step: patients
    tool: {{kind: http, input: {{url: "{base}/patients"}}}}
    next: {{arcs: [{{step: collect, when: "{{{{ event.ok }}}}"}}]}}
  - step: collect
    loop:
      in: "{{{{ patients.data.patients }}}}"
      iterator: patient
      spec: {{mode: parallel, max_in_flight: {patients}{where}}}
      loop: {{in: {kinds}, iterator: kind}}
    tool:
      - {{name: begin, kind: noop, set: {{iter.number: 1}}}}
      - name: page
        kind: http
        input:
          url: "{base}/patients/{{{{ iter.parent.patient }}}}/{{{{ iter.kind }}}}"
          params: {{page: "{{{{ iter.number }}}}"}}
      - name: records
        kind: workbook
        block: records
        input:
          ids: "{{{{ page.data.ids }}}}"
          patient: "{{{{ iter.parent.patient }}}}"
          kind: "{{{{ iter.kind }}}}"
      - name: more
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{{{ page.data.more }}}}"
                then: {{do: jump, to: page, set: {{iter.number: "{{{{ iter.number + 1 }}}}"}}}}
              - else: {{then: {{do: continue}}}}
"""
TABLE = "create table if not exists records (patient int, kind text, id int, body text)"
Work = Callable[[], Awaitable[object]]


def run() -> list[Figure]:
    """Each way beside the bare program; its share is the ratio."""
    return asyncio.run(_measure())


def loop_of_gets(base: str, where: str = "") -> str:
    """A parallel loop of GETs."""
    return HEAD.format(name="gets") + LOOP.format(base=base, gets=GETS, lanes=IN_FLIGHT, where=where)


def all_records(base: str, where: str = "") -> str:
    """Every record of every patient into PostgreSQL, one row each."""
    text = RECORDS_BLOCK.format(
        base=base,
        where=where,
        kinds=list(KINDS),
        patients=PATIENTS_IN_FLIGHT,
        lanes=RECORDS_IN_FLIGHT,
    )
    return HEAD.format(name="records").removesuffix("workflow:\n") + text


async def bare_gets(base: str) -> None:
    """The same GETs by a bare client."""
    import aiohttp

    pages = iter(range(GETS))

    async def lane() -> None:
        for page in pages:
            async with session.get(f"{base}/items", params={"page": page}) as response:
                await response.json()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))


async def bare_records(base: str, dsn: str) -> None:
    """The same calls and inserts by a bare program."""
    import aiohttp
    import asyncpg

    async def get(path: str) -> Any:
        async with session.get(f"{base}{path}") as response:
            return await response.json()

    async def record(patient: int, kind: str, number: int, room: asyncio.Semaphore) -> None:
        async with room:
            found = await get(f"/patients/{patient}/{kind}/{number}")
            await pool.execute(
                "insert into records values ($1, $2, $3, $4)", patient, kind, number, found["text"]
            )

    async def all_of(patient: int, rooms: asyncio.Semaphore) -> None:
        async with rooms:
            for kind in KINDS:
                page, more = 1, True
                while more:
                    found = await get(f"/patients/{patient}/{kind}?page={page}")
                    room = asyncio.Semaphore(RECORDS_IN_FLIGHT)
                    await asyncio.gather(*(record(patient, kind, number, room) for number in found["ids"]))
                    page, more = page + 1, found["more"]

    rooms = asyncio.Semaphore(PATIENTS_IN_FLIGHT)
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        asyncpg.create_pool(dsn, min_size=1, max_size=CONNECTIONS) as pool,
    ):
        patients = (await get("/patients"))["patients"]
        await asyncio.gather(*(all_of(patient, rooms) for patient in patients))


async def _measure() -> list[Figure]:
    from noetl.settings import load
    from noetl.wiring.embedded import embedded

    with tempfile.TemporaryDirectory() as folder:
        cluster = await asyncio.to_thread(Cluster, folder, workers=2)
        settings = {"store": f"{folder}/noetl.db", "allow_networks": "loopback"}
        try:
            client = Client(cluster.url)
            async with (
                embedded(load(settings, folder=Path(folder))) as made,
                running("bench.records_api") as base,
            ):
                figures = await _gets(base, made, client)
                figures += await _records(base, made, client, cluster.dsn)
            await client.front.close()
        finally:
            await asyncio.to_thread(cluster.close)
    return figures


DISTRIBUTED = ", policy: {exec: distributed}"


async def _gets(base: str, made: Any, client: Client) -> list[Figure]:
    embedded_once = await _begun(made, loop_of_gets(base))
    path = await client.path_of(loop_of_gets(base, DISTRIBUTED))
    works: list[Work] = [lambda: bare_gets(base), embedded_once, lambda: client.once(path)]
    (bare_s, bare_cpu_s), (own_s, own_cpu_s), (two_s, _) = await _in_turns(works, ROUNDS)
    bare = GETS / bare_s
    return [
        Figure("GETs, bare aiohttp client, 50 in flight", bare, "/s"),
        _share("GETs in a loop, embedded", GETS / own_s, bare, GETS_SHARE),
        _share("GETs in a loop, two workers", GETS / two_s, bare, GETS_SHARE),
        Figure(
            "GETs in a loop, embedded: processor time",
            own_cpu_s / GETS * 1e6,
            "us",
            floor=bare_cpu_s / GETS * 1e6,
        ),
    ]


async def _records(base: str, made: Any, client: Client, dsn: str) -> list[Figure]:
    import asyncpg

    connection = await asyncpg.connect(dsn)
    await connection.execute(TABLE)
    await made.front.put_credential("clinic", {"dsn": dsn})
    await client.front.put_credential("clinic", {"dsn": dsn})
    embedded_once = await _begun(made, all_records(base))
    path = await client.path_of(all_records(base, DISTRIBUTED))

    async def checked(work: Work) -> None:
        await connection.execute("truncate records")
        await work()
        kept = await connection.fetchval("select count(distinct (patient, kind, id)) from records")
        assert kept == RECORDS, kept

    works: list[Work] = [
        lambda: checked(lambda: bare_records(base, dsn)),
        lambda: checked(embedded_once),
        lambda: checked(lambda: _until_end(client, path)),
    ]
    (bare_s, bare_cpu_s), (own_s, own_cpu_s), (two_s, _) = await _in_turns(works, 1)
    await connection.close()
    bare = CALLS / bare_s
    return [
        Figure(f"{CALLS:,} calls and their rows, bare program", bare, "calls/s"),
        _share(f"{CALLS:,} calls and their rows, embedded", CALLS / own_s, bare, RECORDS_SHARE),
        _share(f"{CALLS:,} calls and their rows, two workers", CALLS / two_s, bare, RECORDS_SHARE),
        Figure(
            f"{CALLS:,} calls, embedded: processor time per call",
            own_cpu_s / CALLS * 1e6,
            "us",
            floor=bare_cpu_s / CALLS * 1e6,
        ),
    ]


async def _until_end(client: Client, path: str) -> None:
    from bench.distributed import _ended

    await _ended(client, await client.begin(path))


def _share(name: str, value: float, bare: float, share: float) -> Figure:
    return Figure(name, value, "/s", share * bare, "higher", floor=bare)


async def _in_turns(works: list[Work], rounds: int) -> list[tuple[float, float]]:
    """The best seconds and processor seconds of each work, which take turns."""
    best = [(float("inf"), float("inf"))] * len(works)
    for _ in range(rounds):
        for place, work in enumerate(works):
            began, cpu = time.perf_counter(), time.process_time()
            await work()
            took = time.perf_counter() - began, time.process_time() - cpu
            best[place] = min(best[place][0], took[0]), min(best[place][1], took[1])
    return best
