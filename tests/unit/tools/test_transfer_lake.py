"""Transfers of Arrow batches into tables of a lake: types are kept, a repeated call adds nothing."""

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

D = decimal.Decimal
# PyIceberg leaves it to the collector to close the files of its catalog.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
PLACES: dict[str, dict[str, Any]] = {
    "iceberg": {"kind": "iceberg", "path": "lake", "table": "shop.t"},
    "delta": {"kind": "delta", "path": "lake/t"},
}
HARD = """
    select n as id, 12345678901234567890.0123456789::decimal(30, 10) as price,
        timestamptz '2024-03-31 01:59:59.123456+01' as at, timestamp '2024-01-01 12:00:00.5' as here,
        timestamp_ns '2024-01-01 00:00:00.123456789' as fine, date '2024-02-29' as day,
        18446744073709551615::uhugeint::ubigint as big, 200::utinyint as small, 'žluť 😀' as name,
        '\\x00\\xFF'::blob as raw, [1, null, 3] as list, {'a': 1, 'b': [{'c': 'x'}]} as nested,
        'b'::enum('a', 'b') as letter, null::integer as nothing, uuid '61f0c404-5cb3-11e7-907b-a6006ad3dba0' as u
    from range(3) r(n)
"""


@pytest.fixture(params=sorted(PLACES))
def place(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PLACES[request.param]


@pytest.fixture
def content(tmp_path: Path, place: dict[str, Any]):
    def rows() -> pyarrow.Table:
        if place["kind"] == "delta":
            return pyarrow.table(DeltaTable(str(tmp_path / "lake" / "t")).to_pyarrow_table()).sort_by("id")
        folder = tmp_path / "lake"
        catalog = load_catalog(
            "default", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
        )
        return catalog.load_table("shop.t").scan().to_arrow().sort_by("id")

    return rows


async def transfer(use: Any, place: dict[str, Any], query: str, key: str = "one", **more: Any) -> Any:
    return await use(
        "transfer",
        {"source": {"kind": "duckdb", "query": query}, "target": place, **more},
        idempotency_key=key,
    )


async def test_types_are_kept_from_end_to_end(use, place, content):
    output = await transfer(use, place, HARD)
    assert output["data"] == {"rows": 3}, output
    row = content().to_pylist()[2]
    assert row["price"] == D("12345678901234567890.0123456789")
    utc = datetime.UTC
    assert row["at"] == datetime.datetime(2024, 3, 31, 0, 59, 59, 123456, tzinfo=utc)
    assert row["here"] == datetime.datetime.fromisoformat("2024-01-01T12:00:00.5")
    assert row["fine"] == datetime.datetime.fromisoformat("2024-01-01T00:00:00.123456")
    assert row["day"] == datetime.date(2024, 2, 29)
    assert (row["big"], row["small"], row["id"]) == (D(18446744073709551615), 200, 2)
    assert (row["name"], row["raw"], row["letter"]) == ("žluť 😀", b"\x00\xff", "b")
    assert (row["list"], row["nested"]) == ([1, None, 3], {"a": 1, "b": [{"c": "x"}]})
    assert row["nothing"] is None


async def test_a_table_is_made_with_its_types_also_without_rows(use, place, content):
    assert (await transfer(use, place, f"{HARD} limit 0"))["data"] == {"rows": 0}
    output = await transfer(use, place, HARD, key="two")
    assert output["data"] == {"rows": 3}, output
    assert content()["price"].type == pyarrow.decimal128(30, 10)


async def test_a_repeated_call_adds_nothing_and_replace_empties_the_table(use, place, content):
    query = "select range as id, range * 1.25::decimal(10, 2) as price from range(100000)"
    for _ in range(2):
        assert (await transfer(use, place, query))["data"] == {"rows": 100000}
    assert content().num_rows == 100000
    await transfer(use, place, query, key="two", mode="append")
    assert content().num_rows == 200000
    small = "select 7::bigint as id, 1.5::decimal(14, 4) as price"
    replaced = await transfer(use, place, small, key="three", mode="replace")
    assert replaced["data"] == {"rows": 1}, replaced
    assert content().to_pylist() == [{"id": 7, "price": D("1.5")}]
    assert (await transfer(use, place, f"{small} limit 0", key="four", mode="replace"))["data"] == {"rows": 0}
    assert content().num_rows == 0


async def test_rows_that_do_not_fit_leave_the_table_as_it_was(use, place, content):
    await transfer(use, place, "select 1::bigint as id, 1.5::decimal(4, 2) as price")
    for query, word in (
        ("select 2::bigint as id, 123456.789::decimal(12, 3) as price", ""),
        ("select 3::bigint as id, 'dear' as price", "price" if place["kind"] == "delta" else "dear"),
        ("select 4::bigint as id, 1 as weight", "weight"),
        ("select 5::bigint as id, error('half way')::decimal(4, 2) as price", "half way"),
    ):
        error = (await transfer(use, place, query, key=query))["error"]
        assert error is not None, query
        assert word in error["message"], error
    assert content().to_pylist() == [{"id": 1, "price": D("1.50")}]
