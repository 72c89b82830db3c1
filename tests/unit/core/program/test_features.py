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
from noetl.errors import NewerFormat

PLAIN = Playbook("n", "p", (Step("a"),))
NEW = Playbook("n", "p", (Step("new"),))


def test_a_playbook_needs_the_newest_of_what_it_uses_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "FEATURES", {"any": Feature(5, 6, lambda playbook: bool(playbook.steps))})
    features.FEATURES["new"] = Feature(7, 8, lambda playbook: playbook.steps[0].name == "new")
    assert (language_of(PLAIN), row_format_of(PLAIN)) == (5, 6)
    assert (language_of(NEW), row_format_of(NEW)) == (7, 8)
    features.FEATURES.clear()
    assert (language_of(NEW), row_format_of(NEW)) == (OLDEST_LANGUAGE, OLDEST_ROW_FORMAT)


def test_every_feature_is_one_that_this_release_knows() -> None:
    assert all(OLDEST_LANGUAGE < feature.language <= LANGUAGE for feature in FEATURES.values())
    assert all(OLDEST_ROW_FORMAT <= feature.row_format <= ROW_FORMAT for feature in FEATURES.values())
    assert not any(feature.used_by(PLAIN) for feature in FEATURES.values())


def test_a_playbook_in_a_newer_language_is_named_and_not_read() -> None:
    check_language("a/b", 3, LANGUAGE)
    with pytest.raises(NewerFormat, match=f"version 3 of the playbook 'a/b' .* up to {LANGUAGE}"):
        check_language("a/b", 3, LANGUAGE + 1)
