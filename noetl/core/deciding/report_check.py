"""Whether what a worker reports can be: asked of every event and checkpoint before anything is folded.

A report speaks for one lease, so each event must be of its run, inside its iterations, not yet over, of a
task that the program has, in order, and of the shape that the fold and later decisions rely on. What is wrong
is said in words; what follows from that is report.py's.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from noetl.core.deciding.draft import Draft
from noetl.core.deciding.loop_claims import claim_order, is_answered
from noetl.core.event import Event
from noetl.core.event_data import Claimed, LoopStarted, NoData, StepStarted
from noetl.core.shapes import Checkpoint
from noetl.core.state import DONE, FAILED, Lease, Run
from noetl.core.values.output import is_reference
from noetl.core.values.patch import OVER, STORED, is_marker, rests_elsewhere

ROWS_MOST = 1_000_000  # of one claim
_OVER_WITH = (DONE, FAILED)
_OUTER = re.compile(r"\[(0|[1-9]\d{0,8})\](?=[\[/]|$)")
_Pair = tuple[list[str], Any]


class _Error(msgspec.Struct):
    kind: str = ""
    message: str = ""


class _Output(msgspec.Struct):
    status: Literal["ok", "error"]
    data: Any = None
    ref: dict[str, Any] | None = None
    part: tuple[str, int] | None = None
    error: _Error | None = None


class _Started(msgspec.Struct):
    worker: str
    epoch: int


class _Loop(msgspec.Struct, forbid_unknown_fields=True):
    total: int


class _Task(msgspec.Struct):
    output: _Output | None = None


class _Call(msgspec.Struct):
    path: str
    version: int | None = None


class _Parked(msgspec.Struct):
    until: int | None = None
    signal: str | None = None
    approval: str | None = None
    child: None = None  # which one it is follows from the call
    call: _Call | None = None
    key: str | None = None
    wait: bool = True
    expires: int | None = None
    within: int | None = None
    error: _Error | msgspec.UnsetType = msgspec.UNSET  # null is no error to fail with


class _Done(msgspec.Struct):
    output: _Output | None = None
    writes: list[_Pair] = []


class _Failed(msgspec.Struct):
    error: _Error
    output: _Output | None = None
    writes: list[_Pair] = []


class _Claimed(msgspec.Struct):
    number: int
    key: str
    count: Annotated[int, msgspec.Meta(ge=0, le=ROWS_MOST)]
    rows: list[Any] | dict[str, Any] | None = None


class _ClaimFailed(msgspec.Struct):
    number: int
    key: str
    error: _Error


class _RunEnded(msgspec.Struct):
    error: _Error | None = None
    output: _Output | None = None
    writes: list[_Pair] = []
    step: dict[str, Any] = {}
    iter: dict[str, Any] = {}
    results: dict[str, _Output] = {}


class _RunDone(_RunEnded, kw_only=True):
    output: _Output


class _Frame(msgspec.Struct):
    pc: str | None = None
    visits: dict[str, int] = {}
    passed: dict[str, int] = {}
    runs: int = 0
    attempt: int = 0
    answered: int = 0
    waiting: str | None = None
    inside: str | None = None
    call_ends: int | None = None
    iter: dict[str, Any] = {}
    step: dict[str, Any] = {}
    results: dict[str, Any] = {}
    writes: list[_Pair] = []
    sent: list[_Pair] = []


_SHAPES: Mapping[str, type[msgspec.Struct] | None] = {
    "step.started": _Started,
    "task.started": None,
    "task.done": _Task,
    "task.parked": _Parked,
    "loop.started": _Loop,
    "loop.claimed": _Claimed,
    "loop.claim.failed": _ClaimFailed,
    "loop.iteration.started": None,
    "loop.iteration.done": _Done,
    "loop.iteration.failed": _Failed,
    "loop.done": _RunEnded,
    "step.done": _RunDone,
    "step.failed": _RunEnded,
}
_BARE = frozenset(
    name
    for name, shape in _SHAPES.items()
    if shape is None or not any(field.required for field in msgspec.structs.fields(shape))
)  # events that may come without data
NOT_ITS_OWN = "not for a worker to report"
_WITH_MORE = frozenset({"writes", "sent", "results", "call"})
_REF_KEY = b'"ref":'
_OVER_MARK = f'"{OVER}":'.encode()
_encode = msgspec.json.encode


class ReportCheck:
    """Asks of each part of one report, in order, whether it can be."""

    def __init__(self, draft: Draft, run: Run, lease: Lease, worker: str) -> None:
        self._run, self._lease, self._worker, self._id = run, lease, worker, run.id
        step = draft.step(run.step)
        claim = step.loop.claim if step.loop is not None and lease.claim is not None else None
        self._labels = (step.pipeline if claim is None else claim.pipeline).labels
        self._blocks, self._claim = draft.program.blocks, claim_order(draft.state.execution_id, run, lease)
        self._last: dict[tuple[str, str], tuple[tuple[int, int], bool]] = {}  # how far each task has come
        self._known = set[str]()  # labels that are of the program
        self._placed: str | None = None  # the address that the event before had, which was of the lease
        self.size = 0  # of the data of the event that was asked about last, in bytes

    def event(self, event: Event) -> str | None:
        """What is wrong with an event, if anything is."""
        name, data = event.name, event.data
        asked = _ASKED.get(name)
        if asked is None or event.run != self._id or event.by != "w":
            return NOT_ITS_OWN
        if data:
            body = _encode(data)
            self.size = len(body)
            wrong = _misshapen(_SHAPES[name], data, body)
            return wrong or asked(self, event, data)
        self.size = 0
        wrong = None if name in _BARE else _misshapen(_SHAPES[name], {}, b"")
        return wrong or asked(self, event, {})

    def frame(self, address: str, frame: Checkpoint) -> str | None:
        """What is wrong with a checkpoint, if anything is."""
        try:
            checkpoint = msgspec.convert(frame, _Frame)
        except msgspec.ValidationError as wrong:
            return f"it is malformed: {wrong}"
        if checkpoint.pc is not None and not self._is_label(checkpoint.pc):
            return f"the program has no task {checkpoint.pc!r}"
        misplaced = self._place(address) if address else None  # without one it is of the run as a whole
        return misplaced or _badly_made(checkpoint, frame, _encode(frame))

    # Where

    def _place(self, address: str | None) -> str | None:
        """What is wrong with the address of a pipeline: it is the lease's own, and not over."""
        loop = self._run.loop
        if loop is None or self._claim is not None:
            whose = "step" if loop is None else "claim"
            return f"the {whose} has no iteration {address}" if address and address[0] == "[" else None
        if address is not None and address == self._placed:
            return None
        index = _outer_index(address)
        if index is None:
            return f"{address!r} is no address of an iteration"
        lease = self._lease
        if not (lease.lo or 0) <= index < (loop.total if lease.hi is None else lease.hi):
            return f"iteration {index} is not of this lease"
        if loop.marks[index] in _OVER_WITH:
            return f"iteration {index} is over"
        self._placed = address
        return None

    def _nowhere(self, event: Event) -> str | None:
        return None if event.at is None else f"it is not inside the run, and says {event.at!r}"

    # What

    def _begins(self, event: Event, data: StepStarted) -> str | None:
        wrong = f"it names worker {data['worker']}" if data["worker"] != self._worker else None
        return wrong or self._nowhere(event)

    def _begins_loop(self, event: Event, data: LoopStarted) -> str | None:
        loop = self._run.loop
        if loop is None or self._lease.lo is not None or self._claim or loop.total != data["total"]:
            return NOT_ITS_OWN
        return self._nowhere(event)

    def _ends_loop(self, event: Event, data: NoData) -> str | None:
        if self._run.loop is None or self._lease.lo is not None or self._claim:
            return NOT_ITS_OWN
        return self._nowhere(event)

    def _ends_claim(self, event: Event, data: Claimed) -> str | None:
        claim = self._claim
        if claim is None:
            return NOT_ITS_OWN
        if is_answered(self._run, self._lease):
            return f"claim {claim.number} is over"
        if (data["number"], data["key"]) != (claim.number, claim.key):
            return f"the claim is number {claim.number} with the key {claim.key}"
        return self._nowhere(event)

    def _claims(self, event: Event, data: Claimed) -> str | None:
        rows: Any = data.get("rows") or []
        count = data["count"]
        if isinstance(rows, dict):
            told = bool(count) and is_marker(rows) and _is_ref({**rows[STORED]})
        else:
            told = len(rows) == count
        return self._ends_claim(event, data) if told else f"its rows are not the {count} that it tells of"

    def _ends_step(self, event: Event, data: NoData) -> str | None:
        return self._nowhere(event) if self._run.loop is None else NOT_ITS_OWN

    def _fails_step(self, event: Event, data: NoData) -> str | None:
        return self._nowhere(event)

    def _iteration(self, event: Event, data: NoData) -> str | None:
        address = event.at or ""
        if address[-1:] != "]":
            return f"{event.at!r} is no address of an iteration"
        if address in self._run.outcomes:
            return f"iteration {address} is over"
        misplaced = self._place(address)
        if event.name != "loop.iteration.started":
            self._placed = None  # it is over with this very event
        return misplaced

    def _task(self, event: Event, data: NoData) -> str | None:
        label, visit, attempt = event.label, event.visit, event.attempt
        if label is None or (label not in self._known and not self._is_label(label)):
            return f"the program has no task {label!r}"
        self._known.add(label)
        if visit is None or attempt is None or visit < 1 or attempt < 1:
            return f"visit {visit} and attempt {attempt} are no numbers of a task"
        misplaced = None if event.at is None and self._run.loop is None else self._place(event.at)
        return misplaced or self._order(event, label, (visit, attempt))

    def _order(self, event: Event, label: str, now: tuple[int, int]) -> str | None:
        """Visits and attempts only grow; a pipeline that is run anew begins at the first."""
        ends, place = event.name == "task.done", (event.at or "", label)
        previous = self._last.get(place)
        self._last[place] = (now, ends)
        if previous is None:
            frame = self._run.frame.get(place[0])
            if frame is None:
                return None
            previous = (frame.get("visits", {}).get(label.rpartition("/")[2], 0), 0), False
        last, ended = previous
        if now < last and now != (1, 1):
            message = f"visit {last[0]}, attempt {last[1]}"
            return f"visit {now[0]}, attempt {now[1]} of {label} comes after {message}"
        if ends and ended and now == last:
            return f"visit {now[0]}, attempt {now[1]} of {label} is over"
        return None

    def _is_label(self, label: str) -> bool:
        """Whether a pipeline of the step has a task: its own, or one of the blocks that it calls."""
        if label in self._labels:
            return True
        own, *inside = label.split("/")
        blocks = [block.pipeline.labels for block in self._blocks.values()]
        tasks = inside if own in self._labels else [own, *inside]
        return all(any(task in labels for labels in blocks) for task in tasks)


