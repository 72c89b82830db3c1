"""An execution in memory: its state, program and mailbox. Can be dropped at any time and loaded again."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from noetl.core.message import Answer, Message
from noetl.core.program.program import Program
from noetl.core.state import State
from noetl.core.values.payload_demand import UnreadablePayload
from noetl.json_value import Json

HYDRATED_KEPT = 16  # payloads kept at hand whatever the state names
LOADED_KEPT = 64 * 1024 * 1024  # bytes of them that are loaded before those are dropped


@dataclass(slots=True)
class LoadedExecution:
    """One execution that this process owns."""

    state: State
    program: Program | None
    head: bytes  # the last link of the hash chain
    hydrated: dict[str, Json | UnreadablePayload] = field(default_factory=dict)
    hydrated_most: int = HYDRATED_KEPT  # above it, those that the state does not name are dropped
    loaded_bytes: int = 0  # of payloads that were loaded since those that nothing names were dropped
    mailbox: deque[tuple[Message, asyncio.Future[Answer] | None]] = field(default_factory=deque)
    letters: list[int] = field(default_factory=list)  # left by others, in the mailbox, not yet answered
    read: set[int] = field(default_factory=set)  # every letter that went into the mailbox
    deciding: bool = False  # someone decides on what is in the mailbox: the state is ahead of the log
    afterwards: list[Callable[[], None]] = field(default_factory=list)  # for when it is not any more
    pump: asyncio.Task[None] | None = None  # who does when nobody else waits for an answer
    timer: asyncio.TimerHandle | None = None
    due_at: int | None = None
    shown: tuple[str, int | None] = ("", None)  # status and due time as the store has them
    since_snapshot: int = 0
    request: str | None = None
    newest: bool = False  # its first commit is refused when its playbook is not the newest of its path
    batches: set[str] = field(default_factory=set)  # reports that were accepted
    tail: bool = False  # loaded behind a snapshot: earlier batches are known to the store alone
    quiet: asyncio.Event = field(default_factory=asyncio.Event)  # over, or paused with nothing under way
    broken: BaseException | None = None
    committed: int = 0  # how far its log is known to go
    wary: int = 0  # decisions until an execution whose owner died counts as harmless
    tried: bool = False  # it was in hand when its owner died: what it wants is tried in another process first
    orphaned: bool = False  # leases were out when it was loaded, and their workers are gone
