"""Projects of dbt itself on DuckDB and PostgreSQL: what is built, what failed, what dbt says, what it never says."""

import asyncio
import json
import os
import select
import stat
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import duckdb
import pytest

from tests.conftest import ROOT

LONG = 100.0
CANARY = "t0ken-canary"
DBT = ROOT / ".venv-dbt" / "bin" / "dbt"
PROJECT = {
    "dbt_project.yml": "name: shop\nvars: {least: 1}\n",
    "models/item.sql": "select 1 as id, 'tea' as name union all select 2, 'milk'",
    "models/dear.sql": "{{ config(materialized='table') }}\n"
    "select id from {{ ref('item') }} where id >= {{ var('least') }}",
    "models/shop.yml": "models: [{name: item, columns: [{name: id, data_tests: [unique]}]}]",
}


class Lines:
    """What a call prints."""

    keep: int | None = None

    def __init__(self, until: bytes = b"") -> None:
        self.said, self.until = b"", until
        self.seen = asyncio.Event()

    def write(self, data: bytes, stream: int = 1) -> None:
        self.said += data
        if self.until and self.until in self.said:
            self.seen.set()


@pytest.fixture
def shop(tmp_path: Path) -> Any:
    """The project, with other files where a test has them."""

    def write(**other: str) -> None:
        files = {**PROJECT, **{name.replace("__", "/") + ".sql": text for name, text in other.items()}}
        for name, text in files.items():
            path = tmp_path / "shop" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    write()
    return write


@pytest.fixture
def dbt(use: Any, shop: Any) -> Any:
    """Run the project on DuckDB."""
    assert DBT.exists(), "install it: make dbt"

    async def call(**more: Any) -> Any:
        fields = {
            key: more.pop(key) for key in ("output", "spec", "auth_name", "roots", "env") if key in more
        }
        usual = {"project": "shop", "profile": {"type": "duckdb", "path": "shop.duckdb"}, "program": str(DBT)}
        return await use("dbt", {**usual, **more}, **fields)

    return call


def running(folder: Path) -> list[int]:
    """The processes whose arguments name a folder."""
    named = str(folder).encode()
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if named in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended
        return b""


