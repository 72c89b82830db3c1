"""Deciding again: each recorded message, rebuilt from its row, must lead to the recorded events.

Nothing is rendered: the recorded guard values, inputs and patches answer the decision's questions.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from noetl.core import event_data
from noetl.core.decide import decide
from noetl.core.deciding.synthesize import with_fragments
from noetl.core.event import TERMINAL, Event
from noetl.core.fold import evolve, fold, together
from noetl.core.message import Message, Report, Start
from noetl.core.program.evaluator import EvaluationError, GuardResult, Place, SetResult
from noetl.core.program.program import Guard, Program, Write
from noetl.core.shapes import Patch
from noetl.core.state import State
from noetl.core.values.patch import rests_elsewhere
from noetl.core.values.scope import Scope
from noetl.dsl.templates.template import CompiledValue
from noetl.errors import InvariantViolation


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """A row as replay reads it: the message without what the events say, the moment, and the events."""

    first: int
    now: int
    message: Message
    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where deciding again led elsewhere."""

    seq: int
    recorded: str
    decided: str


# What an event that does not follow from those before it can lead to when it is folded or decided again.
UNFIT = (LookupError, InvariantViolation, TypeError, ValueError, AttributeError, AssertionError)
Answers = dict[Place, Any]  # the place says what the answer is: a guard's, a value, an error
_WHOLE: Place = ("error", "")  # of the execution, when no run has it


class _Unloaded(dict[str, Any]):
    """Payloads are not read again: what a decision saw of them is in the record."""

    def __missing__(self, key: str) -> Any:
        return {}


class RecordedEvaluator:
    """Answers from the events of one row."""

    recorded = True

    def __init__(self, events: Sequence[Event], started_at: int) -> None:
        self._answers: Answers = {}
        self._started_at = started_at
        for event in events:
            reader = _READERS.get(event.name)
            if reader is not None:
                reader(self._answers, event, event.data or {})

    def guard(self, place: Place, guard: Guard, scope: Scope) -> GuardResult:
        """The recorded value of a guard."""
        if guard.template is None:
            return GuardResult(bool(guard.literal))
        answer = self._answers.get(place)
        if answer is None:
            raise self._failed(place)
        return GuardResult(answer[0], answer[1])

    def value(self, place: Place, value: CompiledValue, scope: Scope) -> Any:
        """The recorded value of a template."""
        if value.static and place[0] != "arc-args":  # which lie over args that may rest in the result store
            existing_answer = self._answers.get(place)
            return existing_answer if rests_elsewhere(existing_answer) else value.render({})
        if place not in self._answers:
            raise self._failed(place)
        answer = self._answers[place]
        return (answer - self._started_at) / 1000 if place[-1] == "deadline" else answer

    def writes(self, place: Place, writes: Sequence[Write], scope: Scope, lenient: bool = False) -> SetResult:
        """The recorded pairs of a `set`."""
        if place in self._answers:
            return self._answers[place]  # type: ignore[no-any-return]
        if lenient:
            return SetResult([])
        raise self._failed(place)

    def fits(self, place: Place, schema: Any, value: Any) -> None:
        """Whether the record says that the value did not fit."""
        if schema and self._answers.get(("error", place[1]), {}).get("kind") == "validation":
            raise self._failed(place)

    def merged(self, place: Place, merge: Callable[[], Patch], *, aside: bool) -> Patch:
        """What the writes of a loop come to again, or what they came to when payloads were read for it."""
        if not aside:
            return merge()
        if self._answers.get(("error", place[1]), {}).get("kind") == "conflict":
            raise self._failed(place)
        return self._answers.get(place, [])  # type: ignore[no-any-return]

    def _failed(self, place: Place) -> EvaluationError:
        own: Place = ("arc-error" if str(place[0]).startswith("arc") else "error", place[1])
        error = self._answers.get(own) or self._answers.get(_WHOLE, {})
        details = error.get("details")
        return EvaluationError(error.get("kind", "template"), error.get("message", "not recorded"), details)


def _read_admission(answers: Answers, event: Event, data: event_data.TokenMoved) -> None:
    for index, guard in enumerate(data.get("guards", ())):
        answers["admit", data["step"], index, data["token"]] = (guard["value"], guard["seen"])
    if "would_be" in data:
        answers["input", data["would_be"]] = data.get("input")


def _read_scheduled(answers: Answers, event: Event, data: event_data.Scheduled) -> None:
    run = event.run or ""
    if data.get("place") != "input":
        answers["input", run] = data.get("input")
    if "problem" in data:
        answers["error", run] = data["problem"]
    if "total" in data:
        items = data.get("collection")
        answers["loop", run] = [None] * data["total"] if isinstance(items, dict) else items or []
    if "timeout_ms" in data:
        answers["limits", run, "timeout_ms"] = data["timeout_ms"] / 1000
    if "deadline" in data:
        answers["limits", run, "deadline"] = data["deadline"]
    for name, number in data.get("claim", {}).items():
        answers["limits", run, name] = number
    if "problem" not in data:
        answers["limits", run, "max_in_flight"] = data.get("max_in_flight", data.get("share", 1))


