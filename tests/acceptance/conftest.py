"""The real program in a process of its own, with a folder and a home of its own."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

NOETL = str(Path(sys.executable).with_name("noetl"))


class Noetl:
    """Runs the command line in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "NOETL_HOME": str(folder / "home")}

    def __call__(
        self, *arguments: str, stdin: str | bytes | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [NOETL, *arguments], cwd=self.folder, env=self.environment | more, input=data, capture_output=True
        )
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


@pytest.fixture
def noetl(tmp_path: Path) -> Noetl:
    return Noetl(tmp_path)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes a file into the folder and gives its name."""

    def put(name: str, text: str) -> str:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return name

    return put
