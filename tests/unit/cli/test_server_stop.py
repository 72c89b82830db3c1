"""`noetl server stop` ends the server that is meant, and none when it cannot know which one that is."""

import pytest
from click.testing import CliRunner

from noetl.cli.commands.server import command
from noetl.cli.processes import lifecycle
from noetl.settings import Settings

SERVERS = [{"pid": 11, "url": "http://127.0.0.1:1"}, {"pid": 22, "url": "http://127.0.0.1:2"}]


@pytest.fixture
def stopped(monkeypatch) -> list[int | None]:
    asked: list[int | None] = []

    def stop(_settings: Settings, _kind: str, pid: int | None) -> list[int]:
        asked.append(pid)
        return [pid or 11]

    monkeypatch.setattr(lifecycle, "stop", stop)
    return asked


@pytest.mark.parametrize(
    "count, arguments, asked",
    [(1, [], [None]), (2, [], []), (2, ["--pid", "22"], [22]), (2, ["--all"], [None])],
)
def test_of_several_servers_none_is_stopped_unless_it_is_named(
    monkeypatch, stopped, count: int, arguments: list[str], asked: list[int | None]
) -> None:
    monkeypatch.setattr(lifecycle, "running", lambda _settings, _kind: SERVERS[:count])
    result = CliRunner().invoke(command, ["stop", *arguments])
    assert stopped == asked
    assert (result.exit_code == 2) == (not asked)
    if not asked:
        assert "2 servers run on this machine: 11 at http://127.0.0.1:1, 22 at" in result.output
        assert "--pid N, or --all" in result.output
