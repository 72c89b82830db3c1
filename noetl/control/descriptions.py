"""What registered playbooks say of themselves: their description and labels, read from a text once."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map
from noetl.ports.store import PlaybookText

KEPT = 4096
LABELS_MOST = 20  # of one playbook
LABEL_CHARS = 100  # of a key or a value


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says that it does, if it does, and the labels that it gave itself."""

    description: str | None = None
    labels: dict[str, str] = field(default_factory=dict)


def said_by(text: str) -> Said:
    """What a text says of itself."""
    tree = parse(text).tree if "description" in text or "labels" in text else None
    metadata = tree.get("metadata") if isinstance(tree, Map) else None
    if not isinstance(metadata, Map):
        return Said()
    description = metadata.get("description")
    told = str(description).strip() or None if isinstance(description, str) else None
    return Said(told, _labels(metadata.get("labels")))


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
