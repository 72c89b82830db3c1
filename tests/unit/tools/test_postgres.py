"""The postgres kind against a real server."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import asyncpg
import pytest

from noetl import tools
from noetl.ports.call import Call, Resources
from noetl.ports.tool import invoke
from tests.servers import PostgresServer

Run = Callable[..., Awaitable[Any]]


def runner(use: Any, secrets: Any, database: str) -> Run:
    secrets["pg"] = {"dsn": database}

    async def run(query: str | None = None, params: Any = None, **more: Any) -> Any:
        values: dict[str, Any] = {key: more.pop(key) for key in ("copy", "store", "command") if key in more}
        given = {"query": query, "params": params, **values}
        return await use("postgres", given, auth_name="pg", **more)

    return run


@pytest.fixture
def pg(use: Any, secrets: Any, database: str) -> Run:
    """Run SQL with the credential of an empty database."""
    return runner(use, secrets, database)


@pytest.fixture(scope="module")
def one_database(postgres_server: PostgresServer) -> Iterator[str]:
    dsn = postgres_server.new_database()
    yield dsn
    postgres_server.drop_database(dsn)


@pytest.fixture
def shared(use: Any, secrets: Any, one_database: str) -> Run:
    """Run SQL in a database that other tests use too."""
    return runner(use, secrets, one_database)


async def rows(pg: Run, query: str, params: Any = None) -> Any:
    output = await pg(query, params)
    assert output["status"] == "ok", output["error"]
    return output["data"]["rows"]


# ---- statements and parameters --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, params",
    [
        ("select $1::int + $2::int as n, $3 as t", [1, 2, "x"]),
        ("select :a::int + :b::int as n, :c::text as t", {"a": 1, "b": 2, "c": "x"}),
        ("select :a::int + (:a + 1) as n, ':c' || '' as t -- :d", {"a": 1}),
    ],
)
async def test_values_are_bound_by_place_and_by_name(shared, query, params):
    output = await shared(query, params)
    data = output["data"]
    assert (data["rows"][0]["n"], data["row_count"], data["columns"]) == (3, 1, ["n", "t"])


async def test_a_bound_value_is_never_sql(pg):
    text = "'; drop table t; --"
    await pg("create table t (x text)")
    await pg("insert into t values (:x)", {"x": text})
    assert await rows(pg, "select x from t where x = $1", [text]) == [{"x": text}]


@pytest.mark.parametrize("params", [[7, "tea"], {"n": 7, "item": "tea"}])
async def test_several_statements_share_the_values_and_answer_one_by_one(pg, params):
    named = isinstance(params, dict)
    output = await pg(
        "create table sale (n int, item text);"
        + (
            "insert into sale values (:n, :item), (8, 'x');"
            if named
            else "insert into sale values ($1, $2), (8, 'x');"
        )
        + ("select item from sale where n = :n;" if named else "select item from sale where n = $1;")
        + "update sale set n = 0",
        params,
    )
    data = output["data"]
    assert (data["rows"], data["row_count"], data["columns"]) == ([{"item": "tea"}], 1, ["item"])
    assert [part["row_count"] for part in data["statements"]] == [0, 2, 1, 2]
    assert data["statements"][2]["rows"] == [{"item": "tea"}]


async def test_several_statements_are_one_transaction(pg):
    failed = await pg(
        "create table t (n int primary key); insert into t values (1); insert into t values (1)"
    )
    assert failed["error"]["code"] == "23505"
    gone = await pg("select * from t")
    assert (gone["error"]["code"], gone["pg"]["sqlstate"]) == ("42P01", "42P01")


async def test_statements_that_control_transactions_are_left_alone(pg):
    output = await pg(
        "begin; create table t (n int); commit; begin; insert into t values (1); rollback; vacuum t"
    )
    assert output["status"] == "ok", output
    assert await rows(pg, "select * from t") == []
    left = await pg("begin; insert into t values (1)")
    assert "did not end it" in left["error"]["message"]
    assert await rows(pg, "select count(*) as n from t") == [{"n": 0}]


async def test_a_transaction_of_the_author_reads_what_it_has_changed(pg):
    await pg("create table t (n int)")
    output = await pg("begin; insert into t values (1); select n from t; commit")
    assert output["status"] == "ok", output["error"]
    assert output["data"]["rows"] == [{"n": 1}]
    assert await rows(pg, "select n from t") == [{"n": 1}]


async def test_without_a_transaction_what_was_done_stays(pg):
    await pg("create table t (n int)")
    await pg("insert into t values (1); select 1/0", spec={"transaction": False})
    assert await rows(pg, "select n from t") == [{"n": 1}]


async def test_a_function_body_is_not_cut_into_statements(pg):
    text = """
    create function twice(n int) returns int language plpgsql as $body$
    begin -- a comment; with a semicolon
      return n * 2;
    end $body$;
    select twice(:n) as n
    """
    assert await rows(pg, text, {"n": 4}) == [{"n": 8}]


async def test_columns_of_one_name_are_told_apart(pg):
    assert await rows(pg, "select 1 as id, 2 as id, 3 as id") == [{"id": 1, "id_2": 2, "id_3": 3}]


@pytest.mark.parametrize(
    "query, params, kind, word",
    [
        ("select :a", {}, "input", ":a"),
        ("select $1::int, $2::int", [1], "input", "takes 2 values, but params has 1"),
        ("select $1::int", ["x"], "value", "parameter 1 is 'x', which is no int4"),
        ("select $1::int8", [2**63], "value", "int"),
        ("select $1::date", ["yesterday"], "value", "no date"),
        ("select :idempotency_key", [1], "input", "mapping"),
        ("selec 1", None, "postgres", "syntax"),
    ],
)
async def test_what_cannot_be_run_says_why(shared, query, params, kind, word):
    output = await shared(query, params)
    assert output["error"]["kind"] == kind, output
    assert word in output["error"]["message"]
    assert output["error"]["retryable"] is False


# ---- types ----------------------------------------------------------------------------------------------

TYPES = [
    ("int2", -32768, -32768),
    ("int4", 2147483647, 2147483647),
    ("int8", 9223372036854775807, 9223372036854775807),
    ("int8", -9223372036854775808, -9223372036854775808),
    ("int8", "12", 12),
    ("float8", 0.1, 0.1),
    ("float8", 5, 5.0),
    ("numeric", "1234567890.123456789012345678", "1234567890.123456789012345678"),
    ("numeric", 2.5, 2.5),
    ("numeric", 10, 10),
    ("numeric(20, 2)", "12.30", 12.3),
    ("numeric", "123456789012345678901234567890", 123456789012345678901234567890),
    ("bool", True, True),
    ("bool", "false", False),
    ("text", "ünï ☕", "ünï ☕"),
    ("text", 12, "12"),
    ("varchar(3)", "abc", "abc"),
    ("char(4)", "ab", "ab  "),
    ("date", "2026-01-31", "2026-01-31"),
    ("time", "12:30:45.5", "12:30:45.500000"),
    ("timestamp", "2026-01-31T12:30:45", "2026-01-31T12:30:45"),
    ("timestamptz", "2026-01-31T12:30:45+02:00", "2026-01-31T10:30:45+00:00"),
    ("timestamptz", "2026-01-31T12:30:45Z", "2026-01-31T12:30:45+00:00"),
    ("timestamptz", "2026-01-31", "2026-01-31T00:00:00+00:00"),
    ("interval", "P1DT2H", "P1DT7200S"),
    ("interval", 90, "PT90S"),
    ("uuid", "0197e5a0-0000-7000-8000-000000000001", "0197e5a0-0000-7000-8000-000000000001"),
    ("json", {"a": [1, 2.5, None, {"b": "c"}]}, {"a": [1, 2.5, None, {"b": "c"}]}),
    ("jsonb", {"b": 1, "a": 10**17}, {"a": 10**17, "b": 1}),
    ("jsonb", [1, "x"], [1, "x"]),
    ("jsonb", "text", "text"),
    ("bytea", "AP8=", "AP8="),
    ("int4[]", [1, None, 3], [1, None, 3]),
    ("text[]", ["a", "b,c", ""], ["a", "b,c", ""]),
    ("timestamptz[]", ["2026-01-31T12:30:45Z"], ["2026-01-31T12:30:45+00:00"]),
    ("numeric[]", ["0.1", 2], [0.1, 2]),
    ("int4[]", [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
    ("jsonb[]", [{"a": 1}, {"b": [2]}], [{"a": 1}, {"b": [2]}]),
    ("inet", "10.0.0.1", "10.0.0.1"),
    ("cidr", "10.0.0.0/8", "10.0.0.0/8"),
    ("date", "9999-12-31", "9999-12-31"),
    ("date", "0001-01-01", "0001-01-01"),
    ("date", "infinity", "infinity"),
    ("date[]", ["2026-01-31", "-infinity", None], ["2026-01-31", "-infinity", None]),
    ("timestamp", "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999"),
    ("timestamp", "-infinity", "-infinity"),
    ("timestamp", "0001-01-01T00:00:00", "0001-01-01T00:00:00"),
    ("timestamptz", "infinity", "infinity"),
    ("timestamptz", "1950-01-31T12:30:45.000001+02:00", "1950-01-31T10:30:45.000001+00:00"),
    ("timestamptz", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
]


@pytest.mark.parametrize("kind, given, back", TYPES)
async def test_a_value_keeps_its_type_both_ways(shared, kind, given, back):
    """Bound into a column of the type, and over COPY, and read back."""
    table = f"t_{TYPES.index((kind, given, back))}"
    await shared(f"create table {table} (v {kind}, w {kind})")
    stored = await shared(f"insert into {table} values (:v, null)", {"v": given})
    assert stored["status"] == "ok", stored
    copied = await shared(copy={"table": table, "rows": [{"v": given, "w": None}]})
    assert copied["status"] == "ok", copied
    assert await rows(shared, f"select v, w from {table}") == [{"v": back, "w": None}] * 2


@pytest.mark.parametrize(
    "expression, back",
    [
        ("int4range(1, 5)", {"lower": 1, "upper": 5, "empty": False, "lower_inc": True, "upper_inc": False}),
        ("row(1, 'x')", None),
        ("b'101'", "101"),
        ("point(1, 2)", [1.0, 2.0]),
        ("array[]::int[]", []),
        ("null", None),
        ("interval '1 month 2 days'", None),
        ("'infinity'::float8", "value"),
        ("'NaN'::numeric", "value"),
        ("date '0044-03-15 BC'", "value"),
        ("timestamptz '20000-01-01 UTC'", "value"),
        ("array['infinity'::timestamptz]", ["infinity"]),
        (
            "daterange('2026-01-01', '2026-02-01')",
            {
                "lower": "2026-01-01",
                "upper": "2026-02-01",
                "empty": False,
                "lower_inc": True,
                "upper_inc": False,
            },
        ),
    ],
)
async def test_other_values_have_a_json_form_or_say_that_they_have_none(shared, expression, back):
    output = await shared(f"select {expression} as v")
    if back == "value":
        assert output["error"]["kind"] == "value"
        return
    assert output["status"] == "ok"
    if back is not None or expression == "null":
        assert output["data"]["rows"] == [{"v": back}]


async def test_an_enumeration_and_a_domain_bind_as_text_and_number(pg):
    await pg("create type mood as enum ('good', 'bad'); create domain age as int check (value > 0)")
    assert await rows(pg, "select :m::mood as m, :a::age as a", {"m": "good", "a": 5}) == [
        {"m": "good", "a": 5}
    ]


# ---- COPY -----------------------------------------------------------------------------------------------


async def test_copy_loads_mappings_lists_and_only_the_named_columns(pg):
    await pg("create schema s; create table s.t (id int, name text, at timestamptz default '2026-01-01Z')")
    for copy in (
        {"table": "s.t", "rows": [{"id": 1, "name": "a"}, {"name": "b", "id": 2}]},
        {"table": "s.t", "rows": [[3, "c"]], "columns": ["id", "name"]},
        {"table": "s.t", "rows": [{"id": 4, "other": 1}], "columns": ["id"]},
        {"table": "s.t", "rows": []},
    ):
        output = await pg(copy=copy, store={"table": "s.t"})
        assert output["data"]["row_count"] == len(copy["rows"])
        assert output["ref"]["type"] == "relational"
    found = await rows(pg, "select id, name, at is not null as at from s.t order by id")
    assert [tuple(row.values()) for row in found] == [
        (1, "a", True), (2, "b", True), (3, "c", True), (4, None, True),
    ]  # fmt: skip


async def test_copy_loads_a_stored_result(pg, payloads):
    await pg("create table t (id int)")
    ref = await payloads.put([{"id": number} for number in range(5000)])
    assert (await pg(copy={"table": "t", "rows": ref}))["data"]["row_count"] == 5000
    answer = await payloads.put({"rows": [{"id": 7}], "row_count": 1})
    assert (await pg(copy={"table": "t", "rows": answer}))["data"]["row_count"] == 1
    none = await payloads.put("text")
    assert (await pg(copy={"table": "t", "rows": none}))["error"]["kind"] == "input"
    assert (await pg(copy={"table": "t", "rows": {"a": 1}}))["error"]["kind"] == "reference"


@pytest.mark.parametrize(
    "rows_given, kind, word",
    [
        ([[1]], "input", "columns"),
        ([{"id": 1}, [2, 3]], "input", "columns"),
        ([{"id": "x"}], "value", "int4"),
        ([{"nope": 1}], "postgres", "nope"),
        ([{"id": 1}, {"id": 1}], "postgres", "duplicate"),
    ],
)
async def test_a_copy_that_cannot_be_leaves_nothing(pg, rows_given, kind, word):
    await pg("create table t (id int primary key)")
    output = await pg(copy={"table": "t", "rows": rows_given})
    assert output["error"]["kind"] == kind, output
    assert word in output["error"]["message"]
    assert await rows(pg, "select * from t") == []


# ---- errors ---------------------------------------------------------------------------------------------


async def test_an_error_has_its_sqlstate_and_details(pg):
    await pg("create table t (id int primary key); insert into t values (1)")
    output = await pg("insert into t values (1)")
    problem = output["error"]
    assert (problem["kind"], problem["code"], problem["retryable"]) == ("postgres", "23505", False)
    assert output["pg"] == {"code": "23505", "sqlstate": "23505", "message": problem["message"]}
    assert problem["details"]["constraint_name"] == "t_pkey"
    assert "already exists" in problem["details"]["detail"]


@pytest.mark.parametrize(
    "state, retryable",
    [
        ("08006", True), ("40001", True), ("40P01", True), ("53300", True), ("57P01", True), ("57P03", True),
        ("55P03", True), ("22012", False), ("23505", False), ("42501", False), ("P0001", False), ("28P01", False),
    ],
)  # fmt: skip
async def test_whether_another_try_can_help_is_known_from_the_sqlstate(shared, state, retryable):
    raised = f"do $$ begin raise exception 'x' using errcode = '{state}'; end $$"
    output = await shared(raised)
    assert (output["error"]["code"], output["error"]["retryable"]) == (state, retryable)


async def test_two_transactions_in_a_deadlock_end_with_a_retryable_error(pg):
    await pg("create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)")
    crossed = [
        f"update t set n = n + 1 where id = {one}; select pg_sleep(0.3);"
        f"update t set n = n + 1 where id = {two}"
        for one, two in ((1, 2), (2, 1))
    ]
    outputs = await asyncio.gather(*(pg(text) for text in crossed))
    failed = [output["error"] for output in outputs if output["status"] == "error"]
    assert [(problem["code"], problem["retryable"]) for problem in failed] in ([], [("40P01", True)])
    assert {row["n"] for row in await rows(pg, "select n from t")} == {2 - len(failed)}


async def test_a_server_that_is_not_there_is_retryable_and_a_wrong_database_is_not(
    use, secrets, postgres_server
):
    secrets["pg"] = {"host": "127.0.0.1", "port": 9, "user": "x", "password": "canary-pw", "database": "x"}
    output = await use("postgres", {"query": "select 1"}, auth_name="pg")
    assert (output["error"]["kind"], output["error"]["retryable"]) == ("connect", True)
    assert output["error"]["message"] == "the database at 127.0.0.1:9 cannot be reached: Connection refused"
    assert "canary-pw" not in str(output)
    secrets["pg"] = {"dsn": "postgresql://x:canary-pw@127.0.0.1:9/y?sslmode=disable"}
    output = await use("postgres", {"query": "select 1"}, auth_name="pg")
    assert output["error"]["message"] == "the database at 127.0.0.1:9/y cannot be reached: Connection refused"
    secrets["pg"] = {"dsn": f"{postgres_server.url}/not_there"}
    output = await use("postgres", {"query": "select 1"}, auth_name="pg")
    assert (output["error"]["code"], output["error"]["retryable"]) == ("3D000", False)
    assert (await use("postgres", {"query": "select 1"}))["error"]["kind"] == "auth"


async def test_a_credential_without_a_host_is_told_and_no_other_host_is_tried(use, secrets):
    secrets["pg"] = {"hostname": "db.example", "user": "app", "password": "canary-5f2c81"}
    output = await use("postgres", {"query": "select 1"}, auth_name="pg")
    assert output["error"]["kind"] == "auth"
    assert "neither host nor dsn" in output["error"]["message"]
    assert "hostname, user, password" in output["error"]["message"]
    assert "canary" not in str(output)


async def test_fields_of_a_credential_make_a_connection(use, secrets, database):
    from urllib.parse import urlsplit

    parts = urlsplit(database)
    secrets["pg"] = {
        "kind": "postgres_credential", "host": parts.hostname, "port": str(parts.port), "username": parts.username,
        "db_name": parts.path.lstrip("/"), "sslmode": "disable",
    }  # fmt: skip
    output = await use("postgres", {"query": "select current_user::text as me"}, auth_name="pg")
    assert output["data"]["rows"] == [{"me": parts.username}]


# ---- time, cancellation, pooling ------------------------------------------------------------------------


async def running(database: str) -> list[Any]:
    connection = await asyncpg.connect(database)
    found = await connection.fetch(
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        " and state <> 'idle' and query like '%pg_sleep%'"
    )
    await connection.close()
    return list(found)


async def eventually(check: Any, wanted: bool) -> None:
    async with asyncio.timeout(60):
        while bool(await check()) is not wanted:  # noqa: ASYNC110  # it is the server's state
            await asyncio.sleep(0.02)


async def test_a_statement_that_takes_too_long_is_ended_by_the_server(pg, database):
    output = await pg("select pg_sleep(600)", spec={"statement_timeout": 0.2})
    assert (output["error"]["code"], output["error"]["retryable"]) == ("57014", True)
    assert await rows(pg, "show statement_timeout") == [{"statement_timeout": "0"}]


async def test_cancelling_a_call_ends_its_statement_on_the_server(pg, database):
    task = asyncio.create_task(pg("select pg_sleep(600)"))
    await eventually(lambda: running(database), True)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: running(database), False)
    assert await rows(pg, "select 1 as n") == [{"n": 1}]


async def test_a_server_that_dies_under_a_statement_is_told_in_plain_words(use, secrets):
    with PostgresServer.start() as server:
        database = server.new_database()
        secrets["pg"] = {"dsn": database}
        task = asyncio.create_task(use("postgres", {"query": "select pg_sleep(600)"}, auth_name="pg"))
        await eventually(lambda: running(database), True)
        await asyncio.to_thread(server.kill)
        problem = (await task)["error"]
    assert (problem["kind"], problem["retryable"]) == ("connect", True)
    assert problem["message"].endswith("cannot be reached: the connection was lost")


async def test_a_connection_that_the_server_ends_is_retryable_and_the_next_call_has_another(pg, database):
    task = asyncio.create_task(pg("select pg_sleep(600)"))
    await eventually(lambda: running(database), True)
    connection = await asyncpg.connect(database)
    await connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(600)' and"
        " datname = current_database() and pid <> pg_backend_pid()"
    )
    await connection.close()
    problem = (await task)["error"]
    assert problem["retryable"] is True
    assert problem["code"] in ("57P01", "08006", "08003", None)
    assert await rows(pg, "select 1 as n") == [{"n": 1}]


async def test_many_calls_share_a_bounded_number_of_connections(pg, database):
    count = "select count(*) as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    text = f"select pg_sleep(0.02); {count}"
    outputs = await asyncio.gather(*(pg(text, spec={"pool_size": 3}) for _ in range(30)))
    assert max(output["data"]["rows"][0]["n"] for output in outputs) <= 2


async def test_a_call_leaves_nothing_behind_on_its_connection(pg):
    await pg("set search_path to nowhere; create temp table x (n int)", spec={"pool_size": 1})
    output = await pg("select n from x", spec={"pool_size": 1})
    assert output["error"]["code"] == "42P01"
    output = await pg("show search_path", spec={"pool_size": 1})
    assert output["data"]["rows"] == [{"search_path": '"$user", public'}]


async def test_the_connections_are_closed_with_the_worker(database):
    own = Resources()
    call = Call(None, own, auth_name="pg", auth={"dsn": database})  # type: ignore[arg-type]
    assert (await invoke(tools.get("postgres"), {"query": "select 1 as n"}, call))["status"] == "ok"
    await own.close()
    connection = await asyncpg.connect(database)

    async def others() -> bool:
        return bool(
            await connection.fetchval(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and pid <> pg_backend_pid()"
            )
        )

    await eventually(others, False)
    await connection.close()


# ---- many rows ------------------------------------------------------------------------------------------


async def test_rows_over_the_limit_are_an_error(pg):
    output = await pg("select generate_series(1, 11) as n", spec={"max_rows": 10})
    assert output["error"]["kind"] == "limit"
    assert (await pg("select generate_series(1, 10) as n", spec={"max_rows": 10}))["data"]["row_count"] == 10


async def test_rows_that_are_too_many_to_hold_are_stored_one_to_a_line(pg, payloads):
    query = "select n, repeat('x', 50) as t from generate_series(1, 5000) as s(n)"
    output = await pg(query, spec={"limits": {"max_hydrate_bytes": 100_000}})
    assert output["data"] == {"rows": None, "row_count": 5000, "columns": ["n", "t"]}
    kept, content_type = payloads.kept[output["ref"]["locator"]["key"]]
    assert content_type == "application/x-ndjson"
    lines = kept.split(b"\n")
    assert (len(lines), lines[0], lines[-1][:9]) == (5000, b'{"n":1,"t":"' + b"x" * 50 + b'"}', b'{"n":5000')


async def test_the_limit_also_holds_while_rows_are_stored(pg, payloads):
    query = "select n, repeat('x', 50) as t from generate_series(1, 5000) as s(n)"
    output = await pg(query, spec={"limits": {"max_hydrate_bytes": 100_000}, "max_rows": 4000})
    assert (output["error"]["kind"], payloads.kept) == ("limit", {})
    assert await rows(pg, "select 1 as n") == [{"n": 1}]


async def test_a_reference_to_a_table_is_resolved_with_its_credential(pg, use):
    await pg(
        "create table t (id int, n int); insert into t select i, i * i from generate_series(1, 9) as s(i)"
    )
    output = await pg("select 1", store={"table": "t", "range": {"column": "id", "start": 3, "end": 5}})
    assert output["ref"]["auth_reference"] == "keychain/pg"
    resolved = await use("resolve", {"ref": output["ref"], "limit": 2})
    assert resolved["data"] == [{"id": 3, "n": 9}, {"id": 4, "n": 16}]


async def test_a_statement_that_is_repeated_heeds_tables_that_have_changed_meanwhile(pg):
    kept = "insert into t values (:value)"
    for kind, value, back in (("date", "2026-01-31", "2026-01-31"), ("int", 5, 5), ("text", "x", "x")):
        await pg(f"drop table if exists t; create table t (value {kind})")
        for _ in range(3):
            assert (await pg(kept, {"value": value}))["data"]["row_count"] == 1
        assert await rows(pg, "select value from t") == [{"value": back}] * 3
    await pg("drop table t")
    for _ in range(2):
        gone = await pg(kept, {"value": "x"})
        assert gone["error"]["code"] == "42P01"
    await pg("create table t (value int check (value > 0))")
    for value, code in ((1, None), (2, None), (0, "23514"), (3, None)):
        output = await pg(kept, {"value": value})
        assert (output.get("error") or {}).get("code") == code
    assert await rows(pg, "select value from t") == [{"value": 1}, {"value": 2}, {"value": 3}]
    assert (await pg(kept, {"value": "no number"}))["error"]["kind"] == "value"


# ---- the same call again --------------------------------------------------------------------------------


async def test_a_repeated_call_binds_the_same_key_and_takes_effect_once(pg):
    await pg("create table payment (key text primary key, amount int)")
    text = (
        "insert into payment values (:idempotency_key, :amount) on conflict (key) do nothing;"
        "select amount from payment where key = :idempotency_key"
    )
    for _ in range(2):
        output = await pg(text, {"amount": 5}, idempotency_key="e1/s.1/t.1")
        assert output["data"]["rows"] == [{"amount": 5}]
    await pg(text, {"amount": 6}, idempotency_key="e1/s.1/t.2")
    own = {"amount": 7, "idempotency_key": "mine"}
    await pg(text, own, idempotency_key="e1/s.1/t.3")
    assert await rows(pg, "select key, amount from payment order by key") == [
        {"key": "e1/s.1/t.1", "amount": 5},
        {"key": "e1/s.1/t.2", "amount": 6},
        {"key": "mine", "amount": 7},
    ]


async def test_the_key_needs_no_other_values(pg):
    assert await rows(pg, "select :idempotency_key::text as k") == [{"k": "key-1"}]


@pytest.mark.parametrize(
    "query, params, place",
    [
        ("select 1;\n select * form x", None, {"line": 2, "column": 11, "text": " select * form x"}),
        ("select :a::int,\n  :b::int + nope", {"a": 1, "b": 2}, {"line": 2, "column": 13, "text": "  :b::int + nope"}),
        ("insert into gone values ($1)", [1], {"line": 1, "column": 13, "text": "insert into gone values ($1)"}),
    ],
)  # fmt: skip
async def test_an_error_of_the_server_says_where_in_the_text_it_is(shared: Run, query, params, place):
    error = (await shared(query, params))["error"]
    assert error["kind"] == "postgres"
    assert error["details"]["position"] == place
