"""`noetl doctor` tells of the bus that it reached, and never a password."""

from pathlib import Path

import pytest

from noetl.cli.checkup import effective, examined
from noetl.settings import load
from tests.servers import NatsServer


async def test_a_bus_that_answers_is_well(
    nats_server: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_BUS", nats_server.url)
    found = {one.name: one for one in await examined(load())}
    assert (found["bus"].state, found["bus"].told) == ("ok", nats_server.url)


def test_no_password_of_several_addresses_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_BUS", "nats://u:pass@one:1,nats://u:pass@two:2")
    told = {one["name"]: one["value"] for one in effective(load())}
    assert told["bus"] == "nats://u@one:1,nats://u@two:2"
