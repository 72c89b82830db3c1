"""Which file the settings mean, and what the one process is made of."""

import asyncio
from pathlib import Path

import pytest

from noetl.errors import RequestError
from noetl.settings import load
from noetl.wiring.embedded import MEMORY, build, store_path


@pytest.mark.parametrize("written", ["data/log.db", "sqlite://data/log.db"])
def test_a_store_named_in_a_settings_file_is_relative_to_that_file(tmp_path: Path, written: str) -> None:
    (tmp_path / "noetl.toml").write_text(f'store = "{written}"\n')
    below = tmp_path / "deep" / "er"
    below.mkdir(parents=True)
    assert store_path(load({}, environ={}, folder=below)) == str(tmp_path / "data/log.db")


def test_a_store_named_in_the_environment_is_relative_to_the_current_folder(tmp_path: Path) -> None:
    assert store_path(load({}, environ={"NOETL_STORE": "x.db"}, folder=tmp_path)) == "x.db"
    assert store_path(load({}, environ={"NOETL_STORE": "sqlite:////x.db"}, folder=tmp_path)) == "/x.db"


def test_a_store_that_is_not_sqlite_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="postgresql"):
        store_path(load({}, environ={"NOETL_STORE": "postgresql://h/d"}, folder=tmp_path))


def test_a_store_in_memory_leaves_nothing_behind(tmp_path: Path) -> None:
    async def open_and_close() -> None:
        await build(load({"store": MEMORY, "home": str(tmp_path)}, environ={}, folder=tmp_path)).close()

    asyncio.run(open_and_close())
    assert list(tmp_path.iterdir()) == []
