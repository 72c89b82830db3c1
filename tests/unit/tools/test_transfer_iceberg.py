"""Transfers into Iceberg tables: one commit each, made once however often it is tried."""

import datetime
import itertools
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from noetl.tools.parts import transfer_iceberg
from tests.engine.harness import playbook, run

ROWS = [
    {"id": number, "name": f"n{number}", "price": number / 2, "on": number % 2 == 0} for number in range(250)
]
KEYS = itertools.count()
PLACE = {"kind": "iceberg", "path": "lake", "table": "shop.t"}

# PyIceberg leaves it to the collector to close the files of its catalog.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def catalog(folder: Path) -> Catalog:
    return load_catalog(
        "default", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
    )


def table(tmp_path: Path) -> Table:
    return catalog(tmp_path / "lake").load_table("shop.t")


async def transfer(use: Any, rows: list[dict[str, Any]], place: dict[str, Any] = PLACE, **more: Any) -> Any:
    await use("file", {"action": "write", "path": "rows.jsonl", "content": rows})
    key = more.pop("key", None) or f"key-{next(KEYS)}"
    values = {"source": {"kind": "file", "path": "rows.jsonl"}, "target": place, **more}
    return await use("transfer", values, idempotency_key=key)


@pytest.fixture
def content(tmp_path: Path) -> Any:
    def rows() -> list[dict[str, Any]]:
        return sorted(table(tmp_path).scan().to_arrow().to_pylist(), key=lambda row: row["id"])

    return rows


async def test_rows_become_a_table_with_their_types(use, content, tmp_path):
    output = await transfer(use, ROWS, chunk_size=99)
    assert output["data"] == {"rows": 250}, output
    assert content() == ROWS
    assert [str(field.field_type) for field in table(tmp_path).schema().fields] == [
        "long",
        "string",
        "double",
        "boolean",
    ]


async def test_append_replace_and_upsert(use, content, tmp_path):
    await transfer(use, [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], mode="upsert", keys=["id"])
    output = await transfer(use, [{"id": 2, "v": "B"}, {"id": 3, "v": None}], mode="upsert", keys=["id"])
    assert output["data"] == {"rows": 2}, output
    assert content() == [{"id": 1, "v": "a"}, {"id": 2, "v": "B"}, {"id": 3, "v": None}]
    await transfer(use, [{"id": 4}])
    assert content()[-1] == {"id": 4, "v": None}
    await transfer(use, [{"id": 9, "v": "z"}], mode="replace")
    assert content() == [{"id": 9, "v": "z"}]
    assert (await transfer(use, []))["data"] == {"rows": 0}
    assert len(content()) == 1
    assert (await transfer(use, [], mode="replace"))["data"] == {"rows": 0}
    assert content() == []
    assert len(table(tmp_path).metadata.metadata_log) == 4, "one commit each, after that which made it"


async def test_a_repeated_call_adds_nothing(use, content, tmp_path: Path):
    first = await transfer(use, ROWS[:3], key="one")
    (tmp_path / "rows.jsonl").unlink()
    again = await use(
        "transfer", {"source": {"kind": "file", "path": "rows.jsonl"}, "target": PLACE}, idempotency_key="one"
    )
    assert first["data"] == again["data"] == {"rows": 3}, again
    assert (await transfer(use, ROWS[3:5], key="two"))["data"] == {"rows": 2}
    assert content() == ROWS[:5]


@pytest.mark.parametrize("there", [True, False], ids=["a table that is there", "a new one"])
async def test_two_workers_with_one_call_write_once(use, content, monkeypatch, there):
    """The other one commits after this one has looked, and before it writes."""
    rows = ROWS[1:3] if there else ROWS[:2]
    if there:
        await transfer(use, ROWS[:1])
    name = "_change" if there else "_make"
    write = getattr(transfer_iceberg.IcebergWriter, name)
    others: list[int] = []

    def late(self: Any, found: Any) -> None:
        if not others:
            others.append(1)
            write(self, self.place.table(self.place.catalog()) if there else self.place.catalog())
        write(self, found)

    monkeypatch.setattr(transfer_iceberg.IcebergWriter, name, late)
    lost = await transfer(use, rows, key="one")
    assert (lost["error"]["kind"], lost["error"]["retryable"]) == ("iceberg", True), lost
    assert (await transfer(use, rows, key="one"))["data"] == {"rows": 2}
    assert content() == ROWS[: 3 if there else 2]


