"""The duckdb kind on real files."""

import asyncio
import sys
from datetime import datetime
from pathlib import Path
from subprocess import PIPE
from urllib.parse import urlsplit

import duckdb
import pytest

from noetl.tools.duckdb import File

FILL = "create table t (a integer primary key, b text); insert into t values (1, 'x'), (2, 'y')"


async def test_rows_come_back_as_mappings_with_counts_and_columns(use):
    output = await use("duckdb", {"query": "select 1 as a, 'x' as b union all select 2, null order by a"})
    assert output["data"] == {
        "rows": [{"a": 1, "b": "x"}, {"a": 2, "b": None}], "row_count": 2, "columns": ["a", "b"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "params, query, row",
    [
        ([1, "x"], "select ? as a, ? as b", {"a": 1, "b": "x"}),
        ({"a": 1, "b": [1, 2], "unused": 0}, "select $a as a, $b as b", {"a": 1, "b": [1, 2]}),
    ],
)
async def test_parameters_are_bound(use, params, query, row):
    assert (await use("duckdb", {"query": query, "params": params}))["data"]["rows"] == [row]


@pytest.mark.parametrize(
    "expression, value",
    [
        ("1.25::decimal(10,2)", 1.25),
        ("12345678901234567890.12345::decimal(38,5)", "12345678901234567890.12345"),
        ("timestamp '2024-01-31 10:20:30'", "2024-01-31T10:20:30"),
        ("date '2024-01-31'", "2024-01-31"),
        ("'\\xFF'::blob", "/w=="),
        ("[1, null]", [1, None]),
        ("{'k': 1.5}", {"k": 1.5}),
        ("'00000000-0000-0000-0000-000000000001'::uuid", "00000000-0000-0000-0000-000000000001"),
        ("170141183460469231731687303715884105727::hugeint", 2**127 - 1),
        ("true", True),
        ("null", None),
    ],
)
async def test_values_keep_their_types(use, expression, value):
    assert (await use("duckdb", {"query": f"select {expression} as v"}))["data"]["rows"] == [{"v": value}]


@pytest.mark.parametrize("expression", ["now()", "current_timestamp", "timestamptz '2024-01-31 10:20:30+02'"])
async def test_a_time_with_a_zone_comes_back_with_its_offset(use, expression):
    query = f"select {expression} as v, [{expression}] as l, {expression} = $t as same"
    first = (await use("duckdb", {"query": f"select {expression} as v"}))["data"]["rows"][0]["v"]
    output = await use("duckdb", {"query": query, "params": {"t": first}})
    row = output["data"]["rows"][0]
    assert datetime.fromisoformat(row["v"]).utcoffset() is not None
    assert row["l"] == [row["v"]]
    if "2024" in expression:
        assert row["same"] is True
        assert datetime.fromisoformat(row["v"]) == datetime.fromisoformat("2024-01-31T08:20:30+00:00")


async def test_several_statements_answer_one_by_one_and_keep_the_file(use):
    sql = {"database": "d/a.duckdb", "command": FILL + "; select * from t where a > ?", "params": [1]}
    output = await use("duckdb", sql)
    assert output["data"]["rows"] == [{"a": 2, "b": "y"}]
    assert [part["row_count"] for part in output["data"]["statements"]] == [0, 2, 1]
    again = await use("duckdb", {"database": "d/a.duckdb", "query": "select count(*) as n from t"})
    assert again["data"]["rows"] == [{"n": 2}]


async def test_several_statements_apply_together_or_not_at_all(use):
    await use("duckdb", {"database": "a.duckdb", "command": FILL})
    broken = "insert into t values (3, 'z'); insert into t values (1, 'again')"
    output = await use("duckdb", {"database": "a.duckdb", "command": broken})
    assert output["error"]["kind"] == "duckdb"
    assert output["error"]["code"] == "ConstraintException"
    assert output["error"]["details"] == {"statement": 2}
    left = await use("duckdb", {"database": "a.duckdb", "query": "select count(*) as n from t"})
    assert left["data"]["rows"] == [{"n": 2}]


async def test_a_statement_without_rows_counts_what_it_changed(use):
    await use("duckdb", {"database": "a.duckdb", "command": FILL})
    output = await use("duckdb", {"database": "a.duckdb", "command": "update t set b = 'z'"})
    assert output["data"] == {"rows": [], "row_count": 2, "columns": []}


async def test_data_files_and_databases_can_be_attached(use, tmp_path: Path):
    (tmp_path / "sales.csv").write_text("item,price\ntea,3\n")
    await use("duckdb", {"database": "a.duckdb", "command": FILL})
    query = "select item, (select count(*) from other.t) as n from sales"
    output = await use("duckdb", {"query": query, "attach": {"sales": "sales.csv", "other": "a.duckdb"}})
    assert output["data"]["rows"] == [{"item": "tea", "n": 2}]


@pytest.mark.parametrize(
    "values, kind, word",
    [
        ({"query": "select * from nope"}, "duckdb", "nope"),
        ({"query": "selec"}, "duckdb", "syntax"),
        ({"query": "select ?"}, "input", "params"),
        ({"query": "select $a", "params": {"b": 1}}, "input", "$a"),
        ({"query": "select * from read_csv('/etc/passwd')"}, "duckdb", "Permission"),
        ({"command": "copy (select 1) to '/tmp/stolen.csv'"}, "duckdb", "Permission"),
        ({"command": "install httpfs"}, "duckdb", "Permission"),
        ({"command": "set enable_external_access = true"}, "duckdb", ""),
        ({"query": "select 1", "database": "/etc/x.duckdb"}, "path", "outside"),
        ({"query": "select 1", "attach": {"a": "/etc/passwd"}}, "path", "outside"),
    ],
)
async def test_what_cannot_run_says_why(use, values, kind, word):
    output = await use("duckdb", values)
    assert output["error"]["kind"] == kind
    assert word in output["error"]["message"]


async def test_too_many_rows_are_a_limit_error(use):
    output = await use("duckdb", {"query": "select * from range(10000)"}, spec={"max_rows": 100})
    assert output["error"]["kind"] == "limit"


async def test_a_file_that_another_process_holds_is_retryable(use, tmp_path: Path):
    await use("duckdb", {"database": "a.duckdb", "command": FILL})
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", hold, str(tmp_path / "a.duckdb")]
    other = await asyncio.create_subprocess_exec(*argv, stdin=PIPE, stdout=PIPE)
    assert other.stdout is not None
    await other.stdout.readline()
    output = await use("duckdb", {"database": "a.duckdb", "query": "select 1 as a"})
    await other.communicate(b"")
    assert output["error"]["retryable"] is True


async def test_a_file_that_another_call_has_open_with_other_settings_is_retryable(use, tmp_path: Path):
    await use("duckdb", {"database": "a.duckdb", "command": FILL})
    with duckdb.connect(str(tmp_path / "a.duckdb")):
        output = await use("duckdb", {"database": "a.duckdb", "query": "select 1"}, spec={"read_only": True})
    assert output["error"]["retryable"] is True
    assert "open with other settings" in output["error"]["message"]


async def test_cancelling_interrupts_the_statement(use):
    query = "select count(*) from range(10000000) a, range(10000000) b"
    task = asyncio.create_task(use("duckdb", {"query": query}, spec={"threads": 1}))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)


