"""What tasks print, on its way from a worker to the store, and as it rests there. Plain data and Protocols.

Lines travel beside reports and never hold one up: whoever cannot pass them on leaves them out, and counts.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Protocol

import msgspec

from noetl.core.values.lines import LEVELS, LINE_BYTES, Line

FLUSH_S = 0.1  # so long a line waits for others at most
BATCH_BYTES = 256 * 1024  # of lines that go together
LINES_MOST = 20_000  # that go together
LINE_COST = 16  # bytes
PAGE_BYTES = 1024 * 1024  # of lines that are read at once
PAGE_ROWS = 1000

Name = Annotated[str, msgspec.Meta(max_length=1024)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class PrintedLines(msgspec.Struct, omit_defaults=True):
    """Some lines of one attempt at one task, in the order they were written."""

    execution_id: Name
    run: Name  # of the step
    task: Name
    at: Name = ""  # the iteration or block that the task is in
    visit: Count = 1
    attempt: Count = 1
    ts: Count = 0  # when these were written, or left out
    lines: list[Line] = []
    lost: Count = 0  # lines before these that were left out on the way
    before: Count = 0  # bytes that the attempt had printed before these
    keep: Count | None = None  # bytes that are kept of the attempt, if fewer than of others
    batch: Name = (
        ""  # these lines among all that workers ever send; empty: of a worker before there were such
    )
    lease: Name = ""  # under which the task runs
    epoch: Count = 0

    @property
    def whose(self) -> str:
        """The attempt, among others of its execution."""
        return f"{self.run}{self.at}/{self.task}.{self.visit}.{self.attempt}"


class StoredLines(msgspec.Struct):
    """Lines as they rest in the store; their numbers rise within the execution."""

    number: int
    printed: PrintedLines


class KeptLines(NamedTuple):
    """How many bytes of lines are kept: of one attempt at a task, and of an execution."""

    task: int = 4 * 1024 * 1024
    execution: int = 32 * 1024 * 1024

    def of(self, printed: PrintedLines) -> tuple[int, int]:
        """How much of an attempt stays: of its beginning, and of its end."""
        most = self.task if printed.keep is None else min(printed.keep, self.task)
        return most // 4, most - most // 4


class LineStore(Protocol):
    """Where lines rest, beside the log of their execution and as long as that."""

    async def add_lines(self, printed: Sequence[PrintedLines], kept: KeptLines) -> None:
        """Keep lines behind those that are there; more than is kept makes the oldest go, which are counted.

        Of one attempt at a task its beginning stays too. Lines of an execution that is not there are dropped,
        and so is a batch that is there: whoever lost the answer sends it again.
        """

    async def lines(self, execution_id: str, after: int = 0) -> Sequence[StoredLines]:
        """Some lines of an execution behind a number, in order; none when there are no more."""


class LineSink(Protocol):
    """Where a worker's lines go."""

    def takes(self, execution_id: str) -> bool:
        """Whether lines of an execution can go there now."""

    async def add(self, printed: Sequence[PrintedLines]) -> None:
        """Keep lines; whatever it raises, they are lost."""


_KNOWN = (None, *LEVELS)
_PRINTED = msgspec.json.Decoder(PrintedLines)


def encode_lines(printed: PrintedLines) -> bytes:
    """Lines as bytes."""
    return msgspec.json.encode(printed)


def stored_lines(number: int, lost: int, body: bytes) -> StoredLines:
    """Lines out of their bytes; how many are missing before them is known better now."""
    printed = _PRINTED.decode(body)
    printed.lost = lost
    return StoredLines(number, printed)


def size_of_lines(lines: Sequence[Line]) -> int:
    """How much lines are, about: a letter counts as a byte, and each line has its time besides."""
    return sum(len(line.text) for line in lines) + len(lines) * LINE_COST


def fits(printed: Sequence[PrintedLines]) -> bool:
    """Whether a worker sent no more at once than it may, and levels that there are."""
    lines = [line for one in printed for line in one.lines]
    if len(printed) + len(lines) > 2 * LINES_MOST:
        return False
    return all(len(line.text) <= 2 * LINE_BYTES and line.level in _KNOWN for line in lines)
