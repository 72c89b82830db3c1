"""The pages and pictures that the program writes about itself.

`python -m tests.docs.generated` writes them again, and with them what the commands on the pages print.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples.api import Server, Shop
from tests.docs.pages import ANYTHING, API, Block, Command, blocks, commands, matches, pages
from tests.fork_server import FORK_SERVER

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURES = {"branching": "examples/branching.yaml", "orders": "README.md"}  # what each one shows
TOGETHER: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
TOOLS_HEAD = "# Tool kinds\n\nOne page per kind, as `noetl tools KIND` explains it.\n"
TOOLS_HEAD += "[Write a tool kind](../../how-to/write-a-tool.md) of your own.\n\n"


def noetl(*arguments: str, stdin: str | None = None) -> str:
    """What the program prints."""
    done = FORK_SERVER.run(arguments, ROOT, {"PATH": "/usr/bin:/bin"}, (stdin or "").encode())
    done.check_returncode()
    return done.stdout.decode()


def generated() -> Iterator[tuple[Path, str]]:
    """Each generated file with what it must hold."""
    from noetl import tools
    from noetl.dsl.templates import meanings

    docs = ROOT / "docs"
    yield docs / "schema" / "playbook.json", noetl("schema")
    yield docs / "schema" / "test.json", noetl("schema", "--tests")
    yield docs / "reference" / "language" / "filters.md", meanings.reference()
    yield docs / "reference" / "tools" / "README.md", TOOLS_HEAD + noetl("tools", "--format", "markdown")
    for kind in tools.own():
        yield docs / "reference" / "tools" / f"{kind}.md", noetl("tools", kind, "--format", "markdown")
    for name, source in PICTURES.items():
        yield docs / "images" / f"{name}.svg", noetl("graph", "-", "--format", "svg", stdin=_playbook(source))


def _playbook(source: str) -> str:
    """The text of a file, or the first playbook of a page."""
    if not source.endswith(".md"):
        return (ROOT / source).read_text()
    return next(block.text for block in blocks(ROOT / source) if block.is_playbook)


def run_commands(page: Path, folder: Path) -> Iterator[tuple[Block, Command, int, str]]:
    """Each command of a page in a folder of its own, with its exit code and what it printed."""
    (folder / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PATH": path, "NO_COLOR": "1", "HOME": str(folder), "API_TOKEN": "token-of-the-reader"}
    with Server(Shop()) as api:
        for block in blocks(page):
            if block.title:
                (folder / block.title).parent.mkdir(exist_ok=True)
                (folder / block.title).write_text(block.text.replace(API, api.url))
            for command in commands(block) if block.language == "console" else ():
                shell = ["sh", "-c", command.command.replace(API, api.url)]
                done = subprocess.run(shell, cwd=folder, env=environment, **TOGETHER)
                yield block, command, done.returncode, done.stdout.replace(api.url, API)


def refreshed(page: Path) -> str:
    """The page with what its commands print today; outputs that leave something open stay as they are."""
    lines = page.read_text().split("\n")
    with tempfile.TemporaryDirectory() as folder:
        results = list(run_commands(page, Path(folder)))
    for block, command, _, printed in reversed(results):
        if not any(line == ANYTHING for line in command.output.split("\n")) and not matches(
            command.output, printed
        ):
            indent = " " * (len(lines[block.line - 1]) - len(lines[block.line - 1].lstrip()))
            new = (
                [f"{indent}{line}".rstrip() for line in printed.removesuffix("\n").split("\n")]
                if printed
                else []
            )
            lines[command.line : command.line + command.output.count("\n")] = new
    return "\n".join(lines)


if __name__ == "__main__":
    for file, text in generated():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for page in pages(ROOT):
        page.write_text(refreshed(page))
