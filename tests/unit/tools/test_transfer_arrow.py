"""Transfers that keep Arrow batches: what arrives is what rows would have brought, or has its own type."""

import asyncio
import datetime
import decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from arro3.core import DataType, Table
from arro3.io import read_parquet

from noetl.ports.call import Call, Resources
from noetl.tools.parts.transfer_arrow_sources import BYTES, DuckdbTable, open_batches
from noetl.tools.parts.transfer_places import Source

FILE: dict[str, Any] = {"kind": "file", "path": "x.parquet"}
DUCK: dict[str, Any] = {"kind": "duckdb", "database": "y.duckdb", "table": "t"}
LITE: dict[str, Any] = {"kind": "sql", "driver": "adbc_driver_sqlite", "auth": "lite", "table": "t"}
PG: dict[str, Any] = {"kind": "sql", "driver": "adbc_driver_postgresql", "auth": "pg", "table": "t"}
EACH = {  # an expression of DuckDB: what its row form is
    "1::tinyint": 1,
    "9223372036854775807": 9223372036854775807,
    "1.5::float": 1.5,
    "0.1::double": 0.1,
    "12.50::decimal(8, 2)": 12.5,
    "12345678901234567890.12::decimal(30, 2)": "12345678901234567890.12",
    "7::decimal(8, 0)": 7,
    "true": True,
    "'ž 🐎'": "ž 🐎",
    "date '2020-01-02'": "2020-01-02",
    "'c'::enum('c', 'd')": "c",
    "'6f2c1c1e-0a3c-4b6e-9d38-1c8f3cbd2d11'::uuid": "6f2c1c1e-0a3c-4b6e-9d38-1c8f3cbd2d11",
    """'{"k": 1}'::json""": '{"k": 1}',
    "[1, null, 3]": [1, None, 3],
    "[{'x': [1.25::decimal(4, 2)]}]": [{"x": [1.25]}],
    "{'x': 'y', 'z': null}": {"x": "y", "z": None},
    "'101'::bit": "101",
}
MOMENTS = {
    "timestamp '2020-01-02 03:04:05.678901'": datetime.datetime.fromisoformat("2020-01-02T03:04:05.678901"),
    "timestamptz '2020-01-02 03:04:05+02'": datetime.datetime(2020, 1, 2, 1, 4, 5, tzinfo=datetime.UTC),
}


@pytest.fixture(autouse=True)
def logins(secrets: Any, tmp_path: Path) -> None:
    secrets["lite"] = {"url": str(tmp_path / "arrow.db")}


async def transfer(use: Any, source: Any, target: Any, **more: Any) -> Any:
    output = await use("transfer", {"source": source, "target": target, **more}, roots=("/",))
    assert output["status"] == "ok", output
    return output


async def rows(use: Any, source: dict[str, Any]) -> list[dict[str, Any]]:
    """What a place holds, as rows."""
    await transfer(use, source, {"kind": "file", "path": "seen.jsonl"}, mode="replace")
    found: list[dict[str, Any]] = (await use("file", {"action": "read", "path": "seen.jsonl"}))["data"]
    return found


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def parts(folder: Path) -> list[str]:
    return [name for name in names(folder) if name.endswith(".part")]


def query(text: str) -> dict[str, Any]:
    return {"kind": "duckdb", "query": text}


def everything() -> dict[str, Any]:
    cells = ", ".join(f"{text} as c{number}" for number, text in enumerate([*EACH, *MOMENTS]))
    return query(f"select {cells} union all by name select null as c0")


async def test_a_file_and_a_table_hold_the_values_that_rows_bring(use):
    by_rows = await rows(use, everything())
    assert [*by_rows[0].values()][: len(EACH)] == [*EACH.values()]
    await transfer(use, everything(), FILE)
    await transfer(use, FILE, DUCK)
    await transfer(use, DUCK, {**FILE, "path": "back.parquet"})
    for place in (FILE, DUCK, {**FILE, "path": "back.parquet"}):
        found = await rows(use, place)
        for number, text in enumerate(EACH):
            assert found[0][f"c{number}"] == by_rows[0][f"c{number}"], (text, place)
        for number, moment in enumerate(MOMENTS.values(), len(EACH)):
            assert datetime.datetime.fromisoformat(found[0][f"c{number}"]) == moment, place
        assert set(found[1].values()) == {None}


