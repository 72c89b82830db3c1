"""Rows of PostgreSQL and MariaDB keep the types of their columns where a file or table is made; bytes stay bytes."""

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from tests.servers import MariadbServer

D = decimal.Decimal
# PyIceberg leaves it to the collector to close the files of its catalog.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
PLACES: dict[str, dict[str, Any]] = {
    "delta": {"kind": "delta", "path": "lake/t"},
    "iceberg": {"kind": "iceberg", "path": "lake", "table": "shop.t"},
    "parquet": {"kind": "file", "path": "t.parquet"},
    "duckdb": {"kind": "duckdb", "database": "t.duckdb", "table": "t"},
}
SALE = {
    "postgres": (
        "id int primary key, price numeric(30, 10), day date, at timestamp, fine timestamptz, on_sale boolean, "
        "raw bytea, weight real",
        "1, 12345678901234567890.0123456789, '2026-01-31', '2026-01-31 10:00:00.5', '2026-01-31 10:00+02', true, "
        "'\\x00ff', 1.5",
    ),
    "mysql": (
        "id int primary key, price decimal(30, 10), day date, at datetime(6), fine timestamp(3) null, "
        "on_sale boolean, raw varbinary(4), weight float",
        "1, 12345678901234567890.0123456789, '2026-01-31', '2026-01-31 10:00:00.5', '2026-01-31 08:00:00', true, "
        "x'00ff', 1.5",
    ),
}


@pytest.fixture(scope="module")
def mariadb(mariadb_server: MariadbServer) -> str:
    return mariadb_server.new_database()


@pytest.fixture
def places(use: Any, secrets: Any, mariadb: str, database: str, request: pytest.FixtureRequest) -> Any:
    """A table of each database that only this test has, with one row; and what runs SQL there."""
    secrets.update(mysql={"url": mariadb}, postgres={"dsn": database, "url": database})
    name = "".join(each if each.isalnum() else "_" for each in request.node.name)[-40:]
    found = {
        "mysql": {"kind": "sql", "driver": "mysql", "auth": "mysql", "table": name},
        "postgres": {"kind": "postgres", "auth": "postgres", "table": name},
    }

    async def make(which: str, columns: str = "", values: str = "") -> dict[str, Any]:
        columns, values = columns or SALE[which][0], values or SALE[which][1]
        await run(use, found[which], f"create table {name} ({columns})")
        await run(use, found[which], f"insert into {name} values ({values})")
        return found[which]

    return make


async def run(use: Any, place: dict[str, Any], text: str) -> list[dict[str, Any]]:
    driver = {"driver": place["driver"]} if "driver" in place else {}
    output = await use(place["kind"], {**driver, "query": text}, auth_name=place["auth"])
    assert output["status"] == "ok", output["error"]
    return output["data"]["rows"]


async def transfer(use: Any, source: Any, target: Any, key: str = "one", **more: Any) -> Any:
    values = {"source": source, "target": target, "mode": "replace", **more}
    return await use("transfer", values, idempotency_key=key, roots=("/",))


async def content(use: Any, place: dict[str, Any], folder: Path) -> pyarrow.Table:
    if place["kind"] == "delta":
        return pyarrow.table(DeltaTable(str(folder / "lake" / "t")).to_pyarrow_table())
    if place["kind"] == "iceberg":
        lake = folder / "lake"
        options = {"uri": f"sqlite:///{lake}/catalog.db", "warehouse": f"file://{lake}"}
        return load_catalog("default", type="sql", **options).load_table("shop.t").scan().to_arrow()
    if place["kind"] == "duckdb":
        copied = {"kind": "file", "path": "copied.parquet"}
        assert (await transfer(use, place, copied, key="copy"))["status"] == "ok"
        return pyarrow.parquet.read_table(folder / "copied.parquet")
    return pyarrow.parquet.read_table(folder / "t.parquet")


@pytest.mark.parametrize("which", sorted(SALE))
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
async def test_what_is_made_has_the_types_of_the_source(use, places, tmp_path, which, place):
    source = await places(which)
    output = await transfer(use, source, place)
    assert output["data"] == {"rows": 1}, output
    table = await content(use, place, tmp_path)
    row = table.to_pylist()[0]
    assert row["price"] == D("12345678901234567890.0123456789")
    assert (row["day"], row["weight"]) == (datetime.date(2026, 1, 31), 1.5)
    assert row["at"] == datetime.datetime.fromisoformat("2026-01-31T10:00:00.5")
    zone = datetime.UTC if which == "postgres" else None
    assert row["fine"] == datetime.datetime(2026, 1, 31, 8, tzinfo=zone)
    assert bool(row["on_sale"])
    if place is not PLACES["parquet"]:  # which cannot be appended to
        again = await transfer(use, source, place, key="two", mode="append")
        assert again["data"] == {"rows": 1}, again
        assert (await content(use, place, tmp_path)).num_rows == 2


