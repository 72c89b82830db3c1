"""The recipe for MySQL and MariaDB: no worker that stands still holds rows, and a claim made again waits for the first."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pymysql
import pytest
import yaml
from pymysql.constants.COMMAND import COM_QUERY

from tests.docs.pages import blocks
from tests.servers import MariadbServer
from tests.unit.tools.conftest import Use
from tests.unit.tools.test_sql import connected, running

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "work-through-a-table.md"
PREPARE, WORK = yaml.safe_load(next(block.text for block in blocks(PAGE) if "get_lock" in block.text))[
    "workflow"
]
PROCEDURE = PREPARE["tool"]["input"]["command"]
QUERY = WORK["loop"]["in"]["claim"]["input"]["query"]
Claim = Callable[[str], Awaitable[list[int]]]


@pytest.fixture
async def shop(mariadb_server: MariadbServer, use: Use, secrets: dict[str, Any]) -> str:
    """The address of a database with nine jobs, and the procedure of the page."""
    address = mariadb_server.new_database()
    secrets["shop"] = {"url": address}
    with connected(address) as connection, connection.cursor() as cursor:
        cursor.execute(
            "create table job (id int primary key, state varchar(10) default 'new', claimed_by varchar(255), payload json)"
        )
        cursor.execute("insert into job (id) values (1), (2), (3), (4), (5), (6), (7), (8), (9)")
        connection.commit()
    for _ in range(2):  # each execution prepares it
        made = await use("sql", {"driver": "mysql", "command": PROCEDURE}, auth_name="shop")
        assert made["status"] == "ok", made
    return address


@pytest.fixture
def claim(use: Use, shop: str) -> Claim:
    async def claimed(key: str) -> list[int]:
        given = {"driver": "mysql", "query": QUERY, "params": {"key": key, "batch": 3}}
        answer = await use("sql", given, auth_name="shop")
        assert answer["status"] == "ok", answer
        data: Any = answer["data"]
        return sorted(row["id"] for row in data["rows"])

    return claimed


def sent_by_a_worker_that_stands_still(connection: "pymysql.Connection[Any]", key: str) -> None:
    """The claim is with the database, and nobody will ever read its answer."""
    connection._execute_command(COM_QUERY, QUERY.replace(":key", f"'{key}'").replace(":batch", "3"))


async def test_a_worker_that_stands_still_after_its_claim_holds_none_of_the_rows(
    shop: str, claim: Claim
) -> None:
    with connected(shop) as standing:
        sent_by_a_worker_that_stands_still(standing, "k1")
        assert await claim("k1") == [1, 2, 3]
        assert await claim("k2") == [4, 5, 6]


async def test_a_claim_made_again_waits_for_the_statement_of_the_first_and_brings_its_rows(
    shop: str, claim: Claim
) -> None:
    with connected(shop) as other, connected(shop) as standing:
        other.cursor().execute("select id from job where id = 1 for update")
        sent_by_a_worker_that_stands_still(standing, "k1")
        await running(shop, "call claim_job", 1)
        again = asyncio.ensure_future(claim("k1"))
        await running(shop, "call claim_job", 2)
        assert not again.done()
        other.rollback()
        assert await again == [1, 2, 3]


async def test_a_claim_that_comes_late_takes_nothing_more_under_a_key_whose_rows_are_done(
    shop: str, claim: Claim
) -> None:
    assert await claim("k1") == [1, 2, 3]
    with connected(shop) as connection, connection.cursor() as cursor:
        cursor.execute("update job set state = 'done' where claimed_by = 'k1'")
        connection.commit()
    assert await claim("k1") == []
    assert await claim("k2") == [4, 5, 6]
