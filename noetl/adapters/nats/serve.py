"""A server on the bus: answers workers by asking the desk, and calls workers."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus, Handler
from noetl.adapters.nats.error_reply import encode_error
from noetl.adapters.nats.signing import NoticeSigner, StaleMessage, Verifier
from noetl.adapters.nats.uploads import Uploads
from noetl.adapters.nats.worker_name import may_bear
from noetl.core.message import Payload, WorkOrder
from noetl.errors import BackendError, NoetlError, RequestError
from noetl.ports.link import (
    Heartbeat,
    HeartbeatListener,
    OrderDelivery,
    Orders,
    Push,
    ReportRequest,
    SecretRequest,
    TakeRequest,
    WorkerApi,
)
from noetl.ports.results import check_content

T = TypeVar("T")
Keyed = Callable[[bytes, bytes | None], Awaitable[bytes]]  # what is asked, and the key that proves by whom
_encode = msgspec.json.encode
_DIGEST = msgspec.json.Decoder(str)
_BEAT = msgspec.json.Decoder(Heartbeat)
_TAKE = msgspec.json.Decoder(TakeRequest)
_TOLD = msgspec.json.Decoder(ReportRequest)
_SECRET = msgspec.json.Decoder(SecretRequest)
WORKERS_KNOWN = 10_000
DONE, REFUSED = b"o", b"e"  # what an answer begins with: both are signed


class NatsWorkerChannel:
    """How a server reaches workers."""

    def __init__(self, bus: Bus, server: str, now: Callable[[], int]) -> None:
        self._bus, self.server, self._now = bus, server, now
        self._notices = NoticeSigner()
        self._keys: dict[str, bytes | None] = {}  # what each worker is known by

    def meet(self, worker_id: str, key: bytes | None) -> None:
        """A worker proves with a key who it is; raises RequestError when that name is another's, or none."""
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
    for what, keyed in _handlers(worker_api, channel).items():
        for subject, queue in ((subjects.asked(what, server), ""), (subjects.asked(what), subjects.SERVERS)):
            bus.serve(subject, _checked(subject, keyed, verifier), queue)

    async def heard(message: bytes) -> None:
        try:
            question = await verifier.open(subjects.BEAT, message)
            verifier.check(question)
            beat = _read(_BEAT, question.body)
            channel.meet(beat.hello.worker_id, question.key)
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


def _checked(subject: str, handler: Keyed, verifier: Verifier) -> Handler:
    async def handle(message: bytes) -> bytes:
        question = await verifier.open(subject, message)
        try:
            verifier.check(question)
            answer = DONE + await handler(question.body, question.key)
        except NoetlError as error:
            answer = REFUSED + encode_error(error)
        return question.sign(answer, verifier.now())

    return handle


def _handlers(worker_api: WorkerApi, channel: NatsWorkerChannel) -> dict[str, Keyed]:
    async def which(body: bytes, key: bytes | None) -> bytes:
        return channel.server.encode()

    async def program(body: bytes, key: bytes | None) -> bytes:
        return (await worker_api.program(_read(_DIGEST, body))).encode()

    async def write(body: bytes, key: bytes | None) -> bytes:
        name, _, content = body.partition(b"\n")
        await worker_api.write(check_content(Payload(name.decode("utf-8", "replace"), content)))
        return b""

    async def read(body: bytes, key: bytes | None) -> bytes:
        return await worker_api.read(body.decode("utf-8", "replace"))

    async def take(body: bytes, key: bytes | None) -> bytes:
        asked = _read(_TAKE, body)
        channel.meet(asked.hello.worker_id, key)
        return _encode(await worker_api.take(asked))

    async def report(body: bytes, key: bytes | None) -> bytes:
        request = _read(_TOLD, body)
        channel.meet(request.worker_id, key)
        return _encode(await worker_api.report(request))

    async def secret(body: bytes, key: bytes | None) -> bytes:
        asked = _read(_SECRET, body)
        channel.meet(asked.worker_id, key)
        return await worker_api.secret(asked)

    uploads = Uploads(worker_api.write)
    return {
        "which": which,
        "take": take,
        "report": report,
        "secret": secret,
        "program": program,
        "write": write,
        "piece": uploads.add,
        "whole": uploads.keep,
        "read": read,
    }


def _read(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"what was asked cannot be read: {error}") from None
