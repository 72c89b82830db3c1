"""An execution as its readers see it: how it stands, where its tokens and runs are, what waits for what."""

from noetl.control.log_rows import error_fields, failure_fields, outcome_of, referenced
from noetl.core.deciding.waiting_status import status_of, step_statuses, waiting_runs
from noetl.core.event import iso
from noetl.core.state import Parked, Run, State, Token
from noetl.ports.answers import (
    ExecutionOutcome,
    Moments,
    RunStanding,
    StateAnswer,
    TokenStanding,
    WaitFields,
    Waiting,
)
from noetl.ports.store import Summary


def result_so_far(state: State, now: int) -> ExecutionOutcome:
    """An execution as `--json` shows it, the time so far included."""
    result = outcome_of(state)
    if state.ended_at is None:
        result["duration_ms"] = (state.paused_at or now) - state.requested_at
    return result


def moments(told: Summary | State) -> Moments:
    """When it was asked for, began and ended."""
    return {
        "requested_at": iso(told.requested_at),
        "started_at": _iso(told.started_at),
        "ended_at": _iso(told.ended_at),
    }


def whole_state(state: State, last: int) -> StateAnswer:
    """Everything about a state that a reader may ask: scopes, tokens, runs and what waits."""
    statuses = step_statuses(state)
    return {
        "execution_id": state.execution_id,
        "seq": state.seq,
        "last_seq": last,
        "status": status_of(state),
        "ctx": referenced(state.ctx),
        "workload": referenced(state.workload),
        "steps": {name: {"runs": step.runs, "status": statuses[name]} for name, step in state.steps.items()},
        "tokens": [_token(token) for token in state.tokens.values()],
        "runs": _runs(state),
        "failures": failure_fields(state),
        "error": None if state.error is None else error_fields(state.error),
        "output": state.output,
    }


def _token(token: Token) -> TokenStanding:
    fields: TokenStanding = {"id": token.id, "step": token.step, "from": token.source, "held": token.held}
    if token.held:
        fields["reason"] = "the join of its step waits for other branches"
    return fields


def _runs(state: State) -> list[RunStanding]:
    out: dict[str, set[str]] = {}
    for lease in state.leases.values():
        if lease.out:
            out.setdefault(lease.run, set()).update([lease.worker] if lease.worker is not None else [])
    waits = waiting_runs(state)
    return [_run(run, out.get(run.id), waits=run.id in waits) for run in state.runs.values()]


def _run(run: Run, workers: set[str] | None, *, waits: bool) -> RunStanding:
    """A run: `waiting` for something outside, `running` in the hands of a worker or child, else `queued`."""
    waiting: list[Waiting] = [
        {"address": address, "task": parked.label, "for": _waits_for(parked)}
        for address, parked in run.parked.items()
        if parked.output is None
    ]
    fields: RunStanding = {
        "id": run.id,
        "step": run.step,
        "status": "waiting" if waits else "running" if workers is not None or waiting else "queued",
        "scheduled_at": iso(run.scheduled_at),
        "started_at": _iso(run.started_at),
        "workers": sorted(workers or ()),
        "waiting": waiting,
    }
    if run.loop is not None:
        fields["loop"] = run.loop.so_far()
    return fields


def _waits_for(parked: Parked) -> WaitFields:
    """What a parked task waits for: a child, a signal, a time; and when its own time is up."""
    fields: WaitFields = {}
    if parked.child is not None:
        fields["child"] = parked.child
    if parked.signal is not None:
        fields["signal"] = parked.signal
    if parked.approval is not None:
        fields["approval"] = parked.approval
    if parked.until is not None:
        fields["until"] = iso(parked.until)
    if parked.expires is not None:
        fields["expires"] = iso(parked.expires)
    return fields


def _iso(moment: int | None) -> str | None:
    return iso(moment) if moment is not None else None
