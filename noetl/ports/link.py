"""How workers in other processes speak to servers: what is said, and the two sides. Plain data and Protocols.

A worker asks (`take`, `report`, `secret`, …) and tells who it is and what it holds (`beat`); a server hints
that there is work and pushes what cannot wait. Everything that is pushed is said again when a beat shows that
it was not heard, so that any message may be lost.
"""

from collections.abc import AsyncIterator, Callable
from typing import Protocol

import msgspec

from noetl.core.message import Answer, Payload, Report, WorkOrder
from noetl.core.shapes import Output
from noetl.ports.link_protocol import ProtocolRange
from noetl.ports.task_lines import PrintedLines

BEATS_PER_LEASE = 4  # how often a worker is heard in the time after which it counts as silent
BEAT_MOST_S = 1.0


def beat_s(lease_s: float) -> float:
    """Seconds between the beats of a worker."""
    return min(lease_s / BEATS_PER_LEASE, BEAT_MOST_S)


class Hello(msgspec.Struct, omit_defaults=True):
    """Who a worker is."""

    worker_id: str
    pool: str
    concurrency: int
    kinds: list[str]
    key: bytes  # public: secrets for this worker are sealed with it
    started_at: int
    version: str = ""
    host: str = ""
    spoken: ProtocolRange = ProtocolRange(1, 1)  # versions of this protocol
    claims: bool = False  # it can claim the items of loops; workers of older releases cannot
    pid: int = 0  # of its process on its host; workers of older releases do not tell it


class TakeRequest(msgspec.Struct, omit_defaults=True):
    """A worker has room for so many orders."""

    hello: Hello
    room: int


class OrderDelivery(msgspec.Struct, omit_defaults=True):
    """An order on its way to a worker, with the playbook's text when the worker has not had it."""

    order: WorkOrder
    text: str | None = None


class Orders(msgspec.Struct, omit_defaults=True):
    """What a worker is given, by whom, and what time it is there."""

    server: str
    now: int
    orders: list[OrderDelivery] = []


class ReportRequest(msgspec.Struct, omit_defaults=True):
    """A report on its way to a server; `room` is how many orders may come with the answer."""

    execution_id: str
    report: Report
    worker_id: str
    room: int = 0


class ReportReply(msgspec.Struct, omit_defaults=True):
    """The answer to a report, with the next orders."""

    answer: Answer
    next: Orders


class Heartbeat(msgspec.Struct, omit_defaults=True):
    """What a worker holds at a moment: execution, lease and epoch of each order."""

    hello: Hello
    number: int
    held: list[tuple[str, str, int]] = []
    running: int = 0
    finished: int = 0
    draining: bool = False
    not_understood: list[str] = []  # what servers told since the last beat that this worker does not know


class Push(msgspec.Struct, omit_defaults=True):
    """What a server tells one worker of one lease: stop it, give it back, or an answer it waits for."""

    what: str  # stop | give_back | deliver
    execution_id: str
    lease: str
    epoch: int
    address: str = ""
    task: str = ""
    output: Output = {}


class SecretRequest(msgspec.Struct):
    """A worker needs the secret that a task of one of its leases names."""

    execution_id: str
    lease: str
    epoch: int
    worker_id: str
    name: str
    key: bytes
    refused: str | None = None  # the digest of material that somebody did not let in


class LinesRequest(msgspec.Struct):
    """What tasks of a worker printed."""

    worker_id: str
    printed: list[PrintedLines]


class ConnectRequest(msgspec.Struct):
    """Someone asks over HTTP for a connection that stays: names of headers in small letters."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]


class ConnectionAcceptor(Protocol):
    """Who takes connections over from the HTTP server: refuses, or speaks on with a protocol of its own."""

    def accept(self, request: ConnectRequest, transport: object) -> object:
        """The protocol that the transport belongs to from now on."""


class WorkerRequests(Protocol):
    """What workers ask of servers, whichever answers."""

    async def report(self, request: ReportRequest) -> ReportReply:
        """Decide on a report; raises BackendError when it must be sent again, perhaps to another server."""

    async def secret(self, ask: SecretRequest) -> bytes:
        """A secret, sealed for the worker that asks; raises NotFound, and Conflict when the lease is gone."""

    async def program(self, digest: str) -> str:
        """The text of a playbook; raises NotFound."""

    async def write(self, payload: Payload) -> None:
        """Write a payload to the result store."""

    async def read(self, key: str) -> bytes:
        """A payload of the result store; raises NotFound."""


class WorkerApi(WorkerRequests, Protocol):
    """What one server does for workers."""

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> None:
        """Write bytes to the result store as they come, under the key that they have."""

    async def take(self, take: TakeRequest) -> Orders:
        """Orders for a worker that has room."""

    async def lines(self, request: LinesRequest) -> None:
        """Keep what tasks printed."""


class HeartbeatListener(Protocol):
    """What a server hears without being asked to answer."""

    def beat(self, beat: Heartbeat) -> None:
        """A worker says what it holds."""

    def missed(self) -> None:
        """A beat came that could not be listened to."""


class WorkerChannel(Protocol):
    """How a server reaches workers; nothing said here need arrive."""

    def hint(self, pool: str) -> None:
        """Tell the idle workers of a pool that there is work here."""

    def alive(self) -> None:
        """Tell all workers that this server is there."""

    def quiet_s(self) -> float:
        """For how many seconds nothing has come, not even what this server says to all."""

    def push(self, worker_id: str, push: Push) -> None:
        """Tell one worker something."""

    def hand(self, worker_id: str, orders: list[WorkOrder], on_no_responder: Callable[[], None]) -> bool:
        """Give one worker orders unasked; whether that could be said. `unheard`: it is not there any more."""


class Link(WorkerRequests, Protocol):
    """A worker's way to the servers."""

    on_hint: Callable[[str], None]  # a server has work
    on_orders: Callable[[Orders], None]  # a server gives some of it, unasked
    on_push: Callable[[Push], None]

    def takes_lines(self, execution_id: str) -> bool:
        """Whether a server is there that takes lines of an execution by themselves."""

    async def lines(self, request: LinesRequest) -> None:
        """Hand lines in, once; raises BackendError when they may be sent again."""

    async def which(self) -> str:
        """The name of a server that answers us; raises RequestError when we may not ask."""

    async def take_from(self, server: str, take: TakeRequest) -> Orders:
        """Ask one server for orders; raises BackendError when it does not answer."""

    def tell(self, beat: Heartbeat) -> None:
        """Say to every server what is held."""
