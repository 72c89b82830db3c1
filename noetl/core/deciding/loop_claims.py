"""Claims: the items of a loop that come batch by batch, each claim a lease of its own.

A worker makes the claim, and the rows that it brought are in the log before any iteration over them is handed
out. The next claim goes out when few iterations are left. What a claim amounts to when it fails is loop.py's.
"""

from noetl.core.deciding.draft import Draft, loaded
from noetl.core.message import ClaimOrder, Dispatch
from noetl.core.state import Lease, Run
from noetl.core.values.payload_demand import Payloads


def claim_key(execution_id: str, run_id: str, number: int) -> str:
    """What a claim is known by to whoever is asked for rows: the same when it has to be made again."""
    return f"{execution_id}/{run_id}/{number}"


def claim_next(draft: Draft, run: Run) -> None:
    """Send out the next claim of a loop, if it is due and none is out."""
    loop, state = run.loop, draft.state
    assert loop is not None
    claims = loop.claims
    if claims is None or claims.over or loop.left >= claims.prefetch:
        return
    if any(lease.run == run.id and lease.claim is not None for lease in state.leases.values()):
        return
    number = claims.number + 1
    lease = f"{run.id}:claim.{number}"
    draft.emit("lease.granted", run.id, lease=lease, claim=number)
    draft.command(Dispatch(lease, draft.step(run.step).pool or draft.program.pool))


def claim_order(
    execution_id: str, run: Run, lease: Lease, hydrated: Payloads | None = None
) -> ClaimOrder | None:
    """What the worker of a claim needs to know of it; None for any other lease."""
    if lease.claim is None:
        return None
    assert run.loop is not None
    assert run.loop.claims is not None
    number, claims = lease.claim, run.loop.claims
    last = claims.last if hydrated is None else loaded(claims.last, hydrated)
    return ClaimOrder(number, claims.batch, claim_key(execution_id, run.id, number), last)


def is_answered(run: Run, lease: Lease) -> bool:
    """Whether the claim of a lease is in the log, with what it brought or why it failed."""
    assert run.loop is not None
    claims = run.loop.claims
    return claims is not None and lease.claim is not None and claims.number >= lease.claim
