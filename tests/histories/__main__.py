"""Records the executions of this release: `python -m tests.histories`, into a folder named by its version.

A scenario is recorded once by a release. Its file is never written again: it is what is to be read. So what a
release is given before it is made gets its files beside those that are there.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

import msgspec

from noetl import __version__
from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.sqlite.store import SqliteStore
from noetl.control.history import rows_of
from noetl.ports.store import Find, Store
from tests.histories.history import FOLDER, History, RecordedLog, packed, recorded, write
from tests.histories.player import play
from tests.histories.scenario import Scenario
from tests.histories.scenarios import SCENARIOS
from tests.servers import PostgresServer


async def record(scenario: Scenario, name: str, store: Store, folder: Path) -> History:
    """Play a scenario and read back what it left."""
    results = MemoryResults(now_ms)
    execution_id = await play(scenario, folder, store, results)
    summaries = [entry for entry in (await store.executions(Find(limit=100))).items if entry.ended_at]
    logs = {
        summary.execution_id: RecordedLog(
            summary, [recorded(row) async for row in rows_of(store, summary.execution_id)]
        )
        for summary in (await asyncio.gather(*(store.summary(entry.execution_id) for entry in summaries)))
        if await _belongs(store, summary.execution_id, execution_id)
    }
    last = await store.newest(execution_id)
    ended = msgspec.json.decode(last.result or b"{}")
    if ended["status"] != scenario.ends:
        sys.exit(f"{scenario.name} ended {ended['status']}, not {scenario.ends}: {ended['error']}")
    playbooks = [
        await store.playbook(digest=digest)
        for digest in dict.fromkeys(log.summary.hash for log in logs.values() if log.summary.hash)
    ]
    payloads = {key: packed(body) for key, (body, _) in sorted(results._payloads.items())}
    return History(
        scenario.name,
        __version__,
        name,
        execution_id,
        ended["status"],
        ended["output"],
        playbooks,
        logs,
        payloads,
    )


async def _belongs(store: Store, execution_id: str, ancestor: str) -> bool:
    """Whether an execution is another, was called by it, or went on from it."""
    while execution_id != ancestor:
        summary = await store.summary(execution_id)
        before = summary.continued_from or summary.parent
        if before is None:
            return False
        execution_id = before
    return True


async def main() -> None:
    """Record every scenario that this release has not, by turns from SQLite and PostgreSQL."""
    target = FOLDER / __version__
    wanted = [scenario for scenario in SCENARIOS if not (target / f"{scenario.name}.json").exists()]
    if not wanted:
        sys.exit(f"{target} has every scenario: each is recorded once; for a new release raise its version")
    with tempfile.TemporaryDirectory() as name, PostgresServer.start() as server:
        folder = Path(name)
        stores: dict[str, Store] = {
            "sqlite": SqliteStore(str(folder / "noetl.db")),
            "postgresql": await PostgresStore.open(server.new_database()),
        }
        for number, scenario in enumerate(wanted):
            kind = list(stores)[number % 2]
            file = write(await record(scenario, kind, stores[kind], folder), target)
            sys.stdout.write(f"{file.relative_to(FOLDER)}: {kind}, {file.stat().st_size:,} bytes\n")
        for store in stores.values():
            await store.close()


if __name__ == "__main__":
    asyncio.run(main())
