"""`noetl doctor` tells what it reached and what can have no effect, and never a password."""

import base64
import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.secrets.sealed_credentials import Sealer
from noetl.adapters.sqlite.store import SqliteStore
from noetl.cli.doctor_checks import Finding, effective, run_checks
from noetl.core.formats import ROW_FORMAT
from noetl.ports.store import Store
from noetl.settings import load
from tests.conformance.stores import begin, eid
from tests.servers import NatsServer


async def test_a_bus_that_answers_is_well(
    nats_server: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_BUS", nats_server.url)
    found = {one.name: one for one in await run_checks(load())}
    assert (found["bus"].state, found["bus"].told) == ("ok", nats_server.url)


async def test_playbooks_on_postgresql_are_said_to_need_a_server(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_STORE", database)
    found = {one.name: one for one in await run_checks(load())}["server"]
    assert (found.state, "is run by servers" in found.told) == ("unused", True)
    assert "NOETL_SERVER" in (found.hint or "")


def test_no_password_of_several_addresses_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_BUS", "nats://u:pass@one:1,nats://u:pass@two:2")
    told = {one["name"]: one["value"] for one in effective(load())}
    assert told["bus"] == "nats://u@one:1,nats://u@two:2"


def test_no_token_query_or_odd_login_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_BUS", "nats://canary@one:1,canary@two:2")
    monkeypatch.setenv("NOETL_STORE", "postgresql://h/d?user=u&password=canary")
    monkeypatch.setenv("NOETL_RESULTS", "s3://KEY:can,ary/canary@bucket/a")
    told = {one["name"]: one["value"] for one in effective(load())}
    assert told["bus"] == "nats://two:2"
    assert told["store"] == "postgresql://h/d"
    assert told["results"] == "s3://KEY@bucket/a"


async def test_a_misspelt_variable_is_warned_of_with_the_one_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_STOER", "x")
    monkeypatch.setenv("NOETL_STEP", "a task of the kind shell has this one")
    found = {one.name: one for one in await run_checks(load())}["settings"]
    assert (found.state, found.told) == ("warning", "no setting, and without effect: NOETL_STOER")
    assert found.hint == "did you mean NOETL_STORE for NOETL_STOER?"


@pytest.mark.parametrize("below", ["", "deep/down"])
async def test_a_home_that_is_a_file_or_lies_in_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / "taken" / below))
    found = {one.name: one for one in await run_checks(load())}["home"]
    assert (found.state, "taken is a file, not a folder" in found.told) == ("error", True)


@pytest.mark.parametrize("below", ["", "made/later"])
async def test_a_home_that_cannot_be_written_or_made_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / below))
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    found = {one.name: one for one in await run_checks(load())}["home"]
    assert (found.state, f"{tmp_path} cannot be written" in found.told) == ("error", True)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_executions_of_a_newer_release_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str, kind: str
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_STORE", str(tmp_path / "noetl.db") if kind == "sqlite" else database)
    settings = load()
    newer = f"update executions set format = {ROW_FORMAT + 1} where execution_id = '{eid(2)}'"
    if kind == "sqlite":
        local = SqliteStore(str(tmp_path / "noetl.db"))
        await begin(local, 1), await begin(local, 2)
        await local.close()
        with closing(apsw.Connection(str(tmp_path / "noetl.db"))) as connection:
            connection.execute(newer)
    else:
        shared = await PostgresStore.open(database)
        await begin(shared, 1), await begin(shared, 2)
        await shared.database.fetch(newer)
        await shared.close()
    found = {one.name: one for one in await run_checks(settings)}["store"]
    assert found.state == "warning"
    assert found.told.endswith(f"; 1 open execution of a newer noetl, left to its servers: {eid(2)}")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_credentials_that_the_key_does_not_open_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str, kind: str
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_STORE", str(tmp_path / "noetl.db") if kind == "sqlite" else database)
    old, new = os.urandom(32), os.urandom(32)
    store: Store = (
        SqliteStore(str(tmp_path / "noetl.db")) if kind == "sqlite" else await PostgresStore.open(database)
    )
    await store.put_secret("shop", Sealer([old]).seal("shop", {"value": "x"}))
    await store.put_secret("mail", Sealer([new]).seal("mail", {"value": "x"}))
    await store.close()

    async def found(*keys: bytes) -> Finding:
        monkeypatch.setenv("NOETL_KEY", ",".join(base64.b64encode(key).decode() for key in keys))
        return {one.name: one for one in await run_checks(load())}["credentials"]

    one = await found(new)
    assert one.state == "error"
    assert one.told == "1 of 2 cannot be opened with the key from environment NOETL_KEY: shop"
    assert one.hint == "set NOETL_KEY to the key it was sealed with, or set the credential again"
    assert (await found(os.urandom(32))).told.endswith(": mail, shop")
    assert (await found(new, old)).told == "2, all opened"


async def test_credentials_without_any_key_are_named_and_no_key_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NOETL_STORE", str(tmp_path / "noetl.db"))
    store = SqliteStore(str(tmp_path / "noetl.db"))
    await store.put_secret("shop", Sealer([os.urandom(32)]).seal("shop", {"value": "x"}))
    await store.close()
    found = {one.name: one for one in await run_checks(load())}["credentials"]
    assert (found.state, "with no key: there is no " in found.told) == ("error", True)
    assert not (tmp_path / "home").exists()


async def test_credentials_of_a_server_are_not_looked_for_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_SERVER", "http://127.0.0.1:1")
    assert {one.name: one.state for one in await run_checks(load())}["credentials"] == "unused"
