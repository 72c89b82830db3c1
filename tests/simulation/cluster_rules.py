"""What must hold of a simulated cluster, whatever fails: looked at as it happens.

Beside the rules of every world (inspector.py): nobody sees what is not committed, what a liar says changes
nothing, only silence that could have been broken costs a lease, and nothing is stuck without a cause.
"""

from typing import Any

import msgspec

from noetl.control.log_rows import events_of
from noetl.core.event import Event
from noetl.core.formats import OLDEST_ROW_FORMAT
from noetl.core.message import WorkOrder
from noetl.ports.link import Heartbeat, Orders, ReportReply
from noetl.ports.store import Append
from tests.simulation.cluster_nodes import LEASE_S, ServerNode
from tests.simulation.inspector import Inspector

EPSILON_S = 1e-3
LIE = "lie/"
_ORDERS, _REPLY = msgspec.json.Decoder(Orders), msgspec.json.Decoder(ReportReply)


class ClusterInspector(Inspector):
    """The rules of a cluster."""

    world: Any

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.granted: set[tuple[str, str, int]] = set()
        self.resumed: set[tuple[str, str, str]] = set()
        self.heard: dict[tuple[str, str, str, int], float] = {}  # when a server last heard of a lease
        self.silent_s: dict[tuple[str, str, str, int], float] = {}  # of a lease, when its end was decided
        self.called: set[str] = set()  # children that a log has asked for
        self.told: dict[str, str] = {}  # lies by their batches

    # Committed only

    def look_at(self, node: ServerNode, execution_id: str) -> None:
        """Someone looks at an execution while its commit is under way."""
        node.process.spawn(self._look(node, execution_id))

    async def _look(self, node: ServerNode, execution_id: str) -> None:
        seen = await node.engine.read(execution_id, lambda state: state.seq)
        if seen is not None and seen > len(self.logs.get(execution_id, ())):
            self.violate(execution_id, f"someone saw event {seen} before it was committed")

    def listened(self, execution_id: str, first: int, events: list[Event]) -> None:
        """Listeners are told what the log has."""
        if len(self.logs.get(execution_id, ())) < first + len(events) - 1:
            self.violate(execution_id, f"a listener was told of event {first} before it was committed")

    def offered(self, order: WorkOrder) -> None:
        if (order.execution_id, order.lease, order.epoch) not in self.granted:
            self.violate(order.execution_id, f"lease {order.lease} was sent out before it was granted")

    def handed(self, reply: bytes, what: str) -> None:
        """Orders leave a server with the answer to a request."""
        orders = _ORDERS.decode(reply) if what == "take" else _REPLY.decode(reply).next
        for delivery in orders.orders:
            self.offered(delivery.order)

    def delivered(self, execution_id: str, lease: str, address: str) -> None:
        if (execution_id, lease.partition(":")[0], address) not in self.resumed:
            self.violate(execution_id, f"{lease} {address} was told an answer that is not in the log")

    def committed(self, append: Append) -> None:
        execution_id = append.execution_id
        first = not self.logs.get(execution_id)
        for row in append.rows:
            for event in events_of(row):
                self._note(execution_id, event)
            if row.batch is not None and row.batch.startswith(LIE):
                self._lie_in_the_log(execution_id, row.batch, events_of(row))
        if first and execution_id != self.world.execution_id and execution_id not in self.called:
            self.violate(execution_id, "a child began before its parent's log had called it")
        self._silences(append)
        self._can_read(append)
        super().committed(append)
        state = self.checkers[execution_id].state
        self.granted |= {(execution_id, one.id, one.epoch) for one in state.leases.values() if one.out}
        self.called |= set(state.children)

    def _can_read(self, append: Append) -> None:
        """A server of an older release decides nothing of what it cannot read."""
        node, written_in = self.world.committing, max(row.format for row in append.rows)
        if written_in > OLDEST_ROW_FORMAT:
            self.seen["newer format"] += 1
            if node.process.older:
                self.violate(append.execution_id, f"{node.name} is older, and wrote in format {written_in}")

    def _note(self, execution_id: str, event: Event) -> None:
        if event.name == "execution.continued":
            self.called.add((event.data or {})["as"])
        if event.name == "task.resumed":
            self.resumed.add((execution_id, event.run or "", event.at or ""))
        elif event.name == "task.parked" and (event.data or {}).get("child"):
            self.called.add((event.data or {})["child"])

    # Checked reports

    def _lie_in_the_log(self, execution_id: str, batch: str, events: list[Event]) -> None:
        self.seen["lie rejected"] += 1
        changed = [event.name for event in events if event.name != "event.rejected"]
        silent = [event for event in events if not (event.data or {}).get("why")]
        if changed or silent:
            told = changed or "a rejection without a reason"
            self.violate(execution_id, f"a lie led to {told}: {self.told.get(batch)}")

    # Fair silence

    def beat(self, node: ServerNode, beat: Heartbeat) -> None:
        """A server hears a worker; what it says of leases of others changes nothing."""
        name = beat.hello.worker_id
        before = self._others(node, name)
        node.leasing.beat(beat)
        if self._others(node, name) != before:
            self.world.violate(f"a beat of {name} changed leases of others")
        for execution_id, lease, epoch in beat.held:
            if node.leasing.holds(execution_id, lease, epoch, name):
                self.heard[node.name, execution_id, lease, epoch] = self.world.now

    def _others(self, node: ServerNode, name: str) -> dict[Any, Any]:
        return {
            key: (held.worker_id, held.heard, held.mentioned)
            for key, held in node.leasing._held.items()
            if held.worker_id != name
        }

    def decided(self, node: ServerNode, execution_id: str, leases: dict[str, int]) -> None:
        """A server decides now that nobody carries these leases on; the commit may come a good while later."""
        for lease, epoch in leases.items():
            key = (node.name, execution_id, lease, epoch)
            self.silent_s[key] = self.world.now - max(self.heard.get(key, node.since), node.since)

    def _silences(self, append: Append) -> None:
        node = self.world.committing
        for row in append.rows:
            for event in events_of(row):
                data: Any = event.data or {}
                if event.name != "lease.expired" or data.get("why") != "silent":
                    continue
                key = (node.name, append.execution_id, data["lease"], data["epoch"] - 1)
                silent_s = self.silent_s.pop(key, 0.0)
                if silent_s < LEASE_S - EPSILON_S:
                    told = f"{data['lease']} counts as silent {silent_s:g} s after it was heard"
                    self.violate(append.execution_id, told)
                self._lives(append.execution_id, data["lease"], data["epoch"] - 1)

    def _lives(self, execution_id: str, lease: str, epoch: int) -> None:
        """Whoever lives and could speak is not silent; of several short outages one cannot be sure."""
        world = self.world
        if world.faults.on & {"lost message", "slow bus", "slow store", "store hangs"}:
            return
        since = world.now - LEASE_S
        if world.bus.outages(since, world.committing.name) > 1:
            return
        for worker in world.workers:
            held = worker.process.alive and (execution_id, lease, epoch) in worker.worker.held()
            if held and not world.bus.was_cut(since - 1, worker.name):
                self.violate(execution_id, f"{lease} counts as silent, and {worker.name} lives and has it")

    # Stuck

    def gave_up(self, execution_id: str, reason: str, error: Exception) -> None:
        """An execution is set aside."""
        self.seen["stuck"] += 1
        if execution_id not in self.world.damaged:
            self.violate(execution_id, f"given up, {reason}: {error!r}")
