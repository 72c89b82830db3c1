"""MCP over HTTP: each message is a request of its own, and any server of a cluster answers it.

There is nothing to keep between messages. The name that a handshake gives to a session only tells the calls
of one client from those of another under the same token, so that a call can be withdrawn.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import uuid_utils
from fastapi import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from noetl.json_value import Json
from noetl.mcp.session import Session, ToolRequest
from noetl.mcp.tools import INSTRUCTIONS
from noetl.ports import mcp_protocol as protocol
from noetl.ports.mcp_protocol import Id, Message, Notification, ProtocolError
from noetl.server.access import who_asks
from noetl.server.concurrency_limit import ConcurrencyLimit
from noetl.server.mcp_headers import SESSION, require_same, version_of
from noetl.server.problem import Problem
from noetl.server.reply import body_of, options_of, reply, require_json
from noetl.server.route_spec import describe, make_router
from noetl.server.routes.agent_front import ServerToolbox
from noetl.server.routes.streams import MEDIA_TYPE, EventStream, chunk, reader_gone

router = make_router("mcp", prefix="")
CALLS_OF_ONE, CALLS_OF_ALL = 32, 256  # under way at once on a server
BATCH_MAX = 32
WAITING = ("run", "retry")  # tools that may take their time
SESSION_LENGTH = 64
STATUSES = {
    protocol.PARSE_ERROR: 400,
    protocol.INVALID_REQUEST: 400,
    protocol.HEADER_MISMATCH: 400,
    protocol.UNSUPPORTED_VERSION: 400,
}

CallName = tuple[str, str, Id]  # whose, in which session, which


class Calls:
    """The calls of tools that are under way here, so that they are bounded and can be withdrawn."""

    def __init__(self) -> None:
        self.room = ConcurrencyLimit("calls", CALLS_OF_ONE, CALLS_OF_ALL)
        self._calls: dict[CallName, tuple[asyncio.Task[Message], ToolRequest]] = {}

    def begin(self, name: CallName, task: "asyncio.Task[Message]", call: ToolRequest) -> None:
        """Know a call under its name; of two with one name the later can be withdrawn."""
        self._calls[name] = (task, call)
        task.add_done_callback(lambda _: self._over(name, task))

    def _over(self, name: CallName, task: "asyncio.Task[Message]") -> None:
        if name in self._calls and self._calls[name][0] is task:
            del self._calls[name]
        if not task.cancelled():
            task.exception()  # whoever waits for it tells; nobody may

    def withdraw(self, name: CallName) -> None:
        if name in self._calls:
            task, call = self._calls[name]
            call.withdrawn = True
            task.cancel()


@router.post("/mcp", include_in_schema=False, **describe("read", {200: None}))
async def post(request: Request) -> Response:
    """One message, or in the one version that has them several."""
    require_json(request)
    body, message_id = await body_of(request), None
    try:
        message = protocol.decode(body)
        message_id = protocol.id_of(message)
        version = version_of(request.headers)
        if isinstance(message, list):
            return await _batch(request, message, version)
        if isinstance(message, dict):
            require_same(request.headers, message)
        return await _single(request, message, version)
    except ProtocolError as problem:
        return _rpc_reply(protocol.error_reply(message_id, problem))


def _session(request: Request, version: str) -> tuple[Session, "asyncio.Queue[Message]"]:
    """A conversation of one message, and what it tells before its answer."""
    told: asyncio.Queue[Message] = asyncio.Queue()
    agreed = version if version in protocol.HANDSHAKE_VERSIONS else None
    tools = ServerToolbox(request)
    return Session(tools, told.put, INSTRUCTIONS, options_of(request).library, agreed), told  # type: ignore[arg-type]


async def _batch(request: Request, messages: list[Json], version: str) -> Response:
    if len(messages) > BATCH_MAX:
        raise ProtocolError(protocol.INVALID_REQUEST, f"a list has up to {BATCH_MAX} messages")
    session, _ = _session(request, version)
    _calls(request).room.require_room(who_asks(request).key)
    with _calls(request).room.counted(who_asks(request).key):
        answers = await session.answer_batch(messages)
    return reply(answers) if answers else Response(status_code=202)


async def _single(request: Request, message: Json, version: str) -> Response:
    incoming = protocol.read(message)
    name = session_name(request)
    if isinstance(incoming, Notification):
        withdrawn = protocol.id_of({"id": incoming.params.get("requestId")})
        if incoming.method == "notifications/cancelled" and withdrawn is not None:
            _calls(request).withdraw((who_asks(request).key, name, withdrawn))
        return Response(status_code=202)
    if isinstance(incoming, protocol.Reply):
        return Response(status_code=202)
    session, told = _session(request, version)
    if incoming.method == "initialize":
        session.version = None
        answer = await session.answer(incoming, ToolRequest())
        return _rpc_reply(answer, {"Mcp-Session-Id": uuid_utils.uuid7().hex})
    if incoming.method != "tools/call":
        answer = await session.answer(incoming, ToolRequest())
        return _rpc_reply(answer, stateless=incoming.version is not None)
    _calls(request).room.require_room(who_asks(request).key)
    call = Call(request, session, incoming, told)
    streamed = MEDIA_TYPE in request.headers.get("accept", "") and call.takes_long
    return CallStream(call, options_of(request).heartbeat_s) if streamed else CallReply(call)


def session_name(request: Request) -> str:
    """The session that a client says it is in; any server takes part in any."""
    name = request.headers.get(SESSION, "")
    if len(name) > SESSION_LENGTH or not name.isascii():
        raise Problem(404, f"'{name[:SESSION_LENGTH]}' is no session of this server", hint="send initialize")
    return name


def _calls(request: Request) -> Calls:
    calls: Calls = request.app.state.mcp_calls
    return calls


class Call:
    """One call of a tool, from its request to its answer."""

    def __init__(
        self,
        request: Request,
        session: Session,
        incoming: protocol.Request,
        told: "asyncio.Queue[Message]",
    ) -> None:
        self.session, self.incoming, self.told = session, incoming, told
        self.calls, self.key = _calls(request), who_asks(request).key
        self.name: CallName = (self.key, session_name(request), incoming.id)
        self.request = ToolRequest(progress=session.progress(incoming))
        self.takes_long = self.request.progress is not None or incoming.params.get("name") in WAITING

    @contextmanager
    def started(self) -> "Iterator[asyncio.Task[Message]]":
        """The call as a task, which ends with whoever waits for it.

        A reader that goes away withdraws the call where there is no other way to say so; where there is a
        handshake an execution goes on.
        """
        with self.calls.room.counted(self.key):
            task = asyncio.create_task(self.session.answer(self.incoming, self.request))
            self.calls.begin(self.name, task, self.request)
            try:
                yield task
            finally:
                if not task.done():
                    self.request.withdrawn = self.incoming.version is not None
                    task.cancel()


class CallReply(Response):
    """The answer of a call as one JSON object, when it is there."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._call.started() as task:
            leaving = asyncio.create_task(reader_gone(receive))
            await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
        if task.done() and not task.cancelled():
            await _rpc_reply(task.result())(scope, receive, send)
        else:
            await Response(status_code=202)(scope, receive, send)  # withdrawn: nothing is answered


