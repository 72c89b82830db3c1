"""Transfers into Delta tables, in a folder and in S3: one commit each, made once however often it is tried."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Table
from deltalake import DeltaTable, QueryBuilder

from noetl.tools.parts import transfer_delta
from tests.engine.harness import playbook, run

ROWS = [
    {"id": number, "name": f"n{number}", "price": number / 2, "on": number % 2 == 0} for number in range(250)
]
KEYS = itertools.count()


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, secrets: Any, tmp_path: Path) -> dict[str, Any]:
    """A table that is not there yet."""
    if request.param == "folder":
        return {"kind": "delta", "path": "lake/t"}
    server = request.getfixturevalue("s3_server")
    given = server.environment
    secrets["s3"] = {
        "access_key_id": given["AWS_ACCESS_KEY_ID"], "secret_access_key": given["AWS_SECRET_ACCESS_KEY"],
        "region": given["AWS_REGION"], "endpoint": given["AWS_ENDPOINT_URL"],
    }  # fmt: skip
    return {"kind": "delta", "store": f"s3://{server.new_bucket()}", "key": "lake/t", "auth": "s3"}


async def transfer(use: Any, rows: list[dict[str, Any]], place: dict[str, Any], **more: Any) -> Any:
    await use("file", {"action": "write", "path": "rows.jsonl", "content": rows})
    key = more.pop("key", None) or f"key-{next(KEYS)}"
    values = {"source": {"kind": "file", "path": "rows.jsonl"}, "target": place, **more}
    return await use("transfer", values, idempotency_key=key)


def table(place: dict[str, Any], secrets: Any, tmp_path: Path) -> DeltaTable:
    if "path" in place:
        return DeltaTable(str(tmp_path / place["path"]))
    options = {f"aws_{name}": value for name, value in secrets["s3"].items()} | {"allow_http": "true"}
    return DeltaTable(f"{place['store']}/{place['key']}", storage_options=options)


@pytest.fixture
def content(place: Any, secrets: Any, tmp_path: Path) -> Any:
    def rows() -> list[dict[str, Any]]:
        found = Table.from_arrow(
            QueryBuilder()
            .register("t", table(place, secrets, tmp_path))
            .execute("select * from t order by id")
        )
        columns = [found.column(name).to_pylist() for name in found.column_names]
        return [dict(zip(found.column_names, row, strict=True)) for row in zip(*columns, strict=True)]

    return rows


async def test_rows_become_a_table_with_their_types(use, place, content):
    output = await transfer(use, ROWS, place, chunk_size=99)
    assert output["data"] == {"rows": 250}, output
    assert content() == ROWS


async def test_append_replace_and_upsert(use, place, content, secrets, tmp_path: Path):
    await transfer(use, [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], place, mode="upsert", keys=["id"])
    await transfer(use, [{"id": 2, "v": "B"}, {"id": 3, "v": None}], place, mode="upsert", keys=["id"])
    assert content() == [{"id": 1, "v": "a"}, {"id": 2, "v": "B"}, {"id": 3, "v": None}]
    await transfer(use, [{"id": 4}], place)
    assert content()[-1] == {"id": 4, "v": None}
    await transfer(use, [{"id": 9, "v": "z"}], place, mode="replace")
    assert content() == [{"id": 9, "v": "z"}]
    assert (await transfer(use, [], place))["data"] == {"rows": 0}
    assert len(content()) == 1
    assert (await transfer(use, [], place, mode="replace"))["data"] == {"rows": 0}
    assert content() == []
    assert table(place, secrets, tmp_path).version() == 4, "one commit each"


async def test_a_repeated_call_adds_nothing(use, place, content, tmp_path: Path):
    first = await transfer(use, ROWS[:3], place, key="one")
    (tmp_path / "rows.jsonl").unlink()
    again = await use(
        "transfer", {"source": {"kind": "file", "path": "rows.jsonl"}, "target": place}, idempotency_key="one"
    )
    assert first["data"] == again["data"] == {"rows": 3}, again
    assert content() == ROWS[:3]
    assert (await transfer(use, ROWS[3:5], place, key="two"))["data"] == {"rows": 2}
    assert content() == ROWS[:5]


async def test_two_workers_with_one_call_write_once(use, place, content, monkeypatch):
    """The other one commits after this one has looked, and before it writes."""
    await transfer(use, ROWS[:1], place)
    write = transfer_delta.DeltaWriter._write
    others: list[int] = []

    def late(self: Any, found: Any, batches: Any) -> None:
        if not others:
            others.append(1)
            with self.spooled() as given:
                write(self, self.place.table(), given)
        write(self, found, batches)

    monkeypatch.setattr(transfer_delta.DeltaWriter, "_write", late)
    lost = await transfer(use, ROWS[1:3], place, key="one")
    assert (lost["error"]["kind"], lost["error"]["retryable"]) == ("delta", True), lost
    assert (await transfer(use, ROWS[1:3], place, key="one"))["data"] == {"rows": 2}
    assert content() == ROWS[:3]


LOCAL = {"kind": "delta", "path": "lake/t"}


async def test_values_that_are_hard_for_a_table(use, secrets, tmp_path: Path):
    rows: list[dict[str, Any]] = [
        {"id": 1, "none": None, "deep": {"a": [1, None]}, "a b.c": "ž🐎"},
        {"id": 2, "none": None},
    ]
    assert (await transfer(use, rows, LOCAL))["data"] == {"rows": 2}
    assert [field.name for field in table(LOCAL, secrets, tmp_path).schema().fields] == [
        "id",
        "none",
        "deep",
        "a b.c",
    ]
    more = await transfer(use, [{"id": 1, "a b.c": "new"}], LOCAL, mode="upsert", keys=["id"])
    assert more["data"] == {"rows": 1}, more


@pytest.mark.parametrize(
    "rows, more, kind, word",
    [
        ([{"id": 1, "new": 2}], {}, "format", "no column 'new'; it has id, v"),
        ([{"id": "text"}], {}, "delta", "text"),
        ([{"id": 1}, {"id": "x"}], {}, "format", "mixes"),
        ([{"id": 1}], {"mode": "upsert", "keys": ["v"]}, "input", "'v' is not among"),
    ],
)
async def test_rows_that_do_not_fit_leave_the_table_as_it_was(use, secrets, tmp_path, rows, more, kind, word):
    await transfer(use, [{"id": 1, "v": "a"}], LOCAL)
    problem = (await transfer(use, rows, LOCAL, **more))["error"]
    assert (problem["kind"], problem["retryable"]) == (kind, False), problem
    assert word in problem["message"]
    assert table(LOCAL, secrets, tmp_path).version() == 0


@pytest.mark.parametrize(
    "place, kind, word",
    [
        ({}, "input", "needs 'path'"),
        ({"path": "../out"}, "path", "outside"),
        ({"store": "s3://bucket"}, "input", "needs 'key'"),
        ({"store": "ftp://bucket", "key": "t"}, "input", "no place for a Delta table"),
        ({"store": "s3://bucket", "key": "t", "auth": "away"}, "network", "private"),
        (
            {"store": "s3://bucket", "key": "t", "auth": "closed"},
            "connect",
            "the table at s3://bucket/t cannot be reached: Generic S3 error: Connection refused",
        ),
    ],
)
async def test_a_place_that_is_none_is_named(use, secrets, place, kind, word):
    keys = {"access_key_id": "a", "secret_access_key": "s3cret", "region": "r"}
    secrets["away"] = {**keys, "endpoint": "http://10.0.0.1:1"}
    secrets["closed"] = {**keys, "endpoint": "http://127.0.0.1:1"}
    problem = (await transfer(use, [{"id": 1}], {"kind": "delta", **place}))["error"]
    assert problem["kind"] == kind, problem
    assert word in problem["message"]
    assert "s3cret" not in problem["message"]


async def test_delta_is_no_source(use):
    output = await use("transfer", {"source": {"kind": "delta", "path": "x"}, "target": LOCAL})
    assert output["error"]["kind"] == "input"


async def test_a_playbook_fills_a_table(tmp_path: Path):
    ran = await run(tmp_path, playbook(PLAYBOOK.replace("FOLDER", str(tmp_path))))
    assert (ran.status, ran.output) == ("completed", {"rows": 2})
    assert DeltaTable(str(tmp_path / "lake/t")).count() == 2


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
          target: {kind: delta, path: FOLDER/lake/t}
"""
