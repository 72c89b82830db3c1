"""What the parts of the engine need of the whole: executions in memory, mailboxes, and the ports it has.

Protocols only, so that each part stands below the engine that puts them together.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Protocol

from noetl.control.loaded_execution import LoadedExecution
from noetl.core.message import Answer, Message, Start, StartChild
from noetl.core.program.program import Program
from noetl.errors import NewerFormat
from noetl.ports.control import Workers
from noetl.ports.results import Payloads
from noetl.ports.store import Store

Trial = Callable[[Callable[[], object]], Awaitable[str | None]]  # how it would end its process


class Programs(Protocol):
    """Where compiled playbooks come from."""

    async def program(self, digest: str) -> Program:
        """The program of a playbook's content; raises NotFound."""

    async def child(self, execution_id: str, call: StartChild, caller: str) -> Start:
        """The request for a child execution, resolved; its `problem` says why it cannot run."""


class ExecutionHost(Protocol):
    """One engine, as its parts see it."""

    store: Store
    payloads: Payloads
    programs: Programs
    workers: Workers | None
    owner: str
    lease_ms: int
    version: str
    now: Callable[[], int]

    async def start(self, execution_id: str, message: Start) -> Answer:
        """Begin an execution."""

    async def send(self, execution_id: str, message: Message) -> Answer:
        """A message to an execution, which is loaded if need be; its answer."""

    async def submit(self, execution: LoadedExecution, message: Message) -> Answer:
        """A message whose answer is waited for, to an execution in memory."""

    def post(self, execution_id: str, message: Message) -> None:
        """A message nobody waits for, to an execution that runs here."""

    def put(self, execution: LoadedExecution, message: Message) -> None:
        """A message nobody waits for, to an execution in memory."""

    async def pick_up(self, execution_id: str) -> LoadedExecution:
        """Go on with an execution that nobody runs."""

    def forget(self, execution_id: str) -> None:
        """Drop what is in memory of an execution: only its log counts."""

    def in_memory(self, execution_id: str) -> LoadedExecution | None:
        """An execution that runs here."""

    def when_committed(self, execution: LoadedExecution, work: Callable[[], None]) -> None:
        """Do something at a moment at which the state is what the log has."""

    def spawn(self, work: Coroutine[object, None, None]) -> None:
        """Do something that nobody waits for."""

    async def check(self, work: Callable[[], object]) -> None:
        """Raises FatalDecision for what would end this process."""

    def leave(self, execution: LoadedExecution, error: NewerFormat) -> None:
        """A newer release wrote what it is told: leave it to servers that can read that."""

    def stop(
        self,
        execution: LoadedExecution,
        reason: str,
        error: Exception,
    ) -> None:
        """It cannot be decided: set it aside."""
