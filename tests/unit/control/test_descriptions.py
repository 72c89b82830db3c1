"""What a catalog tells of a playbook in its own words."""

import pytest

from noetl.control import descriptions
from noetl.control.descriptions import Descriptions, Said, has_label, said_by
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
    assert said_by(text).description == told


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (
            "metadata: {labels: {team: pricing, tier: 1, eu: true}}",
            {"team": "pricing", "tier": "1", "eu": "true"},
        ),
        ("metadata: {labels: {team: [a], owner: ann}}", {"owner": "ann"}),
        ("metadata: {labels: team}", {}),
        ("metadata: {name: a}\n# no labels", {}),
        ("labels: {team: pricing}", {}),
        (f"metadata: {{labels: {{team: {'x' * 500}}}}}", {"team": "x" * 100}),
    ],
)
def test_labels_are_read_from_the_metadata(text, labels):
    assert said_by(text).labels == labels


def test_a_label_is_asked_for_with_or_without_its_value():
    labels = {"team": "pricing"}
    assert [has_label(labels, wanted) for wanted in ("team", "team=pricing", "team=", "tier")] == [
        True,
        True,
        False,
        False,
    ]


async def test_texts_are_read_once_and_a_bounded_number_of_answers_is_kept(monkeypatch):
    read: list[str] = []

    def upper(text: str) -> Said:
        read.append(text)
        return Said(text.upper())

    monkeypatch.setattr(descriptions, "KEPT", 2)
    monkeypatch.setattr(descriptions, "said_by", upper)
    known = Descriptions()
    entries = [PlaybookText(f"p/{name}", 1, name, name) for name in "abc"]
    assert [entry.description for entry in await known.tell(entries)] == ["A", "B", "C"]
    await known.tell(entries[1:])
    await known.tell(entries[:1])
    assert read == ["a", "b", "c", "a"]
