"""What workers ask of a server by name: bytes in, the call, bytes out. Knows no transport."""

from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

import msgspec

from noetl.adapters.link.uploads import Uploads
from noetl.core.message import Payload
from noetl.errors import RequestError
from noetl.ports.link import LinesRequest, ReportRequest, SecretRequest, TakeRequest, WorkerApi
from noetl.ports.results import check_content

T = TypeVar("T")
Caller = TypeVar("Caller", bound=Hashable)  # proves who asks: a key on a bus, a connection where there is one
RequestHandler = Callable[[bytes, Caller], Awaitable[bytes]]
# Raises RequestError when a worker's name is not the caller's, or a pool not for it, where either is named.
CheckSender = Callable[[str | None, str | None, Caller], None]
_encode = msgspec.json.encode
_DIGEST = msgspec.json.Decoder(str)
_TAKE = msgspec.json.Decoder(TakeRequest)
_REPORT = msgspec.json.Decoder(ReportRequest)
_LINES = msgspec.json.Decoder(LinesRequest)
_SECRET = msgspec.json.Decoder(SecretRequest)


def request_handlers(
    server: str,
    worker_api: WorkerApi,
    check_sender: CheckSender[Caller],
    on_orders: Callable[[], None] = lambda: None,
) -> dict[str, RequestHandler[Caller]]:
    """The handler of each request that workers make; `on_orders`: a report is answered with new work."""

    async def which(body: bytes, caller: Caller) -> bytes:
        check_sender(None, body.decode("utf-8", "replace") or None, caller)
        return server.encode()

    async def program(body: bytes, caller: Caller) -> bytes:
        return (await worker_api.program(decode(_DIGEST, body))).encode()

    async def write(body: bytes, caller: Caller) -> bytes:
        name, _, content = body.partition(b"\n")
        await worker_api.write(check_content(Payload(name.decode("utf-8", "replace"), content)))
        return b""

    async def read(body: bytes, caller: Caller) -> bytes:
        return await worker_api.read(body.decode("utf-8", "replace"))

    async def take(body: bytes, caller: Caller) -> bytes:
        request = decode(_TAKE, body)
        check_sender(request.hello.worker_id, request.hello.pool, caller)
        return _encode(await worker_api.take(request))

    async def report(body: bytes, caller: Caller) -> bytes:
        request = decode(_REPORT, body)
        check_sender(request.worker_id, None, caller)
        reply = await worker_api.report(request)
        if reply.next.orders:
            on_orders()
        return _encode(reply)

    async def lines(body: bytes, caller: Caller) -> bytes:
        request = decode(_LINES, body)
        check_sender(request.worker_id, None, caller)
        await worker_api.lines(request)
        return b""

    async def secret(body: bytes, caller: Caller) -> bytes:
        request = decode(_SECRET, body)
        check_sender(request.worker_id, None, caller)
        return await worker_api.secret(request)

    uploads = Uploads(worker_api.write_stream)
    return {
        "which": which,
        "take": take,
        "report": report,
        "secret": secret,
        "lines": lines,
        "program": program,
        "write": write,
        "piece": uploads.add,
        "whole": uploads.keep,
        "read": read,
    }


def decode(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T:
    """What a message says; raises RequestError when it cannot be read."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"what was asked cannot be read: {error}") from None
