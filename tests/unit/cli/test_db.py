"""`noetl db`: what it makes, says and removes."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from noetl.adapters.postgres.results import PostgresResults
from noetl.adapters.postgres.schema import newest_version as newest_schema
from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.sqlite.connection import connect, fetch, migrations, newest_version
from noetl.cli.commands.db import Span, size
from noetl.cli.main import run
from noetl.core.message import Payload
from tests.conformance.stores import begin, eid, end

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large, path: tests/large}
executor: {spec: {trace: steps}}
workflow:
  - step: start
    tool: {kind: python, input: {code: "result = 'x' * 70000"}}
"""
NEWEST = newest_version()
Noetl = Callable[..., tuple[int, str, str]]


@pytest.fixture
def noetl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Noetl:
    """A command in an empty project: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("NOETL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / "home"))

    def called(*words: str) -> tuple[int, str, str]:
        code = run(words)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return called


@pytest.fixture
def ran(noetl: Noetl, tmp_path: Path) -> Noetl:
    """A project in which a playbook with a large result has run."""
    (tmp_path / "large.yaml").write_text(PLAYBOOK)
    assert noetl("run", "large.yaml", "--quiet")[0] == 0
    return noetl


def content(noetl: Noetl) -> dict:
    return json.loads(noetl("db", "status", "--json")[1])


def test_init_makes_a_store_and_says_where(noetl: Noetl, tmp_path: Path) -> None:
    code, out, err = noetl("db", "init")
    assert (code, out) == (0, "")
    assert err == f"made a store: {tmp_path}/.noetl/noetl.db (schema {NEWEST})\n"
    assert "there is a store already" in noetl("db", "init")[2]


@pytest.mark.parametrize("what", ["status", "migrate", "gc"])
def test_where_there_is_no_store_none_is_made(noetl: Noetl, tmp_path: Path, what: str) -> None:
    code, _, err = noetl("db", what)
    assert code == 2
    assert "noetl db init" in err
    assert not (tmp_path / ".noetl").exists()


def test_status_says_what_is_there(ran: Noetl) -> None:
    code, out, _ = ran("db", "status")
    said = dict(line.split("  ", 1) for line in out.splitlines())
    assert code == 0
    assert said["schema"].strip() == f"{NEWEST} (up to date)"
    assert said["executions"].strip() == "1 (1 completed)"
    assert said["oldest due"].strip() == "nothing"
    found = content(ran)
    assert found["executions"] == {"completed": 1}
    assert found["playbooks"] == 1
    assert found["payloads"] >= 1
    assert found["payload_bytes"] > 70_000
    assert found["file_bytes"] > 0


def test_status_leaves_an_older_store_as_it_is_and_migrate_brings_it_forward(
    noetl: Noetl, tmp_path: Path
) -> None:
    (tmp_path / ".noetl").mkdir()
    older = connect(str(tmp_path / ".noetl" / "noetl.db"))
    fetch(older, migrations()[0][1])
    fetch(older, "PRAGMA user_version=1")
    older.close()
    for _ in range(2):
        code, out, _ = noetl("db", "status")
        assert code == 0
        assert f"1 (this noetl works with {NEWEST})" in out
        assert "noetl db migrate" in out
    assert noetl("db", "migrate")[2] == f"schema 1 -> {NEWEST}\n"
    assert noetl("db", "migrate")[2] == f"schema {NEWEST}: up to date\n"


def test_gc_keeps_payloads_for_a_day(ran: Noetl) -> None:
    before = content(ran)["payloads"]
    assert "removed 0 payloads" in ran("db", "gc")[2]
    assert content(ran)["payloads"] == before


def test_gc_removes_what_it_said_it_would(ran: Noetl) -> None:
    before = content(ran)["payloads"]
    dry = json.loads(ran("db", "gc", "--older-than", "0s", "--dry-run", "--json")[1])
    assert content(ran)["payloads"] == before
    wet = json.loads(ran("db", "gc", "--older-than", "0s", "--json")[1])
    assert (dry.pop("dry_run"), wet.pop("dry_run")) == (True, False)
    assert dry == wet == {"payloads": before, "bytes": dry["bytes"], "executions": 0, "trimmed": 1}
    assert content(ran)["payloads"] == 0
    assert content(ran)["executions"] == {"completed": 1}
    assert ran("execution", "replay", "@last")[0] == 0


def test_gc_forgets_old_executions_when_asked(ran: Noetl) -> None:
    assert ran("db", "gc", "--executions-older-than", "30d")[0] == 0
    assert content(ran)["executions"] == {"completed": 1}
    code, _, err = ran("db", "gc", "--executions-older-than", "0s")
    assert code == 0
    assert "and 1 execution" in err
    found = content(ran)
    assert (found["executions"], found["payloads"]) == ({}, 0)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s", 0),
        ("90s", 90_000),
        ("15m", 900_000),
        ("24h", 86_400_000),
        ("30 d", 2_592_000_000),
        ("1w", 604_800_000),
    ],
)
def test_a_span_is_a_number_and_a_unit(text: str, ms: int) -> None:
    assert Span().convert(text, None, None) == ms


@pytest.mark.parametrize("text", ["", "5", "h", "-1h", "1.5h", "1y", "1h30m"])
def test_anything_else_is_no_span(noetl: Noetl, text: str) -> None:
    code, _, err = noetl("db", "gc", "--older-than", text)
    assert code == 2
    assert "no span of time" in err


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (5 * 2**30, "5.0 GiB"),
        (2**50, "1024.0 TiB"),
    ],
)
def test_a_size_is_shown_in_the_unit_that_fits(number: int, text: str) -> None:
    assert size(number) == text


# PostgreSQL


@pytest.fixture
def on_postgres(noetl: Noetl, database: str, monkeypatch: pytest.MonkeyPatch) -> Noetl:
    """A project whose store is an empty PostgreSQL database."""
    monkeypatch.setenv("NOETL_STORE", database)
    return noetl


async def _fill(dsn: str) -> None:
    """One execution that is over and one that is not, with a payload each."""
    store = await PostgresStore.open(dsn, now=lambda: 1_000)
    for number in (1, 2):
        await begin(store, number)
        await PostgresResults(store, lambda: 1_000).write(Payload(f"{eid(number)}/{'d' * 32}", b"12345"))
    await end(store, eid(1), 2_000)
    await store.close()


@pytest.mark.parametrize("what", ["migrate", "status", "gc"])
def test_an_empty_database_is_no_store_yet(on_postgres: Noetl, what: str) -> None:
    code, _, err = on_postgres("db", what)
    assert code == 2
    assert "noetl db init" in err


def test_a_postgresql_store_is_made_measured_and_cleaned(on_postgres: Noetl, database: str) -> None:
    code, _, err = on_postgres("db", "init")
    assert (code, err) == (0, f"made a store: {database} (schema {newest_schema()})\n")
    assert "there is a store already" in on_postgres("db", "init")[2]
    assert on_postgres("db", "migrate")[2] == f"schema {newest_schema()}: up to date\n"
    asyncio.run(_fill(database))
    shown = content(on_postgres)
    assert (shown["store"], shown["payloads"], shown["payload_bytes"]) == (database, 2, 10)
    assert shown["executions"] == {"completed": 1, "running": 1}
    assert shown["file_bytes"] > 1_000_000
    removed = json.loads(on_postgres("db", "gc", "--executions-older-than", "1d", "--json")[1])
    assert (removed["payloads"], removed["bytes"], removed["executions"]) == (1, 5, 1)
    assert content(on_postgres)["executions"] == {"running": 1}


def test_a_postgresql_store_that_is_away_is_told_without_its_password(
    noetl: Noetl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_STORE", "postgresql://me:s3cret@127.0.0.1:1/d")
    monkeypatch.setattr("noetl.cli.store_admin.PATIENCE_S", 0.1)
    code, _, err = noetl("db", "status")
    assert code == 3
    assert "127.0.0.1:1" in err
    assert "s3cret" not in err
