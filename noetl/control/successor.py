"""The execution that goes on where another ends: its first decision, made to be committed with that end."""

from dataclasses import dataclass

from msgspec import structs

from noetl.control.execution_host import Programs
from noetl.control.loaded_execution import LoadedExecution
from noetl.control.payload_prefetch import PayloadPrefetch
from noetl.core.decide import decide
from noetl.core.message import Control, Decision, Start, Successor
from noetl.core.state import State


@dataclass(frozen=True, slots=True)
class FirstDecision:
    """An execution that is not in any log yet."""

    execution: LoadedExecution
    start: Start
    decision: Decision


async def first_decision(
    successor: Successor,
    before: LoadedExecution,
    programs: Programs,
    prefetch: PayloadPrefetch,
    now: int,
    engine: str,
) -> FirstDecision:
    """Decide on the request that the end of an execution made, with what that one has at hand."""
    start = structs.replace(successor.start, engine=engine or successor.start.engine)
    program = await programs.program(start.hash)
    execution = LoadedExecution(State(successor.execution_id), program, b"", hydrated=dict(before.hydrated))
    if prefetch.wanted(execution, start):
        await prefetch.before(execution, start)
    return FirstDecision(
        execution, start, decide(execution.state, start, now, program, hydrated=execution.hydrated)
    )


def waits_for_successor(execution: LoadedExecution, message: object) -> bool:
    """Whether what an operator wishes is for the one that goes on: this one has ended."""
    return execution.state.continued_as is not None and isinstance(message, Control)


def answered_letters(execution: LoadedExecution) -> list[int]:
    """The letters that were decided on; others are still in the mailbox, and go to the successor."""
    if not execution.letters:
        return []
    left = {id(message) for message, _ in execution.mailbox}
    return [letter for letter, message in execution.letters.items() if id(message) not in left]
