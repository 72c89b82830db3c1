"""One language server for the tests of a module."""

from collections.abc import Iterator

import pytest

from tests.lsp.client import Editor


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    editor = Editor(tmp_path_factory.mktemp("project"))
    yield editor
    assert editor.close() == 0
