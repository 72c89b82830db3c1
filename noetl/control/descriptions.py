"""What registered playbooks say of themselves: `metadata.description`, read from a text once."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map
from noetl.ports.store import PlaybookText

KEPT = 4096


def description_of(text: str) -> str | None:
    """What a text says that it does, if it does."""
    tree = parse(text).tree if "description" in text else None
    metadata = tree.get("metadata") if isinstance(tree, Map) else None
    description = metadata.get("description") if isinstance(metadata, Map) else None
    return str(description).strip() or None if isinstance(description, str) else None


class Descriptions:
    """The descriptions of texts that were asked for lately, by content."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, str | None] = OrderedDict()

    async def tell(self, entries: Iterable[PlaybookText]) -> list[PlaybookText]:
        """The entries, each with its description; texts that are new are read beside the loop."""
        playbook_texts = list(entries)
        new = {entry.hash: entry.text for entry in playbook_texts if entry.hash not in self._known}
        descriptions = dict(self._known)
        if new:
            descriptions |= await asyncio.to_thread(
                lambda: {key: description_of(text) for key, text in new.items()}
            )
        for entry in playbook_texts:
            entry.description = descriptions[entry.hash]
            self._known[entry.hash] = descriptions[entry.hash]
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return playbook_texts
