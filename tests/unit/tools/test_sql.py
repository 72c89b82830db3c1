"""The sql kind against a real MariaDB, and through ADBC against PostgreSQL and SQLite."""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
import pymysql
import pytest

from noetl import tools
from noetl.tools.parts.sql_binding import Binding
from noetl.tools.parts.statements import split
from tests.engine.harness import Ran, playbook, run
from tests.fork_server import FORK_SERVER
from tests.servers import MariadbServer
from tests.unit.tools.test_unanswered import RETRY, at_every_point

Run = Callable[..., Awaitable[Any]]
PG, LITE = "adbc_driver_postgresql", "adbc_driver_sqlite"


@pytest.fixture(scope="module")
def mariadb(mariadb_server: MariadbServer) -> str:
    return mariadb_server.new_database()


def runner(use: Any, secrets: Any, driver: str, secret: dict[str, Any]) -> Run:
    secrets[driver] = secret

    async def run(query: str | None = None, params: Any = None, **more: Any) -> Any:
        given = {"driver": driver, "query": query, "params": params}
        return await use("sql", given, auth_name=driver, **({"roots": ("/",)} | more))

    return run


@pytest.fixture
def my(use: Any, secrets: Any, mariadb: str) -> Run:
    """Run SQL in MariaDB."""
    return runner(use, secrets, "mysql", {"url": mariadb})


@pytest.fixture
def pg(use: Any, secrets: Any, database: str) -> Run:
    """Run SQL in PostgreSQL, through ADBC."""
    return runner(use, secrets, PG, {"url": database})


@pytest.fixture
def lite(use: Any, secrets: Any, tmp_path: Path) -> Run:
    """Run SQL in SQLite, through ADBC."""
    return runner(use, secrets, LITE, {"url": str(tmp_path / "lite.db")})


@pytest.fixture(params=["my", "pg", "lite"])
def db(request: pytest.FixtureRequest) -> Run:
    """Run SQL in each of them."""
    found: Run = request.getfixturevalue(request.param)
    return found


async def rows(db: Run, query: str, params: Any = None, **more: Any) -> Any:
    output = await db(query, params, **more)
    assert output["status"] == "ok", output["error"]
    return output["data"]["rows"]


# ---- statements and parameters --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, params",
    [
        ("select cast(? as decimal) + 2 as n, cast(? as char(9)) as t", [1, "x"]),
        ("select cast(:a as decimal) + cast(:b as decimal) as n, ':c ? ;' as t -- :d ?", {"a": 1, "b": 2}),
        ("select cast(:a as decimal) + cast(:a as decimal) + 1 as n, '50% %s' as t", {"a": 1}),
        ("select 3 as n, '50% %s :x' as t", None),
    ],
)
async def test_values_are_bound_by_place_and_by_name(db, query, params):
    output = await db(query, params)
    assert output["status"] == "ok", output
    data = output["data"]
    assert (float(data["rows"][0]["n"]), data["row_count"], data["columns"]) == (3.0, 1, ["n", "t"])
    if "%" in query:
        assert data["rows"][0]["t"].startswith("50% %s")


async def test_a_bound_value_is_never_sql(db):
    text = "\\'; drop table hostile; -- \" % é\n"
    await rows(db, "create table hostile (x varchar(99))")
    await rows(db, "insert into hostile values (:x), (null)", {"x": text})
    assert await rows(db, "select x from hostile where x = ?", [text]) == [{"x": text}]
    assert await rows(db, "select count(*) as n from hostile where x is null or x = ?", [None]) == [{"n": 1}]
    await rows(db, "drop table hostile")


@pytest.mark.parametrize("params", [[7, "tea", 7], {"n": 7, "item": "tea"}])
async def test_several_statements_share_the_values_and_answer_one_by_one(db, params):
    named = isinstance(params, dict)
    await rows(db, "create table sale (n int, item varchar(9))")
    output = await db(
        (
            "insert into sale values (:n, :item), (8, 'x');"
            if named
            else "insert into sale values (?, ?), (8, 'x');"
        )
        + ("select item from sale where n = :n;" if named else "select item from sale where n = ?;")
        + "update sale set n = 0",
        params,
        mentions=lambda text: text == "command_",
    )
    data = output["data"]
    assert (data["rows"], data["row_count"], data["columns"]) == ([{"item": "tea"}], 1, ["item"])
    assert [part["row_count"] for part in data["statements"]] == [2, 1, 2]
    assert data["command_1"]["rows"] == [{"item": "tea"}]
    await rows(db, "drop table sale")


