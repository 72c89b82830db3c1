"""What a loop keeps of its iterations: how each stands, what those that ended gave, why others failed.

Nothing here knows events: the fold says what happened.
"""

from noetl.core.shapes import ErrorObject, IterationRecord
from noetl.core.state import DONE, PENDING, RUNNING, Lease, LoopState
from noetl.core.values.error_details import short

ERRORS_KEPT = 100  # of a loop, those with the lowest indexes


def note_done(loop: LoopState, index: int, data: IterationRecord) -> None:
    """An iteration went well: its mark, and what the end of the loop needs of it."""
    loop.marks[index] = DONE
    loop.done += 1
    if not data:
        return
    output = data.get("output") or {}
    if loop.claims is not None:
        pass  # nobody knows how many there will be: they are in the log alone
    elif output.get("data") is not None:
        loop.outputs[str(index)] = output["data"]
    elif "part" in output:
        loop.parts[str(index)] = output["part"]
    elif "ref" in output:
        loop.refs[str(index)] = output["ref"]
    if data.get("writes"):
        loop.writes[str(index)] = data["writes"]


def note_error(loop: LoopState, index: int, error: ErrorObject) -> None:
    """The error with the lowest index stands first and in full: a failed loop fails with it."""
    first = next(iter(loop.errors), None)
    if first is None or int(first) < index:
        loop.errors[str(index)] = error if first is None else short(error)
    else:
        loop.errors = {str(index): error, **loop.errors, first: short(loop.errors[first])}
    if len(loop.errors) > ERRORS_KEPT:
        del loop.errors[str(max(int(place) for place in loop.errors))]


def release(loop: LoopState, lease: Lease) -> None:
    """Iterations that were running under a lost lease wait again."""
    marks = loop.marks
    for index in range(lease.lo or 0, loop.total if lease.hi is None else lease.hi):
        if marks[index] == RUNNING:
            marks[index] = PENDING
