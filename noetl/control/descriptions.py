"""What registered playbooks say of themselves, read from a text once.

Their description and labels, and how long one should take.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from noetl.dsl.build import span_s
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map
from noetl.ports.store import PlaybookText

KEPT = 4096
LABELS_MOST = 20  # of one playbook
LABEL_CHARS = 100  # of a key or a value
SAID = ("description", "labels", "sla")  # a text without these words need not be read


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says that it does, if it does, the labels that it gave itself, and when one is late."""

    description: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    expected_ms: int | None = None


def said_by(text: str) -> Said:
    """What a text says of itself."""
    tree = parse(text).tree if any(word in text for word in SAID) else None
    description = _at(tree, "metadata", "description")
    told = str(description).strip() or None if isinstance(description, str) else None
    expected = _at(tree, "executor", "spec", "policy", "sla", "expected")
    expected_s = span_s(expected) if isinstance(expected, str | int | float) else None
    expected_ms = None if expected_s is None else int(expected_s * 1000)
    return Said(told, _labels(_at(tree, "metadata", "labels")), expected_ms)


def _at(node: object, *keys: str) -> object:
    for key in keys:
        node = node.get(key) if isinstance(node, Map) else None
    return node


def _labels(node: object) -> dict[str, str]:
    if not isinstance(node, Map):
        return {}
    plain = ((key, node.get(key)) for key in node)
    given = ((str(key), _plain(value)) for key, value in plain if isinstance(value, str | int | float))
    return dict(islice(((key[:LABEL_CHARS], value[:LABEL_CHARS]) for key, value in given), LABELS_MOST))


def _plain(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def has_label(labels: dict[str, str], wanted: str) -> bool:
    """Whether there is a label as in `team`, or one with a value as in `team=pricing`."""
    key, equals, value = wanted.partition("=")
    return key in labels and (not equals or labels[key] == value)


class Descriptions:
    """What texts that were asked for lately say of themselves, by content."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Said] = OrderedDict()

    def known(self, digest: str) -> Said | None:
        """What a text says, if it was read lately."""
        return self._known.get(digest)

    async def read(self, entry: PlaybookText) -> Said:
        """What a text says."""
        await self.tell([entry])
        return self._known[entry.hash]

    async def tell(self, entries: Iterable[PlaybookText]) -> list[PlaybookText]:
        """The entries, each with what it says; texts that are new are read beside the loop."""
        playbook_texts = list(entries)
        new = {entry.hash: entry.text for entry in playbook_texts if entry.hash not in self._known}
        said = dict(self._known)
        if new:
            said |= await asyncio.to_thread(lambda: {key: said_by(text) for key, text in new.items()})
        for entry in playbook_texts:
            known = self._known[entry.hash] = said[entry.hash]
            entry.description, entry.labels = known.description, known.labels
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return playbook_texts
