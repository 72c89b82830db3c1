"""The transfer kind between real files and databases."""

from pathlib import Path
from typing import Any

import pytest

ROWS = [{"id": number, "name": f"n{number}"} for number in range(250)]
PLACES: dict[str, dict[str, Any]] = {
    "csv": {"kind": "file", "path": "x.csv"},
    "jsonl": {"kind": "file", "path": "x.jsonl"},
    "json": {"kind": "file", "path": "x.json"},
    "parquet": {"kind": "file", "path": "x.parquet"},
    "sqlite": {"kind": "sqlite", "database": "x.db", "table": "t"},
    "duckdb": {"kind": "duckdb", "database": "x.duckdb", "table": "t"},
}


def there(place: dict[str, Any]) -> dict[str, Any]:
    """The same kind of place under another name."""
    return {
        key: value.replace("x.", "y.") if isinstance(value, str) else value for key, value in place.items()
    }


async def fill(use, name: str, rows: list[dict[str, Any]]) -> None:
    await use("file", {"action": "write", "path": "start.jsonl", "content": rows})
    values = {"source": {"kind": "file", "path": "start.jsonl"}, "target": PLACES[name], "mode": "replace"}
    assert (await use("transfer", values))["data"] == {"rows": len(rows)}


async def content(use, place: dict[str, Any]) -> list[dict[str, Any]]:
    if place["kind"] == "file":
        found = (await use("file", {"action": "read", "path": place["path"]}))["data"]
    else:
        query = {"database": place["database"], "query": "select * from t order by cast(id as integer)"}
        found = (await use(place["kind"], query))["data"]["rows"]
    rows: list[dict[str, Any]] = found
    return rows


@pytest.mark.parametrize("target", PLACES)
@pytest.mark.parametrize("source", PLACES)
async def test_rows_go_from_every_place_to_every_place(use, source, target):
    await fill(use, source, ROWS)
    values = {"source": PLACES[source], "target": there(PLACES[target]), "chunk_size": 99}
    output = await use("transfer", values)
    assert output["data"] == {"rows": 250}
    rows = await content(use, there(PLACES[target]))
    as_text = "csv" in (source, target)
    assert rows == ([{"id": str(row["id"]), "name": row["name"]} for row in ROWS] if as_text else ROWS)


@pytest.mark.parametrize("target", ["sqlite", "duckdb", "csv", "jsonl"])
@pytest.mark.parametrize("mode, total", [("append", 6), ("replace", 3)])
async def test_append_adds_and_replace_empties_first(use, target, mode, total):
    await fill(use, target, ROWS[:3])
    await use("file", {"action": "write", "path": "more.jsonl", "content": ROWS[3:6]})
    values = {"source": {"kind": "file", "path": "more.jsonl"}, "target": PLACES[target], "mode": mode}
    assert (await use("transfer", values))["data"] == {"rows": 3}
    assert len(await content(use, PLACES[target])) == total


@pytest.mark.parametrize("target", ["sqlite", "duckdb"])
async def test_upsert_replaces_rows_with_the_same_keys(use, target):
    upsert = {
        "source": {"kind": "file", "path": "a.jsonl"},
        "target": PLACES[target],
        "mode": "upsert",
        "keys": ["id"],
    }
    for rows in ([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], [{"id": 2, "v": "B"}, {"id": 3, "v": "c"}]):
        await use("file", {"action": "write", "path": "a.jsonl", "content": rows})
        assert (await use("transfer", upsert))["status"] == "ok"
    assert [row["v"] for row in await content(use, PLACES[target])] == ["a", "B", "c"]


async def test_a_mapping_renames_and_chooses_columns(use):
    await use("file", {"action": "write", "path": "x.csv", "content": [{"a": 1, "b": 2, "c": 3}]})
    values = {"source": PLACES["csv"], "target": PLACES["jsonl"], "mapping": {"left": "b", "right": "a"}}
    assert (await use("transfer", values))["status"] == "ok"
    assert await content(use, PLACES["jsonl"]) == [{"left": "2", "right": "1"}]


