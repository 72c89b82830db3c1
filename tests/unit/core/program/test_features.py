"""What a playbook uses decides which releases can read it, and go on with its executions."""

import pytest

from noetl.core.formats import OLDEST_ROW_FORMAT, ROW_FORMAT
from noetl.core.program import features
from noetl.core.program.features import (
    FEATURES,
    LANGUAGE,
    OLDEST_LANGUAGE,
    Feature,
    check_language,
    language_of,
    row_format_of,
)
from noetl.dsl.model import Playbook, Step
from noetl.dsl.templates.reads import PathSet
from noetl.errors import NewerFormat

PLAIN = Playbook("n", "p", (Step("a"),))
NEW = Playbook("n", "p", (Step("new"),))
NOTHING = PathSet()


def test_a_playbook_needs_the_newest_of_what_it_uses_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        features, "FEATURES", {"any": Feature(5, 6, lambda playbook, reads: bool(playbook.steps))}
    )
    features.FEATURES["new"] = Feature(7, 8, lambda playbook, reads: playbook.steps[0].name == "new")
    assert (language_of(PLAIN, NOTHING), row_format_of(PLAIN, NOTHING)) == (5, 6)
    assert (language_of(NEW, NOTHING), row_format_of(NEW, NOTHING)) == (7, 8)
    features.FEATURES.clear()
    assert (language_of(NEW, NOTHING), row_format_of(NEW, NOTHING)) == (OLDEST_LANGUAGE, OLDEST_ROW_FORMAT)


def test_every_feature_is_one_that_this_release_knows() -> None:
    assert all(OLDEST_LANGUAGE < feature.language <= LANGUAGE for feature in FEATURES.values())
    assert all(OLDEST_ROW_FORMAT <= feature.row_format <= ROW_FORMAT for feature in FEATURES.values())
    assert not any(feature.used_by(PLAIN, NOTHING) for feature in FEATURES.values())


def test_a_playbook_that_reads_what_started_it_is_left_to_those_that_can_tell() -> None:
    reads = PathSet(frozenset({("trigger", "tick")}))
    assert row_format_of(PLAIN, reads) == 3
    own = Playbook("n", "p", (Step("trigger"),))
    assert row_format_of(own, reads) == OLDEST_ROW_FORMAT, "it means its own step"


def test_a_playbook_in_a_newer_language_is_named_and_not_read() -> None:
    check_language("a/b", 3, LANGUAGE)
    with pytest.raises(NewerFormat, match=f"version 3 of the playbook 'a/b' .* up to {LANGUAGE}"):
        check_language("a/b", 3, LANGUAGE + 1)
