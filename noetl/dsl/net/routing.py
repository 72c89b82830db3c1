"""What the arcs of a step can do, read from the text alone: which can fire, which must, which never do.

A guard that neither the event nor the output's status decides is a free choice; one that reads either of them
asks how the step ended. Nothing here makes a finding.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from noetl.dsl.model import Arc, Step
from noetl.dsl.templates.facts import ERROR, OK, Facts, Word, verdict

DONE, FAILED, LOOP_DONE = "step.done", "step.failed", "loop.done"
EVENTS = (DONE, LOOP_DONE, FAILED)
GOOD = frozenset({DONE, LOOP_DONE})
EVENT_FIELDS = ("name", "ok", "failed", "step", "data")
ASKING = frozenset({"status", "error"})  # fields of an envelope that tell how its step ended


@dataclass(frozen=True, slots=True)
class Dead:
    """An arc that can never fire: its position, and the arc that always goes first if that is why."""

    position: int
    behind: int | None


@dataclass(frozen=True, slots=True)
class Routing:
    """A step's arcs by position: `well` and `must` if it did well, `ends` whether none may be taken then.

    `ill` is what they do when it failed.
    """

    live: tuple[int, ...]
    well: tuple[int, ...]
    must: tuple[int, ...]
    dead: tuple[Dead, ...]
    ends: bool
    ill: "Fired"

    @classmethod
    def of(cls, step: Step) -> "Routing":
        """Read the arcs of a step."""
        arcs = step.next.arcs
        first_only = step.next.mode == "exclusive"
        endings = [(facts, _fired(arcs, facts, first_only)) for facts in _ENDINGS[events_of(step)[0]]]
        live = {position for _, fired in endings for position in fired.may}
        well = endings[0][1]
        must = () if first_only and well.may[:1] != well.must[:1] else well.must
        dead = tuple(_dead(arcs[n], n, endings) for n in range(len(arcs)) if n not in live)
        ends = not well.must or bool(step.admit)
        return cls(tuple(sorted(live)), well.may, must, dead, ends, ill=endings[-1][1])


def events_of(step: Step) -> tuple[str, str]:
    """The names of the events a step can end with, the good one first."""
    return (LOOP_DONE if step.loop else DONE, FAILED)


def asks(paths: Iterable[tuple[str, ...]], step: str) -> bool:
    """Whether a guard that reads these paths asks how the step ended, so that taking a failure answers it."""
    own = ("output", step.rpartition(".")[2])  # a fragment's steps name one another as their author did
    return any(path[0] == "event" or (path[0] in own and path[1:2] and path[1] in ASKING) for path in paths)


def flags_of(name: str) -> dict[str, bool]:
    """`event.ok` and `event.failed` of an event."""
    return {"ok": name in GOOD, "failed": name == FAILED}


def _event(name: str) -> Facts:
    flags = tuple((("event", flag), value) for flag, value in flags_of(name).items())
    return ((("event", "name"), Word(name, EVENTS)), *flags)


def _ways_to_end(done: str) -> tuple[Facts, ...]:
    """What arcs can know of each way a step can end; the good way first."""
    return (OK + _event(done), ERROR + _event(done), ERROR + _event(FAILED))


_ENDINGS = {done: _ways_to_end(done) for done in (DONE, LOOP_DONE)}


@dataclass(frozen=True, slots=True)
class Fired:
    """For one way a step can end: the arcs that may fire, and those that fire if none before them does."""

    may: tuple[int, ...]
    must: tuple[int, ...]


def _fired(arcs: tuple[Arc, ...], facts: Facts, first_only: bool) -> Fired:
    may: list[int] = []
    must: list[int] = []
    for position, holds in _verdicts(arcs, facts):
        may.append(position)
        if holds:
            must.append(position)
            if first_only:
                break
    return Fired(tuple(may), tuple(must))


def _verdicts(arcs: tuple[Arc, ...], facts: Facts) -> Iterator[tuple[int, bool | None]]:
    for position, arc in enumerate(arcs):
        holds = verdict(arc.when, facts)
        if holds is not False:
            yield position, holds


def _dead(arc: Arc, position: int, endings: list[tuple[Facts, Fired]]) -> Dead:
    """Why an arc cannot fire: one before it always goes first when its guard could hold, or it cannot."""
    endings_of_arc = [fired for facts, fired in endings if verdict(arc.when, facts) is not False]
    return Dead(position, endings_of_arc[0].must[0] if endings_of_arc else None)
