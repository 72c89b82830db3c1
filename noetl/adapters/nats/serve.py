"""A server on the bus: answers workers by asking the desk, and calls workers."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from noetl.adapters.link.error_reply import encode_error
from noetl.adapters.link.handlers import RequestHandler, decode, request_handlers
from noetl.adapters.link.pools import check_pool
from noetl.adapters.link.worker_name import may_bear
from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus, SubjectHandler
from noetl.adapters.nats.envelope import Announcement, Enveloped, enclose, open_envelope
from noetl.adapters.nats.signing import NoticeSigner, Question, StaleMessage, Verifier
from noetl.core.message import WorkOrder
from noetl.errors import BackendError, NoetlError, RequestError
from noetl.ports import link
from noetl.ports.link_protocol import (
    SPOKEN,
    Peer,
    ProtocolRange,
    no_common_protocol,
    this_server,
    unknown_request,
)

_encode = msgspec.json.encode
_BEAT = msgspec.json.Decoder(link.Heartbeat)
WORKERS_KNOWN = 10_000
DONE, REFUSED = b"o", b"e"  # what an answer begins with: both are signed


class Sender(NamedTuple):
    """Who signed a message: the key of a token, its name and the pools it is for; in which version."""

    key: bytes | None
    token: str = ""
    pools: tuple[str, ...] = ()
    protocol: int = SPOKEN.newest


def _sender(question: Question, protocol: int) -> Sender:
    token = question.token
    if token is None:
        return Sender(None, protocol=protocol)
    return Sender(question.key, token.name, tuple(token.pools), protocol)


class _KnownWorker(NamedTuple):
    key: bytes | None
    protocol: int


class NatsWorkerChannel:
    """How a server reaches workers."""

    def __init__(self, bus: Bus, server: str, now: Callable[[], int], spoken: ProtocolRange = SPOKEN) -> None:
        self._bus, self.server, self._now = bus, server, now
        self.this = this_server(server, spoken)
        self._announcement = _encode(Announcement(server, spoken))
        self._notices = NoticeSigner()
        self._known: dict[str, _KnownWorker] = {}

    def agreed(self, message: Enveloped) -> Enveloped:
        """A message in a version that is spoken here; raises NoCommonProtocol."""
        if self.this.spoken.oldest <= message.protocol <= self.this.spoken.newest:
            return message
        raise no_common_protocol(Peer("the worker", "", message.spoken), self.this)

    def meet(self, worker_id: str | None, pool: str | None, sender: Sender) -> None:
        """A worker proves who it is; raises RequestError for the name of another, or a pool not for it."""
        if pool is not None and sender.key is not None:
            check_pool(sender.token, sender.pools, pool)
        if worker_id is not None:
            self._meet(worker_id, sender.key, sender.protocol)

    def _meet(self, worker_id: str, key: bytes | None, protocol: int) -> None:
        known = self._known.get(worker_id)
        if known is None and not subjects.is_name(worker_id):
            raise RequestError(
                f"{worker_id[:80]!r} is no name of a worker", hint="letters, digits, _ . and -"
            )
        if not may_bear(worker_id, key) or (known is not None and known.key != key):
            raise RequestError(f"worker {worker_id} is known by another token than this one")
        if known is None or known.protocol != protocol:
            self._known[worker_id] = _KnownWorker(key, protocol)
        if len(self._known) > WORKERS_KNOWN:
            del self._known[next(iter(self._known))]

    def hint(self, pool: str) -> None:
        self._bus.publish(subjects.hint(pool), self.server.encode())

    def alive(self) -> None:
        self._bus.publish(subjects.ALIVE, self._announcement)

    def quiet_s(self) -> float:
        """For how long nothing has come from NATS."""
        return self._bus.quiet_s

    def push(self, worker_id: str, push: link.Push) -> None:
        if worker_id in self._known:  # else its next beat makes it known, and it is said again
            subject = subjects.worker(worker_id)
            self._bus.publish(subject, self._signed(subject, worker_id, _encode(push)))

    def hand(self, worker_id: str, orders: list[WorkOrder], on_no_responder: Callable[[], None]) -> bool:
        """Give one worker orders unasked."""
        if worker_id not in self._known:
            return False
        subject = subjects.orders(worker_id)
        body = _encode(link.Orders(self.server, self._now(), [link.OrderDelivery(order) for order in orders]))
        return self._bus.tell(subject, self._signed(subject, worker_id, body), on_no_responder)

    def _signed(self, subject: str, worker_id: str, body: bytes) -> bytes:
        known = self._known[worker_id]
        return self._notices.sign(subject, enclose(known.protocol, self.this.spoken, body), known.key)


def serve(
    bus: Bus,
    channel: NatsWorkerChannel,
    worker_api: link.WorkerApi,
    heartbeats: link.HeartbeatListener,
    verifier: Verifier,
) -> None:
    """Answer what is asked of this server, and of any server, by those who may ask."""
    server = channel.server
    bus.serve_parts(subjects.parts(server))
    handle = _checked(channel, request_handlers(server, worker_api, channel.meet), verifier)
    bus.serve(subjects.asked(subjects.ANYTHING, server), handle)
    bus.serve(subjects.asked(subjects.ANYTHING), handle, subjects.SERVERS)

    async def heard(message: bytes) -> None:
        try:
            question = await verifier.open(subjects.BEAT, message)
            verifier.check(question)
            told = channel.agreed(open_envelope(question.body))
            beat = decode(_BEAT, told.body)
            channel.meet(beat.hello.worker_id, beat.hello.pool, _sender(question, told.protocol))
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


def _checked(
    channel: NatsWorkerChannel, handlers: dict[str, RequestHandler[Sender]], verifier: Verifier
) -> SubjectHandler:
    async def handle(subject: str, message: bytes) -> bytes:
        question = await verifier.open(subject, message)
        try:
            verifier.check(question)
            asked = channel.agreed(open_envelope(question.body))
            what = subject.rpartition(".")[2]
            if what not in handlers:
                raise unknown_request(what, channel.this, asked.protocol)
            answer = DONE + await handlers[what](asked.body, _sender(question, asked.protocol))
        except NoetlError as error:
            answer = REFUSED + encode_error(error)
        return question.sign(answer, verifier.now())

    return handle
