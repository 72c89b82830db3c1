"""From a stored log to its state: the newest snapshot where it is understood, and the rows behind it."""

from noetl.control.history import rows_of
from noetl.control.log_rows import events_of
from noetl.core.fold import fold
from noetl.core.snapshot import opened
from noetl.core.state import State
from noetl.ports.store import Store, StoredLog


def folded(execution_id: str, log: StoredLog) -> State | None:
    """The state that a log gives; None where its snapshot is not understood and all rows are needed."""
    state = State(execution_id) if log.snapshot is None else opened(log.snapshot)
    if state is not None:
        for row in log.rows:
            fold(state, events_of(row))
    return state


async def whole_log(store: Store, execution_id: str) -> StoredLog:
    """A log from its first row, without a snapshot."""
    rows = [row async for row in rows_of(store, execution_id)]
    return StoredLog(None, rows, rows[-1].hash if rows else b"")


async def newest_state(store: Store, execution_id: str) -> State:
    """The state as the log has it now; only what lies behind the newest snapshot is folded."""
    state = folded(execution_id, await store.log(execution_id))
    if state is None:
        state = folded(execution_id, await whole_log(store, execution_id))
    assert state is not None
    return state