async def test_several_statements_are_one_transaction(db):
    await rows(db, "create table whole (n int primary key)")
    failed = await db(
        "insert into whole values (1); insert into whole values (2); insert into whole values (1)"
    )
    assert (failed["error"]["kind"], failed["error"]["details"]["statement"]) == ("sql", 3), failed
    assert await rows(db, "select n from whole") == []
    await db("insert into whole values (1); insert into whole values (1)", spec={"transaction": False})
    assert await rows(db, "select n from whole") == [{"n": 1}]
    await rows(db, "drop table whole")


async def test_statements_that_control_transactions_are_left_alone(my, pg):
    for db, begin in ((my, "start transaction"), (pg, "begin")):
        await rows(db, "create table own (n int)")
        await rows(
            db, f"{begin}; insert into own values (1); commit; {begin}; insert into own values (2); rollback"
        )
        assert await rows(db, "select n from own") == [{"n": 1}]
        left = await db(f"{begin}; insert into own values (3)")
        assert left["error"]["kind"] == "input"
        assert "do not end it" in left["error"]["message"]
        await rows(db, "drop table own")


async def test_the_text_is_read_as_mysql_reads_it(my):
    text = "select 'it\\'s; :no' as a, \"two;\\\" :no\" as b # :no; ?\n, :yes as c;\n# nothing; more"
    assert await rows(my, text, {"yes": 1}) == [{"a": "it's; :no", "b": 'two;" :no', "c": 1}]


async def test_a_procedure_is_one_statement(my):
    text = "create procedure twice(n int) begin select n * 2 as n; select 1 as other; end"
    assert (await my(text))["status"] == "ok"
    assert await rows(my, "call twice(:n)", {"n": 4}) == [{"n": 8}]
    assert await rows(my, "select 1 as n") == [{"n": 1}]


def test_statements_are_cut_by_the_rules_of_their_database():
    assert split("select 'a\\'; b'; select 2", escapes=True) == ["select 'a\\'; b'", "select 2"]
    assert split("select 'a\\'; select 2") == ["select 'a\\'", "select 2"]


@pytest.mark.parametrize(
    "style, text, values",
    [
        ("qmark", "? ? 5%", [1, 1]),
        ("format", "%s %s 5%%", [1, 1]),
        ("numeric", ":1 :1 5%", [1]),
        ("dollar", "$1 $1 5%", [1]),
        ("named", ":a :a 5%", {"a": 1}),
        ("pyformat", "%(a)s %(a)s 5%%", {"a": 1}),
    ],
)
def test_marks_are_those_of_the_driver(style, text, values):
    assert Binding(style).bind(":a :a 5%", {"a": 1}) == (text, values, 0)
    by_place = Binding(style).bind("? 5%", [None, 1], 1)
    assert by_place[2] == 2
    assert by_place[1] in ([1], {"p2": 1})
    assert Binding(style).bind("a[1:n] :n::int", {"n": 2})[1] in ([2, 2], [2], {"n": 2})
    assert Binding(style).bind("a[1:m] 5%", {"n": 2}) == ("a[1:m] 5%", None, 0)


@pytest.mark.parametrize(
    "query, params, kind, word",
    [
        ("select :b", {"a": 1}, "input", "names :b, but params has only: a"),
        ("select ?, ?", [1], "input", "at least 2 values, but params has 1"),
        ("select :idempotency_key, ?", [1], "input", "needs params as a mapping"),
        ("selec 1", None, "sql", "selec"),
        ("select * from nowhere_at_all", None, "sql", "nowhere_at_all"),
    ],
)
async def test_what_cannot_be_is_told(db, query, params, kind, word):
    problem = (await db(query, params))["error"]
    assert (problem["kind"], problem["retryable"]) == (kind, False), problem
    assert word in problem["message"]


# ---- values ---------------------------------------------------------------------------------------------

MYSQL_TYPES = [
    ("bigint", 2**62, 2**62),
    ("decimal(30, 10)", "12345678901234567890.0123456789", "12345678901234567890.0123456789"),
    ("decimal(8, 2)", 3.5, 3.5),
    ("double", 1.5, 1.5),
    ("boolean", True, 1),
    ("date", "2026-01-31", "2026-01-31"),
    ("datetime(6)", "2026-01-31T12:30:45.000001", "2026-01-31T12:30:45.000001"),
    ("time", "12:30:45", "12:30:45"),
    ("time(3)", "-838:59:59.000", "-838:59:59.000"),
    ("json", {"a": [1, None]}, '{"a":[1,null]}'),
    ("varchar(20)", "žluť 🐎", "žluť 🐎"),
    ("varbinary(4)", "abc", "YWJj"),
    ("year", 2026, 2026),
]


