"""Playbooks in files: the user's own machine runs them, a server does not read its disk for anybody."""

from pathlib import Path

import pytest

from noetl.errors import NotFound
from noetl.ports.front import Ask
from noetl.settings import load
from noetl.wiring.distributed import serving

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {0}, path: tests/{0}}}\nworkflow:\n"
CHILD = HEAD.format("child") + "  - {step: start, tool: {kind: noop, output: from a file}}\n"
CALLER = HEAD.format("caller") + "  - {step: start, tool: {kind: playbook, path: CHILD}}\n"


async def called(folder: Path, path: str, *, files: bool) -> dict[str, object]:
    """How a playbook ends that a file of the folder holds, and that calls a child."""
    (folder / "child.yaml").write_text(CHILD)
    settings = load(
        {"store": str(folder / "noetl.db"), "home": str(folder / "home")}, environ={}, folder=folder
    )
    async with serving(settings, files=files) as made:
        ask = Ask(text=CALLER.replace("CHILD", path), file=str(folder / "caller.yaml"))
        started = await made.front.start(ask)
        async for _ in made.front.follow(started.execution_id):
            pass
        return {**await made.front.execution(started.execution_id)}


@pytest.mark.parametrize("path", ["tests/child", "child.yaml", "{folder}/child.yaml"])
@pytest.mark.parametrize("files", [True, False])
async def test_a_server_reads_no_playbook_from_its_own_disk_unless_it_is_the_authors_machine(
    tmp_path, path, files
):
    shown = await called(tmp_path, path.format(folder=tmp_path), files=files)
    assert shown["status"] == ("completed" if files else "failed")
    assert files or shown["error"]["details"]["error"]["kind"] == "not_found"  # type: ignore[index]


async def test_a_server_runs_what_is_registered_and_not_what_its_file_has_become(tmp_path):
    file = tmp_path / "child.yaml"
    settings = load(
        {"store": str(tmp_path / "noetl.db"), "home": str(tmp_path / "home")}, environ={}, folder=tmp_path
    )
    async with serving(settings) as made:
        entry = await made.front.register(CHILD, str(file))
        file.write_text(CHILD.replace("from a file", "changed"))
        found = await made.plane.catalog.find("tests/child")
        assert (found.hash, found.version) == (entry.hash, 1)
        with pytest.raises(NotFound):
            await made.plane.catalog.find("tests/other")
