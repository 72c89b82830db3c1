"""What one pass over the log of an ended execution remembers, for those who go on from a part of it.

Which runs came from which tokens, what each of them wrote, and which iterations of a loop are over. Nothing
here chooses what is kept; execution_retry.py does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from noetl.core import event_data
from noetl.core.event import TERMINAL, Event
from noetl.core.fold import evolve, outer_index, together
from noetl.core.shapes import Failure, IterationRecord, Output, Patch, RetainedBatch, TokenParts
from noetl.core.state import State
from noetl.json_value import Json

TOKEN_PARTS = ("step", "from", "from_run", "event", "args")


@dataclass(slots=True)
class PastToken:
    """A token, as it would be put on its way again, and the run that took it."""

    parts: TokenParts
    origin: str | None  # the run it came from
    fragment: str | None
    barred: list[str] = field(default_factory=list)
    taken_by: str | None = None
    discarded: bool = False


@dataclass(slots=True)
class PastLoop:
    """The items of a loop and the iterations that went well."""

    total: int
    collection: Json
    done: dict[str, IterationRecord] = field(default_factory=dict)
    flawed: set[int] = field(default_factory=set)  # iterations inside which another one failed
    batches: list[RetainedBatch] = field(default_factory=list)  # of a loop that claims its items

    def add(self, batch: RetainedBatch) -> None:
        """There are more rows."""
        self.batches.append(batch)
        self.total += batch["count"]


@dataclass(slots=True)
class PastRun:
    """One step run: what it consumed and how it ended."""

    step: str
    tokens: list[str]
    fragment: str | None = None
    loop: PastLoop | None = None
    ended: str | None = None  # its terminal event
    output: Output = field(default_factory=Output)
    barred: list[str] = field(default_factory=list)  # joins of mode `first` that were taken by others
    result: bool = False  # its output was the workflow's
    routed: bool = False  # its arcs were evaluated
    fails: bool = False  # nothing took its failure, or its arcs could not be evaluated
    failure: Failure | None = None  # an arc took its failure, and whether its guard asked about it
    failed_iterations: int = 0  # that it went on without

    @property
    def unfinished(self) -> bool:
        """Whether the end of the execution cut the run off."""
        return self.ended == "step.failed" and not self.routed

    @property
    def unanswered(self) -> bool:
        """Whether an arc took its failure without asking about it."""
        return self.failure is not None and not self.failure.get("answered")


@dataclass(slots=True)
class LogHistory:
    """A whole execution, looked back upon."""

    state: State
    tokens: dict[str, PastToken] = field(default_factory=dict)
    runs: dict[str, PastRun] = field(default_factory=dict)
    patches: list[tuple[str, int | None, Patch]] = field(default_factory=list)  # run, iteration, patch
    base: event_data.Restored = field(
        default_factory=event_data.Restored
    )  # what it had kept itself, when it was a retry
    loops: dict[str, PastLoop] = field(default_factory=dict)  # kept iterations, by token

    @classmethod
    def of(cls, execution_id: str, events: Iterable[Event]) -> "LogHistory":
        """Read a log."""
        past = cls(State(execution_id))
        for event in events:
            reader = READERS.get(event.name)
            if reader is not None:
                reader(past, event, event.data or {})
            evolve(past.state, event)
        return past

    def _restored(self, event: Event, data: event_data.Restored) -> None:
        merged = {key: together(self.base.get(key), value) for key, value in data.items()}
        self.base = cast("event_data.Restored", {**self.base, **merged})

    def _loop_restored(self, event: Event, data: event_data.LoopRestored) -> None:
        total = 0 if "batch" in data else data["total"]
        loop = self.loops.setdefault(data["token"], PastLoop(total, data.get("collection")))
        loop.done |= data["iterations"]
        if "batch" in data:
            loop.add(data["batch"])

    def _enqueued(self, event: Event, data: event_data.Enqueued) -> None:
        parts = cast("TokenParts", {key: value for key, value in data.items() if key in TOKEN_PARTS})
        restored = len(self.tokens) < self.base.get("tokens", 0)
        origin = None if restored else data.get("from_run")  # a run of the log that it was kept from
        self.tokens[data["token"]] = PastToken(parts, origin, data.get("fragment"))

    def _discarded(self, event: Event, data: event_data.TokenMoved) -> None:
        token = self.tokens[data["token"]]
        token.discarded, token.barred = True, self.state.tokens[data["token"]].barred

    def _scheduled(self, event: Event, data: event_data.Scheduled) -> None:
        run_id = event.run or ""
        run = self.runs[run_id] = PastRun(data["step"], data["tokens"], data.get("fragment"))
        for token in data["tokens"]:
            self.tokens[token].taken_by = run_id
            if data.get("kept") and token in self.loops:
                run.loop = self.loops[token]
        if run.loop is None and (data.get("total") or "claim" in data):
            run.loop = PastLoop(data.get("total", 0), data.get("collection"))

    def _claimed(self, event: Event, data: event_data.Claimed) -> None:
        loop = self.runs[event.run or ""].loop
        if loop is not None and data["count"]:
            loop.add({"count": data["count"], "rows": data["rows"], "last": data.get("last")})

    def _iteration_done(self, event: Event, data: IterationRecord) -> None:
        run, index = self.runs[event.run or ""], outer_index(event.at)
        if index is not None and run.loop is not None:
            outcome: IterationRecord = {**data}
            outcome.pop("error", None)
            run.loop.done[str(index)] = outcome

    def _iteration_failed(self, event: Event, data: event_data.NoData) -> None:
        run, index = self.runs[event.run or ""], _outermost(event.at)
        if index is not None and run.loop is not None:
            run.loop.flawed.add(index)

    def _ended(self, event: Event, data: event_data.RunEnded) -> None:
        run = self.runs[event.run or ""]
        run.ended, run.result = event.name, bool(data.get("result"))
        run.barred = self.state.runs[event.run or ""].barred
        run.output = data.get("output") or {"status": "error", "error": data.get("error") or {}}
        if event.name != "step.failed":
            of_loop = (run.output.get("loop") or {}).get("failed", 0)  # all that older logs say of them
            run.failed_iterations = data.get("failed_iterations", of_loop)
        if event.name == "loop.done" and not run.failed_iterations:
            run.loop = None  # nothing of it can be left to do

    def _patched(self, event: Event, data: event_data.Patched) -> None:
        self.patches.append((event.run or "", _outermost(event.at), data["patch"]))

    def _routed(self, event: Event, data: event_data.Routed) -> None:
        run = self.runs[event.run or ""]
        run.routed, run.fails = True, "fails" in data or "error" in data
        run.failure = data.get("failure")


def _outermost(at: str | None) -> int | None:
    """The index of the outermost iteration that an address is in."""
    return int(at[1 : at.index("]")]) if at and at.startswith("[") else None


READERS: dict[str, Callable[[LogHistory, Event, Any], None]] = {
    "execution.restored": LogHistory._restored,
    "loop.restored": LogHistory._loop_restored,
    "token.enqueued": LogHistory._enqueued,
    "token.discarded": LogHistory._discarded,
    "step.scheduled": LogHistory._scheduled,
    "loop.claimed": LogHistory._claimed,
    "loop.iteration.done": LogHistory._iteration_done,
    "loop.iteration.failed": LogHistory._iteration_failed,
    **dict.fromkeys(TERMINAL, LogHistory._ended),
    "ctx.patched": LogHistory._patched,
    "next.evaluated": LogHistory._routed,
}
