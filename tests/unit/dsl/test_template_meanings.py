"""Every filter and test is explained, by an example that is true."""

import pytest

from noetl.dsl.templates import filters, meanings

KNOWN = {**meanings.FILTERS, **{f"is {name}": meaning for name, meaning in meanings.TESTS.items()}}


def test_every_filter_and_test_is_explained() -> None:
    assert set(meanings.FILTERS) == set(filters.FILTERS)
    assert set(meanings.TESTS) == set(filters.TESTS)


@pytest.mark.parametrize("meaning", KNOWN.values(), ids=KNOWN)
def test_its_example_gives_something(meaning: meanings.Meaning) -> None:
    assert meaning.gives not in ('""', "[]", "null")
