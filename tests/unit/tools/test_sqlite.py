"""The sqlite kind on real files."""

import asyncio
from pathlib import Path

import apsw
import pytest

from noetl.tools.parts.databases import OPEN_MAX

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


async def test_rows_come_back_as_mappings_with_counts_and_columns(use):
    output = await use("sqlite", {"query": "select 1 as a, 'x' as b union all select 2, null"})
    assert output["status"] == "ok"
    assert output["data"] == {
        "rows": [{"a": 1, "b": "x"}, {"a": 2, "b": None}], "row_count": 2, "columns": ["a", "b"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "params, query, row",
    [
        ([1, "x"], "select ? as a, ? as b", {"a": 1, "b": "x"}),
        ({"a": 1, "b": 2.5, "unused": 0}, "select :a as a, $b as b, :a as c", {"a": 1, "b": 2.5, "c": 1}),
        ([True, None], "select ? as a, ? as b", {"a": 1, "b": None}),
        ([[1, {"k": "v"}]], "select ? ->> '$[1].k' as a", {"a": "v"}),
        ([2**63 - 1], "select ? as a", {"a": 2**63 - 1}),
    ],
)
async def test_parameters_are_bound(use, params, query, row):
    output = await use("sqlite", {"query": query, "params": params})
    assert output["data"]["rows"] == [row]


@pytest.mark.parametrize(
    "expression, value",
    [("x'00ff'", "AP8="), ("1.5", 1.5), ("'2024-01-31'", "2024-01-31"), ("9223372036854775807", 2**63 - 1)],
)
async def test_values_keep_their_types(use, expression, value):
    assert (await use("sqlite", {"query": f"select {expression} as v"}))["data"]["rows"] == [{"v": value}]


async def test_an_infinite_number_is_a_value_error(use):
    assert (await use("sqlite", {"query": "select 9e999 as v"}))["error"]["kind"] == "value"


async def test_two_columns_of_one_name_are_told_apart(use):
    output = await use("sqlite", {"query": "select 1 as id, 2 as id"})
    assert output["data"]["rows"] == [{"id": 1, "id_2": 2}]


FILL = "create table t (a integer primary key, b text); insert into t values (1, 'x'), (2, 'y')"


async def test_several_statements_answer_one_by_one(use):
    output = await use(
        "sqlite", {"database": "a.db", "command": FILL + "; select * from t where a > 1; -- end"}
    )
    data = output["data"]
    assert data["rows"] == [{"a": 2, "b": "y"}]
    assert [part["row_count"] for part in data["statements"]] == [0, 2, 1]
    assert data["statements"][2]["columns"] == ["a", "b"]


async def test_the_rows_of_the_last_statement_that_returned_any_are_the_answer(use):
    output = await use("sqlite", {"command": "select 1 as a; create table t (x); insert into t values (1)"})
    assert output["data"]["rows"] == [{"a": 1}]


async def test_a_statement_without_rows_counts_what_it_changed(use):
    await use("sqlite", {"database": "a.db", "command": FILL})
    output = await use("sqlite", {"database": "a.db", "command": "update t set b = 'z'"})
    assert output["data"] == {"rows": [], "row_count": 2, "columns": []}
    again = await use("sqlite", {"database": "a.db", "command": "delete from t where a = 99"})
    assert again["data"]["row_count"] == 0


async def test_command_names_are_there_when_a_template_reads_them(use):
    sql = {"command": "select 1 as a; select 2 as a"}
    plain = await use("sqlite", sql)
    named = await use("sqlite", sql, mentions=lambda text: text == "command_")
    assert "command_0" not in plain["data"]
    assert named["data"]["command_0"]["rows"] == [{"a": 1}]
    assert named["data"]["command_1"]["rows"] == [{"a": 2}]


async def test_returning_gives_rows(use):
    await use("sqlite", {"database": "a.db", "command": FILL})
    output = await use(
        "sqlite", {"database": "a.db", "query": "insert into t values (7, 'q') returning a, b"}
    )
    assert output["data"]["rows"] == [{"a": 7, "b": "q"}]


async def test_several_statements_apply_together_or_not_at_all(use):
    await use("sqlite", {"database": "a.db", "command": FILL})
    broken = "insert into t values (3, 'z'); insert into t values (1, 'again')"
    output = await use("sqlite", {"database": "a.db", "command": broken})
    assert output["error"]["kind"] == "sqlite"
    assert output["error"]["code"] == "SQLITE_CONSTRAINT_PRIMARYKEY"
    assert output["error"]["details"] == {"statement": 2}
    assert output["error"]["retryable"] is False
    left = await use("sqlite", {"database": "a.db", "query": "select count(*) as n from t"})
    assert left["data"]["rows"] == [{"n": 2}]


async def test_without_a_transaction_each_statement_stands_alone(use):
    await use("sqlite", {"database": "a.db", "command": FILL})
    broken = {
        "database": "a.db",
        "command": "insert into t values (3, 'z'); insert into t values (1, 'again')",
    }
    await use("sqlite", broken, spec={"transaction": False})
    left = await use("sqlite", {"database": "a.db", "query": "select count(*) as n from t"})
    assert left["data"]["rows"] == [{"n": 3}]


@pytest.mark.parametrize(
    "command, n",
    [
        ("begin; insert into t values (3, 'z'); commit", 3),
        ("begin; insert into t values (3, 'z'); rollback", 2),
    ],
)
async def test_the_authors_own_transaction_is_respected(use, command, n):
    await use("sqlite", {"database": "a.db", "command": FILL})
    assert (await use("sqlite", {"database": "a.db", "command": command}))["status"] == "ok"
    left = await use("sqlite", {"database": "a.db", "query": "select count(*) as n from t"})
    assert left["data"]["rows"] == [{"n": n}]


async def test_a_transaction_left_open_is_rolled_back_and_told(use):
    await use("sqlite", {"database": "a.db", "command": FILL})
    output = await use("sqlite", {"database": "a.db", "command": "begin; delete from t"})
    assert "did not end it" in output["error"]["message"]
    left = await use("sqlite", {"database": "a.db", "query": "select count(*) as n from t"})
    assert left["data"]["rows"] == [{"n": 2}]


async def test_a_trigger_with_semicolons_is_one_statement(use):
    command = (
        FILL + "; create trigger g after insert on t begin update t set b = 'g' where a = new.a; end; "
        "insert into t values (9, 'n')"
    )
    await use("sqlite", {"database": "a.db", "command": command})
    seen = await use("sqlite", {"database": "a.db", "query": "select b from t where a = 9"})
    assert seen["data"]["rows"] == [{"b": "g"}]


@pytest.mark.parametrize(
    "values, kind, word",
    [
        ({"query": "select * from nope"}, "sqlite", "nope"),
        ({"query": "selec"}, "sqlite", "syntax"),
        ({"query": "select ?", "params": [1, 2]}, "input", "params"),
        ({"query": "select :a", "params": {"b": 1}}, "input", ":a"),
        ({"query": "select ?", "params": [2**70]}, "input", "64 bits"),
        ({"query": "select 1", "command": "select 1"}, "input", "exactly one"),
        ({}, "input", "exactly one"),
        ({"query": "select 1", "database": "/etc/passwd"}, "path", "outside"),
        ({"query": "select 1", "database": "../x.db"}, "path", "outside"),
        ({"query": "attach '/etc/passwd' as p"}, "sqlite", "authoriz"),
        ({"query": "vacuum into '/tmp/stolen.db'"}, "sqlite", "authoriz"),
        ({"query": "attach ? as p", "params": ["/etc/passwd"]}, "sqlite", "authoriz"),
    ],
)
async def test_what_cannot_run_says_why(use, values, kind, word):
    output = await use("sqlite", values)
    assert output["error"]["kind"] == kind
    assert word in output["error"]["message"]


async def test_a_database_in_memory_belongs_to_one_call(use):
    await use("sqlite", {"command": "create table t (a)"})
    assert (await use("sqlite", {"query": "select * from t"}))["status"] == "error"


async def test_other_files_can_be_attached_for_one_call(use):
    await use("sqlite", {"database": "a.db", "command": FILL})
    joined = {"query": "select count(*) as n from other.t", "attach": {"other": "a.db"}}
    assert (await use("sqlite", {**joined, "database": "b.db"}))["data"]["rows"] == [{"n": 2}]
    output = await use("sqlite", {"query": "select * from other.t", "database": "b.db"})
    assert output["status"] == "error"


async def test_read_only_cannot_write_or_make_a_file(use, tmp_path: Path):
    spec = {"read_only": True}
    assert (await use("sqlite", {"database": "gone.db", "query": "select 1 as a"}, spec=spec))[
        "status"
    ] == "error"
    assert not (tmp_path / "gone.db").exists()
    await use("sqlite", {"database": "a.db", "command": FILL})
    assert (await use("sqlite", {"database": "a.db", "command": "delete from t"}, spec=spec))[
        "status"
    ] == "error"
    assert (await use("sqlite", {"database": "a.db", "query": "select a from t"}, spec=spec))["data"][
        "row_count"
    ] == 2


async def test_a_locked_database_is_waited_for_then_retryable(use, tmp_path: Path):
    await use("sqlite", {"database": "a.db", "command": FILL})
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute("begin immediate")
    command = {"database": "a.db", "command": "delete from t"}
    output = await use("sqlite", command, spec={"busy_timeout": 0.05})
    assert output["error"]["retryable"] is True
    assert output["error"]["code"] == "SQLITE_BUSY"
    other.execute("rollback")
    other.close()
    assert (await use("sqlite", command, spec={"busy_timeout": 0.05}))["status"] == "ok"


async def test_store_answers_with_a_relational_reference(use, secrets):
    sql = {
        "database": "a.db",
        "command": FILL,
        "store": {"table": "t", "range": {"column": "a", "start": 1, "end": 2}},
    }
    ref = (await use("sqlite", sql))["ref"]
    assert ref["type"] == "relational"
    assert ref["locator"]["store"] == "sqlite"
    assert ref["locator"]["table"] == "t"
    assert ref["locator"]["range"] == {"column": "a", "start": 1, "end": 2}
    assert set(ref) == {"type", "locator", "auth_reference", "meta"}


@pytest.mark.parametrize(
    "written, start, end",
    [
        ("a:100-150", 100, 150),
        ("a:-", None, None),
        ("a:0-", 0, None),
        ("a:-5-b", -5, "b"),
        ("a:x-y-z", "x", "y-z"),
    ],
)
async def test_a_stretch_of_rows_may_be_written_as_one_text(use, written, start, end):
    output = await use("sqlite", {"query": "select 1", "store": {"table": "t", "range": written}})
    assert output["ref"]["locator"]["range"] == {"column": "a", "start": start, "end": end}


async def test_a_stretch_that_is_no_such_text_is_refused(use):
    output = await use("sqlite", {"query": "select 1", "store": {"table": "t", "range": "a"}})
    assert output["error"]["kind"] == "input"
    assert "id:100-150" in output["error"]["message"]


async def test_too_many_rows_are_a_limit_error(use):
    query = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
    output = await use("sqlite", {"query": query}, spec={"max_rows": 100})
    assert output["error"]["kind"] == "limit"


async def test_cancelling_interrupts_the_statement(use):
    task = asyncio.create_task(use("sqlite", {"database": "a.db", "query": ENDLESS}))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert (await use("sqlite", {"database": "a.db", "query": "select 1 as a"}))["status"] == "ok"


async def test_many_files_do_not_stay_open(use, resources):
    for number in range(OPEN_MAX + 5):
        await use("sqlite", {"database": f"{number}.db", "query": "select 1 as a"})
    assert len(resources.get("sqlite", lambda: None)._open) == OPEN_MAX


async def test_calls_on_one_file_do_not_disturb_each_other(use):
    await use("sqlite", {"database": "a.db", "command": "create table t (a)"})
    insert = {
        "database": "a.db",
        "command": "insert into t values (?); insert into t values (?)",
        "params": [1, 2],
    }
    outputs = await asyncio.gather(*(use("sqlite", insert) for _ in range(50)))
    assert {output["status"] for output in outputs} == {"ok"}
    count = await use("sqlite", {"database": "a.db", "query": "select count(*) as n from t"})
    assert count["data"]["rows"] == [{"n": 100}]
