"""The versions of what outlives a process, and which of them something needs. Nothing is read or written.

Whatever is stored says in which format it is written, and is written in the oldest one that can say it: a
release before this one goes on reading all that it understands. A number goes up when a reader of the number
before would misunderstand; what brought it gets its line below, and none is ever taken out.
"""

from collections.abc import Sequence

from noetl.core.event import CATALOGUE, Event
from noetl.errors import NewerFormat

ROW_FORMAT = 3  # of rows of a log: the newest that this release reads
SNAPSHOT_FORMAT = 3  # of states; goes up with any change of their shape
LETTER_FORMAT = 1  # of messages that are left for the owner of an execution
RESULT_FORMAT = 1  # of what is kept of an execution that has ended

OLDEST_ROW_FORMAT = 2  # that is written: the format in which everything without a line below is said
OLDEST_LETTER_FORMAT = 1
# What came later, and the format that it came with: events that are new or whose data changed their shape,
# fields of data with which an event means something else, and types of messages.
EVENTS_SINCE: dict[str, int] = {"loop.claimed": 3, "loop.claim.failed": 3, "execution.continued": 3}
FIELDS_SINCE: dict[str, dict[str, int]] = {  # by event and field
    "step.scheduled": {"claim": 3},
    "lease.granted": {"claim": 3},
    "loop.restored": {"batch": 3},
    "task.parked": {"aside": 3},
    "playbook.execution.requested": {"continued_from": 3},
}
MESSAGES_SINCE: dict[str, int] = {}


def format_of_row(events: Sequence[Event], program: int = OLDEST_ROW_FORMAT) -> int:
    """The oldest format of rows that can say what happened in a program which needs a format itself."""
    needed = program
    for event in events:
        if event.name in EVENTS_SINCE:
            needed = max(needed, EVENTS_SINCE[event.name])
        if event.name in FIELDS_SINCE and event.data:
            for field, since in FIELDS_SINCE[event.name].items():
                needed = max(needed, since) if field in event.data else needed
    return needed


def format_of_letter(type_of_message: str) -> int:
    """The oldest format of letters that can say a message."""
    return MESSAGES_SINCE.get(type_of_message, OLDEST_LETTER_FORMAT)


def check_row_format(first: int, written_in: int) -> None:
    """Raises NewerFormat for a row that this release does not read."""
    if written_in > ROW_FORMAT:
        raise NewerFormat(
            f"the row of event {first} has format {written_in}; this noetl reads up to {ROW_FORMAT}"
        )


def check_events(first: int, events: Sequence[Event]) -> None:
    """Raises NewerFormat for an event that this release does not know."""
    for seq, event in enumerate(events, first):
        if event.name not in CATALOGUE:
            raise NewerFormat(f"event {seq} is called {event.name!r:.80}, which this noetl does not know")