async def test_a_value_of_mysql_keeps_its_type_both_ways(my):
    columns = [f"c{number} {kind}" for number, (kind, _, _) in enumerate(MYSQL_TYPES)]
    await rows(my, f"create table kinds ({', '.join(columns)})")
    given = [value for _, value, _ in MYSQL_TYPES]
    await rows(my, f"insert into kinds values ({', '.join('?' * len(given))})", given)
    assert [*(await rows(my, "select * from kinds"))[0].values()] == [back for _, _, back in MYSQL_TYPES]


async def test_values_over_adbc_keep_their_types(pg):
    query = (
        "select :i::int8 as i, :f::float8 as f, :b::bool as b, :t as t, :n::int as n, cast(:d as date) as d"
    )
    params = {"i": 2**62, "f": 1.5, "b": True, "t": "žluť", "n": None, "d": "2026-01-31"}
    assert await rows(pg, query, params) == [params]
    assert await rows(
        pg, "select array[1, null] as a, '\\x6162'::bytea as b, now()::date > '2000-01-01' as c"
    ) == [{"a": [1, None], "b": "YWI=", "c": True}]
    assert (await pg("select :i", {"i": 2**70}))["error"]["kind"] == "value"


async def test_columns_of_one_name_are_told_apart(db):
    assert await rows(db, "select 1 as id, 2 as id, 3 as id") == [{"id": 1, "id_2": 2, "id_3": 3}]


# ---- much -----------------------------------------------------------------------------------------------

MANY = (
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < {}) select n, 'x' as x from r"
)


async def test_many_rows_go_into_the_result_store(db, payloads):
    output = await db(MANY.format(900), spec={"limits": {"max_hydrate_bytes": 2000}})
    data = output["data"]
    assert (data["rows"], data["row_count"], data["columns"]) == (None, 900, ["n", "x"])
    raw, content_type = payloads.kept[output["ref"]["locator"]["key"]]
    assert content_type == "application/x-ndjson"
    assert [msgspec.json.decode(line)["n"] for line in raw.splitlines()] == list(range(1, 901))


async def test_more_rows_than_allowed_are_refused_and_the_next_call_is_well(db):
    refused = await db(MANY.format(900), spec={"max_rows": 10})
    assert refused["error"]["kind"] == "limit"
    assert await rows(db, "select 1 as n") == [{"n": 1}]


# ---- who and where --------------------------------------------------------------------------------------


async def test_a_credential_may_have_fields_instead_of_an_address(use, secrets, mariadb, database):
    url = urlsplit(mariadb)
    secrets["my"] = {
        "host": url.hostname, "port": str(url.port), "username": url.username,
        "password": unquote(url.password or ""), "db_name": url.path[1:],
    }  # fmt: skip
    there = urlsplit(database)
    secrets["pg"] = {
        "host": there.hostname,
        "port": there.port,
        "user": "postgres",
        "database": there.path[1:],
    }
    for driver, name in (("mariadb", "my"), (PG, "pg")):
        output = await use("sql", {"driver": driver, "query": "select 1 as n"}, auth_name=name)
        assert output["data"]["rows"] == [{"n": 1}], output


@pytest.mark.parametrize("driver", ["mysql", PG])
@pytest.mark.parametrize(
    "secret, word",
    [
        ({}, "needs auth"),
        ({"user": "x"}, "its fields are: user"),
        ({"url": "mysql://noetl:pass word@[bad/x"}, ""),
    ],
)
async def test_a_credential_that_does_not_do_says_why_and_no_secret(use, secrets, driver, secret, word):
    secrets["db"] = secret
    problem = (await use("sql", {"driver": driver, "query": "select 1"}, auth_name="db"))["error"]
    assert problem["kind"] in ("auth", "connect"), problem
    assert word in problem["message"]
    assert "pass word" not in problem["message"]