async def test_rows_take_the_types_of_the_table(use, tmp_path, content):
    there = catalog_in(tmp_path)
    schema = pyarrow.schema([("id", pyarrow.int32()), ("on", pyarrow.date32()), ("price", pyarrow.float64())])
    there.create_namespace("shop")
    there.create_table("shop.t", schema)
    output = await transfer(use, [{"id": 1, "on": "2026-11-18", "price": 2}, {"id": 2, "on": None}])
    assert output["data"] == {"rows": 2}, output
    assert content()[0] == {"id": 1, "on": datetime.date(2026, 11, 18), "price": 2.0}


def catalog_in(tmp_path: Path) -> Catalog:
    (tmp_path / "lake").mkdir()
    return catalog(tmp_path / "lake")


async def test_values_that_are_hard_for_a_table(use, tmp_path, content):
    rows: list[dict[str, Any]] = [
        {"id": 1, "none": None, "deep": {"a": [1, None]}, "a b.c": "ž🐎"},
        {"id": 2, "none": None},
    ]
    assert (await transfer(use, rows))["data"] == {"rows": 2}
    assert [field.name for field in table(tmp_path).schema().fields] == ["id", "none", "deep", "a b.c"]
    assert content()[0] == rows[0]


@pytest.mark.parametrize(
    "rows, more, kind, word",
    [
        ([{"id": 1, "new": 2}], {}, "format", "no column 'new'; it has id, v"),
        ([{"id": "text"}], {}, "iceberg", "text"),
        ([{"id": 1}, {"id": "x"}], {}, "format", "mixes"),
        ([{"id": 1}], {"mode": "upsert", "keys": ["v"]}, "input", "'v' is not among"),
        ([{"id": 1}, {"id": 1}], {"mode": "upsert", "keys": ["id"]}, "iceberg", "uplicate"),
    ],
)
async def test_rows_that_do_not_fit_leave_the_table_as_it_was(use, content, rows, more, kind, word):
    await transfer(use, [{"id": 1, "v": "a"}])
    problem = (await transfer(use, rows, **more))["error"]
    assert (problem["kind"], problem["retryable"]) == (kind, False), problem
    assert word in problem["message"]
    assert content() == [{"id": 1, "v": "a"}]


@pytest.mark.parametrize(
    "place, kind, word",
    [
        ({"path": "lake"}, "input", "needs 'table'"),
        ({"path": "lake", "table": "t"}, "input", "namespace.table"),
        ({"table": "shop.t"}, "input", "needs 'path'"),
        ({"path": "../out", "table": "shop.t"}, "path", "outside"),
        ({"table": "shop.t", "auth": "away"}, "network", "private"),
        ({"table": "shop.t", "auth": "closed"}, "connect", "cannot be reached"),
        ({"table": "shop.t", "auth": "here"}, "path", "'uri' of an iceberg catalog"),
        ({"table": "shop.t", "auth": "plain"}, "path", "'warehouse' of an iceberg catalog"),
        ({"table": "shop.t", "auth": "code"}, "path", "py-catalog-impl"),
        ({"table": "shop.t", "auth": "unknown"}, "iceberg", "s3cret-type"),
    ],
)
async def test_a_place_that_is_none_is_named(use, secrets, place, kind, word):
    secrets["away"] = {"type": "rest", "uri": "http://10.0.0.1:1", "token": "s3cret"}
    secrets["closed"] = {"type": "rest", "uri": "http://127.0.0.1:1", "warehouse": "w", "token": "s3cret"}
    secrets["here"] = {"type": "sql", "uri": "sqlite:////tmp/c.db", "warehouse": "file:///tmp"}
    secrets["plain"] = {"type": "sql", "uri": "postgresql://h/c", "warehouse": "tmp/lake"}
    secrets["code"] = {"py-catalog-impl": "os.path"}
    secrets["unknown"] = {"type": "s3cret-type"}
    problem = (await transfer(use, [{"id": 1}], {"kind": "iceberg", **place}))["error"]
    assert problem["kind"] == kind, problem
    assert word in problem["message"]


async def test_a_playbook_fills_a_table(tmp_path: Path):
    ran = await run(tmp_path, playbook(PLAYBOOK.replace("FOLDER", str(tmp_path))))
    assert (ran.status, ran.output) == ("completed", {"rows": 2})
    assert table(tmp_path).scan().to_arrow().num_rows == 2


PLAYBOOK = """
  - step: start
    tool:
      - name: people
        kind: file
        input: {action: write, path: FOLDER/people.csv, content: [{name: Ada}, {name: Bo}]}
      - name: load
        kind: transfer
        input:
          source: {kind: file, path: FOLDER/people.csv}
          target: {kind: iceberg, path: FOLDER/lake, table: shop.t}
"""