def test_interrupting_a_statement_that_has_just_ended_is_no_error():
    file = File(":memory:")
    file.connection = duckdb.connect()
    file.connection.close()
    file.interrupt()
    assert file.connection is not None


async def test_store_answers_with_a_reference_that_resolves(use):
    store = {"table": "t", "range": {"column": "a", "start": 2}}
    ref = (await use("duckdb", {"database": "a.duckdb", "command": FILL, "store": store}))["ref"]
    assert (await use("resolve", {"ref": ref}))["data"] == [{"a": 2, "b": "y"}]


@pytest.mark.parametrize("by", ["dsn", "fields"])
async def test_a_postgresql_database_is_attached_with_its_credential(use, secrets, database, by):
    """Nothing is downloaded: the extension is an installed package."""
    parts = urlsplit(database)
    fields = {
        "host": parts.hostname, "port": parts.port, "username": parts.username, "db_name": parts.path[1:],
        "password": "canary-5f2c81",
    }  # fmt: skip
    secrets["pg"] = {"dsn": database} if by == "dsn" else fields
    await use("postgres", {"query": "create table sale (item text, n int)"}, auth_name="pg")
    attach = {"shop": {"auth": "pg"}}
    fill = "insert into shop.sale select 'tea', n from range(5) as t(n)"
    assert (await use("duckdb", {"command": fill, "attach": attach}))["status"] == "ok"
    query = "select item, sum(n) as n from shop.sale group by item"
    found = await use("duckdb", {"query": query, "attach": {"shop": {"auth": "pg", "read_only": True}}})
    assert found["data"]["rows"] == [{"item": "tea", "n": 10}]
    refused = await use("duckdb", {"command": fill, "attach": {"shop": {"auth": "pg", "read_only": True}}})
    assert refused["status"] == "error"
    shown = await use("duckdb", {"query": "select * from duckdb_secrets()", "attach": attach})
    assert shown["status"] == "ok"
    assert "canary-5f2c81" not in str(shown)


async def test_sql_attaches_no_database_by_itself(use, secrets, database):
    secrets["pg"] = {"dsn": database}
    text = f"attach '{database}' as other (type postgres)"
    output = await use("duckdb", {"command": text, "attach": {"shop": {"auth": "pg"}}})
    assert "disabled" in output["error"]["message"]


@pytest.mark.parametrize(
    "secret, kind", [({"user": "x"}, "auth"), ({"host": "127.0.0.1", "port": 9, "user": "x"}, "duckdb")]
)
async def test_a_database_that_cannot_be_attached_says_why(use, secrets, secret, kind):
    secrets["pg"] = secret
    output = await use("duckdb", {"query": "select 1", "attach": {"shop": {"auth": "pg"}}})
    assert output["error"]["kind"] == kind


async def test_without_the_extension_the_package_to_install_is_named(use, secrets, monkeypatch):
    monkeypatch.setattr("noetl.tools.parts.duckdb_attach.find_spec", lambda name: None)
    secrets["pg"] = {"host": "127.0.0.1"}
    output = await use("duckdb", {"query": "select 1", "attach": {"shop": {"auth": "pg"}}})
    assert "duckdb-extension-postgres-scanner==" in output["error"]["message"]
