"""The real program in a process of its own, with a folder and a home of its own.

A test that is marked `anywhere` runs in every topology: in the program's own process, and on a server that
is another process. The environment variable TOPOLOGIES chooses among them, as in TOPOLOGIES=embedded,server.
"""

import os
import pty
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.distributed.cluster import Cluster
from tests.fork_server import FORK_SERVER, PROGRAM
from tests.servers import PostgresServer

NOETL = PROGRAM


class Noetl:
    """Runs the command line in one folder."""

    def __init__(self, folder: Path, server: str | None = None) -> None:
        self.folder, self.server = folder, server
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "NOETL_HOME": str(folder / "home")}
        if server is not None:
            self.environment["NOETL_SERVER"] = server

    def __call__(
        self, *arguments: str, stdin: str | bytes | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = FORK_SERVER.run(arguments, self.folder, self.environment | more, data or b"")
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        environment = self.environment | {"PATH": f"{Path(NOETL).parent}:/usr/bin:/bin"}
        return subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=environment, capture_output=True, text=True
        )

    def on_a_terminal(self, *arguments: str, **more: str) -> str:
        """Everything the program writes when both its outputs are a terminal."""
        outer, inner = pty.openpty()
        environment = self.environment | {"TERM": "xterm"} | more
        process = subprocess.Popen(
            [NOETL, *arguments], cwd=self.folder, env=environment, stdout=inner, stderr=inner
        )
        os.close(inner)
        shown = b"".join(iter(lambda: _read(outer), b""))
        process.wait()
        os.close(outer)
        return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux tells that the other end is closed
        return b""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "anywhere: runs in this process and on a server alike")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "topology" in metafunc.fixturenames:
        chosen = os.environ.get("TOPOLOGIES", "embedded,server,cluster").split(",")
        anywhere = metafunc.definition.get_closest_marker("anywhere") is not None
        names = [name for name in chosen if anywhere or name == "embedded"]
        metafunc.parametrize("topology", names, ids=[f"on-{name}" for name in names] if anywhere else None)


@pytest.fixture
def noetl(tmp_path: Path, topology: str, request: pytest.FixtureRequest) -> Noetl:
    return Noetl(tmp_path, None if topology == "embedded" else request.getfixturevalue(topology))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that is its own worker, over SQLite."""
    folder = tmp_path_factory.mktemp("server")
    environment = {
        "PATH": "/usr/bin:/bin",
        "NOETL_HOME": str(folder / "home"),
        "NOETL_ALLOW_NETWORKS": "loopback",
        "NOETL_ROOTS": "/",
    }
    with (folder / "printed").open("wb") as printed:
        process = subprocess.Popen(
            [NOETL, "server", "start", "--port", "0"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=printed,
        )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().decode().strip()
        assert url, (folder / "printed").read_text()
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a server over PostgreSQL with a worker in another process, which dials it."""
    made = Cluster(tmp_path_factory.mktemp("cluster"), postgres_server.new_database(), lease_s=30.0)
    try:
        server = made.server()
        made.worker(roots="/")
        yield server.said
    finally:
        made.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes a file into the folder and gives its name."""

    def put(name: str, text: str) -> str:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return name

    return put
