"""A server on the bus: answers workers by asking the desk, and calls workers."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from noetl.adapters.link.error_reply import encode_error
from noetl.adapters.link.handlers import RequestHandler, decode, request_handlers
from noetl.adapters.link.pools import check_pool
from noetl.adapters.link.worker_name import may_bear
from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus, Handler
from noetl.adapters.nats.signing import NoticeSigner, Question, StaleMessage, Verifier
from noetl.core.message import WorkOrder
from noetl.errors import BackendError, NoetlError, RequestError
from noetl.ports.link import (
    Heartbeat,
    HeartbeatListener,
    OrderDelivery,
    Orders,
    Push,
    WorkerApi,
)

_encode = msgspec.json.encode
_BEAT = msgspec.json.Decoder(Heartbeat)
WORKERS_KNOWN = 10_000
DONE, REFUSED = b"o", b"e"  # what an answer begins with: both are signed


class Sender(NamedTuple):
    """Who signed a message: the key of a token, its name and the pools it is for."""

    key: bytes | None
    token: str = ""
    pools: tuple[str, ...] = ()


def _sender(question: Question) -> Sender:
    token = question.token
    return Sender(None) if token is None else Sender(question.key, token.name, tuple(token.pools))


class NatsWorkerChannel:
    """How a server reaches workers."""

    def __init__(self, bus: Bus, server: str, now: Callable[[], int]) -> None:
        self._bus, self.server, self._now = bus, server, now
        self._notices = NoticeSigner()
        self._keys: dict[str, bytes | None] = {}  # what each worker is known by

    def meet(self, worker_id: str | None, pool: str | None, sender: Sender) -> None:
        """A worker proves who it is; raises RequestError for the name of another, or a pool not for it."""
        if pool is not None and sender.key is not None:
            check_pool(sender.token, sender.pools, pool)
        if worker_id is not None:
            self._meet(worker_id, sender.key)

    def _meet(self, worker_id: str, key: bytes | None) -> None:
        if worker_id not in self._keys and not subjects.is_name(worker_id):
            raise RequestError(
                f"{worker_id[:80]!r} is no name of a worker", hint="letters, digits, _ . and -"
            )
        if not may_bear(worker_id, key) or self._keys.setdefault(worker_id, key) != key:
            raise RequestError(f"worker {worker_id} is known by another token than this one")
        if len(self._keys) > WORKERS_KNOWN:
            del self._keys[next(iter(self._keys))]

    def hint(self, pool: str) -> None:
        """Tell the idle workers of a pool that there is work here."""
        self._bus.publish(subjects.hint(pool), self.server.encode())

    def alive(self) -> None:
        """Tell all workers that this server is there."""
        self._bus.publish(subjects.ALIVE, self.server.encode())

    def quiet_s(self) -> float:
        """For how long nothing has come from NATS."""
        return self._bus.quiet_s

    def push(self, worker_id: str, push: Push) -> None:
        """Tell one worker something."""
        if worker_id in self._keys:  # else its next beat makes it known, and it is said again
            subject = subjects.worker(worker_id)
            self._bus.publish(subject, self._notices.sign(subject, _encode(push), self._keys[worker_id]))

    def hand(self, worker_id: str, orders: list[WorkOrder], on_no_responder: Callable[[], None]) -> bool:
        """Give one worker orders unasked."""
        if worker_id not in self._keys:
            return False
        subject = subjects.orders(worker_id)
        body = _encode(Orders(self.server, self._now(), [OrderDelivery(order) for order in orders]))
        return self._bus.tell(
            subject, self._notices.sign(subject, body, self._keys[worker_id]), on_no_responder
        )


def serve(
    bus: Bus,
    channel: NatsWorkerChannel,
    worker_api: WorkerApi,
    heartbeats: HeartbeatListener,
    verifier: Verifier,
) -> None:
    """Answer what is asked of this server, and of any server, by those who may ask."""
    server = channel.server
    bus.serve_parts(subjects.parts(server))
    for what, handler in request_handlers(server, worker_api, channel.meet).items():
        for subject, queue in ((subjects.asked(what, server), ""), (subjects.asked(what), subjects.SERVERS)):
            bus.serve(subject, _checked(subject, handler, verifier), queue)

    async def heard(message: bytes) -> None:
        try:
            question = await verifier.open(subjects.BEAT, message)
            verifier.check(question)
            beat = decode(_BEAT, question.body)
            channel.meet(beat.hello.worker_id, beat.hello.pool, _sender(question))
            heartbeats.beat(beat)
        except (RequestError, StaleMessage):
            return  # whoever said it may not, or says nothing we know, or repeats what another said
        except BackendError:  # the store is away, and cannot tell whose it is
            heartbeats.missed()

    def received(message: bytes) -> None:
        if not bus.go(heard(message), len(message)):
            heartbeats.missed()

    bus.listen(subjects.BEAT, received)
    bus.listen(subjects.ALIVE, lambda _: None)  # our own word comes back as long as we can hear


def _checked(subject: str, handler: RequestHandler[Sender], verifier: Verifier) -> Handler:
    async def handle(message: bytes) -> bytes:
        question = await verifier.open(subject, message)
        try:
            verifier.check(question)
            answer = DONE + await handler(question.body, _sender(question))
        except NoetlError as error:
            answer = REFUSED + encode_error(error)
        return question.sign(answer, verifier.now())

    return handle
