"""What a playbook says about each of its executions: labels, and how long one should take.

Read from the text that the execution has, and told beside what is kept of it; nothing of it is stored.
"""

from typing import cast

from msgspec.structs import replace

from noetl.control.catalog import Catalog
from noetl.control.descriptions import Descriptions, Said
from noetl.core.event import iso
from noetl.errors import NotFound
from noetl.ports.answers import ExecutionAnswer
from noetl.ports.store import Store, Summary


class PlaybookFacts:
    """The labels and the expectations of the executions of a store."""

    def __init__(self, store: Store, catalog: Catalog, descriptions: Descriptions) -> None:
        self._store, self._catalog, self._descriptions = store, catalog, descriptions

    async def of_summary(self, item: Summary) -> Summary:
        """The same with what its playbook says."""
        said = await self._said(item.hash)
        if said.expected_ms is None:
            return replace(item, labels=said.labels) if said.labels else item
        late_at = await self._begun(item) + said.expected_ms
        return replace(item, labels=said.labels, expected_ms=said.expected_ms, late_at=late_at)

    async def of_answer(self, answer: ExecutionAnswer) -> ExecutionAnswer:
        """The same with how long it should take, where its playbook says so."""
        said = await self._said(answer["playbook"]["hash"])
        if said.expected_ms is None:
            return answer
        begun = await self._begun(await self._store.summary(answer["execution_id"]))
        told = {**answer, "expected_ms": said.expected_ms, "late_at": iso(begun + said.expected_ms)}
        return cast(ExecutionAnswer, told)

    async def _said(self, digest: str) -> Said:
        known = self._descriptions.known(digest)
        if known is None:
            try:
                entry = await self._catalog.entry(digest)
            except NotFound:  # refused before it had a playbook, or pruned
                return Said()
            known = await self._descriptions.read(entry)
        return known

    async def _begun(self, item: Summary) -> int:
        """When the time began; of one that goes on from others when the first of them was asked for."""
        if item.chain is None:
            return item.requested_at
        try:
            return (await self._store.summary(item.chain)).requested_at
        except NotFound:  # forgotten since
            return item.requested_at
