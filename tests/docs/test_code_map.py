"""The map of the code is true: what it names is there, and every folder of the package is on it."""

import re

from tests.docs.generated import ROOT

PAGE = (ROOT / "docs" / "explanation" / "code-map.md").read_text()
NAMES = re.findall(r"`((?:noetl|ui|tests|docs)/[\w./-]+|[\w-]+\.toml)`", PAGE)
ROOMS_WITHOUT_ROW = {"noetl", "noetl/server/static"}  # the package itself, and built files


def test_everything_that_the_map_names_is_there() -> None:
    assert len(NAMES) > 90
    assert [name for name in NAMES if not (ROOT / name).exists()] == []


def test_every_folder_of_the_package_is_on_the_map() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "noetl").rglob("*.py")}
    rows = set(re.findall(r"(?m)^\| `(noetl/[\w/]+)` \|", PAGE))
    assert folders - ROOMS_WITHOUT_ROW == {row for row in rows if (ROOT / row).is_dir()}


def test_every_room_has_a_line_that_says_what_lives_there() -> None:
    rows = re.findall(r"(?m)^\| `(noetl/[\w/.]+)` \| (.+?) \|", PAGE)
    assert len({name for name, _ in rows}) == len(rows)
    assert all(len(text) > 3 for _, text in rows)
