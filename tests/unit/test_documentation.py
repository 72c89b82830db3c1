"""Pages of the documentation are found by name, and nothing else is."""

from pathlib import Path

import pytest

from noetl import documentation
from noetl.errors import NotFound


@pytest.mark.parametrize(
    "source, name",
    [
        ("docs/index.md", "index"),
        ("docs/how-to/install.md", "how-to/install"),
        ("docs/reference/tools/README.md", "reference/tools"),
        ("docs/errors/index.md", "errors"),
        ("examples/hello.yaml", "examples/hello"),
    ],
)
def test_a_page_is_called_as_its_file_and_the_first_of_a_folder_as_the_folder(source: str, name: str) -> None:
    assert documentation.name_of(source) == name
    assert documentation.sources()[name] == source


def test_every_page_has_a_name_of_its_own_and_a_title() -> None:
    pages = documentation.sources()
    root = documentation.folder()
    assert root is not None
    assert len(pages) == sum(1 for pattern in documentation.SOURCES for _ in root.glob(pattern))
    assert [name for name in pages if not documentation.title(documentation.read(name))] == []


def test_an_example_is_a_page_that_shows_its_file() -> None:
    text = documentation.read("examples/hello")
    assert text.startswith("# hello.yaml\n\n```yaml\n")
    assert "path: examples/hello" in text


@pytest.mark.parametrize(
    "name", ["../pyproject", "how-to/../index", "/etc/passwd", "", "how-to/install.md", "x" * 99]
)
def test_what_is_no_page_is_not_found(name: str) -> None:
    with pytest.raises(NotFound, match="there is no page"):
        documentation.read(name)


def test_a_page_that_was_misspelt_is_named() -> None:
    with pytest.raises(NotFound) as raised:
        documentation.read("how-to/instal")
    assert raised.value.hint == "did you mean 'how-to/install'?"


def test_a_package_that_was_built_without_its_documentation_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "README.md").write_text("# Of another package")
    monkeypatch.setattr(documentation, "PACKAGE", tmp_path / "noetl")
    for cached in (documentation.folder, documentation.sources):
        cached.cache_clear()
    try:
        assert documentation.sources() == {}
        with pytest.raises(NotFound, match="built without its documentation"):
            documentation.read("index")
    finally:
        for cached in (documentation.folder, documentation.sources):
            cached.cache_clear()
