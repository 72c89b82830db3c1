"""The resolve kind: payloads of the result store, and what tools have stored."""

from pathlib import Path

import pytest

ROWS = [{"id": number, "s": "x" * number} for number in range(5)]


async def resolve(use, ref: object, **more: object):
    return await use("resolve", {"ref": ref, **more})


async def test_a_payload_of_the_result_store_is_loaded(use, payloads):
    ref = await payloads.put({"rows": ROWS})
    assert (await resolve(use, ref))["data"] == {"rows": ROWS}


@pytest.mark.parametrize(
    "payload, asked, data",
    [
        ({"rows": ROWS}, {"select": "rows[?id > `3`].id"}, [4]),
        ({"rows": ROWS}, {"select": "rows[].id", "limit": 2}, [0, 1]),
        ([1, 2, 3, 4], {"limit": 2, "offset": 1}, [2, 3]),
        ([1, 2, 3, 4], {"offset": 3}, [4]),
        ([1, 2], {"limit": 0}, []),
        ({"a": 1}, {"select": "b"}, None),
    ],
)
async def test_a_part_can_be_selected(use, payloads, payload, asked, data):
    ref = await payloads.put(payload)
    assert (await resolve(use, ref, **asked))["data"] == data


@pytest.mark.parametrize(
    "asked, word", [({"select": "rows["}, "select"), ({"limit": 1}, "list"), ({"limit": -1}, "limit")]
)
async def test_a_part_that_cannot_be_is_an_input_error(use, payloads, asked, word):
    output = await resolve(use, await payloads.put({"rows": 1}), **asked)
    assert output["error"]["kind"] == "input"
    assert word in output["error"]["message"]


@pytest.mark.parametrize(
    "ref",
    [
        {"type": "blob"},
        {"type": "blob", "locator": {"store": "results", "key": "gone"}, "auth_reference": None, "meta": {}},
        {"type": "blob", "locator": {"tool": "file", "key": "gone"}, "auth_reference": None, "meta": {}},
        {
            "type": "relational",
            "locator": {"tool": "sqlite", "table": "t"},
            "auth_reference": None,
            "meta": {},
        },
    ],
)
async def test_a_reference_that_leads_nowhere_is_a_reference_error(use, ref):
    assert (await resolve(use, ref))["error"]["kind"] == "reference"


@pytest.mark.parametrize("path, content", [("a.json", {"k": 1}), ("a.csv", [{"n": "1"}]), ("a.txt", "x")])
async def test_a_written_file_is_read_back(use, path, content):
    ref = (await use("file", {"action": "write", "path": path, "content": content}))["ref"]
    assert (await resolve(use, ref))["data"] == content


async def test_a_file_that_changed_is_refused(use, tmp_path: Path):
    ref = (await use("file", {"action": "write", "path": "a.txt", "content": "one"}))["ref"]
    (tmp_path / "a.txt").write_text("two")
    output = await resolve(use, ref)
    assert output["error"]["kind"] == "reference"
    assert "changed" in output["error"]["message"]


async def test_an_object_is_read_back(use):
    ref = (await use("object", {"action": "put", "store": "./b", "key": "a.json", "content": [1, 2]}))["ref"]
    assert (await resolve(use, ref, limit=1))["data"] == [1]


STORED = "create table t (id integer, s text); insert into t values (3, 'c'), (1, 'a'), (2, 'b'), (4, 'd')"


@pytest.mark.parametrize(
    "store, asked, ids",
    [
        ({"table": "t", "range": {"column": "id", "start": 2, "end": 3}}, {}, [2, 3]),
        ({"table": "t", "range": {"column": "id", "end": 2}}, {}, [1, 2]),
        ({"table": "t", "range": "id:2-3"}, {}, [2, 3]),
        ({"table": "t", "range": {"column": "id"}}, {"limit": 2, "offset": 1}, [2, 3]),
        ({"table": "t", "range": {"column": "id"}}, {"offset": 3}, [4]),
        (
            {"table": "main.t", "range": {"column": "id", "start": 3}},
            {"select": "[?id > `3`]", "limit": 1},
            [4],
        ),
    ],
)
async def test_stored_rows_are_read_from_their_table(use, store, asked, ids):
    ref = (await use("sqlite", {"database": "a.db", "command": STORED, "store": store}))["ref"]
    assert [row["id"] for row in (await resolve(use, ref, **asked))["data"]] == ids


@pytest.mark.parametrize("asked, ids", [({"offset": 3}, [4]), ({"limit": 2, "offset": 1}, [2, 3])])
async def test_stored_rows_of_duckdb_are_read_from_an_offset(use, asked, ids):
    store = {"table": "t", "range": {"column": "id"}}
    ref = (await use("duckdb", {"database": "a.duckdb", "command": STORED, "store": store}))["ref"]
    assert [row["id"] for row in (await resolve(use, ref, **asked))["data"]] == ids


async def test_a_reference_is_read_with_the_secret_it_names(use, payloads):
    ref = await payloads.put(1) | {"auth_reference": "keychain/gone"}
    assert (await resolve(use, ref))["error"]["kind"] == "auth"