class CallStream(EventStream):
    """The same as a stream: what is told on the way, signs of life, the answer."""

    def __init__(self, call: Call, heartbeat_s: float) -> None:
        super().__init__("", None, asyncio.Event())  # when the server stops, the call itself comes to an end
        self._call, self.heartbeat_s = call, heartbeat_s

    async def _send_events(self, send: Send) -> None:
        with self._call.started() as task:
            telling = asyncio.create_task(self._tell(send))
            try:
                await asyncio.wait({task})
                await self._call.told.join()
            finally:
                telling.cancel()
        if task.cancelled():
            return
        if task.exception() is not None:
            problem = ProtocolError(protocol.INTERNAL_ERROR, "a bug of the server; its log says more")
            await self._say(send, protocol.error_reply(self._call.incoming.id, problem))
        await self._say(send, task.result())

    async def _tell(self, send: Send) -> None:
        while True:
            await self._say(send, await self._call.told.get())
            self._call.told.task_done()

    async def _say(self, send: Send, message: Message) -> None:
        self._quiet = False
        await send(chunk(b"event: message\ndata: " + msgspec.json.encode(message) + b"\n\n"))


def _rpc_reply(
    answer: Message, headers: dict[str, str] | None = None, *, stateless: bool = False
) -> Response:
    """An answer; the status says what those on the way need to know of an error."""
    error = answer.get("error")
    code = error["code"] if isinstance(error, dict) else 0
    unknown = stateless and code == protocol.METHOD_NOT_FOUND
    return reply(answer, 404 if unknown else STATUSES.get(code, 200), headers)
