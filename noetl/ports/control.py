"""How workers speak to the control plane, and how it speaks to workers. Protocols only."""

import hashlib
from collections.abc import Mapping
from typing import Protocol

import msgspec

from noetl.core.message import Answer, Expire, Report, WorkOrder
from noetl.core.shapes import Output
from noetl.core.state import Lease
from noetl.json_value import Json


class Reports(Protocol):
    """What a worker needs of the control plane."""

    async def report(self, execution_id: str, report: Report) -> Answer:
        """Hand in what was done under a lease; a repeated batch gets the first answer again."""


class Workers(Protocol):
    """What the control plane needs of the workers."""

    def offer(self, order: WorkOrder) -> None:
        """Hand an order to a worker of its pool."""

    def adopt(self, execution_id: str, lease: Lease) -> bool:
        """A lease that is out and was not offered here; False when no worker can still have it."""

    def recall(self, execution_id: str, lease: str, give_back: bool) -> None:
        """Stop a lease at once, or at the next task boundary when it is to come back."""

    def abandon(self, execution_id: str) -> None:
        """Stop every lease of an execution at once: nothing that is reported of it counts any more."""

    def still_overdue(self, execution_id: str, overdue: Expire) -> dict[str, int]:
        """The leases of which it still holds, with epochs; some may have been heard of in the meantime."""

    def deliver(self, execution_id: str, lease: str, address: str, task: str, output: Output) -> None:
        """Give a pipeline that waits inside a held lease its answer."""


class Secrets(Protocol):
    """Where keychain entries and credentials come from, when a task needs them."""

    async def resolve(self, execution_id: str, name: str, refused: str | None = None) -> Mapping[str, Json]:
        """The material under a name; raises NotFound.

        `refused` is the digest of material that somebody did not let in: a token of it is fetched anew.
        """


def material_digest(material: Mapping[str, Json]) -> str:
    """What secret material can be told apart by without saying it."""
    return hashlib.sha256(msgspec.json.encode(material, order="sorted")).hexdigest()
