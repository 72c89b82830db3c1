"""The playbooks of a folder that `noetl dev` keeps registered."""

import os
from pathlib import Path
from typing import Any

import pytest

from noetl.adapters.memory.store import MemoryStore
from noetl.cli.commands.dev import FolderWatcher
from noetl.errors import BackendError, NotFound
from tests.engine.harness import engine, playbook


async def test_a_playbook_that_a_store_could_not_take_is_registered_by_a_later_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def away(*_: Any) -> None:
        raise BackendError("the store is away")

    (tmp_path / "case.yaml").write_text(playbook("- {step: start, tool: {kind: noop}}"))
    async with engine(tmp_path) as made:
        shelf = FolderWatcher(made.front, tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(MemoryStore, "register", away)
            await shelf.look()
        assert "the store is away" in capsys.readouterr().err
        with pytest.raises(NotFound):
            await made.store.playbook(path="tests/case")
        await shelf.look()
        assert (await made.store.playbook(path="tests/case")).version == 1
        await shelf.look()
        assert capsys.readouterr().err.count("registered tests/case v1") == 1


async def test_a_file_that_was_only_touched_replaces_nothing_that_was_registered_elsewhere(
    tmp_path: Path,
) -> None:
    file, text = tmp_path / "case.yaml", playbook("- {step: start, tool: {kind: noop}}")
    file.write_text(text)
    async with engine(tmp_path) as made:
        shelf = FolderWatcher(made.front, tmp_path)
        await shelf.look()
        edited = playbook("- {step: start, tool: {kind: noop, output: edited}}")
        await made.front.register(edited, None, "ann")
        os.utime(file, (1, 1))
        await shelf.look()
        assert (await made.store.playbook(path="tests/case")).version == 2
        file.write_text(text + "# changed\n")
        await shelf.look()
        assert (await made.store.playbook(path="tests/case")).version == 3
