"""A web service for playbooks to call; assertions of the table rows tell what they compared."""

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.engine.cases")

from tests.engine.web import Web  # noqa: E402 - after the rewrite is registered


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    """A service shared by the tests of a module."""
    service = Web()
    yield service
    service.close()
