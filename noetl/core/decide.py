"""The one door of the core: a state and a message give a decision. A table from message to handler.

The draft folds as it goes, so the state that comes in is the state after the decision when it returns.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from noetl.core import fold
from noetl.core import message as messages
from noetl.core.deciding import operator_commands, report, start, waits
from noetl.core.deciding.draft import Draft, Evolve
from noetl.core.deciding.tokens import settle
from noetl.core.deciding.waiting_status import status_of
from noetl.core.message import Answer, Decision, Message
from noetl.core.program.evaluator import Evaluator, TemplateEvaluator
from noetl.core.program.program import Program
from noetl.core.state import State

Handler = Callable[[Draft, Any], Answer]
LIVE = TemplateEvaluator()


def decide(
    state: State,
    message: Message,
    now: int,
    program: Program | None,
    evaluator: Evaluator = LIVE,
    hydrated: dict[str, Any] | None = None,
    *,
    evolve: Evolve = fold.evolve,
) -> Decision:
    """What follows from a message. `now` is milliseconds since the epoch; the state is changed in place."""
    draft = Draft(state, program, evaluator, now, {} if hydrated is None else hydrated, evolve)
    before = status_of(state) if state.parent else ""
    answer = HANDLERS[type(message)](draft, message)
    answer.seq = state.seq
    if state.parent and state.parent.get("waits"):
        _tell_whether_it_waits(draft, before)
    return Decision(draft.events, draft.commands, draft.payloads, answer, draft.successor)


def _report(draft: Draft, message: messages.Report) -> Answer:
    answer = report.report(draft, message)
    if answer.accepted:
        settle(draft)
    return answer


def _child_ended(draft: Draft, message: messages.ChildEnded) -> Answer:
    waits.child_ended(draft, structs.replace(message, output=draft.take(message.output)))
    settle(draft)
    return Answer(seq=draft.state.seq)


def _child_waits(draft: Draft, message: messages.ChildWaits) -> Answer:
    waits.child_waits(draft, message)
    return Answer(seq=draft.state.seq)


def _tell_whether_it_waits(draft: Draft, before: str) -> None:
    """The parent waits as long as this execution does, so it is told when that changes."""
    state = draft.state
    waits = status_of(state) == "waiting"
    if state.parent and waits != (before == "waiting") and not state.ended:
        child_waits = messages.ChildWaits(state.first, state.events_before + state.seq, waits)
        draft.command(messages.TellParent(state.parent["execution_id"], child_waits))


HANDLERS: Mapping[type, Handler] = {
    messages.Start: start.start,
    messages.Report: _report,
    messages.Control: operator_commands.control,
    messages.Expire: operator_commands.expire,
    messages.Tick: operator_commands.tick,
    messages.ChildEnded: _child_ended,
    messages.ChildWaits: _child_waits,
}
