"""Playbooks in the spellings of the original NoETL run, once migrated, as they ran there."""

from pathlib import Path

import pytest

from noetl.dsl.migrate import migrate
from noetl.tools import kinds
from tests.engine.harness import Ran, run
from tests.engine.web import Web

FOLDER = Path(__file__).parents[1] / "fixtures" / "original"


async def migrated_run(folder: Path, name: str, **payload: object) -> Ran:
    """Run a playbook as `noetl migrate` alone leaves it."""
    text = migrate((FOLDER / f"{name}.yaml").read_bytes(), kinds=kinds()).text
    return await run(folder, text, dict(payload))


async def test_results_are_read_under_the_names_that_stood_for_them(tmp_path: Path) -> None:
    done = await migrated_run(tmp_path, "results")
    assert done.status == "completed"
    assert done.output == {
        "ok": True,
        "count": 2,
        "stats": 3,
        "total": 5,
        "same": True,
        "score": 70,
        "task": 2,
        "greeting": "hello",
        "now": "b",
        "run": True,
    }


async def test_requests_statements_and_commands_do_what_they_did(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = await migrated_run(tmp_path, "requests", api_url=web.url)
    assert done.status == "completed", done.error
    assert done.output == {
        "sent": {"item": 7},
        "code": 200,
        "rows": [{"n": 2}],
        "read": "2\ndone now\n",
        "report": {"n": 2, "code": 200, "tried": 2, "typed": "application/json"},
    }


async def test_code_finds_the_names_that_were_there_and_failures_are_gone_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = await migrated_run(tmp_path, "sessions")
    assert done.status == "completed", done.error
    assert done.output == {"owner": "me", "previous": None, "size": 3, "count": 1, "named": "run of "}