async def test_a_wrong_password_is_an_answer_and_a_closed_port_is_none(use, secrets, mariadb):
    url = urlsplit(mariadb)
    secrets["wrong"] = {
        "host": url.hostname,
        "port": url.port,
        "user": "noetl",
        "password": "wr0ng",
        "database": "x",
    }
    wrong = (await use("sql", {"driver": "mysql", "query": "select 1"}, auth_name="wrong"))["error"]
    assert (wrong["kind"], wrong["code"], wrong["retryable"]) == ("sql", "1045", False)
    assert "wr0ng" not in wrong["message"]
    for driver in ("mysql", PG):
        secrets["closed"] = {"url": "mysql://noetl:s3cret@127.0.0.1:1/x".replace("mysql", driver[-10:])}
        closed = (await use("sql", {"driver": driver, "query": "select 1"}, auth_name="closed"))["error"]
        assert (closed["kind"], closed["retryable"]) == ("connect", True), closed
        assert "s3cret" not in closed["message"]


async def test_a_login_that_postgresql_refuses_over_adbc_is_an_answer(use, secrets, database):
    other = {"nobody": database.replace("postgres@", "nobody@"), "nowhere": f"{database}_nowhere"}
    for name, url in other.items():
        secrets["refused"] = {"url": url}
        problem = (await use("sql", {"driver": PG, "query": "select 1"}, auth_name="refused"))["error"]
        assert (problem["kind"], problem["retryable"]) == ("sql", False), problem
        assert name in problem["message"]


@pytest.mark.parametrize(
    "driver, kind, word",
    [
        (
            "snowflake",
            "missing_extra",
            "there is no SQL driver 'snowflake' here; install its SQLAlchemy dialect",
        ),
        ("mariadbb", "missing_extra", "did you mean 'mariadb'?"),
        ("mssql+pyodbc", "missing_extra", "pip install pyodbc"),
        ("adbc_driver_snowflake", "missing_extra", "pip install adbc-driver-snowflake"),
        ("adbc_driver_x.evil", "input", "adbc_driver_NAME"),
        ("os.path", "missing_extra", "os.path"),
        ("sqlite", "input", "kind: sqlite"),
        (LITE, "path", "use kind: sqlite"),
    ],
)
async def test_a_driver_that_is_not_to_be_had_is_named(use, secrets, driver, kind, word):
    secrets["db"] = {"url": "x://user@127.0.0.1/x"}
    problem = (await use("sql", {"driver": driver, "query": "select 1"}, auth_name="db"))["error"]
    assert (problem["kind"], problem["retryable"]) == (kind, False), problem
    assert word in problem["message"]


async def test_a_server_cannot_ask_for_files_of_the_worker(my, tmp_path: Path):
    (tmp_path / "secret").write_text("1\n")
    await rows(my, "create table loaded (line text)")
    output = await my(f"load data local infile '{tmp_path}/secret' into table loaded")
    assert output["error"]["kind"] in ("sql", "input", "connect"), output
    assert await rows(my, "select * from loaded") == []


# ---- together -------------------------------------------------------------------------------------------


async def test_a_lock_that_was_not_to_be_had_may_be_tried_again(my, mariadb):
    await rows(my, "create table locked (n int primary key) engine=innodb")
    await rows(my, "insert into locked values (1)")
    with connected(mariadb) as connection, connection.cursor() as cursor:
        cursor.execute("select n from locked for update")
        problem = (await my("select n from locked where n = 1 for update nowait"))["error"]
    assert (problem["kind"], problem["code"], problem["retryable"]) == ("sql", "1205", True)


def connected(address: str) -> Any:
    url = urlsplit(address)
    password = unquote(url.password or "")
    return pymysql.connect(
        host="127.0.0.1", port=url.port or 0, user="noetl", password=password, database=url.path[1:]
    )


async def running(address: str, text: str, wanted: int) -> None:
    """Wait until so many sessions run a statement with a text."""
    with connected(address) as connection, connection.cursor() as cursor:
        while True:
            cursor.execute(
                "select count(*) from information_schema.processlist where info like %s", (f"{text}%",)
            )
            if cursor.fetchone()[0] == wanted:
                return
            await asyncio.sleep(0.02)


