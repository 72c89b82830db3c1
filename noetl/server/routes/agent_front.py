"""The product as the tools of an agent reach it over this server: for one sender, held to what REST allows.

Nothing here decides what one may: the same refusals stand before the same calls as in the routes. Reading
needs the scope `read`, which the door of the conversation asks for.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass

from fastapi import Request

from noetl.core.event import Event, EventEnvelope
from noetl.core.message import Control
from noetl.dsl.diagnostic import Diagnostic
from noetl.errors import RequestError, UnknownPlaybook
from noetl.json_value import Json
from noetl.mcp.product import ToolFront
from noetl.mcp.session import ToolRequest
from noetl.mcp.tools import Toolbox, error_result
from noetl.mcp.work import Arguments
from noetl.ports import answers
from noetl.ports.front import Ask, Started
from noetl.ports.mcp_protocol import Message
from noetl.ports.store import Find, Listed, PlaybookText
from noetl.server.access import as_seen, require, require_execution, require_path, who_asks
from noetl.server.problem import PROBLEMS, Problem
from noetl.server.reply import front_of, options_of
from noetl.server.routes.catalog import check_text, require_text
from noetl.server.routes.executions import own_key, require_ask, visible_executions


class AgentFront:
    """What the sender of a request may do; `by` is always the sender."""

    def __init__(self, request: Request) -> None:
        self._request, self._front = request, front_of(request)
        self._by = who_asks(request).name

    async def register(self, text: str, file: str | None = None, by: str = "") -> PlaybookText:
        require(self._request, "write")
        await require_text(self._request, text)
        return await self._front.register(text, by=self._by)

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        who = who_asks(self._request)
        return [item for item in await self._front.playbooks(path) if who.sees(item.path)]

    async def playbook(self, path: str, version: int | None = None) -> PlaybookText:
        require_path(self._request, path, f"playbook {path!r}")
        with self._seen():
            return await self._front.playbook(path, version)

    async def start(self, ask: Ask) -> Started:
        require(self._request, "run")
        await require_ask(self._request, ask)
        ask.by, ask.idempotency_key = self._by, own_key(self._request, ask.idempotency_key)
        with self._seen():
            return await self._front.start(ask)

    @contextmanager
    def _seen(self) -> Iterator[None]:
        try:
            yield
        except UnknownPlaybook as error:
            raise as_seen(self._request, error) from None

    async def _steer(self, execution_id: str) -> None:
        require(self._request, "run")
        await require_execution(self._request, execution_id)

    async def control(self, execution_id: str, wish: Control) -> None:
        await self._steer(execution_id)
        await self._front.control(execution_id, wish)

    async def release(self, execution_id: str, by: str = "") -> None:
        await self._steer(execution_id)
        await self._front.release(execution_id, self._by)

    async def retry(self, execution_id: str, step: str | None = None, by: str = "") -> Started:
        await self._steer(execution_id)
        return await self._front.retry(execution_id, step, self._by)

    async def executions(self, find: Find) -> Listed:
        return await visible_executions(self._request, find)

    async def execution(self, execution_id: str) -> answers.ExecutionAnswer:
        await require_execution(self._request, execution_id)
        return await self._front.execution(execution_id)

    async def status(self, execution_id: str) -> str:
        await require_execution(self._request, execution_id)
        return await self._front.status(execution_id)

    async def follow(self, execution_id: str, first: int = 1) -> AsyncGenerator[tuple[int, list[Event]]]:
        await require_execution(self._request, execution_id)
        async with aclosing(self._front.follow(execution_id, first)) as batches:
            async for batch in batches:
                yield batch

    async def state(self, execution_id: str, at: int | None = None) -> answers.StateAnswer:
        await require_execution(self._request, execution_id)
        return await self._front.state(execution_id, at)

    async def why(self, execution_id: str, step: str | None = None) -> answers.WhyAnswer:
        await require_execution(self._request, execution_id)
        return await self._front.why(execution_id, step)

    async def evaluate(self, execution_id: str, template: str, at: int | None = None) -> Json:
        await require_execution(self._request, execution_id)
        return await self._front.evaluate(execution_id, template, at)

    async def events(
        self,
        execution_id: str,
        *,
        first: int = 1,
        limit: int = 500,
        name: str | None = None,
        step: str | None = None,
    ) -> list[EventEnvelope]:
        await require_execution(self._request, execution_id)
        return await self._front.events(execution_id, first=first, limit=limit, name=name, step=step)


@dataclass(frozen=True, slots=True)
class SentPlaybook:
    """A text that a request brought."""

    request: Request
    text: str

    async def findings(self, *, strict: bool) -> Sequence[Diagnostic]:
        return (await check_text(self.text, options_of(self.request).kinds, strict=strict)).diagnostics

    async def runnable(self, front: ToolFront) -> tuple[str, str | None]:
        return self.text, None


class ServerProduct:
    """This server, for whoever sent a request."""

    def __init__(self, request: Request) -> None:
        self._request, self._front = request, AgentFront(request)
        self.by, self.library = who_asks(request).name, options_of(request).library
        self._closing: asyncio.Event = request.app.state.closing

    def has_data(self) -> bool:
        return True

    async def for_running(self) -> AgentFront:
        return self._front

    @asynccontextmanager
    async def for_reading(self) -> AsyncIterator[AgentFront]:
        yield self._front

    def source(self, playbook: str | None, file: str | None) -> SentPlaybook:
        if playbook is None:
            raise RequestError("give playbook, the text of one")
        return SentPlaybook(self._request, playbook)

    async def run_tests(self, path: str) -> Message:
        raise RequestError("a server has no files to test")

    def trouble(self) -> str | None:
        return None

    def stopping(self) -> bool:
        return self._closing.is_set()


class ServerToolbox(Toolbox):
    """The tools that the sender of a request may call; what the server refuses is part of the answer."""

    def __init__(self, request: Request) -> None:
        super().__init__(ServerProduct(request), who_asks(request).may, files=False)

    async def call(self, name: str, arguments: Arguments, request: ToolRequest) -> Message:
        try:
            return await super().call(name, arguments, request)
        except Problem as refused:
            code = PROBLEMS[refused.status][0]
            return error_result({"code": code, "message": refused.detail, "hint": refused.hint})
