"""The transfer kind between real files and databases."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from werkzeug import Request, Response

from noetl.ports.network import Network
from noetl.tools.parts.transfer_sources import JsonItems

ROOT = Path(__file__).resolve().parents[3]
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


# ---- over the network -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path, media, body",
    [
        ("/rows", "application/json", json.dumps(ROWS)),
        ("/rows", "application/json", json.dumps({"rows": ROWS})),
        ("/rows", "application/json; charset=utf-8", "\n [ " + " ,\n".join(map(json.dumps, ROWS)) + " ] \n"),
        ("/rows", "application/x-ndjson", "\n".join(map(json.dumps, ROWS))),
        ("/rows.jsonl", "application/octet-stream", "\n".join(map(json.dumps, ROWS))),
        ("/rows", "text/csv", "id,name\n" + "".join(f"{row['id']},{row['name']}\n" for row in ROWS)),
    ],
)
async def test_an_address_is_a_source(use, httpserver, secrets, path, media, body):
    def handle(request: Request) -> Response:
        assert (request.headers["Authorization"], request.args["day"]) == ("Bearer t0ken", "1")
        return Response(body, content_type=media)

    httpserver.expect_request(path).respond_with_handler(handle)
    secrets["me"] = {"kind": "bearer", "token": "t0ken"}
    source = {"kind": "http", "url": httpserver.url_for(path), "auth": "me", "params": {"day": 1}}
    output = await use("transfer", {"source": source, "target": PLACES["sqlite"], "chunk_size": 99})
    assert output.get("data") == {"rows": 250}, output
    assert [row["name"] for row in await content(use, PLACES["sqlite"])] == [row["name"] for row in ROWS]


@pytest.mark.parametrize(
    "text, word",
    [
        ('[{"a": 1}, {"a": 2]', "item 2"),
        ('[{"a": 1} {"a": 2}]', "after item 1"),
        ('[{"a": 1}, 5]', "item 2 is not a mapping"),
        ('[{"a": NaN}]', "NaN"),
        ('[{"a": 1},', "item 2"),
        ('{"a": 1}', "list of mappings"),
        ("5", "list of mappings"),
    ],
)
async def test_a_list_that_is_no_json_says_where(use, tmp_path: Path, text, word):
    (tmp_path / "x.json").write_text(text)
    output = await use("transfer", {"source": PLACES["json"], "target": PLACES["jsonl"]})
    assert output["error"]["kind"] == "format"
    assert word in output["error"]["message"]


@pytest.mark.parametrize(
    "text", ["[]", " [ ] ", '[{"a": 1}]', '[{"a": "' + "x" * 600_000 + '"}, {"a": "y"}]']
)
async def test_items_are_found_wherever_reading_pauses(use, tmp_path: Path, text):
    (tmp_path / "x.json").write_text(text)
    output = await use("transfer", {"source": PLACES["json"], "target": PLACES["jsonl"]})
    assert output["data"] == {"rows": len(json.loads(text))}
    assert (await content(use, PLACES["jsonl"])) == json.loads(text)


def test_passing_an_item_of_a_list_copies_nothing(tmp_path: Path):
    """The time that a list takes grows with its length, not with its square."""
    (tmp_path / "x.json").write_text("[" + ", ".join('{"a": 1}' for _ in range(1000)) + "]")
    with open(tmp_path / "x.json") as file:
        text = file.read()
        items = JsonItems(file, text, 1)
        for _ in range(999):
            assert items.next_char() == "{"
            assert items.item() == {"a": 1}
            assert items.next_char() == ","
            items.skip()
            assert items._text is text
        assert items.next_char() == "{"
        assert items.item() == {"a": 1}
        assert items.next_char() == "]"


async def test_a_long_cell_that_was_written_as_csv_is_read_back(use):
    rows = [{"id": "1", "name": "x" * 200_000}]
    await fill(use, "csv", rows)
    assert await content(use, PLACES["csv"]) == rows
    await use("transfer", {"source": PLACES["csv"], "target": PLACES["jsonl"]})
    assert await content(use, PLACES["jsonl"]) == rows


async def test_a_source_that_is_not_there_is_told_and_not_made(use, tmp_path: Path):
    output = await use("transfer", {"source": PLACES["duckdb"], "target": PLACES["jsonl"]})
    assert output["error"]["kind"] == "not_found"
    assert not (tmp_path / "x.duckdb").exists()


@pytest.mark.parametrize("form, media", [(None, "application/json"), ("jsonl", "application/x-ndjson")])
async def test_an_address_is_sent_chunks_that_it_can_tell_apart(use, httpserver, form, media):
    seen = []

    def handle(request: Request) -> Response:
        text = request.get_data(as_text=True)
        rows = json.loads(text) if form is None else [json.loads(line) for line in text.splitlines()]
        seen.append((request.headers["Idempotency-Key"], len(rows), request.content_type))
        return Response(status=202)

    httpserver.expect_request("/in", method="POST").respond_with_handler(handle)
    await fill(use, "jsonl", ROWS)
    target = {"kind": "http", "url": httpserver.url_for("/in"), "format": form}
    output = await use("transfer", {"source": PLACES["jsonl"], "target": target, "chunk_size": 100})
    assert output["data"] == {"rows": 250}
    assert seen == [("key-1-1", 100, media), ("key-1-2", 100, media), ("key-1-3", 50, media)]


@pytest.mark.parametrize("place", ["source", "target"])
async def test_an_answer_that_is_not_2xx_is_an_error_with_its_status(use, httpserver, place):
    httpserver.expect_request("/").respond_with_data("", status=503)
    await fill(use, "jsonl", ROWS[:3])
    values = {"source": PLACES["jsonl"], "target": PLACES["sqlite"]}
    output = await use("transfer", {**values, place: {"kind": "http", "url": httpserver.url_for("/")}})
    problem = output["error"]
    assert (problem["kind"], problem["code"], problem["retryable"]) == ("http", "503", True)


async def test_addresses_of_a_transfer_are_checked_like_those_of_http(use):
    await fill(use, "jsonl", ROWS[:3])
    inside = {"kind": "http", "url": "http://127.0.0.1:9/"}
    values = {"source": PLACES["jsonl"], "target": PLACES["sqlite"]}
    for place in ("source", "target"):
        output = await use("transfer", {**values, place: inside}, network=Network())
        assert output["error"]["kind"] == "network"


@pytest.mark.parametrize("form", ["csv", "jsonl", "json", "parquet"])
async def test_objects_are_sources_and_targets(use, tmp_path: Path, form):
    await fill(use, "jsonl", ROWS)
    target = {"kind": "object", "store": "./bucket", "key": f"in/x.{form}"}
    values = {"source": PLACES["jsonl"], "target": target, "mode": "replace", "chunk_size": 99}
    output = await use("transfer", values)
    assert (output["data"], output["ref"]["type"]) == ({"rows": 250}, "object_store")
    assert len((await use("resolve", {"ref": output["ref"]}))["data"]) == 250
    back = await use("transfer", {"source": target, "target": PLACES["sqlite"], "chunk_size": 99})
    assert back["data"] == {"rows": 250}
    assert [row["name"] for row in await content(use, PLACES["sqlite"])] == [row["name"] for row in ROWS]


async def test_objects_of_a_real_s3_server_are_sources_and_targets(use, secrets, s3_server):
    given = s3_server.environment
    secrets["s3"] = {
        "access_key_id": given["AWS_ACCESS_KEY_ID"], "secret_access_key": given["AWS_SECRET_ACCESS_KEY"],
        "region": given["AWS_REGION"], "endpoint": given["AWS_ENDPOINT_URL"],
    }  # fmt: skip
    place = {"kind": "object", "store": f"s3://{s3_server.new_bucket()}", "key": "x.jsonl", "auth": "s3"}
    await fill(use, "jsonl", ROWS)
    output = await use("transfer", {"source": PLACES["jsonl"], "target": place, "mode": "replace"})
    assert output["data"] == {"rows": 250}, output
    assert (await use("transfer", {"source": place, "target": PLACES["sqlite"]}))["data"] == {"rows": 250}


@pytest.mark.parametrize("name", ["csv", "sqlite", "duckdb", "parquet"])
async def test_rows_go_to_postgresql_and_back(use, secrets, database, name):
    secrets["pg"] = {"dsn": database}
    await use("postgres", {"query": "create table t (id int primary key, name text)"}, auth_name="pg")
    table = {"kind": "postgres", "auth": "pg", "table": "t"}
    await fill(use, name, ROWS)
    for mode in ("append", "replace", "upsert"):
        values = {"source": PLACES[name], "target": table, "mode": mode, "keys": ["id"], "chunk_size": 99}
        output = await use("transfer", values)
        assert (output.get("data"), output["ref"]["auth_reference"]) == ({"rows": 250}, "keychain/pg")
    repeated = await use("transfer", {"source": PLACES[name], "target": table})
    assert (repeated["error"]["kind"], repeated["error"]["code"]) == ("postgres", "23505")
    source = {
        "kind": "postgres",
        "auth": "pg",
        "query": "select * from t where id >= :low order by id",
        "params": {"low": 240},
    }
    assert (await use("transfer", {"source": source, "target": there(PLACES["jsonl"])}))["data"] == {
        "rows": 10
    }
    assert await content(use, there(PLACES["jsonl"])) == ROWS[240:]


@pytest.mark.timeout(900)
def test_the_memory_of_a_transfer_does_not_grow_with_its_rows(tmp_path: Path, postgres_server):
    """200,000 rows through every place, each at most a little over what 2,000 rows take."""
    program = [
        sys.executable,
        "-m",
        "tests.unit.tools.transfer_process",
        str(tmp_path),
        postgres_server.new_database(),
    ]
    done = subprocess.run(program, capture_output=True, text=True, timeout=800, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    grown = json.loads(done.stdout)
    assert {name: value for name, value in grown.items() if value > 96} == {}, (
        grown
    )  # MiB; the rows alone take more than twice that
