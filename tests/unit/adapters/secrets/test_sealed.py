"""Credentials at rest: what opens them, what does not, and that the master key changes under load."""

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.secrets.keychain import Keychain
from noetl.adapters.secrets.sealed_credentials import HEADER_BYTES, Sealer, add_key, keys_of, version_of
from noetl.errors import BackendError, NotFound
from noetl.json_value import JsonObject

OLD, NEW = bytes([1]) * 32, bytes([2]) * 32
MATERIAL: JsonObject = {"user": "app", "password": "canary-5f2c81", "port": 5432}


def keychain_of(store: MemoryStore, file: Path) -> Keychain:
    return Keychain(store, lambda: Sealer(keys_of(None, file)), lambda name: None, file.parent)


@pytest.fixture
def store() -> MemoryStore:
    moments = itertools.count(1)
    return MemoryStore(lambda: next(moments))


def test_what_is_sealed_opens_under_its_name_and_shows_nothing():
    sealed = Sealer([OLD]).seal("pg", MATERIAL)
    assert Sealer([NEW, OLD]).open("pg", sealed) == MATERIAL
    assert b"canary" not in sealed
    assert OLD not in sealed


def test_the_same_value_is_sealed_differently_every_time():
    sealer = Sealer([OLD])
    first, second = sealer.seal("pg", MATERIAL), sealer.seal("pg", MATERIAL)
    assert first[12:] != second[12:]  # after the mark and the id of the key
    assert first[HEADER_BYTES:] != second[HEADER_BYTES:]


def test_a_credential_does_not_open_under_another_name():
    with pytest.raises(BackendError, match="damaged"):
        Sealer([OLD]).open("other", Sealer([OLD]).seal("pg", MATERIAL))


def test_a_credential_does_not_open_with_another_key_and_says_so():
    with pytest.raises(BackendError, match="sealed with another one") as caught:
        Sealer([NEW]).open("pg", Sealer([OLD]).seal("pg", MATERIAL))
    assert "NOETL_KEY" in (caught.value.hint or "")


def test_every_changed_byte_is_noticed():
    sealed = Sealer([OLD]).seal("pg", {"value": "x"})
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(BackendError):
            Sealer([OLD]).open("pg", bytes(changed))


@pytest.mark.parametrize("length", [0, 3, 20, HEADER_BYTES, HEADER_BYTES + 27])
def test_a_credential_that_was_cut_short_is_damaged(length):
    with pytest.raises(BackendError, match="damaged"):
        Sealer([OLD]).open("pg", Sealer([OLD]).seal("pg", MATERIAL)[:length])


def test_the_parts_of_two_versions_do_not_fit_together():
    one, two = (Sealer([OLD]).seal("pg", {"value": "x"}, version) for version in (1, 2))
    for mixed in (one[:HEADER_BYTES] + two[HEADER_BYTES:], one[:20] + two[20:], two[:20] + one[20:]):
        with pytest.raises(BackendError):
            Sealer([OLD]).open("pg", mixed)


def test_wrapping_again_changes_the_data_keys_cover_and_not_the_sealed_value():
    sealed = Sealer([OLD]).seal("pg", MATERIAL, 7)
    again = Sealer([NEW, OLD]).wrap_again("pg", sealed)
    assert again[HEADER_BYTES:] == sealed[HEADER_BYTES:]
    assert again[:HEADER_BYTES] != sealed[:HEADER_BYTES]
    assert (Sealer([NEW]).open("pg", again), version_of("pg", again)) == (MATERIAL, 7)
    assert Sealer([NEW]).wrap_again("pg", again) is again
    with pytest.raises(BackendError):
        Sealer([OLD]).open("pg", again)


def test_a_data_key_does_not_move_to_another_credential():
    one, two = (Sealer([OLD]).seal(name, {"value": "x"}) for name in ("a", "b"))
    with pytest.raises(BackendError):
        Sealer([NEW, OLD]).wrap_again("a", one[:20] + two[20:HEADER_BYTES] + one[HEADER_BYTES:])


async def test_each_setting_is_the_next_version(store, tmp_path):
    keychain = keychain_of(store, tmp_path / "key")
    for number in (1, 2, 3):
        await keychain.keep("pg", {"value": str(number)})
        assert version_of("pg", await store.secret("pg")) == number
    assert await keychain.credential("pg") == {"value": "3"}
    with pytest.raises(NotFound):
        await keychain.credential("gone")


async def test_a_new_master_key_is_put_in_force_while_others_read_and_set(store, tmp_path):
    """Nobody who reads sees anything but the newest value, and no setting is lost to the change."""
    file = tmp_path / "home" / "key"
    keychain = keychain_of(store, file)
    names = [f"c{number}" for number in range(8)]
    newest = dict.fromkeys(names, 0)
    for name in names:
        await keychain.keep(name, {"n": 0})
    over = asyncio.Event()

    async def reads(name: str) -> None:
        while not over.is_set():
            before = newest[name]
            assert int(str((await keychain.credential(name))["n"])) >= before

    async def sets(name: str) -> None:
        while not over.is_set():
            await keychain.keep(name, {"n": newest[name] + 1})
            newest[name] += 1

    async def changes() -> None:
        for _ in range(5):
            add_key(file)
            assert await keychain.seal_again() == len(names)
            for name in names:
                assert int(str((await keychain.credential(name))["n"])) >= 0
        over.set()

    async with asyncio.TaskGroup() as tasks:
        for name in names:
            tasks.create_task(reads(name))
        for name in names[:4]:
            tasks.create_task(sets(name))
        tasks.create_task(changes())
    assert {name: (await keychain.credential(name))["n"] for name in names} == newest
    await keychain.seal_again()
    keys = file.read_bytes()
    assert (len(keys), file.stat().st_mode & 0o777) == (6 * 32, 0o600)
    file.write_bytes(keys[:32])  # the newest key alone opens everything
    assert {name: (await keychain.credential(name))["n"] for name in names} == newest


def test_of_keys_that_are_made_at_once_none_is_lost(tmp_path):
    """A lost one would take along what it has sealed by then."""
    file = tmp_path / "home" / "key"
    first = keys_of(None, file)
    with ThreadPoolExecutor(8) as pool:
        for made in [pool.submit(add_key, file) for _ in range(64)]:
            made.result()
    keys = keys_of(None, file)
    assert (len(set(keys)), keys[-1:]) == (65, first)


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_key_file_that_is_no_row_of_keys_is_refused(tmp_path, content):
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(BackendError, match="damaged"):
        keys_of(None, tmp_path / "key")


@pytest.mark.parametrize("given", ["short", "!!!", "AAAA,BBBB", ",", "schlüssel"])
def test_a_given_key_that_is_none_is_refused_without_repeating_it(tmp_path, given):
    with pytest.raises(ValueError, match="32 bytes") as caught:
        keys_of(given, tmp_path / "key")
    assert given not in str(caught.value)