_ASKED: Mapping[str, Callable[[ReportCheck, Event, Any], str | None]] = {
    "step.started": ReportCheck._begins,
    "task.started": ReportCheck._task,
    "task.done": ReportCheck._task,
    "task.parked": ReportCheck._task,
    "loop.started": ReportCheck._begins_loop,
    "loop.claimed": ReportCheck._claims,
    "loop.claim.failed": ReportCheck._ends_claim,
    "loop.iteration.started": ReportCheck._iteration,
    "loop.iteration.done": ReportCheck._iteration,
    "loop.iteration.failed": ReportCheck._iteration,
    "loop.done": ReportCheck._ends_loop,
    "step.done": ReportCheck._ends_step,
    "step.failed": ReportCheck._fails_step,
}


@lru_cache(maxsize=1024)  # an iteration has several events, and those in flight come by turns
def _outer_index(address: str | None) -> int | None:
    outer = _OUTER.match(address or "")
    return None if outer is None else int(outer[1])


def _misshapen(shape: type[msgspec.Struct] | None, data: Mapping[str, Any], body: bytes) -> str | None:
    if shape is None:
        return None
    try:
        fields = msgspec.convert(data, shape)
    except msgspec.ValidationError as wrong:
        return f"it is malformed: {wrong}"
    if body and _REF_KEY not in body and _OVER_MARK not in body and _WITH_MORE.isdisjoint(data):
        return None  # what most have: nothing that the shape does not say
    return _badly_made(fields, data, body)


