"""Leases of workers in other processes: which orders wait for a worker, who holds which, who has gone silent.

A lease belongs to the worker that it was given to, whoever else names it. Nothing here is written down: a
server that takes an execution over learns from the log who began which lease; one that nobody is known to
have begun is given out again. Silence is measured in the time of this process alone, and only while it could
have been broken (worker_silence.py); the core decides what follows from it.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from noetl.control.order_queue import Key, Waiting
from noetl.control.worker_silence import SilenceClock
from noetl.core.message import Expire, WorkOrder
from noetl.core.shapes import Output
from noetl.core.state import Lease
from noetl.ports.front import Worker
from noetl.ports.link import Heartbeat, Hello, Push, WorkerChannel, beat_s
from noetl.ports.link_protocol import SPOKEN

_LOG = logging.getLogger("noetl.link")
NOT_UNDERSTOOD_MOST = 3  # of one beat are said
LEFT_S = 0.25  # workers that were hinted at ask at once: what waits longer is for whoever asks
RECENT_BEATS = 2  # a worker that was heard within so many is given orders unasked
LATE_LINES_S = 120.0  # a worker keeps lines that it cannot hand in for half as long
ENDED_MOST = 100_000  # leases whose lines may still come, of 400 bytes each: of more the newest
UNHEARD_BEATS = 3  # an order that its worker does not mention after so many beats never reached it

Ended = tuple[str, str, int, str]  # execution, lease, epoch, worker


@dataclass(slots=True)
class HeldLease:
    """An order that is with a worker."""

    epoch: int
    run: str
    worker_id: str | None  # None: out before this server had the execution, and no log says with whom
    heard: float
    since: float
    beat: int = -1  # the worker's newest beat when it was handed over
    mentioned: bool = False  # a beat or a report has named it
    wish: str = ""  # stop | give_back, until it is gone


@dataclass(slots=True)
class WorkerInfo:
    """A worker that was heard of."""

    hello: Hello
    heard: float
    heard_at: int
    beat: Heartbeat | None = None
    holds: int = 0  # orders that this server knows to be with it
    programs: set[str] = field(default_factory=set)  # playbooks it has been sent
    kinds: frozenset[str] = field(init=False)  # that it can do

    def __post_init__(self) -> None:
        self.kinds = frozenset(self.hello.kinds)


class WorkerLeases:
    """The orders of the executions that this server owns."""

    def __init__(
        self,
        calls: WorkerChannel,
        lease_s: float,
        *,
        later: Callable[[Callable[[], None]], object],
        wall: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls, self.lease_s, self._later = calls, lease_s, later
        self._clock, self._wall = clock, wall
        self._waiting: dict[str, Waiting] = {}
        self._held: dict[Key, HeldLease] = {}
        self._workers: dict[str, WorkerInfo] = {}
        # Until when lines under leases that were reported on still come, by the time of their end.
        self._ended: OrderedDict[Ended, float] = OrderedDict()
        self._abandoned: dict[str, float] = {}  # until when leases of executions that nobody runs are stopped
        self._hinting = False
        self._closing = False  # nothing more is given out: whoever has the executions next does so
        self._hearing = SilenceClock(lease_s)
        self.needs: Callable[[WorkOrder], frozenset[str]] = lambda order: frozenset()
        self.on_return: Callable[[WorkOrder], None] = lambda order: None
        self.answers: Callable[[str, str, Callable[[Push], None]], None] = lambda execution_id, lease, push: (
            None
        )

    # What the engine asks

    def offer(self, order: WorkOrder) -> None:
        """Keep an order for the next worker of its pool that has room."""
        self._abandoned.pop(order.execution_id, None)
        self._drop((order.execution_id, order.lease))
        waiting = self._waiting.get(order.pool)
        if waiting is None:
            waiting = self._waiting[order.pool] = Waiting()
        waiting.add(order, self._clock())
        if not self._hinting:  # the answer that is on its way out may take it along
            self._hinting = True
            self._later(self._hint)

    def _hint(self) -> None:
        self._hinting = False
        for pool, orders in self._waiting.items():
            if orders:
                self._hand_out(pool, orders)
            if orders:
                self._calls.hint(pool)

    def _hand_out(self, pool: str, orders: Waiting) -> None:
        """Give orders to workers that were heard a moment ago and have room, in even shares.

        Those that have to ask for the playbook come last: nobody gets their part before they can.
        """
        idle = [
            (worker, room) for worker in self._workers.values() if (room := self._room_of(worker, pool)) > 0
        ]
        idle.sort(key=lambda pair: (not orders.has_any(pair[0].programs), -pair[1]))
        for place, (worker, room) in enumerate(idle):
            share = -(-len(orders) // (len(idle) - place))
            batch = self._chosen(worker, orders, min(share, room), None, unasked=True)
            worker_id = worker.hello.worker_id
            if batch and not self._calls.hand(worker_id, batch, partial(self._unheard, worker_id, batch)):
                self._put_back(worker_id, batch)

    def _room_of(self, worker: WorkerInfo, pool: str) -> int:
        """How many orders a worker could begin, as far as that is known here."""
        hello, beat = worker.hello, worker.beat
        recent = self._clock() - worker.heard <= RECENT_BEATS * beat_s(self.lease_s)
        if hello.pool != pool or not recent or beat is None or beat.draining:
            return 0
        return hello.concurrency - max(worker.holds, beat.running)

    def _unheard(self, worker_id: str, orders: list[WorkOrder]) -> None:
        """A worker was not there to hear what it was given: others get it."""
        worker = self._workers.get(worker_id)
        if worker is not None:
            worker.beat = None  # nothing more until it is heard again
        self._put_back(worker_id, orders)
        self._hint()

    def _put_back(self, worker_id: str, orders: list[WorkOrder]) -> None:
        for order in orders:
            key = (order.execution_id, order.lease)
            lease = self._held.get(key)
            if lease is not None and (lease.epoch, lease.worker_id) == (order.epoch, worker_id):
                self._drop(key)
                self._waiting.setdefault(order.pool, Waiting()).add(order, self._clock())

    def recall(self, execution_id: str, lease: str, give_back: bool) -> None:
        for orders in self._waiting.values():
            order = orders.remove((execution_id, lease))
            if order is not None and give_back:
                self.on_return(order)
        held_lease = self._held.get((execution_id, lease))
        if held_lease is not None:
            held_lease.wish = "give_back" if give_back else "stop"
            self._push(
                (execution_id, lease),
                held_lease,
                Push(held_lease.wish, execution_id, lease, held_lease.epoch),
            )

    def abandon(self, execution_id: str) -> None:
        """Stop every lease of an execution at once, whichever server gave it out: beats tell who has one."""
        self._abandoned[execution_id] = self._clock() + self.lease_s
        waiting = [key for orders in self._waiting.values() for key in orders.keys_of(execution_id)]
        leases = [key for key in self._held if key[0] == execution_id]
        for _, lease in (*waiting, *leases):
            self.recall(execution_id, lease, give_back=False)

    def deliver(self, execution_id: str, lease: str, address: str, task: str, output: Output) -> None:
        held_lease = self._held.get((execution_id, lease))
        if held_lease is not None:
            push = Push("deliver", execution_id, lease, held_lease.epoch, address, task, output)
            self._push((execution_id, lease), held_lease, push)
        waits = self._still_waits((execution_id, lease))
        if waits is not None:
            waits.answers[address] = output

    def _push(self, key: Key, lease: HeldLease, push: Push) -> None:
        if lease.worker_id is not None:
            self._calls.push(lease.worker_id, push)

    def adopt(self, execution_id: str, lease: Lease) -> bool:
        """A lease that was out when the execution came here: its worker, if it lives, will be heard."""
        self._abandoned.pop(execution_id, None)
        key = (execution_id, lease.id)
        waits = self._still_waits(key)
        held_lease = self._held.get(key)
        if (waits is None or waits.epoch != lease.epoch) and (
            held_lease is None or held_lease.epoch != lease.epoch
        ):
            now = self._clock()
            self._hold(key, HeldLease(lease.epoch, lease.run, lease.worker, now, now))
        return True

    def _still_waits(self, key: Key) -> WorkOrder | None:
        work_orders = (orders.get(key) for orders in self._waiting.values())
        return next((order for order in work_orders if order is not None), None)

    # What workers say

    def take(self, worker_id: str, room: int, first: str | None = None) -> list[WorkOrder]:
        """Orders for a worker: of one execution before all others, then in the order they came.

        Of a worker that was never heard of its pool is not known; its next beat tells.
        """
        worker = self._workers.get(worker_id)
        if worker is None:
            return []
        worker.heard, worker.heard_at = self._clock(), self._wall()
        orders = self._waiting.get(worker.hello.pool)
        if orders and (first is None or orders.of(first) > 1):  # a loop is for all, one step for who is here
            room = min(room, self._share_of(worker, orders))
        return self._chosen(worker, orders, room, first) if orders and room > 0 else []

    def _share_of(self, worker: WorkerInfo, orders: Waiting) -> int:
        """How many orders leave the others their part; what they left lying is anyone's.

        A loop keeps the workers that it began with: who asks first must not get all of it.
        """
        hello = worker.hello
        peers = [
            other
            for other in self._workers.values()
            if other is worker or (other.hello.kinds == hello.kinds and self._room_of(other, hello.pool) > 0)
        ]
        together = len(orders) + sum(peer.holds for peer in peers)
        share = max(0, -(-together // len(peers)) - worker.holds)
        if share < len(orders) and self._clock() - (orders.oldest or 0.0) > LEFT_S:
            return len(orders)
        return share

    def _chosen(
        self, worker: WorkerInfo, orders: Waiting, room: int, first: str | None, *, unasked: bool = False
    ) -> list[WorkOrder]:
        """Take out what a worker can do; with a playbook that it has not had it must ask."""
        if self._closing:
            return []
        kinds = worker.kinds

        def fits(order: WorkOrder) -> bool:
            able = self.needs(order) <= kinds and (order.claim is None or worker.hello.claims)
            return able and (not unasked or order.program in worker.programs)

        batch = orders.take(room, first, fits)
        now, worker_id = self._clock(), worker.hello.worker_id
        number = worker.beat.number if worker.beat is not None else 0
        for order in batch:
            lease = HeldLease(order.epoch, order.run, worker_id, now, now, number)
            self._hold((order.execution_id, order.lease), lease)
        return batch

    def _hold(self, key: Key, lease: HeldLease) -> None:
        self._drop(key)
        self._held[key] = lease
        self._count(lease.worker_id, 1)

    def _drop(self, key: Key) -> None:
        lease = self._held.pop(key, None)
        if lease is not None:
            self._count(lease.worker_id, -1)

    def _count(self, worker_id: str | None, more: int) -> None:
        worker = self._workers.get(worker_id or "")
        if worker is not None:
            worker.holds = max(0, worker.holds + more)

    def lacks(self, worker_id: str, digest: str) -> bool:
        """Whether a worker has not been sent a playbook yet; from now on it has."""
        worker = self._workers.get(worker_id)
        if worker is None or digest in worker.programs:
            return worker is None
        worker.programs.add(digest)
        return True

    def close(self) -> None:
        """Give out nothing more."""
        self._closing = True

    def given_out(self) -> list[Key]:
        """The leases that are with workers."""
        return [key for key, lease in self._held.items() if lease.worker_id is not None]

    def reported(self, execution_id: str, lease: str, epoch: int, worker_id: str) -> None:
        """A worker reported on a lease that it holds."""
        held_lease = self._held.get((execution_id, lease))
        if held_lease is not None and (held_lease.epoch, held_lease.worker_id) == (epoch, worker_id):
            self._renew(held_lease)

    def _renew(self, lease: HeldLease) -> None:
        lease.heard, lease.mentioned = self._clock(), True

    def ended(self, execution_id: str, lease: str, epoch: int, worker_id: str) -> None:
        """A worker's report was the last on its lease: what its tasks printed may come a little later."""
        if self.holds(execution_id, lease, epoch, worker_id):
            ended = (execution_id, lease, epoch, worker_id)
            self._ended[ended] = self._clock() + LATE_LINES_S
            self._ended.move_to_end(ended)
            if len(self._ended) > ENDED_MOST:
                self._ended.popitem(last=False)
            self._drop((execution_id, lease))
        else:
            self.let_go(execution_id, lease, epoch)

    def has_or_had(self, execution_id: str, lease: str, epoch: int, worker_id: str) -> bool:
        """Whether a worker holds a lease, or ended it itself a moment ago."""
        if self.holds(execution_id, lease, epoch, worker_id):
            return True
        return self._ended.get((execution_id, lease, epoch, worker_id), 0.0) > self._clock()

    def nobody_known(self, execution_id: str, lease: str, epoch: int) -> bool:
        """Whether a lease is out, and no log says with whom."""
        held_lease = self._held.get((execution_id, lease))
        return held_lease is not None and (held_lease.epoch, held_lease.worker_id) == (epoch, None)

    def let_go(self, execution_id: str, lease: str, epoch: int) -> None:
        """A lease is nobody's any more."""
        held_lease = self._held.get((execution_id, lease))
        if held_lease is not None and held_lease.epoch == epoch:
            self._drop((execution_id, lease))

    def holds(self, execution_id: str, lease: str, epoch: int, worker_id: str) -> bool:
        """Whether a lease was given to a worker; what it says itself does not count."""
        held_lease = self._held.get((execution_id, lease))
        return held_lease is not None and (held_lease.epoch, held_lease.worker_id) == (epoch, worker_id)

    def beat(self, beat: Heartbeat) -> None:
        """A worker says what it holds: what it was given is renewed; what was not heard is said again."""
        worker_id = self.meet(beat.hello)
        self._workers[worker_id].beat = beat
        for what in beat.not_understood[:NOT_UNDERSTOOD_MOST]:
            _LOG.warning(
                "worker %s (release %s) does not know: %s", worker_id, beat.hello.version, what[:200]
            )
        for execution_id, lease, epoch in beat.held:
            if not self.holds(execution_id, lease, epoch, worker_id):
                if self._abandoned.get(execution_id, 0.0) > self._clock():
                    self._calls.push(worker_id, Push("stop", execution_id, lease, epoch))
                continue
            held_lease = self._held[execution_id, lease]
            self._renew(held_lease)
            if held_lease.wish:
                self._push(
                    (execution_id, lease), held_lease, Push(held_lease.wish, execution_id, lease, epoch)
                )
            self.answers(execution_id, lease, partial(self._calls.push, worker_id))

    def missed(self) -> None:
        """A beat came that could not be listened to; it may have been anyone's."""
        self._hearing.missed(self._clock())

    def meet(self, hello: Hello) -> str:
        """A worker says who it is; its name."""
        worker = self._workers.get(hello.worker_id)
        if worker is None:
            worker = self._workers[hello.worker_id] = WorkerInfo(hello, 0.0, 0)
            worker.holds = sum(lease.worker_id == hello.worker_id for lease in self._held.values())
        worker.heard, worker.heard_at = self._clock(), self._wall()
        return hello.worker_id

    # What time does

    def overdue(self) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
        """Leases with their epochs, by execution: those of silent workers, and those that reached none."""
        now = self._clock()
        since = self._hearing.since(now, self._calls.quiet_s())
        silent: dict[str, dict[str, int]] = {}
        lost: dict[str, dict[str, int]] = {}
        for (execution_id, lease), held_lease in self._held.items():
            if self._is_silent(held_lease, now, since):
                silent.setdefault(execution_id, {})[lease] = held_lease.epoch
            elif self._never_came(held_lease, now, since):
                lost.setdefault(execution_id, {})[lease] = held_lease.epoch
        self._forget(now, since)
        return silent, lost

    def still_overdue(self, execution_id: str, overdue: Expire) -> dict[str, int]:
        leases = overdue.leases if isinstance(overdue.leases, dict) else {}
        is_so = self._is_silent if overdue.why == "silent" else self._never_came
        now = self._clock()
        since = self._hearing.since(now, self._calls.quiet_s())
        return {
            lease: epoch
            for lease, epoch in leases.items()
            if (held_lease := self._held.get((execution_id, lease))) is not None
            and held_lease.epoch == epoch
            and is_so(held_lease, now, since)
        }

    def _is_silent(self, lease: HeldLease, now: float, since: float) -> bool:
        return now - max(lease.heard, since) > self.lease_s

    def _never_came(self, lease: HeldLease, now: float, since: float) -> bool:
        """Its worker goes on telling what it holds, and this is not among it."""
        patience = UNHEARD_BEATS * beat_s(self.lease_s)
        if lease.mentioned or now - max(lease.since, since) <= patience:
            return False
        if lease.worker_id is None:
            return True  # out before this server came, and never begun
        worker = self._workers.get(lease.worker_id)
        return (
            worker is not None
            and worker.beat is not None
            and worker.beat.number >= lease.beat + UNHEARD_BEATS
        )

    def _forget(self, now: float, since: float) -> None:
        patience = 10 * self.lease_s
        gone = [one for one, worker in self._workers.items() if now - max(worker.heard, since) > patience]
        for worker_id in gone:
            del self._workers[worker_id]
        while self._ended and next(iter(self._ended.values())) <= now:  # the first ended first
            self._ended.popitem(last=False)
        self._abandoned = {one: until for one, until in self._abandoned.items() if until > now}

    def speak(self) -> None:
        """Whatever was said may be lost: say again that this server is there, and where orders wait."""
        self._calls.alive()
        self._hint()

    # What people see

    @property
    def waiting(self) -> int:
        """Orders that no worker has taken."""
        return sum(map(len, self._waiting.values()))

    def longest_wait_ms(self) -> int:
        """How long an order has been waiting for a worker."""
        since = [orders.oldest for orders in self._waiting.values() if orders.oldest is not None]
        return round((self._clock() - min(since)) * 1000) if since else 0

    @property
    def out(self) -> int:
        """Orders that are with workers."""
        return len(self._held)

    def fleet(self) -> list[Worker]:
        """The workers that were heard of lately."""
        now = self._clock()
        return [
            self._shown(worker_id, worker)
            for worker_id, worker in self._workers.items()
            if now - worker.heard <= self.lease_s
        ]

    def _shown(self, worker_id: str, worker: WorkerInfo) -> Worker:
        now, wall = self._clock(), self._wall()
        leases: list[dict[str, int | str]] = [
            {
                "execution_id": execution_id,
                "step_run_id": lease.run,
                "epoch": lease.epoch,
                "since": wall - round((now - lease.since) * 1000),
                "age_ms": round((now - lease.heard) * 1000),
            }
            for (execution_id, _), lease in self._held.items()
            if lease.worker_id == worker_id
        ]
        hello, beat = worker.hello, worker.beat
        return Worker(
            worker_id,
            hello.pool,
            hello.concurrency,
            beat.running if beat else len(leases),
            worker.heard_at,
            hello.started_at,
            hello.version,
            hello.host,
            bool(beat and beat.draining),
            leases,
            beat.finished if beat else 0,
            SPOKEN.highest_shared(hello.spoken) or 0,
            hello.kinds,
            hello.pid,
        )
