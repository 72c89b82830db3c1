"""What the tools work with, for one caller: the CLI offers its engine or a server, a server itself."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from noetl.core.event import Event, EventEnvelope
from noetl.core.message import Control
from noetl.dsl.diagnostic import Diagnostic
from noetl.json_value import Json
from noetl.mcp.library import Library
from noetl.ports import answers
from noetl.ports.front import Ask, Started
from noetl.ports.mcp_protocol import Message
from noetl.ports.store import Find, Listed, PlaybookText


class ToolFront(Protocol):
    """The part of the product that tools call; what each method does is said in ports.front."""

    async def register(self, text: str, file: str | None = None, by: str = "cli") -> PlaybookText: ...
    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]: ...
    async def playbook(self, path: str, version: int | None = None) -> PlaybookText: ...
    async def start(self, ask: Ask) -> Started: ...
    async def control(self, execution_id: str, wish: Control) -> None: ...
    async def release(self, execution_id: str, by: str = "cli") -> None: ...
    async def retry(self, execution_id: str, step: str | None = None, by: str = "cli") -> Started: ...
    async def executions(self, find: Find) -> Listed: ...
    async def execution(self, execution_id: str) -> answers.ExecutionAnswer: ...
    async def status(self, execution_id: str) -> str: ...
    def follow(self, execution_id: str, first: int = 1) -> AsyncGenerator[tuple[int, list[Event]]]: ...
    async def state(self, execution_id: str, at: int | None = None) -> answers.StateAnswer: ...
    async def why(self, execution_id: str, step: str | None = None) -> answers.WhyAnswer: ...
    async def evaluate(self, execution_id: str, template: str, at: int | None = None) -> Json: ...
    async def events(
        self,
        execution_id: str,
        *,
        first: int = 1,
        limit: int = 500,
        name: str | None = None,
        step: str | None = None,
    ) -> list[EventEnvelope]: ...


class PlaybookSource(Protocol):
    """A playbook that a call names: by its text or, where there are files, by its file."""

    async def findings(self, *, strict: bool) -> Sequence[Diagnostic]:
        """What is wrong with it."""

    async def runnable(self, front: ToolFront) -> tuple[str, str | None]:
        """The text as the other side can run it, and the file it has here."""


class Product(Protocol):
    """One way to the product."""

    by: str  # who does what is done
    library: Library

    def has_data(self) -> bool:
        """Whether there is something to look at."""

    async def for_running(self) -> ToolFront:
        """Where executions run."""

    def for_reading(self) -> AbstractAsyncContextManager[ToolFront]:
        """For looking things up: no store is made for that where there is none."""

    def source(self, playbook: str | None, file: str | None) -> PlaybookSource:
        """The playbook that is meant; raises RequestError."""

    async def run_tests(self, path: str) -> Message:
        """The report of playbook tests; raises RequestError where there are no files."""

    def stopping(self) -> bool:
        """Whether it is time to come to an end."""

    def trouble(self) -> str | None:
        """Why nothing goes on, where the engine of this process cannot."""
