"""The resolve kind: payloads of the result store, and what tools have stored."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from noetl.adapters.memory.results import MemoryResults
from noetl.wiring.payloads import StoredPayloads

ROOT = Path(__file__).parents[3]

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


NUMBERS = [{"n": number} for number in range(3000)]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize("kind, action", [("file", "write"), ("object", "put")])
async def test_a_slice_of_a_file_or_object_is_the_one_of_its_rows(use, kind: str, action: str, name: str):
    place = {"path": name} if kind == "file" else {"store": "./b", "key": name}
    content = NUMBERS if name != "a.csv" else [{"n": str(row["n"])} for row in NUMBERS]
    ref = (await use(kind, {"action": action, **place, "content": content}))["ref"]
    for offset, limit in ((0, 2), (2990, 100), (5000, 1), (1, 0)):
        sliced = await resolve(use, ref, offset=offset, limit=limit)
        assert sliced["data"] == content[offset : offset + limit]
    assert (await resolve(use, ref, select="[].n", offset=2999))["data"] == [content[2999]["n"]]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv", "a.txt"])
@pytest.mark.parametrize("asked", [{"limit": 1}, {"select": "[].n", "limit": 1}, {"select": "[", "limit": 1}])
async def test_no_slice_is_taken_of_a_file_that_changed(use, tmp_path: Path, name: str, asked):
    content = "n" if name == "a.txt" else [{"n": 1}, {"n": 2}]
    ref = (await use("file", {"action": "write", "path": name, "content": content}))["ref"]
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-3])
    assert "changed" in (await resolve(use, ref, **asked))["error"]["message"]
    path.unlink()
    assert (await resolve(use, ref, **asked))["error"]["kind"] == "reference"


async def test_a_slice_of_a_text_is_an_input_error(use):
    ref = (await use("file", {"action": "write", "path": "a.txt", "content": "[1]"}))["ref"]
    assert (await resolve(use, ref, limit=1))["error"]["message"].endswith("the payload is a str")


@pytest.fixture
def stored() -> StoredPayloads:
    return StoredPayloads(MemoryResults(lambda: 0), "0" * 32)


SELECTIONS = [
    "rows", "rows[*]", "rows[].n", "rows[?n > `2`].n", "rows[?n > `2`].{m: n}", "rows[*].l[]", "rows[].l[].k",
    "rows[*].l[*].k", "rows[][]", "rows[?l[?k == `1`]].n", "rows[:4].n", "rows[::-1]", "rows[?n] | [1:]", "more",
    "sort_by(rows, &n)", "rows[].n | reverse(@)", "[rows[0], more]", "rows[?length(l) > `1`]", "gone", "gone[].n",
    "rows[].gone", "one.rows[].n", "values(one)[]", "rows[?contains(n, `1`)]", "rows[", "one",
]  # fmt: skip


@pytest.mark.parametrize("expression", SELECTIONS)
async def test_a_slice_of_a_selection_is_the_one_of_the_whole_selection(use_with, stored, expression: str):
    rows = [{"n": n, "l": [{"k": k} for k in range(n % 4)]} for n in range(9)]
    whole = {"one": {"rows": rows[:2]}, "rows": rows, "more": ["rows", None, [1]]}
    for payload, select in ((whole, expression), (rows, expression.replace("rows", "", 1) or "[]")):
        ref = await stored.put(payload)
        full = await resolve(use_with(stored), ref, select=select)
        part = await resolve(use_with(stored), ref, select=select, offset=1, limit=3)
        if full["status"] == "ok" and isinstance(full["data"], list):
            assert part["data"] == full["data"][1:4]
        else:
            assert part["error"]["kind"] == "input"


def test_the_memory_of_a_slice_does_not_grow_with_its_payload(tmp_path: Path):
    """A slice of 40 MB of rows, of a list, of what is selected from them, and over REST: none takes a quarter."""
    program = [sys.executable, "-m", "tests.unit.tools.resolve_process", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    grown = json.loads(done.stdout)
    assert {name: mib for name, mib in grown.items() if mib > 10} == {}, grown


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
