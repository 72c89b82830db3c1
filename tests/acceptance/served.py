"""A server in a process of its own, for tests that stop, kill or guard it."""

import os
from pathlib import Path

from tests.fork_server import FORK_SERVER


class Server:
    """A server of its own, which may be stopped, killed and started again at the same address."""

    def __init__(self, folder: Path, **settings: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.port = folder, "0"
        self.environment = {"PATH": "/usr/bin:/bin", "NOETL_HOME": str(folder / "home"), **settings}

    def start(self) -> "Server":
        reading, writing = os.pipe()
        with (self.folder / "printed").open("ab") as printed, os.fdopen(writing, "wb") as out:
            command = ["server", "start", "--port", self.port]
            self.process = FORK_SERVER.start(
                command, self.folder, self.environment, out.fileno(), printed.fileno()
            )
        self.stdout = os.fdopen(reading, "rb")
        self.url = self.stdout.readline().decode().strip()
        assert self.url, (self.folder / "printed").read_text()
        self.port = self.url.rpartition(":")[2]
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.stdout.close()
