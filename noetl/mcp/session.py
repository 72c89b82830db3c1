"""One conversation: which requests are under way, what each is answered, what is withdrawn.

It is handed messages and hands out messages; what carries them is the transport's, what the tools do is
tools.py's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from noetl.errors import NoetlError
from noetl.json_value import Json
from noetl.mcp.handshake import SERVER_INFO, agree_version, check_version, with_result_type
from noetl.mcp.library import TEMPLATES, Library
from noetl.mcp.prompts import list_prompts, prompt
from noetl.ports import mcp_protocol as protocol
from noetl.ports.mcp_protocol import Id, Message, Notification, ProtocolError, Request

UNDER_WAY_MAX = 32
Send = Callable[[Message | list[Message]], Awaitable[None]]


@dataclass(slots=True)
class ToolRequest:
    """One call of a tool: whether the client withdrew it, and how it is told of progress."""

    withdrawn: bool = False
    progress: Callable[[int, str], Awaitable[None]] | None = None


class ToolProvider(Protocol):
    """What can be called."""

    def list_tools(self) -> list[Message]:
        """Every tool as clients see it, always in one order."""

    def knows(self, name: str) -> str | None:
        """None when there is such a tool, else what to say."""

    async def call(self, name: str, arguments: Mapping[str, Json], request: ToolRequest) -> Message:
        """The result of a call; what goes wrong in it is part of the result."""


@dataclass(slots=True)
class Session:
    """The conversation with one client."""

    tools: ToolProvider
    send: Send
    instructions: str
    library: Library = field(default_factory=Library)
    version: str | None = None  # agreed on by a handshake
    _under_way: dict[Id, tuple[asyncio.Task[None], ToolRequest]] = field(default_factory=dict)
    _last: "asyncio.Future[None] | None" = None

    async def receive(self, line: bytes) -> None:
        """Take one line; whatever it is, the conversation goes on."""
        try:
            message = protocol.decode(line)
        except ProtocolError as problem:
            await self.send(protocol.error_reply(None, problem))
            return
        if isinstance(message, list):
            await self._batch(message)
        else:
            await self._single(message)

    async def _batch(self, messages: list[Json]) -> None:
        """Messages in a list are answered in a list, in the one version that has them."""
        try:
            answers = await self.answer_batch(messages)
        except ProtocolError as problem:
            await self.send(protocol.error_reply(None, problem))
            return
        if answers:
            await self.send(answers)

    async def answer_batch(self, messages: list[Json]) -> list[Message]:
        """The answers to messages in a list, in their order; raises ProtocolError."""
        if self.version != protocol.BATCHES or not messages:
            raise ProtocolError(protocol.INVALID_REQUEST, "a line is one message, not a list of them")
        return [answer for message in messages if (answer := await self._batch_reply(message)) is not None]

    async def _batch_reply(self, message: Json) -> Message | None:
        try:
            incoming = protocol.read(message)
            if isinstance(incoming, Request):
                return protocol.reply(incoming.id, await self._result(incoming, ToolRequest()))
            if isinstance(incoming, Notification):
                self._on_notification(incoming)
        except ProtocolError as problem:
            return protocol.error_reply(protocol.id_of(message), problem)
        return None

    async def _single(self, message: Json) -> None:
        try:
            incoming = protocol.read(message)
            if isinstance(incoming, Notification):
                self._on_notification(incoming)
            elif isinstance(incoming, Request):
                await self._begin(incoming)
        except ProtocolError as problem:
            await self.send(protocol.error_reply(protocol.id_of(message), problem))

    def _on_notification(self, notification: Notification) -> None:
        """What is told is heeded when it withdraws a call; all else needs nothing."""
        request_id = protocol.id_of({"id": notification.params.get("requestId")})
        if notification.method == "notifications/cancelled" and request_id is not None:
            task, call = self._under_way.get(request_id, (None, None))
            if task is not None and call is not None:
                call.withdrawn = True
                task.cancel()

    async def _begin(self, request: Request) -> None:
        """Calls take their time, so each is a task of its own; everything else is answered at once."""
        if request.method != "tools/call":
            await self.send(protocol.reply(request.id, await self._result(request, ToolRequest())))
            return
        if request.id in self._under_way:
            raise ProtocolError(
                protocol.INVALID_REQUEST, f"a request with the id {request.id!r} is under way"
            )
        if len(self._under_way) >= UNDER_WAY_MAX:
            raise ProtocolError(protocol.INTERNAL_ERROR, f"{UNDER_WAY_MAX} calls are under way; wait for one")
        call = ToolRequest(progress=self.progress(request))
        task = asyncio.create_task(self._carry_out(request, call))
        task.add_done_callback(lambda done: self._over(request.id, done))
        self._under_way[request.id] = (task, call)

    def _over(self, request: Id, task: "asyncio.Task[None]") -> None:
        """A call has ended; one that a bug of ours ended is answered, too."""
        self._under_way.pop(request, None)
        if not task.cancelled() and task.exception() is not None:
            problem = ProtocolError(protocol.INTERNAL_ERROR, f"a bug in noetl: {task.exception()!r}")
            self._last = asyncio.ensure_future(self.send(protocol.error_reply(request, problem)))

    def progress(self, request: Request) -> Callable[[int, str], Awaitable[None]] | None:
        """How a request is told of progress, if it asks for that."""
        token = request.meta.get("progressToken")
        if not isinstance(token, str | int):
            return None

        async def report_progress(count: int, words: str) -> None:
            params = {"progressToken": token, "progress": count, "message": words}
            await self.send(protocol.notification("notifications/progress", params))

        return report_progress

    async def _carry_out(self, request: Request, call: ToolRequest) -> None:
        """One call to its answer; a call that was withdrawn gets none."""
        answer = await self.answer(request, call)
        if not call.withdrawn:
            await self.send(answer)

    async def answer(self, request: Request, call: ToolRequest) -> Message:
        """The answer to a request, whether it is a result or an error."""
        try:
            return protocol.reply(request.id, await self._result(request, call))
        except ProtocolError as problem:
            return protocol.error_reply(request.id, problem)

    async def _result(self, request: Request, call: ToolRequest) -> Message:
        if request.version is not None:
            check_version(request)
        method = request.method
        if method == "initialize":
            return self._shake_hands(request)
        if method == "ping":
            return {}
        if request.version is None and self.version is None:
            message = "say which version is spoken: send initialize first, or name it in _meta"
            raise ProtocolError(protocol.INVALID_PARAMS, message)
        if method == "server/discover" and request.version is not None:
            return with_result_type(
                {"supportedVersions": list(protocol.STATELESS_VERSIONS), **self._offer()}, cacheable=True
            )
        if method == "tools/call":
            return await self._call(request, call)
        lists = self._lists()
        if method in lists:
            return self._list(request, *lists[method])
        if method in ("resources/read", "prompts/get"):
            return self._read(request)
        raise ProtocolError(protocol.METHOD_NOT_FOUND, f"there is no method {method!r}")

    def _offer(self) -> Message:
        return {
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "instructions": self.instructions,
        }

    def _shake_hands(self, request: Request) -> Message:
        if self.version is not None:
            raise ProtocolError(protocol.INVALID_REQUEST, "the conversation is open already")
        self.version = agree_version(request.params)
        return {"protocolVersion": self.version, "serverInfo": SERVER_INFO, **self._offer()}

    def _lists(self) -> Mapping[str, tuple[str, Callable[[], list[Message]]]]:
        return {
            "tools/list": ("tools", self.tools.list_tools),
            "resources/list": ("resources", self.library.list_resources),
            "resources/templates/list": ("resourceTemplates", lambda: TEMPLATES),
            "prompts/list": ("prompts", list_prompts),
        }

    def _list(self, request: Request, name: str, items: Callable[[], list[Message]]) -> Message:
        if request.params.get("cursor") is not None:
            raise ProtocolError(protocol.INVALID_PARAMS, "the list has one page; leave the cursor out")
        result: Message = {name: items()}
        return result if request.version is None else with_result_type(result, cacheable=True)

    def _read(self, request: Request) -> Message:
        """A resource or a prompt; one that is not there is told with the nearest that is."""
        try:
            if request.method == "resources/read":
                result: Message = {"contents": [self.library.read(_text(request, "uri"))]}
            else:
                arguments = _object(request, "arguments")
                result = prompt(self.library, _text(request, "name"), arguments)
        except NoetlError as error:
            message = error.message + (f"; {error.hint}" if error.hint else "")
            raise ProtocolError(protocol.INVALID_PARAMS, message) from None
        return result if request.version is None else with_result_type(result, cacheable=True)

    async def _call(self, request: Request, call: ToolRequest) -> Message:
        name, arguments = _text(request, "name"), _object(request, "arguments")
        unknown = self.tools.knows(name)
        if unknown is not None:
            raise ProtocolError(protocol.INVALID_PARAMS, unknown)
        result = await self.tools.call(name, arguments, call)
        return result if request.version is None else with_result_type(result)

    async def close(self, grace_s: float) -> None:
        """Nothing more will come: let what is under way end within a grace, then stop it."""
        tasks = [task for task, _ in self._under_way.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _text(request: Request, name: str) -> str:
    value = request.params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(protocol.INVALID_PARAMS, f"{request.method} needs {name}, a text")
    return value


def _object(request: Request, name: str) -> dict[str, Json]:
    value = request.params.get(name, {})
    if not isinstance(value, dict):
        raise ProtocolError(protocol.INVALID_PARAMS, f"{name} is an object")
    return value
