"""Lists over PostgreSQL with many ended executions: what is rare among them is found by an index."""

from noetl.adapters.postgres.statements import SQL
from noetl.adapters.postgres.store import PostgresStore
from noetl.ports.store import Find
from tests.conformance.stores import Ground, emptied

# Most completed, some did not, and a playbook in four thousand is a rare one.
ENDED = """
    insert into executions (
      seq, requested_at, ended_at, owned_until, status, execution_id, path, hash, requested_by, parent
    )
    select 1, n, n, 0, case when n % 5000 = 7 then 'failed' else 'completed' end, lpad(to_hex(n), 32, '0'),
      case when n % 4000 = 9 then 'rare/one' else 'etl/often' end, 'h', case when n % 3000 = 1 then 'anna' else 'timer' end,
      case when n % 2000 = 3 then lpad(to_hex(n - 1), 32, '0') end
    from generate_series(1, 20000) n
"""
RARE = {
    "status": (Find(status="failed"), 4),
    "status and path": (Find(status="failed", path="etl/often"), 4),
    "no such status": (Find(status="stuck"), 0),
    "path": (Find(path="rare/one"), 5),
    "no such path": (Find(path="nowhere"), 0),
    "beginning of a path": (Find(path="rare/*"), 5),
    "several paths": (Find(paths=["rare/one", "nowhere"]), 5),
    "none of the paths": (Find(paths=[]), 0),
    "who": (Find(by="anna"), 7),
    "beginning of an id": (Find(prefix="0" * 31 + "7"), 1),
    "parent": (Find(parent="0" * 31 + "2"), 1),
    "since": (Find(since=19_998), 3),
    "until": (Find(until=3), 3),
    "since, of a status": (Find(since=19_000, status="failed"), 0),
}


async def test_what_is_rare_is_listed_without_reading_every_execution(ground: Ground) -> None:
    direct = await emptied(await PostgresStore.open(ground.database(), patience_s=30.0))
    await direct.database.fetch(ENDED)
    await direct.database.fetch("analyze executions")
    told = {}
    for name, (find, count) in RARE.items():
        statement, values = direct.listing(find)
        assert len((await direct.executions(find)).items) == count, name
        plan = await direct.database.fetch(f"explain {statement}", *values)
        told[name] = "\n".join(line[0] for line in plan)
    plan = await direct.database.fetch(f"explain {SQL['ended']}", 3, "", 100)
    assert "executions_by_end" in "".join(line[0] for line in plan)
    every = ("Seq Scan on executions", "using executions_pkey")
    assert [name for name, plan in told.items() if any(how in plan for how in every)] == [], told
    [mode] = await direct.database.fetch("show plan_cache_mode")
    assert mode[0] == "force_custom_plan"  # and so it is planned each time
    await direct.close()