@pytest.mark.parametrize("which", sorted(SALE))
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
async def test_types_are_those_of_the_source_also_without_rows(use, places, tmp_path, which, place):
    source = await places(which)
    await run(use, source, f"delete from {source['table']}")
    assert (await transfer(use, source, place))["data"] == {"rows": 0}
    table = await content(use, place, tmp_path)
    assert (table.num_rows, table.schema.field("price").type) == (0, pyarrow.decimal128(30, 10))
    assert table.schema.field("day").type == pyarrow.date32()


async def test_numbers_without_a_scale_are_text_however_long_each_is(use, places, tmp_path):
    source = await places("postgres", "id int, n numeric", "1, 1.5), (2, 12345678901234567890.0123456789")
    assert (await transfer(use, source, PLACES["delta"]))["data"] == {"rows": 2}
    table = await content(use, PLACES["delta"], tmp_path)
    assert sorted(table["n"].to_pylist()) == ["1.5", "12345678901234567890.0123456789"]


async def test_a_value_that_its_type_has_no_place_for_is_told(use, places):
    source = await places("postgres", "id int, day date", "1, 'infinity'")
    for name, kind in (("parquet", "format"), ("delta", "delta"), ("iceberg", "iceberg")):
        error = (await transfer(use, source, PLACES[name]))["error"]
        assert error["kind"] == kind, error
        assert "infinity" in error["message"]
        assert "day" in error["message"]


async def test_a_source_that_says_no_columns_and_has_no_rows_makes_no_parquet(use):
    await use("file", {"action": "write", "path": "none.json", "content": []})
    error = (await transfer(use, {"kind": "file", "path": "none.json"}, PLACES["parquet"]))["error"]
    assert (error["kind"], error["message"]) == (
        "format",
        "parquet needs at least one row, to know the columns",
    )


async def test_bytes_and_moments_arrive_in_columns_of_mysql(use, places):
    columns = "id int primary key, raw blob, bits bit(9), clock time(3), at datetime(6)"
    mine = await places(
        "mysql", columns, "1, x'00ff', b'101000001', '-838:59:59.000', '2026-01-31 10:00:00.5'"
    )
    copy = {**mine, "table": f"{mine['table']}_2"}
    await run(use, mine, f"create table {copy['table']} like {mine['table']}")
    assert (await transfer(use, mine, copy))["data"] == {"rows": 1}
    query = "select hex(raw) r, bits + 0 b, clock c, at a from {}"
    expected = [{"r": "00FF", "b": 321, "c": "-838:59:59.000", "a": "2026-01-31T10:00:00.500000"}]
    assert await run(use, mine, query.format(copy["table"])) == expected
    theirs = await places("postgres")
    moment = {**theirs, "table": None, "query": f"select id, raw, fine as at from {theirs['table']}"}
    assert (await transfer(use, moment, copy))["data"] == {"rows": 1}
    found = await run(use, mine, f"select hex(raw) r, at a from {copy['table']}")
    assert found == [{"r": "00FF", "a": "2026-01-31T08:00:00"}]
    wrong = await transfer(use, {**moment, "query": "select 1 as id, 'nö' as raw"}, copy)
    assert wrong["error"]["kind"] == "value"
    assert "'raw' holds bytes" in wrong["error"]["message"]


async def test_bytes_arrive_in_columns_of_files(use):
    lite, duck = {"kind": "sqlite", "database": "b.db"}, {"kind": "duckdb", "database": "b.duckdb"}
    make = "create table given (id integer, raw blob); create table taken (id integer, raw blob)"
    await use("sqlite", {"database": "b.db", "command": f"{make}; insert into given values (1, x'00ff')"})
    await use("duckdb", {"database": "b.duckdb", "command": make})
    for kind, target in (("sqlite", lite), ("duckdb", duck)):
        moved = await transfer(use, {**lite, "table": "given"}, {**target, "table": "taken"})
        assert moved["data"] == {"rows": 1}, moved
        found = await use(
            kind, {"database": target["database"], "query": "select hex(raw) as raw from taken"}
        )
        assert found["data"]["rows"] == [{"raw": "00FF"}]


async def test_an_integer_that_sqlite_cannot_hold_is_told(use):
    await use("file", {"action": "write", "path": "big.json", "content": [{"id": 2**64}]})
    target = {"kind": "sqlite", "database": "x.db", "table": "t"}
    error = (await transfer(use, {"kind": "file", "path": "big.json"}, target))["error"]
    assert (error["kind"], error["message"]) == (
        "value",
        "a row has too large an integer for SQLite (64 bits)",
    )


@pytest.mark.parametrize("name", ["delta", "iceberg"])
async def test_decimals_and_json_over_adbc_go_into_a_lake_as_text(use, places, tmp_path, name):
    theirs = await places("postgres", "id int, price numeric(10, 2), more jsonb", "1, 1.50, '{\"a\": 1}'")
    source = {"kind": "sql", "driver": "adbc_driver_postgresql", "auth": "postgres", "table": theirs["table"]}
    output = await transfer(use, source, PLACES[name])
    assert output["data"] == {"rows": 1}, output
    table = await content(use, PLACES[name], tmp_path)
    assert table.to_pylist() == [{"id": 1, "price": "1.50", "more": '{"a": 1}'}]
