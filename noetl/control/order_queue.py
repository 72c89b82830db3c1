"""Orders that wait for a worker: in the order they came, and by execution. Nothing here knows a worker."""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable
from itertools import chain

from noetl.core.message import WorkOrder

Key = tuple[str, str]  # execution and lease


class Waiting:
    """The orders of one pool that no worker has, in the order they came, and by execution."""

    def __init__(self) -> None:
        self._orders: OrderedDict[Key, WorkOrder] = OrderedDict()
        self._since: dict[Key, float] = {}
        self._of: dict[str, OrderedDict[Key, None]] = {}

    def __len__(self) -> int:
        return len(self._orders)

    def get(self, key: Key) -> WorkOrder | None:
        """The order of a lease."""
        return self._orders.get(key)

    def of(self, execution_id: str) -> int:
        """How many orders of one execution wait."""
        return len(self._of.get(execution_id, ()))

    def has_any(self, programs: Container[str]) -> bool:
        """Whether an order of one of some playbooks waits."""
        return any(order.program in programs for order in self._orders.values())

    def keys_of(self, execution_id: str) -> list[Key]:
        """Which orders of an execution wait."""
        return list(self._of.get(execution_id, ()))

    def add(self, order: WorkOrder, now: float) -> None:
        """Put an order at the end; an earlier one of the same lease is void."""
        key = (order.execution_id, order.lease)
        if key in self._orders:
            self.remove(key)
        self._orders[key], self._since[key] = order, now
        self._of.setdefault(order.execution_id, OrderedDict())[key] = None

    def remove(self, key: Key) -> WorkOrder | None:
        """Take one order out."""
        order = self._orders.pop(key, None)
        if order is None:
            return None
        own = self._of[key[0]]
        del self._since[key], own[key]
        if not own:
            del self._of[key[0]]
        return order

    @property
    def oldest(self) -> float | None:
        """When the order that waits longest came."""
        return self._since[next(iter(self._orders))] if self._orders else None

    def take(self, room: int, first: str | None, fits: Callable[[WorkOrder], bool]) -> list[WorkOrder]:
        """As many as there is room for: of one execution before all others, then the oldest."""
        keys: Iterable[Key] = self._orders
        if first is not None and first in self._of:
            keys = chain(self._of[first], self._orders)
        batch: dict[Key, WorkOrder] = {}
        for key in keys:
            if len(batch) == room:
                break
            if key not in batch and fits(self._orders[key]):
                batch[key] = self._orders[key]
        for key in batch:
            self.remove(key)
        return list(batch.values())
