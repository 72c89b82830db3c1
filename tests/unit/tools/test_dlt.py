"""Pipelines of dlt itself into DuckDB and PostgreSQL: what is loaded, what is remembered where, how they fail."""

import asyncio
import json
import os
import select
from pathlib import Path
from typing import Any

import asyncpg
import duckdb
import pytest

from noetl.tools.parts.dlt_order import destination_secret

LONG = 100.0
CANARY = "t0ken-canary"
SHOP = """
import logging

import dlt


@dlt.resource(primary_key="id", write_disposition="merge")
def orders(upto, token=dlt.secrets.value, changed=dlt.sources.incremental("changed", initial_value=0)):
    if token != "-".join(["t0ken", "canary"]):
        raise PermissionError("wrong token")
    logging.getLogger("shop").warning("orders after %s", changed.last_value)
    for number in range(1, upto + 1):
        if number > changed.last_value:
            yield {"id": number, "changed": number, "lines": [{"item": "tea"}, {"item": "milk"}]}


def numbers(upto):
    yield from ({"n": number} for number in range(upto))


def fails(how):
    yield {"n": 1}
    raise {"python": KeyError, "passing": ConnectionResetError}[how]("no such page")


def ends():
    import os

    os._exit(3)


def hangs(place):
    import os, time

    with open(place, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)
"""


class Lines:
    """What a call prints."""

    keep: int | None = None

    def __init__(self) -> None:
        self.said = b""

    def write(self, data: bytes, stream: int = 1) -> None:
        self.said += data


@pytest.fixture(autouse=True)
def shop(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)


@pytest.fixture
def load(use: Any) -> Any:
    """Load into DuckDB."""

    async def call(source: str | None = None, args: dict[str, Any] | None = None, **more: Any) -> Any:
        given = {} if source is None else {"script": "shop.py", "source": source, "args": args or {}}
        call_fields = {key: more.pop(key) for key in ("idempotency_key", "output", "spec") if key in more}
        values = {"pipeline": "shop", "destination": "duckdb", "database": "shop.duckdb", **given, **more}
        return await use("dlt", values, **call_fields)

    return call


@pytest.fixture
def query(tmp_path: Path) -> Any:
    def rows(text: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(tmp_path / "shop.duckdb", read_only=True) as connection:
            return connection.execute(text).fetchall()

    return rows


async def test_rows_become_tables_and_a_repeated_call_adds_nothing(load, query):
    rows = [{"id": 1, "tags": ["hot"]}, {"id": 2, "tags": ["cold", "white"]}]
    first = await load(data=rows, table="sale", idempotency_key="one")
    assert first["data"]["rows"] == {"sale": 2, "sale__tags": 3}, first
    assert first["data"]["schema"]["new"] == {"sale": ["id"], "sale__tags": ["value"]}
    again = await load(data=rows, table="sale", idempotency_key="one")
    assert (again["data"]["repeated"], again["data"]["rows"]) == (True, None)
    assert query("select id from shop_dataset.sale order by id") == [(1,), (2,)]
    await load(data=[{"id": 3, "price": 3.5}], table="sale", idempotency_key="two")
    assert query("select id, price from shop_dataset.sale order by id")[1:] == [(2, None), (3, 3.5)]


@pytest.mark.parametrize("field", ["url", "dsn", "value"])
def test_a_credential_of_one_text_is_an_address(field):
    assert destination_secret({field: "postgres://a@h/d"}) == {"credentials": "postgresql://a@h/d"}


async def test_an_incremental_source_goes_on_where_it_ended_on_any_worker(use, database, secrets, tmp_path):
    secrets["shop"] = {"token": CANARY}
    secrets["warehouse"] = {"url": database.replace("@", f":{CANARY}@")}
    lines = Lines()

    async def load(upto: int, key: str) -> Any:
        values = {
            "pipeline": "shop", "destination": "postgres", "dataset": "shop", "script": "shop.py",
            "source": "orders", "args": {"upto": upto}, "source_auth": "shop",
        }  # fmt: skip
        return await use("dlt", values, auth_name="warehouse", idempotency_key=key, output=lines)

    first = await load(3, "one")
    assert first["error"] is None, first
    assert first["data"]["rows"] == {"orders": 3, "orders__lines": 6}
    assert first["data"]["cursors"] == {"orders": {"changed": 3}}
    second = await load(5, "two")
    assert second["data"]["rows"] == {"orders": 2, "orders__lines": 4}, second
    connection = await asyncpg.connect(database)
    try:
        assert await connection.fetchval("select count(*) from shop.orders") == 5
    finally:
        await connection.close()
    said = lines.said.decode()
    assert "\x1e30\x1forders after 3\n" in said, "lines have their level"
    assert "\x1e20\x1fExtract shop: " in said, "it is told how far it is"
    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and file.name != "shop.py"]
    assert all(CANARY.encode() not in text for text in [*kept, lines.said, json.dumps(second).encode()])


