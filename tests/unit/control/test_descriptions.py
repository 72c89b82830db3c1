"""What a catalog tells of a playbook in its own words."""

import pytest

from noetl.control import descriptions
from noetl.control.descriptions import Descriptions, description_of
from noetl.ports.store import PlaybookText


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("metadata: {name: a, description: Counts orders}", "Counts orders"),
        ("metadata:\n  description: |\n    Two\n    lines\n", "Two\nlines"),
        ("metadata: {name: a}", None),
        ("metadata: {name: a}\n# no description", None),
        ("metadata: {description: '  '}", None),
        ("metadata: {description: 7}", None),
        ("metadata: description", None),
        ("description: of nothing", None),
        ("- description", None),
        ("{description", None),
    ],
)
def test_a_description_is_read_from_the_metadata(text, told):
    assert description_of(text) == told


async def test_texts_are_read_once_and_a_bounded_number_of_answers_is_kept(monkeypatch):
    read: list[str] = []

    def upper(text: str) -> str:
        read.append(text)
        return text.upper()

    monkeypatch.setattr(descriptions, "KEPT", 2)
    monkeypatch.setattr(descriptions, "description_of", upper)
    known = Descriptions()
    entries = [PlaybookText(f"p/{name}", 1, name, name) for name in "abc"]
    assert [entry.description for entry in await known.tell(entries)] == ["A", "B", "C"]
    await known.tell(entries[1:])
    await known.tell(entries[:1])
    assert read == ["a", "b", "c", "a"]