async def test_types_stay_what_they_are(use, tmp_path: Path):
    await transfer(use, everything(), FILE)
    await transfer(use, FILE, DUCK)
    schema = read_parquet(tmp_path / "x.parquet").schema
    kinds = dict(zip(schema.names, schema.types, strict=True))
    assert kinds["c4"] == DataType.decimal128(8, 2)
    assert kinds["c0"] == DataType.int8()
    assert DataType.is_struct(kinds["c15"])
    with duckdb.connect(str(tmp_path / "y.duckdb")) as connection:
        described = {row[0]: row[1] for row in connection.execute("describe t").fetchall()}
        first = connection.execute("select c4, c5 from t").fetchall()[0]
    assert (described["c4"], described["c15"], described["c18"]) == (
        "DECIMAL(8,2)", "STRUCT(x VARCHAR, z INTEGER)", "TIMESTAMP WITH TIME ZONE",
    )  # fmt: skip
    assert first == (decimal.Decimal("12.50"), decimal.Decimal("12345678901234567890.12"))


async def test_an_adbc_driver_gets_what_it_has_no_type_for_as_rows_would_bring_it(use, tmp_path: Path):
    await transfer(use, everything(), FILE)
    for source in (FILE, everything()):
        await transfer(use, source, LITE, mode="replace")
        found = (await rows(use, LITE))[0]
        for number, (text, value) in enumerate(EACH.items()):
            wanted = value
            if isinstance(value, list | dict):
                wanted = {"c13": "[1,null,3]", "c14": '[{"x":[1.25]}]', "c15": '{"x":"y","z":null}'}[
                    f"c{number}"
                ]
            assert found[f"c{number}"] == wanted, text
    await transfer(use, LITE, DUCK)
    assert (await rows(use, DUCK))[0] == found


async def test_postgresql_takes_lists_and_decimals_and_gives_them_back(use, secrets, database):
    secrets["pg"] = {"url": database}
    await transfer(use, everything(), PG)
    found = (await rows(use, PG))[0]
    assert (found["c4"], found["c13"], found["c15"]) == ("12.5", [1, None, 3], '{"x":"y","z":null}')
    moments = [*MOMENTS.values()]
    await transfer(use, PG, DUCK)
    back = (await rows(use, DUCK))[0]
    assert [datetime.datetime.fromisoformat(back[f"c{n}"]) for n in (17, 18)] == moments


MANY = "select i as id, 'n' || i as name, i / 2 as half from range(200000) t(i)"


@pytest.mark.parametrize("target", [FILE, DUCK, LITE], ids=["parquet", "duckdb", "adbc"])
async def test_many_batches_arrive_in_their_order_and_are_counted(use, target):
    assert (await transfer(use, query(MANY), target, chunk_size=500))["data"] == {"rows": 200_000}
    place = {**DUCK, "database": "z.duckdb"}
    assert (await transfer(use, target, place, chunk_size=3000))["data"] == {"rows": 200_000}
    told = "select count(*) as n, min(id - rowid) as low, max(id - rowid) as high, sum(half) as s from t"
    found = await use("duckdb", {"database": "z.duckdb", "query": told})
    assert found["data"]["rows"] == [{"n": 200_000, "low": 0, "high": 0, "s": 9999950000.0}]


async def test_append_and_replace_and_a_mapping(use, tmp_path: Path):
    few = query("select 1 as a, 'x' as b, 2 as c")
    for mode, total in (("append", 1), ("append", 2), ("replace", 1)):
        await transfer(use, few, DUCK, mode=mode, mapping={"left": "b", "right": "a"})
        assert await rows(use, DUCK) == [{"left": "x", "right": 1}] * total
    output = await transfer(use, DUCK, FILE, mapping={"a": "right"})
    assert output["ref"]["type"] == "blob"
    assert await rows(use, FILE) == [{"a": 1}]


async def test_a_column_takes_the_type_of_a_table_that_is_there(use):
    make = "create table t (id integer, day date, note json)"
    await use("duckdb", {"database": "y.duckdb", "command": make})
    await transfer(use, query("select '5' as id, timestamp '2020-01-02 03:00:00' as day, [1] as note"), DUCK)
    assert await rows(use, DUCK) == [{"id": 5, "day": "2020-01-02", "note": "[1]"}]


async def test_a_source_without_rows_still_has_columns(use):
    nothing = query("select 1::decimal(4, 1) as a where false")
    for target in (FILE, DUCK, LITE):
        assert (await transfer(use, nothing, target))["data"] == {"rows": 0}
        assert await rows(use, target) == []
        assert (await transfer(use, target, {**DUCK, "database": "z.duckdb"}))["data"] == {"rows": 0}


