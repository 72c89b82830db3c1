"""What only a folder of files has to promise: whole files, synced names."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noetl.adapters.directory.results import DirectoryResults
from noetl.core.message import Payload
from noetl.errors import BackendError

KEY = f"{'a' * 32}/{'b' * 32}"


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files and folders that were synced, and the renames between, in order."""
    found: list[str] = []
    fsync, replace = os.fsync, os.replace

    def seen_fsync(descriptor: int) -> None:
        found.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def seen_replace(source: str, target: Path) -> None:
        found.append(f"-> {target.name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", seen_fsync)
    monkeypatch.setattr(os, "replace", seen_replace)
    return found


async def test_bytes_are_synced_before_their_name_and_the_name_before_the_answer(
    tmp_path: Path, synced: list[str]
) -> None:
    await DirectoryResults(str(tmp_path / "results")).write(Payload(KEY, b"x"))
    new_folder, bytes_, rename, name = synced
    assert (new_folder, rename, name) == ("results", f"-> {'b' * 32}", "a" * 32)
    assert bytes_.startswith(".part-")


async def test_a_stream_is_as_durable_as_a_payload(tmp_path: Path, synced: list[str]) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"x"

    await DirectoryResults(str(tmp_path / "results")).write_stream("a" * 32, chunks())
    assert [step.split("-")[0] for step in synced] == ["results", ".part", "", "a" * 32]


async def test_a_payload_that_is_there_is_not_written_again(tmp_path: Path, synced: list[str]) -> None:
    results = DirectoryResults(str(tmp_path))
    await results.write(Payload(KEY, b"x"))
    synced.clear()
    await results.write(Payload(KEY, b"x"))
    assert synced == []


async def test_a_write_that_fails_says_so_and_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    results = DirectoryResults(str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(BackendError, match="No space left"):
            await results.write(Payload(KEY, b"x"))
    assert [one.payloads for one in await results.footprints()] == [0]
    await results.write(Payload(KEY, b"x"))
    assert await results.read(KEY) == b"x"


async def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file is in the way")
    with pytest.raises(BackendError, match="could not be"):
        await DirectoryResults(str(tmp_path / "results")).write(Payload(KEY, b"x"))
