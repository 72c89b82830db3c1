"""SQL binds the key of its call: the same one when a call is taken over, another one for every other call."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from tests.engine.harness import begin, engine, finish, playbook

# The first part is done and kept; then the call goes on until the gate is open.
ONCE = "insert into done (key, times) values (:idempotency_key, 1) on conflict (key) do update set times = done.times + 1"
SLOW = {
    "sqlite": "with recursive c(n) as (select 1 union all select n + 1 from c where n < case when exists"
    " (select 1 from gate) then 2 else 100000000000 end) select max(n) as n from c",
    "postgres": "select pg_sleep(case when exists (select 1 from gate) then 0 else 600 end)::text",
}
TABLES = "create table done (key text primary key, times int); create table gate (n int);"


class SqliteSide:
    """The database file, as somebody else sees it."""

    def __init__(self, folder: Path) -> None:
        self.connection = apsw.Connection(str(folder / "x.db"))
        self.connection.set_busy_timeout(30_000)
        self.connection.pragma("journal_mode", "wal")
        self.input = f"database: {folder}/x.db"
        self.keychain: dict[str, str] = {}
        self.auth = ""

    async def do(self, text: str) -> list[Any]:
        return self.connection.execute(text).fetchall()

    async def close(self) -> None:
        self.connection.close()


class PostgresSide:
    """The PostgreSQL database, as somebody else sees it."""

    input = "store: {table: done}"

    def __init__(self, database: str) -> None:
        self.database = database
        self.keychain = {"keychain": f"keychain: [{{name: pg, kind: static, dsn: '{database}'}}]"}
        self.auth = "auth: pg, "

    async def do(self, text: str) -> list[Any]:
        connection = await asyncpg.connect(self.database)
        try:
            if not text.startswith("select"):
                await connection.execute(text)
                return []
            return [tuple(record.values()) for record in await connection.fetch(text)]
        finally:
            await connection.close()

    async def close(self) -> None:
        return None


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_call_that_is_taken_over_binds_the_same_key(tmp_path, request, kind):
    """The process ends after the first statement took effect; the next one repeats the call under its key."""
    side: Any = (
        SqliteSide(tmp_path) if kind == "sqlite" else PostgresSide(request.getfixturevalue("database"))
    )
    await side.do(TABLES)
    text = playbook(
        f"""
        - step: pay
          tool:
            - {{kind: {kind}, {side.auth}input: {{{side.input}, command: "{ONCE}; {SLOW[kind]}"}}, spec: {{transaction: false}}}}
            - {{kind: {kind}, {side.auth}input: {{{side.input}, command: "{ONCE}"}}}}
        """,
        **side.keychain,
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        async with asyncio.timeout(60):
            while not await side.do("select key from done"):  # noqa: ASYNC110  # it is the database's state
                await asyncio.sleep(0.02)
        keys = [row[0] for row in await side.do("select key from done")]
    await side.do("insert into gate values (1)")
    async with engine(tmp_path, made) as another:
        await another.engine.resume(execution_id)
        ran = await finish(another, execution_id, within=60)
    assert ran.status == "completed", ran.result
    found = dict(await side.do("select key, times from done"))
    await side.close()
    assert found.pop(keys[0]) == 2  # twice, under one key
    assert list(found.values()) == [1]  # the other task has a key of its own


@pytest.mark.parametrize("kind, mark", [("sqlite", ":"), ("duckdb", "$")])
async def test_a_repeated_call_takes_effect_once(use, kind, mark):
    place = {"database": f"x.{kind}"}
    await use(kind, {**place, "command": "create table payment (key text primary key, amount int)"})
    insert = f"insert into payment values ({mark}idempotency_key, {mark}amount) on conflict do nothing"
    for key in ("a", "a", "b"):
        values = {**place, "command": insert, "params": {"amount": 5}}
        output = await use(kind, values, idempotency_key=key)
        assert output["status"] == "ok", output
    own = {"amount": 6, "idempotency_key": "mine"}
    await use(kind, {**place, "command": insert, "params": own}, idempotency_key="c")
    alone = await use(kind, {"query": f"select {mark}idempotency_key as k"}, idempotency_key="d")
    assert alone["data"]["rows"] == [{"k": "d"}]
    found = await use(kind, {**place, "query": "select key, amount from payment order by key"})
    assert [tuple(row.values()) for row in found["data"]["rows"]] == [("a", 5), ("b", 5), ("mine", 6)]


@pytest.mark.parametrize("kind, mark", [("sqlite", ":"), ("duckdb", "$"), ("postgres", ":")])
async def test_the_key_beside_a_list_of_values_is_told_to_need_a_mapping(use, secrets, kind, mark, request):
    if kind == "postgres":
        secrets["pg"] = {"dsn": request.getfixturevalue("database")}
    auth = {"auth_name": "pg"} if kind == "postgres" else {}
    output = await use(kind, {"query": f"select {mark}idempotency_key", "params": [1]}, **auth)
    assert (output["error"]["kind"], "mapping" in output["error"]["message"]) == ("input", True)
