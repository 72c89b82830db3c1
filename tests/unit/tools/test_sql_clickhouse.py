"""Kind sql and transfers with ClickHouse: over HTTP, as to a server, and with chDB in the same process.

The driver and the engine are those of `.venv-clickhouse`, so that calls are made there.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import ROOT

PYTHON = ROOT / ".venv-clickhouse" / "bin" / "python"
DRIVER = {"driver": "clickhousedb"}
PLACE = {"kind": "sql", "auth": "house", **DRIVER}
Use = Callable[..., Any]
TYPED = """
create table typed (
  id Int64, day Nullable(Date), at DateTime('UTC'), exact DateTime64(3, 'Europe/Berlin'), days Array(Date), price Decimal(10, 2),
  word LowCardinality(String), code UUID, on Bool, size Enum8('s' = 1, 'it''s (l)' = 2), big UInt256, hosts Array(IPv4),
  counts Map(String, Int64)
) engine = MergeTree order by id
"""
ROWS: list[dict[str, Any]] = [
    {
        "id": 1, "day": "2026-01-02", "at": "2026-01-02T03:04:05Z", "exact": "2026-01-02T04:04:05.123+01:00",
        "days": ["2026-01-02", "2026-01-03"], "price": "1.25", "word": "tea",
        "code": "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "on": True, "size": "it's (l)", "big": 2**200, "hosts": ["10.0.0.1"],
        "counts": {"a": 1},
    },
    {
        "id": 2, "day": None, "at": "2026-06-02 03:04:05", "exact": "2026-06-02T03:04:05+00:00", "days": [], "price": 0.5,
        "word": "milk", "code": "61f0c404-5cb3-11e7-907b-a6006ad3dba1", "on": False, "size": "s", "big": 0, "hosts": [],
        "counts": {},
    },
]  # fmt: skip


class Process:
    """A program of `.venv-clickhouse` that answers each line with a line."""

    def __init__(self, *words: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NOETL_")}
        self.running = subprocess.Popen(
            [PYTHON, "-W", "error::DeprecationWarning:noetl", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=kept,
        )

    def line(self, said: str = "") -> str:
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        if said:
            self.running.stdin.write(f"{said}\n")
            self.running.stdin.flush()
        return self.running.stdout.readline()

    def end(self) -> None:
        self.running.kill()
        self.running.communicate()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    started = Process("tests/clickhouse_server.py", str(tmp_path_factory.mktemp("server")))
    started.port = int(started.line())  # type: ignore[attr-defined]
    yield started
    started.end()


def calls(url: str, folder: Path) -> Iterator[Use]:
    process = Process("-m", "tests.unit.tools.clickhouse_process", str(folder), url)

    def use(kind: str, values: dict[str, Any], **call: Any) -> Any:
        asked = {"kind": kind, "input": values, "call": call}
        return msgspec.json.decode(process.line(msgspec.json.encode(asked).decode()))

    use.folder = folder  # type: ignore[attr-defined]
    yield use
    process.end()


@pytest.fixture(scope="module", params=["server", "chdb"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Use]:
    """What calls kinds whose secret `house` is a ClickHouse."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "chdb":
        yield from calls(f"clickhousedb:///?interface=chdb&path={folder / 'data'}", folder)
    else:
        port = request.getfixturevalue("server").port
        yield from calls(f"clickhousedb://127.0.0.1:{port}/default", folder)


def sql(use: Use, query: str, params: Any = None) -> Any:
    output = use("sql", {**DRIVER, "query": query, "params": params})
    assert output["status"] == "ok", output["error"]
    return output["data"]


def transfer(use: Use, source: Any, target: Any, **more: Any) -> Any:
    call = {name: more.pop(name) for name in ("idempotency_key",) if name in more}
    return use("transfer", {"source": source, "target": target, **more}, **call)


