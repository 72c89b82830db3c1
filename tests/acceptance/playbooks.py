"""Playbooks run by the real program: each in a folder of its own, each log replayed at the end."""

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any

from tests.acceptance.conftest import Noetl


def document(workflow: str, name: str = "case", **root: str) -> str:
    """A whole playbook around a workflow; other root sections by keyword."""
    extra = "".join(textwrap.dedent(section).strip("\n") + "\n" for section in root.values())
    body = textwrap.indent(textwrap.dedent(workflow).strip("\n"), "  ")
    head = f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}, path: tests/{name}}}\n"
    return f"{head}{extra}workflow:\n{body}\n"


class Run:
    """One `noetl run --json` and what it left behind."""

    def __init__(
        self, noetl: Noetl, text: str, *arguments: str, stdin: str | None = None, **env: str
    ) -> None:
        self.noetl = noetl
        (noetl.folder / "case.yaml").write_text(text)
        self.done = noetl("run", "case.yaml", "--json", *arguments, stdin=stdin, **env)
        self.code, self.err = self.done.returncode, self.done.stderr
        self.json: dict[str, Any] = json.loads(self.done.stdout) if self.done.stdout.strip() else {}
        if self.json.get("execution_id"):
            self.replayed()

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.json["error"] or {})

    def replayed(self) -> None:
        """The log holds every invariant and is decided again as it was."""
        done = self.noetl("execution", "replay", self.json["execution_id"])
        assert done.returncode == 0, done.stdout + done.stderr

    def events(self, *arguments: str) -> list[dict[str, Any]]:
        done = self.noetl("execution", "events", self.json["execution_id"], "--json", *arguments)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def left_behind(self, text: str) -> list[str]:
        """Where a text is found: what was printed, the events, and every file but the playbook itself."""
        found = [name for name, said in (("stdout", self.done.stdout), ("stderr", self.err)) if text in said]
        if text in json.dumps(self.events()):
            found.append("events")
        for folder, _, names in os.walk(self.noetl.folder):
            for name in names:
                path = Path(folder, name)
                if path.suffix != ".yaml" and text.encode() in path.read_bytes():
                    found.append(str(path))
        return found


def started(noetl: Noetl, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
    """The program running on the side."""
    from tests.acceptance.conftest import NOETL

    pipe = subprocess.PIPE
    return subprocess.Popen(
        [NOETL, *arguments], cwd=noetl.folder, env=noetl.environment | env, stdout=pipe, stderr=pipe
    )
