"""Transfers from and into databases of kind sql: MariaDB, and PostgreSQL and SQLite over Arrow."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.servers import MariadbServer

PG, LITE = "adbc_driver_postgresql", "adbc_driver_sqlite"
ROWS = [
    {"id": number, "name": f"n{number}", "price": number / 2, "on": number % 2 == 0} for number in range(250)
]


@pytest.fixture(scope="module")
def mariadb(mariadb_server: MariadbServer) -> str:
    return mariadb_server.new_database()


@pytest.fixture
def my(use: Any, secrets: Any, mariadb: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A table of MariaDB that only this test has."""
    secrets["my"] = {"url": mariadb}
    name = "".join(each if each.isalnum() else "_" for each in request.node.name)[-50:]
    return {"kind": "sql", "driver": "mysql", "auth": "my", "table": f"{name}_`x"}


async def sql(use: Any, place: dict[str, Any], query: str, params: Any = None) -> Any:
    given = {"driver": place["driver"], "query": query, "params": params}
    output = await use("sql", given, auth_name=place["auth"], roots=("/",))
    assert output["status"] == "ok", output["error"]
    return output["data"]["rows"]


async def content(use: Any, place: dict[str, Any], order: str = "id") -> Any:
    name = place["table"]
    mark = "`" if place["driver"] == "mysql" else '"'
    return await sql(use, place, f"select * from {mark}{name.replace(mark, mark * 2)}{mark} order by {order}")


async def transfer(use: Any, source: Any, target: Any, **more: Any) -> Any:
    return await use("transfer", {"source": source, "target": target, **more}, roots=("/",))


