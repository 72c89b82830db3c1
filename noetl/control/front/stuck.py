"""What readers are told of an execution that is stuck, and letting it go on."""

import asyncio
import logging
from contextlib import suppress

import msgspec

from noetl.control.engine import Engine
from noetl.control.history import events
from noetl.control.recovery import newest_state
from noetl.control.stuck_executions import WORDS, refusal, stuck_of
from noetl.core.event import Event, iso
from noetl.core.reading.explain import Reason, explain
from noetl.core.state import State
from noetl.errors import BackendError, Conflict, DamagedData, InvariantViolation, NewerFormat, NotFound
from noetl.ports.answers import StuckAnswer, WhyAnswer
from noetl.ports.store import Store, Stuck, Summary

_LOG = logging.getLogger("noetl.engine")
# What a damaged log makes of whoever reads it.
UNREADABLE = (
    InvariantViolation, DamagedData, NewerFormat, msgspec.MsgspecError,
    LookupError, TypeError, ValueError, AttributeError,
)  # fmt: skip
_ADVICE = {
    "log": "once the log and the playbook can be read again, after an upgrade say,",
    "decision": "after an upgrade of noetl",
    "mail": "after an upgrade of noetl",
    "owners": "once it asks for less, or after an upgrade of noetl,",
}


def stuck_fields(summary: Summary) -> StuckAnswer:
    """Why an execution is stuck, as readers see it."""
    why = _why(summary)
    return {
        "reason": why.reason,
        "message": f"{WORDS[why.reason]}: {why.error}",
        "since": iso(why.since),
        "server": why.server,
        "engine": why.engine,
    }


def outline_of(summary: Summary) -> State:
    """As much of a state as stands beside a log that cannot be read."""
    state = State(summary.execution_id)
    state.path, state.version, state.hash = summary.path, summary.version, summary.hash
    state.requested_at, state.started_at = summary.requested_at, summary.started_at
    state.retry_of = summary.retry_of
    return state


async def why_stuck(store: Store, summary: Summary, step: str | None) -> WhyAnswer:
    """What stopped it and what can be done, before the decisions as far as the log can be read."""
    execution_id, why = summary.execution_id, _why(summary)
    log: list[tuple[int, Event]] = []
    reasons: tuple[Reason, ...] | list[Reason] = ()
    try:
        log += [item async for item in events(store, execution_id)]
        reasons = (await asyncio.to_thread(explain, execution_id, log, step)).reasons
    except UNREADABLE:  # that is why it is stuck
        _LOG.debug("the log of a stuck execution cannot be explained", exc_info=True)
    first = _reasons(execution_id, why, await store.end(execution_id))
    return {
        "execution_id": execution_id,
        "status": summary.status,
        "step": step,
        "summary": f"stuck since {iso(why.since)}: {WORDS[why.reason]}",
        "reasons": [msgspec.to_builtins(reason) for reason in (*first, *reasons)],
    }


def _reasons(execution_id: str, why: Stuck, seq: int) -> list[Reason]:
    facts = {"reason": why.reason, "message": why.error, "server": why.server, "engine": why.engine}
    advice = (
        "its log and the messages for it are kept, its workers were told to stop; "
        f"{_ADVICE[why.reason]} try again: noetl execution release {execution_id}; "
        + (
            "before that it cannot be ended either"
            if why.reason == "log"
            else f"or end it: noetl execution cancel {execution_id}"
        )
    )
    return [
        Reason(
            seq, "stuck", f"{WORDS[why.reason]}: {why.error} (met by {why.server}, {why.engine})", facts=facts
        ),
        Reason(seq, "stuck", advice),
    ]


def _why(summary: Summary) -> Stuck:
    why = stuck_of(summary)
    assert why is not None
    return why


async def set_aside(engine: Engine, execution_id: str, error: Exception) -> Summary:
    """Set an open execution aside whose log could not be read, as a server does; raises that for any other.

    A reader may stumble over what is not needed to go on: then, and while another process runs it, it stays.
    """
    if isinstance(error, NewerFormat):
        raise error
    with suppress(Conflict, NotFound):
        try:
            await newest_state(engine.store, execution_id)
        except UNREADABLE:
            await engine.load(execution_id)
    await engine.stuck.mark()
    summary = await engine.store.summary(execution_id)
    if summary.stuck is None:
        raise error
    return summary


async def release(engine: Engine, execution_id: str, by: str, *, adopts: bool) -> None:
    """Let a stuck execution go on, in this process where it adopts; raises Conflict when it stays stuck."""
    summary = await engine.store.newest(execution_id)  # it may have gone on as another
    execution_id, why = summary.execution_id, stuck_of(summary)
    if why is None or not await engine.store.release(execution_id, engine.owner, engine.lease_ms):
        message = f"execution {execution_id} is {summary.status}, not stuck"
        raise Conflict(message, hint=f"noetl execution show {execution_id}")
    engine.forget(execution_id)  # it may be here from before another server gave it up
    _LOG.warning("released by %s", by, extra={"execution_id": execution_id})
    with engine.stuck.tried_again(execution_id, why):
        await (engine.pick_up if adopts else engine.load)(execution_id)
        if adopts:
            await _read_mail(engine, execution_id)


async def _read_mail(engine: Engine, execution_id: str) -> None:
    """See that what was left for an execution can be read; raises StuckError when it cannot."""
    with suppress(BackendError):  # of others; the next round tells
        await engine.collect_mail()
    await engine.stuck.mark()
    why = stuck_of(await engine.store.summary(execution_id))
    if why is not None:
        raise refusal(execution_id, why)
