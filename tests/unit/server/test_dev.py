"""`noetl dev` and `noetl token` as they are used: processes, files, signals."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from noetl.cli.main import root
from noetl.server.listen import bind
from tests.unit.server.serving import BROKEN, HELLO, WAITS

LONG = 90.0


@asynccontextmanager
async def dev(
    folder: Path, *flags: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, httpx2.AsyncClient]]:
    """A `noetl dev` over a folder, and a client for it."""
    environ = {**os.environ, "NOETL_HOME": str(folder / "home"), "NO_COLOR": "1"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "noetl.cli", "dev", "playbooks", *flags),
        cwd=folder,
        env=environ,
        stdout=pipe,
        stderr=pipe,
    )
    try:
        async with asyncio.timeout(LONG):
            assert process.stdout is not None
            url = (await process.stdout.readline()).decode().strip()
        async with httpx2.AsyncClient(base_url=url, timeout=LONG) as client:
            yield process, client
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def heard(process: asyncio.subprocess.Process, words: str) -> None:
    """Read what is told until it has been said."""
    assert process.stderr is not None
    async with asyncio.timeout(LONG):
        while line := await process.stderr.readline():
            if words in line.decode():
                return
    raise AssertionError(f"it never said {words!r}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "playbooks").mkdir()
    return tmp_path


async def test_a_folder_is_served_watched_and_left_in_order(folder: Path) -> None:
    file = folder / "playbooks" / "hello.yaml"
    file.write_text(HELLO)
    (folder / "playbooks" / "waits.yaml").write_text(WAITS)
    async with dev(folder, "--port", "0") as (process, client):
        entry = (await client.get("/api/v1/catalog/tests/hello")).json()
        assert (entry["version"], entry["file"]) == (1, str(file))
        started = await client.post("/api/v1/executions", json={"path": "tests/waits"})
        execution_id = started.json()["execution_id"]
        file.write_text(HELLO + "# changed\n")
        await heard(process, "tests/hello v2")
        assert (await client.get("/api/v1/catalog/tests/hello")).json()["version"] == 2
        (folder / "playbooks" / "broken.yaml").write_text(BROKEN)
        await heard(process, "stepp")
        assert (await client.get("/health/ready")).status_code == 200
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(LONG):
            await process.wait()
        assert process.returncode == 0
    async with dev(folder, "--port", "0") as (process, client):
        place = f"/api/v1/executions/{execution_id}"
        assert (await client.post(f"{place}/signal", json={"name": "go"})).status_code == 202
        async with asyncio.timeout(LONG):
            streamed = await client.get(f"{place}/stream")
        assert "playbook.processed" in streamed.text


async def test_a_port_that_is_taken_ends_it_with_a_hint(folder: Path) -> None:
    taken = bind("127.0.0.1", 0, guarded=False)
    async with dev(folder, "--port", str(taken.getsockname()[1])) as (process, _):
        _, told = await process.communicate()
        assert process.returncode == 3
        assert b"--port 0" in told
    taken.close()


def command(folder: Path, *arguments: str) -> Any:
    environ = {
        "NOETL_HOME": str(folder / "home"),
        "NOETL_STORE": str(folder / "noetl.db"),
        "NOETL_SERVER": "",
    }
    return CliRunner(env=environ).invoke(root, ["token", *arguments])


def test_a_token_is_shown_once_listed_and_deleted(tmp_path: Path) -> None:
    made = command(
        tmp_path, "create", "ci", "--scope", "run", "--scope", "read", "--prefix", "team/", "--expires", "30d"
    )
    bearer = made.stdout.strip()
    assert made.exit_code == 0
    secret = bearer.split("_", 2)[2]  # it may have an underscore of its own
    assert bearer.startswith("noetl_")
    listed = json.loads(command(tmp_path, "list", "--json").stdout)
    assert (listed[0]["scopes"], listed[0]["prefixes"], listed[0]["name"]) == (
        ["read", "run"],
        ["team"],
        "ci",
    )
    assert secret not in command(tmp_path, "list", "--json").stdout
    assert "run below team, until" in command(tmp_path, "list").stdout
    assert secret.encode() not in (tmp_path / "noetl.db").read_bytes()
    assert command(tmp_path, "delete", listed[0]["id"]).exit_code == 0
    assert json.loads(command(tmp_path, "list", "--json").stdout) == []
    assert command(tmp_path, "list").stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", " "),
        ("create", "x" * 200),
        ("create", "a", "--prefix", "/"),
        ("create", "a", "--expires", "11000d"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert command(tmp_path, *arguments).exit_code != 0
    assert command(tmp_path, "list").stdout == ""
