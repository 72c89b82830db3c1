"""A decision in the making: the state so far, and the events, payloads and commands it has led to.

Each emitted event is folded at once, so later parts of one decision see the earlier ones. A draft is thrown
away, with its state, when its commit fails.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from noetl.core import fold, message
from noetl.core.event import Event
from noetl.core.program.evaluator import EvaluationError, Evaluator
from noetl.core.program.program import Program, StepProgram
from noetl.core.shapes import Output, Reference
from noetl.core.state import State
from noetl.core.values.event_size import ENVELOPE_BYTES, MARKER_BYTES, RIDES_BYTES, largest
from noetl.core.values.output import encoded, externalise, size_of
from noetl.core.values.patch import OVER, STORED, assign, holds_mark, is_marker, marker, rests_elsewhere
from noetl.core.values.payload_demand import Payloads, UnreadablePayload, gone
from noetl.errors import InvariantViolation, NotFound
from noetl.json_value import Json, JsonObject

Evolve = Callable[[State, Event], State]


class Draft:
    """What a decision works on."""

    __slots__ = (
        "commands",
        "evaluator",
        "events",
        "evolve",
        "hydrated",
        "now",
        "payloads",
        "program",
        "recorded",
        "state",
        "steps",
        "successor",
    )  # fmt: skip

    def __init__(
        self,
        state: State,
        program: Program | None,
        evaluator: Evaluator,
        now: int,
        hydrated: dict[str, Json | UnreadablePayload],
        evolve: Evolve = fold.evolve,
    ) -> None:
        self.state, self.evaluator, self.now, self.evolve = state, evaluator, now, evolve
        self.recorded = evaluator.recorded
        self.hydrated = hydrated  # payloads at hand, by key; what this decision puts aside is added
        self.program: Program = program  # type: ignore[assignment] # absent only for a refused start
        self.steps: Mapping[str, StepProgram] = program.steps if program else {}
        self.events: list[Event] = []
        self.commands: list[message.Command] = []
        self.payloads: list[message.Payload] = []
        self.successor: message.Successor | None = None

    def emit(self, name: str, run: str | None = None, at: str | None = None, /, **data: object) -> None:
        """Record an event of the server and fold it."""
        self.accept(Event(name, self.now, "s", run, at, None, None, None, data or None))

    def record(self, name: str, run: str | None, data: dict[str, object], by: str = "s") -> None:
        """Record an event with data that was made for it alone; `by` a worker when its report led to it."""
        event = Event(name, self.now, by, run, None, None, None, None, data)
        self.events.append(event)
        self.evolve(self.state, event)

    def accept(self, event: Event) -> None:
        """Record an event as a worker reported it and fold it."""
        self.events.append(event)
        self.evolve(self.state, event)

    def command(self, command: message.Command) -> None:
        """Ask for something to be done after the commit."""
        self.commands.append(command)

    def take(self, value: Json) -> Json:
        """A live value as it is kept: itself, or a marker when it is too large or holds a key like ours."""
        if value is None or isinstance(value, bool | int | float):
            return value
        body = encoded(value)
        fits = not self.steps or len(body) <= self.program.max_payload_bytes
        if fits and not holds_mark(body):
            return value
        return self._aside(value)

    def judged(self, value: Json) -> Json:
        """What was judged or asked for as it is kept; of a record it is so already."""
        return value if self.recorded and rests_elsewhere(value) else self.take(value)

    def kept(self, values: Sequence[Json], beside: Callable[[], int] = int) -> list[Json]:
        """Judged values as one event keeps them together: those it has no room for are put aside.

        `beside` tells how many bytes other values of the event take; EvaluationError when too many are left.
        """
        kept = list(values)
        if self.recorded:
            return kept  # of a record they are so already
        limit, sizes = self.program.max_payload_bytes, []
        for place, value in enumerate(values):
            if value is None or isinstance(value, bool | int | float):
                sizes.append(0)
                continue
            body = encoded(value)
            sizes.append(len(body))
            if len(body) > limit or holds_mark(body):
                kept[place], sizes[place] = self._aside(value), MARKER_BYTES
        if sum(sizes) <= RIDES_BYTES:
            return kept
        room = limit + RIDES_BYTES - beside()
        for place in largest(sizes, room):
            kept[place], sizes[place] = self._aside(values[place]), MARKER_BYTES
        if sum(sizes) > limit + ENVELOPE_BYTES // 2:
            raise EvaluationError(
                "limit",
                f"{len(values)} values take {sum(sizes)} bytes, more than limits.max_payload_bytes lets into "
                "one event; write fewer of them, or one mapping that holds them",
            )
        return kept

    def store(self, value: Json) -> Json:
        """A kept value: itself, or a marker for it when it is over the payload limit."""
        return self.measured(value)[0]

    def measured(self, value: Json) -> tuple[Json, int]:
        """A kept value as an event holds it, and about how many bytes it takes there."""
        if value is None or isinstance(value, bool | int | float):
            return value, 0
        if rests_elsewhere(value):
            return value, MARKER_BYTES
        size = size_of(value)
        if size <= self.program.max_payload_bytes:
            return value, size
        return self._aside(value), MARKER_BYTES

    def put_aside(self, output: Output) -> Output:
        """An output whose payload rests in the result store, with the reference to it."""
        if "ref" in output:
            return {**output, "data": None}
        ref, payload = externalise(self.state.execution_id, output.get("data"))
        self.payloads.append(payload)
        self.hydrated[payload.key] = output.get("data")
        return {**output, "data": None, "ref": ref}

    def slim(self, output: Output, beside: int = 0) -> Output:
        """An output of which the payloads, those of its tasks included, fit one event together."""
        results = output.get("results", {})
        parts = [output, *results.values()]
        sizes = [0 if part.get("data") is None else size_of(part["data"]) for part in parts]
        chosen = largest(sizes, self.program.max_payload_bytes - beside)
        if not chosen:
            return output
        parts = [self.put_aside(part) if place in chosen else part for place, part in enumerate(parts)]
        kept = dict(zip(results, parts[1:], strict=True))
        return {**parts[0], **({"results": kept} if kept else {})}

    def _aside(self, value: Json) -> JsonObject:
        ref, payload = externalise(self.state.execution_id, value)
        self.payloads.append(payload)
        self.hydrated[payload.key] = value
        return marker(ref)

    def load(self, value: Json) -> Any:
        """What a kept value is, also when it rests in the result store."""
        return loaded(value, self.hydrated)

    def extend(self, program: Program) -> None:
        """Go on with a program that has more steps."""
        self.program, self.steps = program, program.steps

    def step(self, name: str) -> StepProgram:
        """The program of a step."""
        try:
            return self.steps[name]
        except KeyError:
            raise InvariantViolation(f"the program has no step {name!r}") from None


def loaded(value: Any, hydrated: Payloads) -> Any:
    """The live value that a marker stands for; any other kept value is itself."""
    if not is_marker(value):
        return value
    try:
        whole = hydrated[value[STORED]["locator"]["key"]]
    except KeyError:
        whole = UnreadablePayload("reference", gone(value[STORED]))
    if isinstance(whole, UnreadablePayload):
        raise NotFound(whole.message)
    for path, item in value.get(OVER, ()):
        whole = assign(whole if isinstance(whole, dict) else {}, path, loaded(item, hydrated))
    return whole


def in_place(value: object, hydrated: Payloads) -> Any:
    """A kept scope with everything in it that rests in the result store put back, if anything is at hand."""
    if not hydrated or not isinstance(value, dict):
        return value
    if rests_elsewhere(value):
        return loaded(value, hydrated)
    return {key: in_place(item, hydrated) for key, item in value.items()}


def readable(value: Json, hydrated: Payloads) -> Any:
    """The same, though something of it is gone: why that cannot be read stands in its place."""
    if rests_elsewhere(value):
        try:
            return loaded(value, hydrated)
        except NotFound as error:
            return UnreadablePayload("reference", error.message)
    return (
        {key: readable(item, hydrated) for key, item in value.items()} if isinstance(value, dict) else value
    )


def stored_refs(value: object) -> list[Reference]:
    """References to the payloads that a state needs in memory before anything can be decided on it."""
    if is_marker(value):
        return [value[STORED], *stored_refs(value.get(OVER, []))]
    if isinstance(value, dict):
        return [ref for item in value.values() for ref in stored_refs(item)]
    if isinstance(value, list):
        return [ref for item in value for ref in stored_refs(item)]
    return []
