"""The commands of docs/how-to/upgrade.md, run as they stand there: what runs outlives the exchange of its processes."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import FENCE
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/how-to/upgrade.md").read_text()
WITHIN_S = 240.0
WAITS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waits, path: upgrade/waits}
workflow:
  - {step: start, tool: {kind: wait, input: {signal: go}}, next: {arcs: [{step: end}]}}
  - {step: end, tool: {kind: python, input: {code: "result = 7"}}}
"""


class Shell:
    """A shell of the machine that is upgraded; `pip` there has nothing left to install."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder, self.address = folder, f"127.0.0.1:{free_port()}"
        self.installed = folder / "installed"
        pip = folder / "bin" / "pip"
        pip.parent.mkdir()
        pip.write_text(f'#!/bin/sh\necho "$@" >> {self.installed}\n')
        pip.chmod(0o755)
        path = f"{pip.parent}:{ROOT / '.venv/bin'}:{os.environ['PATH']}"
        own = {"NOETL_HOME": str(folder / "home"), "NOETL_STORE": store, "PATH": path}
        self._environment = {**os.environ, **own, "NOETL_PORT": self.address.rpartition(":")[2]}

    def __call__(self, script: str, timeout: float = WITHIN_S) -> str:
        """Run lines as the page has them; what they print. None may fail."""
        lines = script.replace("HOST:8080", self.address).replace("URL", f"http://{self.address}")
        done = subprocess.run(
            ["bash", "-euc", lines],
            cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip
        assert done.returncode == 0, (lines, done.stdout, done.stderr)
        return done.stdout

    def quietly(self, script: str) -> None:
        """Run something whose failure does not matter."""
        subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self._environment, timeout=WITHIN_S, check=False
        )


@pytest.fixture
def shell(tmp_path: Path, database: str) -> Iterator[Shell]:
    made = Shell(tmp_path, database)
    yield made
    made.quietly("noetl worker stop; noetl server stop")


@pytest.mark.timeout(600)
def test_an_execution_outlives_the_commands_of_an_upgrade(shell: Shell) -> None:
    (shell.folder / "waits.yaml").write_text(WAITS)
    server, worker = (match["body"] for match in FENCE.finditer(PAGE) if match["info"].startswith("sh"))
    shell("noetl server start --background")
    shell("noetl worker start --server http://HOST:8080 --background")
    execution = shell("noetl run waits.yaml --server URL --detach").strip()
    shell(server)
    shell(worker)
    assert len(shell.installed.read_text().splitlines()) == 2
    shell(f"noetl execution signal {execution} go --server URL")
    shell(f"noetl execution watch {execution} --server URL")
    shown = json.loads(shell(f"noetl execution show {execution} --server URL --json"))
    assert (shown["status"], shown["output"]) == ("completed", 7)
    looked_at = re.findall(r"(?m)^\| `(noetl [^`]+)`", PAGE)
    assert len(looked_at) >= 2
    for command in looked_at:
        shell(command if "--server" in command else f"{command} --server URL")