def _read_loop(answers: Answers, event: Event, data: event_data.LoopStarted) -> None:
    if "chunk" in data:
        answers["limits", event.run or "", "chunk"] = data["chunk"]


def _read_terminal(answers: Answers, event: Event, data: event_data.RunEnded) -> None:
    run = event.run or ""
    if "was" not in data:  # else its output or set could not be judged, which the error says
        answers["output", run] = (data.get("output") or {}).get("data")
        answers["set", run] = SetResult(data.get("set", []), data.get("left_out", []))
    if event.name == "step.done":
        answers["synthesize", run] = None  # unless the workflow was extended
    if event.name == "step.failed":
        answers["error", run] = data.get("error") or {}


def _read_next(answers: Answers, event: Event, data: event_data.Routed) -> None:
    run = event.run or ""
    if "error" in data:
        answers["arc-error", run] = {"kind": data.get("kind", "template"), "message": data["error"]}
    for index, arc in enumerate(data.get("arcs", ())):
        if arc.get("asked", True):
            answers["arc", run, index] = (arc["matched"], arc.get("seen", {}))
        pairs = [[["ctx", *path], value] for path, value in arc.get("set", ())]
        answers["arc-set", run, index] = SetResult(pairs)
        answers["arc-args", run, index] = arc.get("args") or {}


def _read_patched(answers: Answers, event: Event, data: event_data.Patched) -> None:
    if data["origin"] == "run" and event.at is None:
        pairs = [[["ctx", *path], value] for path, value in data["patch"]]
        answers.setdefault(("merge", event.run or ""), []).extend(pairs)


def _read_finished(answers: Answers, event: Event, data: event_data.Finished) -> None:
    answers[_WHOLE] = data.get("error") or {}


def _read_continued(answers: Answers, event: Event, data: event_data.Continued) -> None:
    answers["continue", data["step"]] = data["input"]


def _read_extended(answers: Answers, event: Event, data: event_data.Extended) -> None:
    answers["synthesize", event.run or ""] = data["steps"]


_READERS: dict[str, Callable[[Answers, Event, Any], None]] = {
    "token.claimed": _read_admission,
    "token.refused": _read_admission,
    "step.scheduled": _read_scheduled,
    "loop.started": _read_loop,
    "ctx.patched": _read_patched,
    **dict.fromkeys(TERMINAL, _read_terminal),
    "next.evaluated": _read_next,
    "workflow.extended": _read_extended,
    "workflow.finished": _read_finished,
    "execution.continued": _read_continued,
}


def message_of(row: RecordedRow) -> Message:
    """The message as it came in, with what its events say put back."""
    if isinstance(row.message, Report):
        return _report_of(row, row.message)
    if isinstance(row.message, Start):
        return _start_of(row, row.message)
    return row.message


def _start_of(row: RecordedRow, message: Start) -> Start:
    data = {event.name: event.data or {} for event in row.events}
    retained = None
    if "execution.restored" in data:
        tokens = _kept_tokens(row.events, data["execution.restored"]["tokens"])
        retained = {"state": _kept_state(row.events), "tokens": tokens}
    return msgspec.structs.replace(
        message,
        payload=data["playbook.execution.requested"].get("payload"),
        workload=data["playbook.request.evaluated"].get("workload"),
        diagnostics=data["playbook.request.evaluated"].get("diagnostics", []),
        trigger=data["playbook.execution.requested"].get("trigger"),
        kept=retained,
    )


def _kept_state(events: Sequence[Event]) -> dict[str, Any]:
    """What a retry began with, from the portions it was recorded in."""
    state: dict[str, Any] = {}
    for event in events:
        data = event.data or {}
        if event.name == "execution.restored":
            for key, value in data.items():
                if key not in ("of", "tokens", "more"):
                    state[key] = together(state[key], value) if key in state else value
    return state


def _kept_tokens(events: Sequence[Event], count: int) -> list[dict[str, Any]]:
    """The tokens a retry began with: the first ones of the log, with the iterations they brought."""
    tokens: dict[str, dict[str, Any]] = {}
    for event in events:
        data = event.data or {}
        if event.name == "token.enqueued" and len(tokens) < count:
            tokens[data["token"]] = {key: value for key, value in data.items() if key != "token"}
        elif event.name == "loop.restored":
            loop = tokens[data["token"]].setdefault("loop", {**data, "iterations": {}})
            loop["iterations"] |= data["iterations"]
            if "batch" in data:
                loop.setdefault("batches", []).append(data["batch"])
    return list(tokens.values())


def _report_of(row: RecordedRow, message: Report) -> Report:
    events: list[Event] = []
    frames: dict[str, Any] = {}
    writes: dict[str | None, list[Any]] = {}
    scopes = {event.run: _scopes(event) for event in row.events if event.name == "workflow.extended"}
    for event in row.events:
        data = event.data or {}
        if event.name == "ctx.patched":
            pairs = [[["ctx", *path], value] for path, value in data["patch"]]
            if data["origin"] == "checkpoint":
                frames.setdefault(event.at or "", {}).setdefault("sent", []).extend(pairs)
            elif data["origin"] == "run" and event.at is None:
                writes.setdefault(event.run, []).extend(pairs)
        elif event.name == "step.checkpointed":
            frames |= {address: dict(frame) for address, frame in data["frames"].items()}
        elif event.by == "w":
            events.append(_reported(event, writes.pop(event.run, None), scopes.get(event.run, {})))
    return msgspec.structs.replace(message, events=events, frames=frames)


