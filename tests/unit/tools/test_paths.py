"""Paths stay inside the allowed folders, also over links; where everything is allowed no link is followed."""

from dataclasses import replace
from pathlib import Path

import pytest

from noetl.ports.call import Call, Resources
from noetl.ports.envelope import Failed
from noetl.tools.parts.paths import inside


@pytest.fixture
def call(tmp_path: Path) -> Call:
    return Call(payloads=None, resources=Resources(), work_dir=str(tmp_path), roots=(str(tmp_path),))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../out", "link/x"])
def test_a_path_that_leaves_the_roots_is_refused_over_links_too(
    call: Call, tmp_path: Path, path: str
) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(Failed, match="outside the allowed folders"):
        inside(call, path)


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused_everywhere(call: Call, path: str) -> None:
    for roots in (call.roots, ("/",)):
        with pytest.raises(Failed, match="not a path"):
            inside(replace(call, roots=roots), path)


def test_where_everything_is_allowed_a_path_is_made_absolute_and_no_link_is_followed(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("/etc")
    free = replace(call, roots=("/",))
    assert inside(free, "link/../x.db") == str(tmp_path / "x.db")
    assert inside(free, "link/passwd") == str(tmp_path / "link" / "passwd")