def written(use: Use, rows: list[dict[str, Any]]) -> dict[str, Any]:
    folder: Path = use.folder  # type: ignore[attr-defined]
    (folder / "rows.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return {"kind": "file", "path": "rows.jsonl"}


@pytest.fixture(scope="module")
def typed(house: Use) -> Use:
    """A table of many types, filled by a transfer."""
    sql(house, TYPED)
    done = transfer(house, written(house, ROWS), {**PLACE, "table": "typed"}, idempotency_key="typed")
    assert done["data"] == {"rows": 2}, done["error"]
    return house


def test_statements_answer_with_rows_and_others_with_none(house):
    done = sql(
        house,
        "create table sale (item String, price Decimal(8, 2), tags Array(String)) engine = MergeTree order by item;"
        "insert into sale values (:item, :price, :tags); select * from sale where price > :least and item like '%tea%'",
        {"item": "tea 'x' \\ %s", "price": 3.5, "least": 1, "tags": ["a", "it's"]},
    )
    assert done["rows"] == [{"item": "tea 'x' \\ %s", "price": 3.5, "tags": ["a", "it's"]}]
    assert [each["rows"] for each in done["statements"]] == [[], [], done["rows"]]
    assert sql(house, "select item from sale where item in ?", [["no", "tea 'x' \\ %s"]])["row_count"] == 1
    assert sql(house, "show tables like 'sale'")["rows"] == [{"name": "sale"}]


def test_what_clickhouse_refuses_has_its_number(house):
    error = house("sql", {**DRIVER, "query": "select 1; select no_such from system.one"})["error"]
    assert (error["kind"], error["code"], error["details"]["statement"]) == ("sql", "47", 2)
    assert "no_such" in error["message"]


def test_a_transfer_takes_the_types_of_the_columns(typed):
    first, second = sql(typed, "select * from typed order by id")["rows"]
    assert first == {
        **ROWS[0], "at": "2026-01-02T03:04:05+00:00", "exact": "2026-01-02T04:04:05.123000+01:00", "price": 1.25,
    } | ({"at": first["at"]} if first["at"] == "2026-01-02T03:04:05" else {})  # chDB forgets the zone of DateTime  # fmt: skip
    assert (second["day"], second["days"], second["price"], second["on"]) == (None, [], 0.5, False)


def test_rows_leave_as_arrow_batches_with_their_types(typed):
    source = {**PLACE, "query": "select *, '%' as `a%\"b` from typed where id < ? order by id", "params": [9]}
    done = transfer(
        typed, source, {"kind": "duckdb", "database": "out.duckdb", "table": "typed"}, mode="replace"
    )
    assert done["data"] == {"rows": 2}, done["error"]
    read = {
        "database": "out.duckdb",
        "query": "select column_name as name, data_type as type from information_schema.columns",
    }
    types = {row["name"]: row["type"] for row in typed("duckdb", read)["data"]["rows"]}
    assert types == {
        "id": "BIGINT", "day": "DATE", "at": "TIMESTAMP WITH TIME ZONE", "exact": "TIMESTAMP WITH TIME ZONE",
        "days": "DATE[]", "price": "DECIMAL(10,2)", "word": "VARCHAR", "code": "VARCHAR", "on": "BOOLEAN",
        "size": "VARCHAR", "big": "VARCHAR", "hosts": "VARCHAR[]", "counts": "MAP(VARCHAR, BIGINT)", 'a%"b': "VARCHAR",
    }  # fmt: skip
    query = "select day, days, size, big, hosts, code from typed order by id"
    row, _ = typed("duckdb", {"database": "out.duckdb", "query": query})["data"]["rows"]
    assert row == {name: ROWS[0][name] if name != "big" else str(2**200) for name in row}


def test_rows_go_to_places_that_take_no_batches(typed):
    done = transfer(
        typed,
        {**PLACE, "table": "typed"},
        {"kind": "file", "path": "out.jsonl"},
        mode="replace",
        chunk_size=1,
    )
    assert done["data"] == {"rows": 2}, done["error"]
    lines = (typed.folder / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["code"] for line in lines] == [row["code"] for row in ROWS]


def test_a_new_table_is_made_and_replaced(house):
    rows = [
        {"id": n, "share": n / 2, "name": None if n % 2 else "x", "on": True, "more": {"a": [n]}}
        for n in range(250)
    ]
    source, target = written(house, rows), {**PLACE, "table": "new`ta\\ble"}
    for key, count in (("one", 250), ("two", 500)):
        assert transfer(house, source, target, idempotency_key=key, chunk_size=99)["data"] == {"rows": 250}
        assert sql(house, r"select count() as n from `new\`ta\\ble`")["rows"] == [{"n": count}]
    for _ in "again":
        assert transfer(house, source, target, idempotency_key="three", mode="replace")["data"] == {
            "rows": 250
        }
        assert sql(house, r"select count() as n from `new\`ta\\ble`")["rows"] == [{"n": 250}]
    query = r"select * from `new\`ta\\ble` order by id limit 2"
    assert sql(house, query)["rows"] == [
        {**row, "more": json.dumps(row["more"], separators=(",", ":"))} for row in rows[:2]
    ]


def test_a_table_that_knows_repeated_inserts_is_told_the_call(house):
    window = "settings non_replicated_deduplication_window = 100"
    sql(house, f"create table once (id Int64) engine = MergeTree order by id {window}")
    source, target = written(house, [{"id": 1}]), {**PLACE, "table": "once"}
    for key, mode, count in (
        ("a", "append", 1),
        ("a", "append", 1),
        ("b", "append", 2),
        ("b", "replace", 1),
        ("b", "replace", 1),
    ):
        assert transfer(house, source, target, mode=mode, idempotency_key=key)["data"] == {"rows": 1}
        assert sql(house, "select count() as n from once")["rows"] == [{"n": count}], (key, mode)


def test_a_transfer_that_fails_leaves_the_table_as_it_was(house):
    sql(house, "create table kept (id Int64) engine = MergeTree order by id; insert into kept values (1)")
    source = written(house, [{"id": n} for n in range(2000)])
    with (house.folder / "rows.jsonl").open("a") as file:
        file.write("{no json\n")
    done = transfer(house, source, {**PLACE, "table": "kept"}, mode="replace")
    assert done["error"]["kind"] == "format"
    assert (
        transfer(house, written(house, [{"id": "x"}]), {**PLACE, "table": "kept"})["error"]["code"]
        is not None
    )
    assert sql(house, "select id from kept")["rows"] == [{"id": 1}]


def test_upsert_is_refused_with_what_to_do(house):
    done = transfer(house, written(house, [{"id": 1}]), {**PLACE, "table": "up"}, mode="upsert", keys=["id"])
    assert done["error"]["kind"] == "input"
    assert "ReplacingMergeTree" in done["error"]["message"]


def test_the_engine_inside_a_worker_needs_one_that_may_read_all_files(tmp_path):
    for use in calls("clickhousedb:///?interface=chdb", tmp_path):
        error = use("sql", {**DRIVER, "query": "select 1"}, roots=[str(tmp_path)])["error"]
        assert error["kind"] == "path"
        assert "chDB" in error["message"]


def test_a_server_that_is_gone_is_told_from_one_that_refuses(tmp_path):
    server = Process("tests/clickhouse_server.py", str(tmp_path / "data"))
    port = int(server.line())
    for use in calls(f"clickhousedb://127.0.0.1:{port}/default", tmp_path):
        assert sql(use, "select 1 as a")["rows"] == [{"a": 1}]
        server.end()
        error = use("sql", {**DRIVER, "query": "select 1"})["error"]
        assert (error["kind"], error["retryable"]) == ("connect", True)
        assert f"127.0.0.1:{port}" in error["message"]
