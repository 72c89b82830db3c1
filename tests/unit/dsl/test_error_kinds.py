"""The kinds of errors: the page that explains them and the language know the same ones."""

import re
from pathlib import Path

from noetl.dsl.error_kinds import ALL, ELSEWHERE, ONLY, OWN_KINDS
from noetl.tools import own

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "error-kinds.md"


def test_every_kind_has_a_row_and_every_row_is_a_kind():
    sections = PAGE.read_text().split("## ")
    tables = [part for part in sections if part.startswith(("From the engine", "From the tools"))]
    rows = re.findall(r"^\| (`[^|]*) \|", "".join(tables), re.MULTILINE)
    assert {kind for row in rows for kind in re.findall(r"`(\w+)`", row)} == ALL


def test_what_other_engines_say_is_no_kind_here():
    assert not ELSEWHERE.keys() & ALL
    assert ONLY.keys() <= ALL
    assert set(ONLY.values()) <= OWN_KINDS == set(own())