async def write(use: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    await use("file", {"action": "write", "path": "rows.jsonl", "content": rows})
    return {"kind": "file", "path": "rows.jsonl"}


# ---- through SQLAlchemy ---------------------------------------------------------------------------------


async def test_rows_go_into_a_new_table_and_come_back(use, my):
    output = await transfer(use, await write(use, ROWS), my, chunk_size=99)
    assert (output["data"], output.get("ref")) == ({"rows": 250}, None)
    assert await content(use, my) == [{**row, "on": int(bool(row["on"]))} for row in ROWS]
    lite = {"kind": "sqlite", "database": "x.db", "table": "t"}
    back = await transfer(use, my, lite, mapping={"number": "id", "label": "name"}, chunk_size=99)
    assert back["data"] == {"rows": 250}
    found = await use("sqlite", {"database": "x.db", "query": "select * from t where number = 7"})
    assert found["data"]["rows"] == [{"number": 7, "label": "n7"}]


async def test_values_of_every_kind_survive(use, my):
    rows: list[dict[str, Any]] = [
        {
            "id": 1,
            "text": "ž'\"`\\%s :x 🐎",
            "none": None,
            "nested": {"a": [1]},
            "mixed": 1,
            "long": "x" * 70_000,
        },
        {"id": 2, "text": None, "none": None, "nested": [1, None], "mixed": "two", "long": ""},
    ]
    assert (await transfer(use, await write(use, rows), my))["data"] == {"rows": 2}
    first, second = await content(use, my)
    assert (first["text"], first["none"], first["nested"]) == (rows[0]["text"], None, '{"a":[1]}')
    assert (first["mixed"], second["mixed"], len(first["long"])) == ("1", "two", 70_000)


@pytest.mark.parametrize("mode, total", [("append", 6), ("replace", 3)])
async def test_append_adds_and_replace_empties_first(use, my, mode, total):
    await transfer(use, await write(use, ROWS[:3]), my)
    assert (await transfer(use, await write(use, ROWS[3:6]), my, mode=mode))["data"] == {"rows": 3}
    assert len(await content(use, my)) == total


async def test_upsert_replaces_rows_with_the_same_keys(use, my):
    for rows in ([{"id": "a", "v": 1}, {"id": "b", "v": 2}], [{"id": "b", "v": 3}, {"id": "c", "v": 4}]):
        output = await transfer(use, await write(use, rows), my, mode="upsert", keys=["id"])
        assert output["status"] == "ok", output
    assert [row["v"] for row in await content(use, my)] == [1, 3, 4]
    only_keys = await transfer(
        use, await write(use, [{"id": "c"}, {"id": "d"}]), my, mode="upsert", keys=["id"]
    )
    assert only_keys["status"] == "ok", only_keys
    assert [row["v"] for row in await content(use, my)] == [1, 3, 4, None]


async def test_an_upsert_without_a_unique_key_is_refused(use, my):
    await transfer(use, await write(use, ROWS[:3]), my)
    refused = await transfer(use, await write(use, ROWS[:3]), my, mode="upsert", keys=["id"])
    assert refused["error"]["kind"] == "input"
    assert "primary or unique key" in refused["error"]["message"]
    unknown = await transfer(use, await write(use, ROWS[:3]), my, mode="upsert", keys=["nope"])
    assert "'nope' is not among the columns" in unknown["error"]["message"]
    assert len(await content(use, my)) == 3


async def test_a_transfer_that_fails_leaves_the_table_as_it_was(use, my, tmp_path: Path):
    await transfer(use, await write(use, ROWS[:3]), my)
    (tmp_path / "broken.jsonl").write_text('{"id": 7, "name": "x"}\n{"id": 8, "name": "y"}\n{oops\n')
    source = {"kind": "file", "path": "broken.jsonl"}
    output = await transfer(use, source, my, chunk_size=1, mode="replace")
    assert output["error"]["kind"] == "format"
    assert [row["id"] for row in await content(use, my)] == [0, 1, 2]


async def test_an_empty_source_empties_a_table_and_makes_none(use, my):
    assert (await transfer(use, await write(use, []), my, mode="replace"))["data"] == {"rows": 0}
    await transfer(use, await write(use, ROWS[:3]), my)
    nothing = await write(use, [])
    assert (await transfer(use, nothing, my))["data"] == {"rows": 0}
    assert len(await content(use, my)) == 3
    assert (await transfer(use, nothing, my, mode="replace"))["data"] == {"rows": 0}
    assert await content(use, my) == []


@pytest.mark.parametrize(
    "source, target, word",
    [
        ({"driver": None}, {}, "needs 'driver'"),
        ({"table": None}, {}, "exactly one of query, table"),
        ({"query": "select :a", "table": None, "params": {"b": 1}}, {}, "names :a"),
        ({}, {"table": None}, "needs 'table'"),
        ({}, {"driver": PG, "table": "t"}, "takes rows as Arrow batches"),
    ],
)
async def test_what_is_missing_is_named(use, my, source, target, word):
    output = await transfer(use, my | {"table": "t"} | source, my | target)
    assert output["error"]["kind"] == "input", output
    assert word in output["error"]["message"]


# ---- over Arrow -----------------------------------------------------------------------------------------


@pytest.fixture
def places(use: Any, secrets: Any, database: str, tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A table of PostgreSQL and one of SQLite."""
    secrets["pg"], secrets["lite"] = {"url": database}, {"url": str(tmp_path / "arrow.db")}
    pg = {"kind": "sql", "driver": PG, "auth": "pg", "table": "t"}
    return pg, {"kind": "sql", "driver": LITE, "auth": "lite", "table": "t"}


MANY = "select n as id, 'n' || n as name, n / 2.0::float8 as price from generate_series(1, 5000) as n"


async def test_batches_go_from_one_driver_to_the_other_and_back(use, places):
    pg, lite = places
    source = {key: value for key, value in pg.items() if key != "table"} | {"query": MANY}
    assert (await transfer(use, source, lite))["data"] == {"rows": 5000}
    assert (await content(use, lite))[6] == {"id": 7, "name": "n7", "price": 3.5}
    back = await transfer(use, lite, pg, mapping={"number": "id", "label": "name"})
    assert back["data"] == {"rows": 5000}, back
    assert (await content(use, pg, "number"))[6] == {"number": 7, "label": "n7"}


async def test_a_target_of_batches_is_appended_to_and_replaced(use, places):
    pg, lite = places
    await sql(use, lite, "create table t (id integer, name text)")
    await sql(use, lite, "insert into t values (1, 'a'), (2, null)")
    few = {**lite, "table": None, "query": "select * from t where id = :id", "params": {"id": 1}}
    for mode, total in (("replace", 2), ("append", 4), ("replace", 2)):
        assert (await transfer(use, lite, pg, mode=mode))["data"] == {"rows": 2}
        assert len(await content(use, pg)) == total
    assert (await transfer(use, few, pg, mode="replace"))["data"] == {"rows": 1}
    assert await content(use, pg) == [{"id": 1, "name": "a"}]
    refused = await transfer(use, lite, pg, mode="upsert", keys=["id"])
    assert refused["error"]["kind"] == "input"


async def test_batches_that_fail_on_the_way_leave_the_target_as_it_was(use, places):
    pg, lite = places
    await sql(use, lite, "create table t (id integer)")
    await sql(use, lite, "insert into t values (9)")
    broken = {**pg, "table": None, "query": "select 10 / (4000 - n) as id from generate_series(1, 5000) as n"}
    output = await transfer(use, broken, lite, mode="replace")
    assert output["status"] == "error", output
    assert output["error"]["kind"] in ("sql", "connect")
    assert await content(use, lite) == [{"id": 9}]


async def test_a_cancelled_transfer_of_batches_ends(use, places):
    pg, lite = places
    slow = {**pg, "table": None, "query": "select pg_sleep(600)::text as id"}
    moving = asyncio.create_task(transfer(use, slow, lite))
    async with asyncio.timeout(60):
        watch = "select count(*) as n from pg_stat_activity where query like '%sleep(600)%' and pid <> pg_backend_pid()"
        while True:
            if (await sql(use, pg, watch))[0]["n"]:
                break
            await asyncio.sleep(0.05)
        moving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await moving
