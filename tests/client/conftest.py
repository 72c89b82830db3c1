"""A server, with and without tokens, and a folder to run playbooks in."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import NOETL
from tests.acceptance.running import audit_all
from tests.acceptance.served import Server


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, whose store is audited in the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / "home"))
    yield tmp_path
    audit_all(tmp_path)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that asks for no token."""
    yield from _served(Server(tmp_path_factory.mktemp("open")))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a server that asks for tokens, and a token of one who may read, run and write."""
    folder = tmp_path_factory.mktemp("guarded")
    server = Server(folder, NOETL_AUTH="on")
    scopes = [part for scope in ("read", "run", "write") for part in ("--scope", scope)]
    made = subprocess.run(
        [NOETL, "token", "create", "ada", *scopes],
        cwd=folder,
        env=server.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for address in _served(server):
        yield address, made.stdout.strip()


def _served(server: Server) -> Iterator[str]:
    yield server.start().url
    server.kill()
    audit_all(server.folder)