async def test_an_exception_of_the_source_is_an_error_with_its_lines(load, query):
    output = await load("fails", {"how": "python"})
    error = output["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("dlt", "KeyError", False)
    assert error["message"] == "KeyError: 'no such page'"
    assert error["details"]["step"] == "extract"
    assert "in fails" in error["details"]["traceback"]
    assert "site-packages" not in error["details"]["traceback"]
    passing = await load("fails", {"how": "passing"}, idempotency_key="two")
    assert (passing["error"]["code"], passing["error"]["retryable"]) == ("ConnectionResetError", True)
    right = await load("numbers", {"upto": 2}, table="n")
    assert right["data"]["rows"] == {"n": 2}, "a call that failed is not known as done"


async def test_a_destination_that_refuses_or_is_not_there_is_told_apart(use, load, tmp_path):
    frozen = {"tables": "evolve", "columns": "freeze", "data_type": "freeze"}
    assert (await load(data=[{"id": 1}], table="sale"))["status"] == "ok"
    output = await load(data=[{"id": 2, "x": 1}], table="sale", schema_contract=frozen, idempotency_key="2")
    assert (output["error"]["kind"], output["error"]["code"]) == ("dlt", "DataValidationError"), output
    values = {"pipeline": "p", "destination": "postgres", "data": [{"id": 1}], "table": "t"}
    auth = {"host": "127.0.0.1", "port": 1, "user": "u", "password": CANARY, "database": "d"}
    error = (await use("dlt", values, auth=auth))["error"]
    assert (error["kind"], error["retryable"]) == ("connect", True), error
    assert CANARY not in json.dumps(error)


async def test_a_destination_whose_package_is_not_installed_says_what_to_install(use):
    values = {"pipeline": "p", "destination": "clickhouse", "data": [{"id": 1}], "table": "t"}
    error = (await use("dlt", values, auth={"url": "clickhouse://u:p@127.0.0.1:9000/db"}))["error"]
    assert (error["kind"], error["retryable"]) == ("missing_extra", False), error
    assert 'pip install "dlt[clickhouse]"' in error["message"]


async def test_a_process_that_ends_by_itself_is_told(load):
    error = (await load("ends"))["error"]
    assert (error["kind"], error["code"]) == ("crashed", "3")


async def test_a_cancelled_pipeline_ends(load, tmp_path: Path):
    os.mkfifo(tmp_path / "pid")
    call = load("hangs", {"place": str(tmp_path / "pid")}, table="n", spec={"grace": 0.2})
    task = asyncio.create_task(call)
    process = os.pidfd_open(int(await asyncio.to_thread((tmp_path / "pid").read_text)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert select.select([process], [], [], LONG)[0]
    os.close(process)


@pytest.mark.parametrize(
    "given, says",
    [
        ({}, "exactly one of script, data"),
        ({"script": "shop.py"}, "needs input 'source'"),
        ({"data": []}, "needs input 'table'"),
        ({"data": [], "table": "t", "database": None}, "needs input 'database'"),
        ({"script": "../shop.py", "source": "orders"}, "outside"),
    ],
)
async def test_what_is_missing_is_named(load, given, says):
    assert says in (await load(**given))["error"]["message"]


@pytest.mark.parametrize(
    "script, source, says",
    [("none.py", "orders", "no Python file 'none.py'"), ("shop.py", "none", "no function 'none'")],
)
async def test_a_source_that_is_not_there_is_named(load, script, source, says):
    error = (await load(script=script, source=source))["error"]
    assert says in error["message"]
    assert error["kind"] == "dlt"