async def test_rows_with_the_same_key_are_upserted_one_after_the_other(use):
    upsert = {"mode": "upsert", "keys": ["id"], "chunk_size": 1}
    await transfer(use, query("select 1 as id, n as v from range(5) t(n)"), DUCK, **upsert)
    assert await rows(use, DUCK) == [{"id": 1, "v": 4}]


async def test_columns_of_one_name_are_told_apart_as_in_rows(use):
    twice = query("select 1 as a, 2 as a, 3 as b -- and no more")
    await transfer(use, twice, FILE)
    assert await rows(use, FILE) == await rows(use, twice) == [{"a": 1, "a_2": 2, "b": 3}]


async def test_objects_are_sources_and_targets(use):
    place = {"kind": "object", "store": "./bucket", "key": "in/x.parquet"}
    output = await transfer(use, query("select 1.50::decimal(4, 2) as a"), place, mode="replace")
    assert output["ref"]["type"] == "object_store"
    await transfer(use, place, DUCK)
    assert await rows(use, DUCK) == [{"a": 1.5}]


@pytest.mark.parametrize(
    "source, target, more, kind, word",
    [
        (query("select 1 as a"), FILE, {"mapping": {"b": "nope"}}, "input", "'nope'; it has a"),
        (query("select * from gone"), FILE, {}, "duckdb", "gone"),
        ({**DUCK, "database": "gone.duckdb"}, FILE, {}, "not_found", "gone.duckdb"),
        ({**FILE, "path": "gone.parquet"}, DUCK, {}, "not_found", "gone.parquet"),
        ({**FILE, "path": "bad.parquet"}, DUCK, {}, "format", "not parquet"),
        (query("select 1 as a"), {**FILE, "path": "bad.parquet"}, {}, "input", "cannot be appended"),
        (query("select 1 as a"), LITE, {"mode": "upsert", "keys": ["a"]}, "input", "cannot upsert"),
        (query("select 1 as a; select 2 as b"), LITE, {}, "input", "takes rows as Arrow batches"),
    ],
)
async def test_what_cannot_be_moved_says_why(use, tmp_path: Path, source, target, more, kind, word):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    output = await use("transfer", {"source": source, "target": target, **more}, roots=("/",))
    assert output["error"]["kind"] == kind, output
    assert word in output["error"]["message"]
    assert parts(tmp_path) == []


async def test_batches_that_stop_on_the_way_leave_the_target_as_it_was(use, secrets, database, tmp_path):
    secrets["pg"] = {"url": database}
    broken = {
        **PG,
        "table": None,
        "query": "select 10 / (40000 - n) as a from generate_series(1, 50000) as n",
    }
    for target in (DUCK, FILE):
        await transfer(use, query("select 9 as a"), target)
        values = {"source": broken, "target": target, "mode": "replace"}
        output = await use("transfer", values, roots=("/",))
        assert (output["error"]["kind"], output["error"]["retryable"]) == ("sql", False), output
        assert "division by zero" in output["error"]["message"]
        assert await rows(use, target) == [{"a": 9}]
    assert parts(tmp_path) == []


async def test_a_cancelled_transfer_ends_its_query(use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    loop, opened = asyncio.get_running_loop(), asyncio.Event()
    connect = DuckdbTable._connect

    def told(self: DuckdbTable) -> Any:
        loop.call_soon_threadsafe(opened.set)
        return connect(self)

    monkeypatch.setattr(DuckdbTable, "_connect", told)
    endless = query("select max(a.i * b.i) as m from range(10000000) a(i), range(10000000) b(i)")
    moving = asyncio.create_task(transfer(use, endless, FILE))
    async with asyncio.timeout(60):
        await opened.wait()
        moving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await moving
    assert names(tmp_path) == []


async def test_a_batch_is_no_larger_than_its_bytes_allow(use, tmp_path: Path):
    call = Call(None, Resources(), work_dir=str(tmp_path))  # type: ignore[arg-type]
    wide = Source(kind="duckdb", query="select i, repeat('x', 2000) as s from range(20000) t(i)")
    narrow = Source(kind="duckdb", query="select i from range(200000) t(i)")
    for source, largest in ((wide, 3000), (narrow, 65536)):
        async with open_batches(source, 100, call) as giver:
            sizes = [(Table.from_batches([each]).nbytes, each.num_rows) for each in giver.reader]
        assert max(size for size, _ in sizes) <= 2 * BYTES
        assert 1000 < max(count for _, count in sizes) <= largest