def _badly_made(event: msgspec.Struct, data: Mapping[str, Any], body: bytes) -> str | None:
    """What the shape of an event or checkpoint does not say: paths, references, marks, calls."""
    if not _WITH_MORE.isdisjoint(data):
        for path, _ in (*getattr(event, "writes", ()), *getattr(event, "sent", ())):
            if len(path) < 2 or path[0] not in ("ctx", "step"):
                return f"{'.'.join(path)!r} is no path that can be written"
        if any(map(_refers_badly, getattr(event, "results", {}).values())):
            return "its reference is malformed"
        if isinstance(event, _Parked) and event.call is not None and event.key is None:
            return "a call needs a key"
    if "output" in data and _refers_badly(getattr(event, "output", None)):
        return "its reference is malformed"
    if _OVER_MARK in body and not all(map(_is_mark, _marks(data))):
        return "a mark in it is malformed"
    return None


def _refers_badly(output: Any) -> bool:
    return isinstance(output, _Output) and output.ref is not None and not _is_ref(output.ref)


def _is_ref(ref: dict[str, Any]) -> bool:
    """Whether a reference has what is read of one."""
    if not is_reference(ref) or not isinstance(ref["locator"], dict) or not isinstance(ref["meta"], dict):
        return False
    size = ref["meta"].get("bytes", 0)
    return isinstance(ref["locator"].get("key", ""), str) and isinstance(size, int)


def _marks(value: Any) -> Iterable[dict[str, Any]]:
    if rests_elsewhere(value):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _marks(item)


def _is_mark(mark: dict[str, Any]) -> bool:
    try:
        return all(path for path, _ in msgspec.convert(mark.get(OVER, []), list[_Pair]))
    except msgspec.ValidationError:
        return False


def well_formed(event: Event) -> bool:
    """Whether an event has its shape, so that references can be looked for in it."""
    return _misshapen(_SHAPES.get(event.name), event.data or {}, b"") is None