def files_under(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def by_name(output: Any) -> dict[str, Any]:
    return {node["name"]: node for node in output["data"]["nodes"]}


async def test_a_project_is_built_and_tested_and_each_node_is_told(dbt, tmp_path: Path):
    lines = Lines()
    output = await dbt(output=lines)
    assert output["status"] == "ok", output
    assert output["data"]["counts"] == {"success": 3, "error": 0, "fail": 0, "skipped": 0, "warn": 0}
    nodes = by_name(output)
    assert {name: (node["resource"], node["status"]) for name, node in nodes.items()} == {
        "item": ("model", "success"),
        "unique_item_id": ("test", "pass"),
        "dear": ("model", "success"),
    }
    assert (nodes["dear"]["relation"], nodes["unique_item_id"]["failures"]) == ('"shop"."main"."dear"', 0)
    assert output["data"]["seconds"] >= nodes["dear"]["seconds"] > 0
    assert b"\x1e20\x1f1 of 3 START sql view model main.item" in lines.said
    assert b"{" not in lines.said.partition(b"\n")[0], "events are told as texts"
    with duckdb.connect(tmp_path / "shop.duckdb", read_only=True) as connection:
        assert connection.execute("select count(*) from dear").fetchall() == [(2,)]
    left = {path.relative_to(tmp_path / "shop").as_posix() for path in (tmp_path / "shop").rglob("*.*")}
    assert left == set(PROJECT), "the project's folder is left as it was"


async def test_a_node_that_fails_is_named_and_what_needs_it_is_skipped(dbt, shop):
    shop(models__item="select nope from (select 1 as id)")
    lines = Lines()
    output = await dbt(output=lines)
    error = output["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("dbt", "error", False), output
    assert error["message"].startswith("model item: Runtime Error in model item (models/item.sql)")
    assert 'column "nope" not found' in error["message"]
    assert error["details"] == {"node": "model.shop.item", "failed": 1}
    assert output["data"]["counts"] == {"success": 0, "error": 1, "fail": 0, "skipped": 2, "warn": 0}
    assert b"\x1e40\x1fFailure in model item" in lines.said


async def test_a_data_test_that_fails_is_told_with_its_rows(dbt, shop):
    shop(models__item="select 1 as id from range(3)")
    output = await dbt(command="build")
    error = output["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("dbt", "fail", False), output
    assert error["message"] == "test unique_item_id: Got 1 result, configured to fail if != 0"
    assert by_name(output)["unique_item_id"]["failures"] == 1
    assert by_name(output)["dear"]["status"] == "skipped"


async def test_nodes_are_selected_and_variables_reach_them(dbt, tmp_path: Path):
    chosen = {"command": "run", "select": ["item", "dear"], "exclude": "tag:none", "threads": 2}
    output = await dbt(**chosen, vars={"least": 2}, full_refresh=True, target="night")
    assert set(by_name(output)) == {"item", "dear"}, output
    with duckdb.connect(tmp_path / "shop.duckdb", read_only=True) as connection:
        assert connection.execute("select id from dear").fetchall() == [(2,)]
    nothing = await dbt(select="tag:none")
    assert (nothing["status"], nothing["data"]["nodes"]) == ("ok", []), nothing


async def test_a_secret_reaches_the_database_and_nothing_else(dbt, shop, secrets, database, tmp_path: Path):
    role = "dbt_role"
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(f"create role {role} login superuser password '{CANARY}'")
        where = urlsplit(database)
        secrets["warehouse"] = {
            "host": where.hostname, "port": str(where.port), "user": role, "password": CANARY,
            "database": where.path[1:],
        }  # fmt: skip
        shop(models__item="select 1 as id, '{{ target.user }}' as name")
        lines = Lines()
        output = await dbt(profile={"threads": 2}, auth_name="warehouse", output=lines, vars={"least": 1})
        assert output["status"] == "ok", output
        assert by_name(output)["dear"]["rows"] == 1
        assert await connection.fetchval("select name from public.item") == role
    finally:
        await connection.execute(f"drop owned by {role} cascade")
        await connection.execute(f"drop role {role}")
        await connection.close()
    kept = [*files_under(tmp_path), lines.said, json.dumps(output).encode()]
    assert all(CANARY.encode() not in text for text in kept)


async def test_only_the_structure_of_a_profile_is_in_its_file(dbt, tmp_path: Path, secrets):
    secrets["warehouse"] = {"token": CANARY, "keyfile_json": {"private_key": CANARY}, "retries": 1}
    program = tmp_path / "spy"
    program.write_text('#!/bin/sh\ncat "$HOME/profiles.yml"; echo; env; stat -c %a "$HOME"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    lines = Lines()
    profile = {"type": "bigquery", "project": "{{ 1 }}", "threads": 3}
    await dbt(program="./spy", profile=profile, auth_name="warehouse", output=lines)
    said = lines.said.decode().splitlines()
    fields = json.loads(said[0])["noetl"]["outputs"]["noetl"]
    assert CANARY not in said[0]
    assert "{{ 1 }}" not in said[0], "data are not rendered as templates"
    assert (fields["threads"], fields["retries"]) == (3, 1)
    assert fields["keyfile_json"] == {"private_key": "{{ env_var('DBT_ENV_SECRET_1') }}"}
    named = {line.partition("=")[0]: line.partition("=")[2] for line in said if "=" in line}
    assert {named["DBT_ENV_SECRET_0"], named["DBT_ENV_SECRET_1"]} == {CANARY}
    assert named["DBT_SEND_ANONYMOUS_USAGE_STATS"] == "false"
    assert not any(name.startswith("NOETL") for name in named)
    assert said[-1] == "700"


@pytest.mark.parametrize("field", ["url", "dsn", "value"])
async def test_an_address_is_a_credential_for_postgresql(dbt, tmp_path: Path, secrets, field):
    secrets["warehouse"] = {field: f"postgres://ada%40x:{CANARY}%21@db.example.com:5433/shop?sslmode=require"}
    program = tmp_path / "spy"
    program.write_text('#!/bin/sh\ncat "$HOME/profiles.yml"; echo; env; kill -9 $$\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    lines = Lines()
    output = await dbt(program="./spy", profile={"threads": 2}, auth_name="warehouse", output=lines)
    said = lines.said.decode().splitlines()
    named = {line.partition("=")[0]: line.partition("=")[2] for line in said if "=" in line}
    file = said[0]
    for name, text in named.items():
        file = file.replace(f"{{{{ env_var('{name}') }}}}", text)
    assert json.loads(file)["noetl"]["outputs"]["noetl"] == {
        "type": "postgres", "host": "db.example.com", "port": 5433, "user": "ada@x", "password": f"{CANARY}!",
        "dbname": "shop", "sslmode": "require", "threads": 2, "schema": "public",
    }  # fmt: skip
    assert [text for name, text in named.items() if name.startswith("DBT_ENV_SECRET")] == [f"{CANARY}!"]
    assert output["error"]["message"] == "dbt was killed by signal 9 and wrote no results"


async def test_without_a_profile_the_project_has_its_own(dbt, tmp_path: Path):
    with (tmp_path / "shop/dbt_project.yml").open("a") as file:
        file.write("profile: ours\n")
    own = "ours: {target: day, outputs: {day: {type: duckdb, path: own.duckdb}, night: {type: duckdb}}}"
    (tmp_path / "shop/profiles.yml").write_text(own)
    output = await dbt(profile=None, command="run")
    assert output["data"]["counts"]["success"] == 2, output
    with duckdb.connect(tmp_path / "shop/own.duckdb", read_only=True) as connection:
        assert connection.execute("select count(*) from dear").fetchall() == [(2,)]


async def test_many_nodes_are_counted_and_those_that_failed_come_first(dbt, tmp_path: Path):
    names = [f"model.shop.m{number}" for number in range(1_500)]
    results = [{"unique_id": name, "status": "success"} for name in names]
    results[1_400] |= {"status": "error", "message": "no\nroom"}
    (tmp_path / "results.json").write_text(json.dumps({"results": results}))
    program = tmp_path / "many"
    program.write_text(
        '#!/bin/sh\nmkdir "$HOME/target"; cp ../results.json "$HOME/target/run_results.json"; exit 1\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    output = await dbt(program="./many")
    assert output["error"]["message"] == "model m1400: no\nroom"
    assert output["data"]["counts"]["success"] == 1_499
    assert len(output["data"]["nodes"]) == 1_000
    assert [node["name"] for node in output["data"]["nodes"][:2]] == ["m1400", "m0"]


async def test_a_database_out_of_reach_may_be_tried_again(dbt, secrets):
    secrets["nowhere"] = {"host": "127.0.0.1", "port": "1", "user": "u", "password": CANARY, "database": "d"}
    error = (await dbt(profile=None, auth_name="nowhere"))["error"]
    assert (error["kind"], error["retryable"]) == ("dbt", True), error
    assert "Connection refused" in error["message"]
    assert CANARY not in json.dumps(error)


async def test_a_project_that_dbt_cannot_read_is_told_in_its_words(dbt, shop):
    shop(models__item="select {{ nope( }}")
    error = (await dbt())["error"]
    assert (error["kind"], error["retryable"]) == ("dbt", False), error
    assert "models/item.sql" in error["message"]


async def test_a_cancelled_project_ends(dbt, shop, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    held = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)  # whoever reads it waits
    read = f"read_csv('{tmp_path}/pipe', columns={{'id': 'int'}}, auto_detect=false)"
    shop(models__item=f"{{{{ config(materialized='table') }}}} select id from {read}")
    lines = Lines(until=b"START sql table model main.item")
    task = asyncio.create_task(dbt(select="item", spec={"grace": 0.2}, output=lines))
    seen = asyncio.create_task(lines.seen.wait())
    await asyncio.wait({task, seen}, return_when=asyncio.FIRST_COMPLETED)
    assert not task.done(), task.result()
    processes = [os.pidfd_open(number) for number in running(tmp_path)]
    assert processes
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for process in processes:
        assert select.select([process], [], [], LONG)[0]
        os.close(process)
    os.close(held)


async def test_a_program_that_is_not_there_is_told_with_how_to_install_it(dbt):
    error = (await dbt(program="none"))["error"]
    assert error["kind"] == "missing_extra"
    assert "pip install dbt-core" in error["message"]


async def test_a_program_that_writes_no_results_has_failed(dbt):
    error = (await dbt(program="true"))["error"]
    assert (error["kind"], error["code"]) == ("dbt", "0"), error
    error = (await dbt(program="false"))["error"]
    assert (error["kind"], error["code"]) == ("dbt", "1"), error


@pytest.mark.parametrize(
    "given, kind, says",
    [
        ({"project": "none"}, "not_found", "no dbt_project.yml in 'none'"),
        ({"project": ".."}, "path", "outside"),
        ({"profile": {"type": "duckdb", "path": "../x.duckdb"}}, "path", "outside"),
        ({"profile": {"path": "x"}}, "input", "'profile.type'"),
        ({"select": "--project-dir=/"}, "input", "begins with '-'"),
        ({"exclude": ["a"] * 1001}, "input", "more than 1000"),
        ({"target": "a b"}, "input", "no name of a target"),
        ({"vars": {"a": "b" * 100_000}}, "too_large", "100000 bytes"),
        ({"profile": {"type": "x", "y": [[[[[[[[[1]]]]]]]]]}}, "input", "deeper"),
    ],
)
async def test_what_cannot_be_is_refused_before_anything_starts(dbt, given, kind, says):
    error = (await dbt(program="true", **given))["error"]
    assert error["kind"] == kind, error
    assert says in error["message"]
