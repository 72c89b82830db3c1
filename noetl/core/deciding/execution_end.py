"""How an execution ends: when nothing is left to do, when it fails or is cancelled, and who is told.

The end is decided with the event that caused it; nothing watches for it.
"""

from noetl.core.deciding.draft import Draft
from noetl.core.message import ChildEnded, ControlChild, Recall, TellParent
from noetl.core.shapes import ErrorObject
from noetl.core.state import Run
from noetl.core.values.output import failed, problem
from noetl.json_value import Json


def complete(draft: Draft) -> None:
    """End the workflow when no token is runnable, held or in flight."""
    state = draft.state
    if state.runs or state.tokens or state.ended:
        return
    unanswered = state.unanswered
    if state.failing:
        _finish(draft, "failed", state.error)
    elif unanswered is not None:
        _finish(draft, "failed", unanswered["error"])
    else:
        _finish(draft, "completed", None)


def end_continued(draft: Draft) -> None:
    """End what goes on as another execution; whoever waits for it waits for that one."""
    _finish(draft, "completed", None)


def abort(draft: Draft, error: ErrorObject, status: str = "failed") -> None:
    """End at once: tokens are discarded, runs and children cancelled, no arc evaluated."""
    state = draft.state
    reason = "execution failed" if status == "failed" else "cancelled"
    for token in list(state.tokens.values()):
        draft.emit("token.discarded", token=token.id, step=token.step, reason=reason)
    for run in list(state.runs.values()):
        for child in awaited(draft, run):
            draft.command(ControlChild(child, "cancel", reason))
        cancel_run(draft, run.id, reason)
    _finish(draft, status, error)


def awaited(draft: Draft, run: Run) -> list[str]:
    """The children that pipelines of a run wait for."""
    children = draft.state.children
    return [
        parked.child
        for parked in run.parked.values()
        if parked.child in children and (parked.call or {}).get("wait", True)
    ]


def cancel_left(draft: Draft, children: list[str], why: str) -> None:
    """Cancel those of a run's children that nothing waits for any more."""
    for child in children:
        if child not in draft.state.children:
            draft.command(ControlChild(child, "cancel", why))


def cancel_run(draft: Draft, run_id: str, why: str) -> None:
    """End a run as cancelled and call its workers back."""
    recall(draft, run_id, why)
    error = problem("cancelled", f"cancelled: {why}")
    run = draft.state.runs[run_id]
    totals = None if run.loop is None else run.loop.totals()
    draft.emit("step.failed", run_id, error=error, output=failed(error, totals), keep=False)


def recall(draft: Draft, run_id: str, why: str) -> None:
    """Tell every worker of a run to stop at once."""
    for lease in draft.state.leases.values():
        if lease.run == run_id and lease.out:
            draft.command(Recall(lease.id, lease.epoch, lease.worker, why=why))


def _finish(draft: Draft, status: str, error: ErrorObject | None) -> None:
    state = draft.state
    goes_on = state.continued_as is not None
    output = state.output if status == "completed" and not goes_on else None
    counts = {"steps": state.step_runs, "tasks": state.tasks}
    counts["iterations"] = state.iterations
    counts["failed_iterations"] = state.failed_iterations
    elapsed = draft.now - (state.started_at or draft.now)
    data: dict[str, object] = {"status": status, "output": output, "counts": counts, "duration_ms": elapsed}
    if error is not None:
        data["error"] = error
    draft.emit("workflow.finished", **data)
    last: dict[str, object] = {"error": error} if error is not None else {}
    draft.emit("playbook.processed", status=status, **last)
    if not goes_on:
        tell_parent(draft, status, output, error)


def tell_parent(draft: Draft, status: str, output: Json, error: ErrorObject | None) -> None:
    """Let the parent that waits for this execution know how it ended."""
    parent = draft.state.parent
    if parent and parent.get("waits"):
        ended = ChildEnded(draft.state.first, status, output, error)
        draft.command(TellParent(parent["execution_id"], ended))
