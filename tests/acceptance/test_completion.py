"""The Tab key: names that a server or the store here knows, at once or not at all, and never a complaint."""

import socket
import subprocess
import time

import pytest

from noetl.cli.completers import PATIENCE_S
from tests.acceptance.conftest import NOETL, Noetl
from tests.acceptance.playbooks import document


def offered(noetl: Noetl, line: str) -> list[str]:
    """What bash is told for the last word of a line."""
    asked = {"_NOETL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [NOETL], cwd=noetl.folder, env=noetl.environment | asked, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [word.removeprefix("plain,") for word in done.stdout.split("\n") if word]


@pytest.fixture
def known(noetl: Noetl) -> str:
    """A part of the names of what there is: a playbook, a schedule, a trigger, an execution."""
    own = noetl.folder.name.replace("_", "-")
    (noetl.folder / "say.yaml").write_text(
        document("- {step: say, tool: {kind: noop, output: hi}}", name=f"say-{own}")
    )
    path = f"tests/say-{own}"
    assert noetl("run", "say.yaml").returncode == 0
    assert noetl("schedule", "add", f"nightly-{own}", path, "--cron", "@daily").returncode == 0
    assert noetl("trigger", "add", f"push-{own}", path, "--webhook").returncode == 0
    (noetl.folder / "say.yaml").unlink()
    return own


@pytest.mark.anywhere
def test_names_are_completed_from_what_the_command_would_talk_to(noetl: Noetl, known: str) -> None:
    for command in ("show", "edit", "pause", "run", "delete", "history", "backfill"):
        assert offered(noetl, f"noetl schedule {command} nightly-{known[:-1]}") == [f"nightly-{known}"]
    for command in ("show", "edit", "pause", "delete", "history"):
        assert offered(noetl, f"noetl trigger {command} push-{known[:-1]}") == [f"push-{known}"]
    path = f"tests/say-{known}"
    assert offered(noetl, f"noetl run {path[:-1]}") == [f"file,{path[:-1]}", path]
    assert offered(noetl, f"noetl catalog show {path[:-1]}") == [path]
    assert offered(noetl, f"noetl schedule add x {path[:-1]}") == [path]
    assert offered(noetl, f"noetl trigger add x y --after {path[:-1]}") == [path]
    last = noetl("execution", "list", "--json").stdout.partition('"execution_id": "')[2][:32]
    assert last in offered(noetl, "noetl execution why ")
    assert offered(noetl, "noetl execution retry @") == ["@last"]


def test_a_name_that_is_being_made_up_is_not_completed(noetl: Noetl, known: str) -> None:
    assert offered(noetl, "noetl schedule add ") == []
    assert offered(noetl, "noetl trigger add ") == []


def test_nothing_is_said_nor_made_where_nothing_is_kept(noetl: Noetl) -> None:
    assert offered(noetl, "noetl schedule show ") == []
    assert [*noetl.folder.iterdir()] == []


@pytest.mark.parametrize("server", ["http://127.0.0.1:1", "nonsense://", "no-such-context"])
def test_a_server_that_is_away_completes_nothing_and_is_not_complained_of(noetl: Noetl, server: str) -> None:
    assert offered(noetl, f"noetl schedule show --server {server} ") == []


def test_a_server_that_never_answers_is_not_waited_for(noetl: Noetl) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        noetl.environment["NOETL_SERVER"] = f"http://127.0.0.1:{mute.getsockname()[1]}"
        begun = time.monotonic()
        assert offered(noetl, "noetl run a") == ["file,a"]
    assert time.monotonic() - begun < PATIENCE_S + 20, "it would wait for two minutes"
