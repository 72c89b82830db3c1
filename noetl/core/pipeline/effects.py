"""What a pipeline asks of the shell that drives it, and how it ends. Plain data."""

from collections.abc import Generator
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from noetl.core.event import Event
from noetl.core.pipeline.frame import Frame
from noetl.core.program.program import TaskProgram, TaskSpec
from noetl.core.shapes import ErrorObject, Output, Reference
from noetl.json_value import Json, JsonObject

T = TypeVar("T")
LOGS: Final = "$logs"  # what a tool printed, into the task's event, where lines are not taken by themselves
LAST_LINES: Final = "$last_lines"  # what a tool printed at last, for its error


class RunTool(msgspec.Struct, frozen=True):
    """Call a tool."""

    task: TaskProgram
    label: str
    input: JsonObject
    spec: TaskSpec
    auth: Json
    attempt: int
    key: str
    prev: Json
    at: str


class NeedSecrets(msgspec.Struct, frozen=True):
    """Fetch keychain entries; answered with a mapping of name to material, or why there is none."""

    names: frozenset[str]


class NeedPayloads(msgspec.Struct, frozen=True):
    """Have payloads at hand in `Surroundings.loaded`: whose, and their references; answered with nothing."""

    refs: list[tuple[str, Reference]]


class ReadPayload(msgspec.Struct, frozen=True):
    """Read a payload for once, up to the limit of one: answered with it, or with why it cannot be had."""

    owner: str
    ref: Reference


class Sleep(msgspec.Struct, frozen=True):
    """Wait a short while in place."""

    seconds: float


class Park(msgspec.Struct, frozen=True):
    """Wait without a slot; answered with an output envelope."""

    event: Event


class CallBlock(msgspec.Struct, frozen=True):
    """Run a workbook block behind its call boundary; answered with (output, writes)."""

    block: str
    label: str
    at: str  # the address of the block's pipeline, another one for each call
    input: JsonObject
    frame: Frame
    keyed: str  # the same as far as idempotency keys are concerned
    bound: float | None = None  # seconds the whole call may take
    ends: int | None = None  # when they are over, wherever it is taken up again


Effect = RunTool | NeedSecrets | NeedPayloads | ReadPayload | Sleep | Park | CallBlock


class Ended(msgspec.Struct, frozen=True):
    """How a pipeline ended. `handed_back`: it stopped at a task boundary and its frame is the checkpoint."""

    well: bool
    output: Output
    error: ErrorObject | None = None
    broke: bool = False
    answered: bool = False  # it failed, and no attempt under its last key can have been carried out unseen
    handed_back: bool = False


Driven: TypeAlias = Generator[Effect, Any, T]  # each effect says what it is answered with
Drive = Driven[Ended]
HANDED_BACK = Ended(True, {}, handed_back=True)


class Visit(msgspec.Struct):
    """One attempt at one task."""

    task: TaskProgram
    label: str
    visit: int
    started: bool = False
    logs: list[str] | None = None
    last_lines: list[str] | None = None
    answered: bool = False
    input: JsonObject = {}


def parking(frame: Frame, visit: "Visit", data: dict[str, object]) -> Park:
    """Wait without a slot, but not for longer than the calls around it may take."""
    bound = {} if frame.within is None else {"within": frame.within}
    return Park(task_event(frame, visit, "task.parked", {**data, **bound}))


def task_event(frame: Frame, visit: Visit, name: str, data: dict[str, object] | None) -> Event:
    """Something that happened in one attempt at one task."""
    around, attempt = frame.around, max(frame.attempt, 1)
    return Event(
        name, around.now(), "w", around.run, frame.at or None, visit.label, visit.visit, attempt, data
    )
