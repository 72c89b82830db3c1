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
BATCHES_KEPT = 10_000  # ids of reports that were accepted
LETTERS_KEPT = 10_000  # numbers of letters that were taken
LOADED_KEPT = 64 * 1024 * 1024  # bytes of them that are loaded before those are dropped


@dataclass(slots=True)
class LoadedExecution:
    """One execution that this process owns."""

    state: State
    program: Program | None  # with the fragments that are known of it
    head: bytes  # the last link of the hash chain
    hydrated: dict[str, Json | UnreadablePayload] = field(default_factory=dict)
    hydrated_most: int = HYDRATED_KEPT  # above it, those that the state does not name are dropped
    loaded_bytes: int = 0  # of payloads that were loaded since those that nothing names were dropped
    mailbox: deque[tuple[Message, asyncio.Future[Answer] | None]] = field(default_factory=deque)
    letters: dict[int, Message] = field(default_factory=dict)  # left by others, in the mailbox, not answered
    read: dict[int, None] = field(default_factory=dict)  # letters that went into the mailbox, the newest last
    deciding: bool = False  # someone decides on what is in the mailbox: the state is ahead of the log
    afterwards: list[Callable[[], None]] = field(default_factory=list)  # for when it is not any more
    pump: asyncio.Task[None] | None = None  # who does when nobody else waits for an answer
    timer: asyncio.TimerHandle | None = None
    due_at: int | None = None
    shown: tuple[str, int | None] = ("", None)  # status and due time as the store has them
    tail_bytes: int = 0  # of rows behind the newest snapshot
    snapshot_bytes: int = 0  # of that; the next one is made when the rows behind it take as many
    request: str | None = None
    keeps: list[str] = field(default_factory=list)  # of a retry: whose payloads it may read
    newest: bool = False  # its first commit is refused when its playbook is not the newest of its path
    batches: dict[str, None] = field(default_factory=dict)  # reports that were accepted, the newest last
    tail: bool = False  # earlier batches are known to the store alone
    quiet: asyncio.Event = field(default_factory=asyncio.Event)  # over, or paused with nothing under way
    broken: BaseException | None = None
    committed: int = 0  # how far its log is known to go
    wary: int = 0  # decisions until an execution whose owner died counts as harmless
    tried: bool = False  # it was in hand when its owner died: what it wants is tried in another process first
    orphaned: bool = False  # leases were out when it was loaded, and their workers are gone
    fragments: frozenset[str] = frozenset()  # that the program has

    def note_batch(self, batch: str) -> None:
        """A report was accepted; of very many the store alone knows the oldest."""
        self.batches[batch] = None
        if len(self.batches) > BATCHES_KEPT:
            del self.batches[next(iter(self.batches))]
            self.tail = True

    def note_letter(self, letter: int) -> None:
        """A letter went into the mailbox; the oldest are long gone from the store."""
        self.read[letter] = None
        if len(self.read) > LETTERS_KEPT:
            del self.read[next(iter(self.read))]