async def test_a_query_with_parameters_is_a_source(use):
    await fill(use, "sqlite", ROWS[:10])
    source = {
        "kind": "sqlite",
        "database": "x.db",
        "query": "select name from t where id >= ?",
        "params": [8],
    }
    await use("transfer", {"source": source, "target": PLACES["jsonl"]})
    assert await content(use, PLACES["jsonl"]) == [{"name": "n8"}, {"name": "n9"}]


@pytest.mark.parametrize("target", ["sqlite", "duckdb", "csv", "jsonl"])
async def test_a_transfer_that_fails_leaves_the_target_as_it_was(use, tmp_path: Path, target):
    await fill(use, target, ROWS[:3])
    before = await content(use, PLACES[target])
    (tmp_path / "broken.jsonl").write_text('{"id": 7, "name": "x"}\n{"id": 8, "name": "y"}\n{oops\n')
    values = {"source": {"kind": "file", "path": "broken.jsonl"}, "target": PLACES[target], "chunk_size": 1}
    output = await use("transfer", {**values, "mode": "replace"})
    assert output["error"]["kind"] == "format"
    assert "line 3" in output["error"]["message"]
    assert await content(use, PLACES[target]) == before
    assert parts(tmp_path) == []


def parts(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


@pytest.mark.parametrize("target", ["sqlite", "duckdb", "csv", "jsonl", "json"])
async def test_an_empty_source_empties_a_target_that_is_replaced(use, target):
    await fill(use, target, ROWS[:3])
    await use("file", {"action": "write", "path": "none.json", "content": []})
    values = {"source": {"kind": "file", "path": "none.json"}, "target": PLACES[target], "mode": "replace"}
    assert (await use("transfer", values))["data"] == {"rows": 0}
    assert await content(use, PLACES[target]) == []


async def test_the_answer_refers_to_where_the_rows_are(use):
    for target in ("sqlite", "duckdb", "jsonl"):
        await fill(use, "csv", ROWS[:2])
        output = await use("transfer", {"source": PLACES["csv"], "target": PLACES[target]})
        resolved = await use("resolve", {"ref": output["ref"]})
        assert [row["name"] for row in resolved["data"]] == ["n0", "n1"]


@pytest.mark.parametrize(
    "change, kind, word",
    [
        ({"source": {"kind": "file", "path": "gone.csv"}}, "not_found", "gone.csv"),
        ({"source": {"kind": "file", "path": "/etc/passwd"}}, "path", "outside"),
        ({"source": {"kind": "file", "path": "a.txt"}}, "input", "text"),
        ({"source": {"kind": "sqlite", "database": "x.db"}}, "input", "query, table"),
        ({"source": {"kind": "sqlite", "table": "t"}}, "input", "database"),
        ({"source": {"kind": "sqlite", "database": "none.db", "table": "t"}}, "sqlite", "unable to open"),
        ({"source": {"kind": "duckdb", "table": "t"}}, "duckdb", "t"),
        ({"target": {"kind": "file", "path": "y.txt"}}, "input", "text"),
        ({"target": {"kind": "sqlite", "database": "y.db"}}, "input", "table"),
        ({"mapping": {"a": "nope"}}, "input", "nope"),
        ({"mode": "upsert"}, "input", "keys"),
        ({"mode": "upsert", "keys": ["a"]}, "input", "upserted"),
        ({"mode": "upsert", "keys": ["zz"], "target": PLACES["sqlite"]}, "input", "zz"),
        ({"chunk_size": 0}, "input", "chunk_size"),
    ],
)
async def test_what_cannot_be_moved_says_why(use, change, kind, word):
    await use("file", {"action": "write", "path": "x.csv", "content": [{"a": 1}]})
    output = await use("transfer", {"source": PLACES["csv"], "target": PLACES["jsonl"], **change})
    assert output["error"]["kind"] == kind
    assert word in output["error"]["message"]


async def test_a_column_that_appears_later_is_told(use):
    await use("file", {"action": "write", "path": "a.jsonl", "content": [{"a": 1}, {"a": 1, "b": 2}]})
    values = {"source": {"kind": "file", "path": "a.jsonl"}, "target": PLACES["sqlite"], "chunk_size": 1}
    output = await use("transfer", values)
    assert output["error"]["kind"] == "format"
    assert "'b'" in output["error"]["message"]