_ADDED = frozenset({"set", "left_out", "result", "keep", "fragment", "was", "failed_iterations"})


def _scopes(extended: Event) -> dict[str, Any]:
    """The scopes that a run brought which extended the workflow: its arcs are still to read them."""
    origin = (extended.data or {})["origin"]
    return {name: origin[name] for name in ("step", "iter") if origin.get(name)}


def _reported(event: Event, writes: list[Any] | None, scopes: dict[str, Any]) -> Event:
    """A terminal event as the worker sent it, without what the server added."""
    if event.name not in TERMINAL:
        return event
    data = {key: value for key, value in (event.data or {}).items() if key not in _ADDED} | scopes
    output = data.get("output") or {}
    if "results" in output:  # of its tasks, which the worker sends beside it
        data["results"] = output["results"]
        data["output"] = {key: value for key, value in output.items() if key != "results"}
    name = (event.data or {}).get("was", event.name)
    return msgspec.structs.replace(event, name=name, data=data | ({"writes": writes} if writes else {}))


class _Elsewhere(Exception):
    """Deciding again led to another event than the recorded one."""


class _Retraced:
    """The events of one row, taken one by one as the same ones are decided again."""

    # The state follows the recorded events, which say more than deciding again can. So one state serves both,
    # and reading a log takes a time that grows with its length alone.

    def __init__(self, row: RecordedRow) -> None:
        self._row, self._taken = row, 0
        self.difference: Difference | None = None

    def evolve(self, state: State, decided: Event) -> State:
        """Fold the next recorded event, which must be the decided one."""
        recorded = self._next(state)
        if recorded is None or _comparable(recorded) != _comparable(decided):
            raise self._elsewhere(recorded, decided)
        self._taken += 1
        return evolve(state, recorded)

    def end(self, state: State) -> None:
        """Nothing more was decided; nor may anything more be recorded."""
        recorded = self._next(state)
        if recorded is not None:
            raise self._elsewhere(recorded, None)

    def rest(self, state: State) -> None:
        """Fold what deciding again did not come to."""
        fold(state, self._row.events[self._taken :])

    def _next(self, state: State) -> Event | None:
        """The next recorded event. What was rejected is not in the record, so it cannot be again."""
        events = self._row.events
        while self._taken < len(events) and events[self._taken].name == "event.rejected":
            evolve(state, events[self._taken])
            self._taken += 1
        return events[self._taken] if self._taken < len(events) else None

    def _elsewhere(self, recorded: Event | None, decided: Event | None) -> _Elsewhere:
        self.difference = Difference(self._row.first + self._taken, _told(recorded), _told(decided))
        return _Elsewhere()


def replay(
    execution_id: str, rows: Sequence[RecordedRow], program: Callable[[str], Program | None]
) -> tuple[State, list[Difference]]:
    """Fold a log and decide every decision again; the final state and where it led elsewhere."""
    state = State(execution_id)
    differences: list[Difference] = []
    for row in rows:
        retraced = _Retraced(row)
        try:
            with suppress(_Elsewhere):
                _decide_again(state, row, retraced, program)
            retraced.rest(state)
        except UNFIT as error:
            differences.append(Difference(row.first, _told(row.events[0]), f"an error: {error}"))
            break  # behind a row that does not fit there is nothing to compare
        if retraced.difference is not None:
            differences.append(retraced.difference)
    return state, differences


def _decide_again(
    state: State, row: RecordedRow, retraced: _Retraced, program: Callable[[str], Program | None]
) -> None:
    compiled = program(row.message.hash if isinstance(row.message, Start) else state.hash)
    if compiled is not None and state.fragments:
        compiled = with_fragments(compiled, state.fragments)
    evaluator = RecordedEvaluator(row.events, state.started_at or row.now)
    decide(state, message_of(row), row.now, compiled, evaluator, _Unloaded(), evolve=retraced.evolve)
    retraced.end(state)


def _comparable(event: Event) -> Any:
    """An event without what is not decided: outputs, also those that tokens carry, and the items of loops."""
    data = dict(event.data or {})
    if event.name in TERMINAL or event.name == "workflow.finished":
        data.pop("output", None)
    if event.name == "step.scheduled":
        data.pop("collection", None)
        data.pop("args", None)  # those of its tokens, which may rest in the result store
    if "event" in data and isinstance(data["event"], dict):
        data["event"] = {key: value for key, value in data["event"].items() if key != "data"}
    return (event.name, event.ts, event.by, event.run, event.at, event.label, msgspec.to_builtins(data))


def _told(event: Event | None) -> str:
    if event is None:
        return "nothing"
    place = event.run or (event.data or {}).get("token", "")
    return f"{event.name} {place}".strip()
