"""Who is alive: locks that end with their process."""

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from noetl.adapters.sqlite.presence import Presence


def test_an_owner_is_seen_from_when_it_enters_until_it_leaves(tmp_path: Path) -> None:
    own, other = Presence(tmp_path), Presence(tmp_path)
    assert other.gone("host:1:a")
    own.enter("host:1:a")
    own.enter("host:1:a")
    assert not own.gone("host:1:a")
    assert not other.gone("host:1:a")
    own.leave()
    assert other.gone("host:1:a")
    assert list(tmp_path.iterdir()) == []


def test_an_owner_whose_name_is_a_path_stays_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "owners"
    presence = Presence(folder)
    presence.enter("../../evil")
    assert [file.parent for file in tmp_path.rglob("*evil")] == [folder]
    presence.leave()


def test_what_the_dead_left_is_removed_and_what_the_living_hold_is_not(tmp_path: Path) -> None:
    (tmp_path / "dead").touch()
    living, other = Presence(tmp_path), Presence(tmp_path)
    living.enter("living")
    other.enter("other")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["living", "other"]
    living.leave()
    other.leave()


def test_those_who_ask_at_the_same_time_do_not_take_each_other_for_the_owner(tmp_path: Path) -> None:
    file = tmp_path / "dead"
    file.touch()
    asking = os.open(file, os.O_RDWR)
    fcntl.flock(asking, fcntl.LOCK_SH)
    assert Presence(tmp_path).gone("dead")
    os.close(asking)


def test_many_who_enter_at_once_are_all_seen(tmp_path: Path) -> None:
    """Each removes what the dead left while the others take hold of their files."""
    everyone = [Presence(tmp_path) for _ in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda pair: pair[1].enter(f"o{pair[0]}"), enumerate(everyone)))
    judge = Presence(tmp_path)
    assert [number for number in range(40) if judge.gone(f"o{number}")] == []
    for one in everyone:
        one.leave()