async def test_a_cancelled_call_ends_its_statement_on_the_server_without_a_word(my, mariadb):
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    call = asyncio.create_task(my("select sleep(600)"))
    async with asyncio.timeout(60):
        await running(mariadb, "select sleep", 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await running(mariadb, "select sleep", 0)
    assert await rows(my, "select 1 as n") == [{"n": 1}]
    gc.collect()
    assert complaints == []


async def test_a_cancelled_call_over_adbc_ends_too(pg, database):
    import asyncpg

    call = asyncio.create_task(pg("select pg_sleep(600)"))
    watching = await asyncpg.connect(database)
    active = "state = 'active' and pid <> pg_backend_pid() and query like '%pg_sleep%'"

    async def wait_until(wanted: int) -> None:
        while True:
            if await watching.fetchval(f"select count(*) from pg_stat_activity where {active}") == wanted:
                return
            await asyncio.sleep(0.02)

    async with asyncio.timeout(60):
        await wait_until(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await wait_until(0)
    await watching.close()


async def test_calls_at_the_same_time_have_connections_of_their_own(my):
    ids = await asyncio.gather(*(rows(my, "select connection_id() as id, sleep(0.2)") for _ in range(4)))
    assert len({found[0]["id"] for found in ids}) == 4
    one = [(await rows(my, "select connection_id() as id"))[0]["id"] for _ in range(3)]
    assert {*one} <= {found[0]["id"] for found in ids}, "a connection is used again"


async def test_a_pooled_connection_that_was_closed_is_not_used(my, mariadb):
    found = (await rows(my, "select connection_id() as id"))[0]["id"]
    with connected(mariadb) as connection, connection.cursor() as cursor:
        cursor.execute(f"kill {found}")
    assert (await rows(my, "select connection_id() as id"))[0]["id"] != found


async def test_a_payment_over_a_connection_that_breaks_anywhere_is_made_once(tmp_path: Path, mariadb: str):
    """The proxy breaks the conversation at every point in turn."""
    with connected(mariadb) as direct, direct.cursor() as cursor:
        cursor.execute("create table payment (id varchar(99) primary key, amount int, point int)")
        direct.commit()

        async def pay(address: str, point: int) -> Ran:
            ran = await run(
                tmp_path / str(point), playbook(PAY.format(point=point), keychain=keychain(address))
            )
            direct.commit()  # a new look
            cursor.execute("select count(*) from payment where point = %s", (point,))
            assert cursor.fetchone()[0] == 1, point
            return ran

        assert await at_every_point(mariadb, pay) > 5


PAY = """
      - step: pay
        tool:
          kind: sql
          auth: my
          input:
            driver: mysql
            command: "insert ignore into payment values (:idempotency_key, 5, :point)"
            params: {{point: {point}}}""" + RETRY.replace("{", "{{").replace("}", "}}")


def keychain(address: str) -> str:
    return f"keychain: [{{name: my, kind: static, url: '{address}'}}]"


def test_the_example_runs(tmp_path: Path, mariadb: str):
    (tmp_path / "sql.yaml").write_text(tools.kinds()["sql"].example)
    environment = {"PATH": "/usr/bin:/bin", "NOETL_HOME": str(tmp_path / "home"), "SHOP_URL": mariadb}
    done = FORK_SERVER.run(["run", "sql.yaml", "--json"], tmp_path, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    output = msgspec.json.decode(done.stdout)["output"]
    assert output == {"rows": [{"item": "tea", "price": 3.5}], "row_count": 1, "columns": ["item", "price"]}
    assert mariadb.encode() not in done.stdout + done.stderr


@pytest.fixture
def bare_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A driver whose module can connect and has nothing else, as that of chDB."""
    package = tmp_path / "drivers" / "adbc_driver_chdb"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "dbapi.py").write_text("from adbc_driver_sqlite.dbapi import connect\n")
    monkeypatch.syspath_prepend(str(package.parent))
    yield package.name
    for name in ("adbc_driver_chdb", "adbc_driver_chdb.dbapi"):
        sys.modules.pop(name, None)


async def test_a_driver_that_can_connect_and_names_no_errors_is_used(use, secrets, bare_driver, tmp_path):
    run = runner(use, secrets, bare_driver, {"url": str(tmp_path / "bare.db")})
    assert (await run("select ? as n", [7]))["data"]["rows"] == [{"n": 7}]
    error = (await run("select * from nowhere"))["error"]
    assert (error["kind"], "nowhere" in error["message"]) == ("sql", True)


async def test_a_database_inside_the_worker_needs_one_that_may_read_all_files(use, secrets, bare_driver):
    for driver in (bare_driver, LITE):
        error = (await runner(use, secrets, driver, {"url": ":memory:"})("select 1", roots=()))["error"]
        assert (error["kind"], "keeps to its folders" in error["message"]) == ("path", True)
